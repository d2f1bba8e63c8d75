"""What chapter 8 counts for every published model.

    python -m tiny_gpt.maps           # print the recorded counts
    python -m tiny_gpt.maps --write   # measure again (some minutes) and record them

`maps`: the answers to all sums and all differences of operands 0 to 99, by real greedy
decoding. The counts are those of `tiny_gpt.evaluate`, which prints them for one model.
`long`: of longer problems, as many drawn from training as from the held-out ones, how many
are predicted exactly. A model that has stored its training lines differs between the two.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from tiny_gpt.checkpoint import (
    CHECKPOINTS,
    CheckpointError,
    load_model,
    published,
    published_small,
    read_record,
    to_json,
    write_atomically,
)
from tiny_gpt.command import CommandParser, run_command
from tiny_gpt.data import HELD_OUT, TRAIN, Problems, all_problems, problems_in
from tiny_gpt.evaluate import CONFIDENT, SMALL_OPERAND, graded, maps, predicted_exactly
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.random32 import draws

RECORD = CHECKPOINTS / "maps.json"
LONG_PROBLEMS = 5000  # of each side, with an operand of three digits
DRAW_SEED = 0


def map_counts(model: TinyArithmeticGPT) -> list[dict[str, Any]]:
    """The counts of a model's two maps, sums first."""
    problems = all_problems(SMALL_OPERAND)
    return maps(problems, *graded(model, problems))


def long_problems(split: str) -> Problems:
    """A fixed draw of problems of a side, the longer operand with three digits."""
    problems = problems_in(split)
    problems = problems[problems.longer_operand_digits == 3]
    order = np.argsort(draws(DRAW_SEED, 0, len(problems)), kind="stable")
    return problems[np.sort(order[:LONG_PROBLEMS])]


def long_counts(model: TinyArithmeticGPT) -> dict[str, int]:
    """How many of the drawn long problems of each side are predicted exactly."""
    return {split: int(predicted_exactly(model, long_problems(split)).sum()) for split in (TRAIN, HELD_OUT)}


def measure(progress: bool = False) -> dict[str, Any]:
    """The record: the counts of every published step and of the smaller model, by name."""
    models = {}
    for path in tqdm([*published(), published_small()], unit="model", disable=not progress):
        model = load_model(path)
        models[path.stem] = {
            "sha256": read_record(path)["sha256"],
            "maps": map_counts(model),
            "long": long_counts(model),
        }
    return {
        "command": "python -m tiny_gpt.maps --write",
        "method": "greedy decoding",
        "largest_operand": SMALL_OPERAND,
        "confident": CONFIDENT,
        "long_problems": LONG_PROBLEMS,
        "draw_seed": DRAW_SEED,
        "models": models,
    }


def recorded() -> dict[str, Any]:
    """The committed record. Raises `CheckpointError` when it is missing or unreadable."""
    try:
        record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{RECORD} can not be read ({error}); restore it or add --write") from None
    return record


def printed(record: dict[str, Any]) -> str:
    """The record as the text that the command prints."""
    lines = [
        f"operands 0 to {record['largest_operand']}, {record['method']}",
        "",
        "model        op  problems    right    wrong  wrong, p > 0.9  in training  wrong, in training",
    ]
    for name, entry in record["models"].items():
        for row in entry["maps"]:
            lines.append(
                f"{name:<12} {row['operation']:<3} {row['problems']:>7,} {row['right']:>8,} "
                f"{row['wrong']:>8,} {row['confident_wrong']:>15,} {row['in_training']:>12,} "
                f"{row['wrong_in_training']:>19,}"
            )
    lines += [
        "",
        f"longer operand of 3 digits, {record['long_problems']:,} problems drawn from each side",
        "model        right, training  right, held out",
    ]
    for name, entry in record["models"].items():
        lines.append(f"{name:<12} {entry['long'][TRAIN]:>15,} {entry['long'][HELD_OUT]:>16,}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the record, or measure and write it first."""
    parser = CommandParser("tiny_gpt.maps", "What chapter 8 counts for every published model.")
    parser.add_argument("--write", action="store_true", help="measure again and write the record")
    parser.add_argument("--out", type=Path, default=RECORD, help="where --write puts the record")
    options = parser.parse_args(argv)
    record = measure(progress=True) if options.write else recorded()
    if options.write:
        write_atomically(options.out, to_json(record))
    print(printed(record))
    return 0


if __name__ == "__main__":
    run_command(main)
