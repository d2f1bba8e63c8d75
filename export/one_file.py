"""Export one checkpoint to one `.onnx` file, ready to drop onto chapter 10's page.

    python -m export.one_file runs/mine/step-014000.safetensors --round --out my.onnx

The file holds the plain form: every named value on the way to the logits. It is
compared with PyTorch at every length before it is written.
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from export.graph import fill, trace
from export.models import check_parity
from export.shipping import ExportError
from tiny_gpt.checkpoint import load_model, write_atomically
from tiny_gpt.command import CommandError, CommandParser, run_command
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.publish import round_to_float16


# --8<-- [start:export_one]
def export_one(model: TinyArithmeticGPT) -> tuple[bytes, float]:
    """The bytes of the `.onnx` file and its largest difference from PyTorch.

    Raises `ExportError` when a weight is not exactly a float16 number, and when the
    file does not agree with PyTorch.
    """
    try:
        proto = fill(trace(model.config), model)
    except ValueError as error:
        raise ExportError(str(error)) from None
    difference = check_parity(proto, model)
    return proto.SerializeToString(deterministic=True), difference


# --8<-- [end:export_one]


def rounded(model: TinyArithmeticGPT) -> float:
    """Round the weights to float16 in place; returns the largest change of one."""
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    round_to_float16(model)
    changes = [
        (parameter.detach() - before[name]).abs().max() for name, parameter in model.named_parameters()
    ]
    return float(torch.stack(changes).max())


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file and print its size and how far it lies from PyTorch."""
    parser = CommandParser("export.one_file", "Export one checkpoint to one .onnx file.")
    parser.add_argument("checkpoint", type=Path, help="a .safetensors or .pt checkpoint of any size")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.onnx", help="where to write")
    parser.add_argument("--round", action="store_true", help="round the weights to float16 first")
    options = parser.parse_args(argv)
    if options.out.suffix != ".onnx":
        raise CommandError(f"--out {options.out}: the name must end in .onnx")
    model = load_model(options.checkpoint)
    if options.round:
        print(f"rounded to float16: no weight moved by more than {rounded(model):.1e}")
    try:
        data, difference = export_one(model)
    except ExportError as error:
        advice = "" if options.round else "; --round does that"
        raise CommandError(f"{options.checkpoint}: {error}{advice}") from None
    write_atomically(options.out, data)
    print(f"{options.out}: {len(data):,} bytes, largest difference from PyTorch {difference:.1e}")
    return 0


if __name__ == "__main__":
    run_command(main)
