"""What the records of the kept steps say, for the time line: held-out loss and right answers by length.

The page shows these numbers as recorded, beside scores that it computes.
"""

from typing import Any

from tiny_gpt.learned import row_of

CELLS = ("+2", "+3", "-2", "-3")  # operation and digits of the longer operand


def timeline(records: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By checkpoint: `step`, held-out `loss`, and `right`, a pair (right, problems) for each cell."""
    return {
        name: {
            "step": record["step"],
            "loss": record["held_out_loss"],
            "right": {cell: _counts(record, cell[0], int(cell[1])) for cell in CELLS},
        }
        for name, record in sorted(records.items())
    }


def _counts(record: dict[str, Any], operation: str, digits: int) -> list[int]:
    row = row_of(record["held_out"], operation, digits)
    return [row["right"], row["problems"]]
