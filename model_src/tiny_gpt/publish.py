"""Turn a finished run into the committed checkpoints: round, evaluate, write with provenance.

    python -m tiny_gpt.publish runs/mine
    python -m tiny_gpt.publish runs/small --name small   # the last step alone, beside the time line

Weights are rounded to numbers that float16 can store, and the rounded weights are
what is evaluated. Every kept step becomes `step-NNNNNN.safetensors` and a JSON
with its configuration, recipe, results and sha256; `training.json` holds the loss curve.
`--trials` records the runs that the recipe was chosen by, in `trials.json`. `--name`
publishes a model to compare with: the last step as `NAME.safetensors` and `NAME.json`,
and leaves all other files alone.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from tiny_gpt.checkpoint import CHECKPOINTS, load_model, read_record, save_model, to_json, write_atomically
from tiny_gpt.command import CommandError, CommandParser, run_command
from tiny_gpt.data import HELD_OUT, problems_in
from tiny_gpt.evaluate import evaluate, one_pass, table
from tiny_gpt.model import TinyArithmeticGPT

GREEDY = "greedy decoding"
ONE_PASS = "one pass: every answer token and EOS has the highest score"


def round_to_float16(model: TinyArithmeticGPT) -> TinyArithmeticGPT:
    """Replace every weight by the nearest number that float16 can store, in place."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half().float())
    return model


def results(model: TinyArithmeticGPT, is_last: bool) -> dict[str, Any]:
    """Held-out loss and table; the last checkpoint is measured by real greedy decoding."""
    held_out = problems_in(HELD_OUT)
    loss, right = one_pass(model, held_out)
    if not is_last:
        return {"held_out_loss": round(loss, 6), "method": ONE_PASS, "held_out": table(held_out, right)}
    measured = evaluate(model, progress=True)
    return {
        "held_out_loss": round(loss, 6),
        "method": GREEDY,
        "held_out": measured["table"],
        "operands_0_to_99": measured["operands_0_to_99"],
    }


def read_log(run: Path) -> dict[str, Any]:
    """The recipe and the log of a run that has ended or was stopped."""
    path = run / "log.json"
    if not path.is_file():
        raise CommandError(f"{path} is missing: {run} is not a run, or was killed; --resume it to its end")
    log: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return log


def checks_only(log: dict[str, Any]) -> dict[str, Any]:
    """A run's recipe with its accuracy checks, without the losses between them."""
    return {"recipe": log["recipe"], "checks": [entry for entry in log["log"] if "tuning" in entry]}


def publish_step(path: Path, target: Path, is_last: bool) -> None:
    """Write one kept step as the checkpoint `target`, with its results."""
    model = round_to_float16(load_model(path))
    record = {k: v for k, v in read_record(path).items() if k not in ("config", "sha256")}
    save_model(target, model, {**record, **results(model, is_last)})


def main(argv: Sequence[str] | None = None) -> int:
    """Write the checkpoints of a run, ready to commit."""
    parser = CommandParser("tiny_gpt.publish", "Round, evaluate and write the kept steps of a finished run.")
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument("--out", type=Path, default=CHECKPOINTS, help="where to write")
    parser.add_argument("--trials", type=Path, nargs="+", default=[], metavar="RUN", help="runs to record")
    parser.add_argument("--name", metavar="NAME", default=None, help="publish only the last step, as NAME")
    options = parser.parse_args(argv)
    if options.name and (not re.fullmatch("[a-z][a-z0-9-]*", options.name) or "step-" in options.name):
        raise CommandError(f"--name {options.name}: use small letters, digits and -, and not step-")
    if options.name and options.trials:
        raise CommandError("--name publishes one model; give --trials with the run of the time line")
    steps = sorted(options.run.glob("step-*.safetensors"))
    if not steps:
        raise CommandError(f"{options.run} keeps no weights; train a run with python -m tiny_gpt.train")
    log = read_log(options.run)
    if read_record(steps[-1])["step"] != log["recipe"]["steps"]:
        raise CommandError(f"{options.run} is not finished; go on with --resume")
    if options.name:
        publish_step(steps[-1], options.out / f"{options.name}.safetensors", is_last=True)
        return 0
    trials = [{"run": folder.name, **checks_only(read_log(folder))} for folder in options.trials]
    for path in tqdm(steps, unit="checkpoint"):
        publish_step(path, options.out / path.name, path == steps[-1])
    write_atomically(options.out / "training.json", to_json(log))
    if trials:
        write_atomically(options.out / "trials.json", to_json(trials))
    for old in options.out.glob("step-*"):
        if old.stem not in {path.stem for path in steps}:
            old.unlink()
    return 0


if __name__ == "__main__":
    run_command(main)
