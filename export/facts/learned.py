"""Facts from `learned.json`: what each kept step of training can do already."""

from typing import Any

from tiny_gpt.learned import MEASURES, percent, recorded, row_of

CELLS = {"plus2": ("+", 2), "plus3": ("+", 3), "minus2": ("-", 2), "minus3": ("-", 3)}


def learned_facts() -> dict[str, str]:
    """`learned.CELL.STEP.MEASURE` and `learned.CELL.STEP.carries_N` in per cent, the losses, and tables."""
    record = recorded()
    steps = record["steps"]
    facts = {
        "learned.problems": f"{record['problems']:,}",
        "learned.long_problems": f"{record['long_problems']:,}",
        "learned.loss_table": loss_table(steps),
    }
    for name, entry in (("initial", steps[0]), ("trained", steps[-1])):
        facts[f"learned.problem_loss.{name}"] = f"{entry['loss']['problem']:.3f}"
        facts[f"learned.answer_loss.{name}"] = f"{entry['loss']['answer']:.4f}"
    for cell, (operation, digits) in CELLS.items():
        facts[f"learned.{cell}.table"] = measure_table(steps, operation, digits)
        facts[f"learned.{cell}.problems"] = f"{row_of(steps[0]['rows'], operation, digits)['problems']:,}"
        for entry in steps:
            for column, value in columns(entry["rows"], operation, digits).items():
                facts[f"learned.{cell}.{entry['step']}.{column}"] = f"{value:.1f}"
    return facts


def columns(rows: list[dict[str, Any]], operation: str, digits: int) -> dict[str, float]:
    """Per cent right by measure, then exact answers by number of carries or borrows; rounded down."""
    whole = row_of(rows, operation, digits)
    found = {name: percent(whole, name) for name in MEASURES}
    for row in rows:
        if (row["operation"], row["digits"]) == (operation, digits) and row["carries"] is not None:
            found[f"carries_{row['carries']}"] = percent(row, "exact")
    return found


def measure_table(steps: list[dict[str, Any]], operation: str, digits: int) -> str:
    """A row a kept step, as a Markdown table."""
    names = list(columns(steps[0]["rows"], operation, digits))
    counted = "carries" if operation == "+" else "borrows"
    titles = [name.replace("carries_", f"{counted} ") for name in names]
    lines = ["| step | " + " | ".join(titles) + " |", "|--:|" + "--:|" * len(names)]
    for entry in steps:
        values = columns(entry["rows"], operation, digits).values()
        lines.append(f"| {entry['step']:,} | " + " | ".join(f"{value:.1f}" for value in values) + " |")
    return "\n".join(lines)


def loss_table(steps: list[dict[str, Any]]) -> str:
    """Mean loss of the problem's targets and of the answer's by step, as a Markdown table."""
    lines = ["| step | targets up to `=` | targets after `=` |", "|--:|--:|--:|"]
    for entry in steps:
        loss = entry["loss"]
        lines.append(f"| {entry['step']:,} | {loss['problem']:.3f} | {loss['answer']:.4f} |")
    return "\n".join(lines)
