"""The maps of chapter 8: all sums and differences of operands 0 to 99, for every published model.

    python -m tiny_gpt.maps           # print the recorded counts
    python -m tiny_gpt.maps --write   # measure again (some minutes) and record them

Each model answers the 20,000 problems by real greedy decoding. The counts are those of
`tiny_gpt.evaluate`, which prints them for one model.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
from tiny_gpt.data import all_problems
from tiny_gpt.evaluate import CONFIDENT, SMALL_OPERAND, graded, maps
from tiny_gpt.model import TinyArithmeticGPT

RECORD = CHECKPOINTS / "maps.json"


def map_counts(model: TinyArithmeticGPT) -> list[dict[str, Any]]:
    """The counts of a model's two maps, sums first."""
    problems = all_problems(SMALL_OPERAND)
    return maps(problems, *graded(model, problems))


def measure(progress: bool = False) -> dict[str, Any]:
    """The record: the counts of every published step and of the smaller model, by name."""
    models = {}
    for path in tqdm([*published(), published_small()], unit="model", disable=not progress):
        models[path.stem] = {"sha256": read_record(path)["sha256"], "maps": map_counts(load_model(path))}
    return {
        "command": "python -m tiny_gpt.maps --write",
        "method": "greedy decoding",
        "largest_operand": SMALL_OPERAND,
        "confident": CONFIDENT,
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
                f"{name:<12} {row['operation']:<3} {row['problems']:>7,} {row['right']:>8,} {row['wrong']:>8,} "
                f"{row['confident_wrong']:>15,} {row['in_training']:>12,} {row['wrong_in_training']:>19,}"
            )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the record, or measure and write it first."""
    parser = CommandParser("tiny_gpt.maps", "The counts of chapter 8's maps for every published model.")
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
