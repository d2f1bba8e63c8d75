"""Count the parameters by part, and save the untrained network.

python -m tiny_gpt.inspect_model --save-initial checkpoints/initial.pt
"""

from collections.abc import Sequence
from pathlib import Path

from tiny_gpt.checkpoint import load_model, save_model
from tiny_gpt.command import CommandError, CommandParser, add_checkpoint_argument, run_command
from tiny_gpt.run import INITIAL_SEED, initial_model

BYTES_PER_PARAMETER = 4  # float32


def main(argv: Sequence[str] | None = None) -> int:
    """Print the breakdown of the untrained model or of a checkpoint."""
    parser = CommandParser("tiny_gpt.inspect_model", "Print the parameters by part.")
    parser.add_argument(
        "--save-initial",
        type=Path,
        default=None,
        metavar="FILE",
        help="save the untrained weights as .pt or .safetensors",
    )
    add_checkpoint_argument(parser)
    options = parser.parse_args(argv)
    if options.save_initial and options.save_initial.suffix not in (".pt", ".safetensors"):
        raise CommandError(f"--save-initial {options.save_initial}: the name must end in .pt or .safetensors")
    model = load_model(options.checkpoint) if options.checkpoint else initial_model()
    what = options.checkpoint or f"untrained weights, seed {INITIAL_SEED}"
    print(f"{what}: {model.config.n_layers} blocks, width {model.config.width}")
    breakdown = model.parameter_breakdown()
    for name, count in breakdown.items():
        print(f"{name:<36} {count:>8,}")
    print(f"{'bytes as float32':<36} {breakdown['total'] * BYTES_PER_PARAMETER:>9,}")
    if options.save_initial:
        save_model(options.save_initial, initial_model())
        print(f"saved {options.save_initial}")
    return 0


if __name__ == "__main__":
    run_command(main)
