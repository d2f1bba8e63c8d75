"""Facts from the records of the committed checkpoints."""

from typing import Any

from tiny_gpt.data import HELD_OUT, HELD_OUT_PARTS, SPLIT_PARTS, TUNING_PARTS, problems_in
from tiny_gpt.evaluate import exact_percent


def training_facts(initial: dict[str, Any], trained: dict[str, Any]) -> dict[str, str]:
    """What the records of the first and the last checkpoint say."""
    held_out = problems_in(HELD_OUT)
    small = trained["operands_0_to_99"]
    return {
        "loss.initial": f"{initial['held_out_loss']:.3f}",
        "loss.trained": f"{trained['held_out_loss']:.3f}",
        "train.steps": f"{trained['step']:,}",
        "train.batch_size": f"{trained['recipe']['batch_size']:,}",
        "train.problems_seen": f"{trained['problems_seen']:,}",
        "train.held_out_table": held_out_table(trained["held_out"]),
        "train.held_out_problems": f"{len(held_out):,}",
        "train.held_out_pairs": f"{int((held_out.is_minus & (held_out.a <= held_out.b)).sum()):,}",
        "train.small_right": f"{small['right']:,}",
        "train.small_problems": f"{small['problems']:,}",
        "split.held_out_percent": f"{100 * HELD_OUT_PARTS / SPLIT_PARTS:g}",
        "split.tuning_percent": f"{100 * TUNING_PARTS / SPLIT_PARTS:g}",
    }


def held_out_table(rows: list[dict[str, Any]]) -> str:
    """The cells by operation and digits, as a Markdown table."""
    lines = ["| problem | longer operand | exact match | right | problems |", "|---|---|--:|--:|--:|"]
    for row in rows:
        if row["carries"] is None:
            name = {"+": "a + b", "-": "a − b"}[row["operation"]]
            digits = f"{row['digits']} digit{'s' if row['digits'] > 1 else ''}" if row["digits"] else "all"
            lines.append(
                f"| {name} | {digits} | {exact_percent(row):.2f} % | {row['right']:,} | {row['problems']:,} |"
            )
    return "\n".join(lines)
