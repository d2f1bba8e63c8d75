"""Facts from the record of the published run: its loss, its accuracy by length, its learning rates."""

import json
import math
from typing import Any

from export.plot import Axis, Series, line_plot
from export.timeline import CELLS, timeline
from tiny_gpt.checkpoint import CHECKPOINTS
from tiny_gpt.generate import generate
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.recipe import Recipe, schedule

# fmt: off
LOSS_STEPS = (
    1, 2, 3, 5, 7, 10, 14, 20, 25, 50, 75, 100, 150, 250, 350, 500, 750,
    1000, 1500, 2000, 3000, 4000, 6000, 8000, 10000, 12000, 13000, 14000,
)
# fmt: on
RATE_STEPS = (0, 49, 99, 3000, 6000, 9000, 11999, 12000, 13000, 13999)
LATE_PROBLEM = "60-80="  # the one problem below 100 that the weights of step 12,000 answered wrong


def curve_facts(
    records: dict[str, dict[str, Any]], models: dict[str, TinyArithmeticGPT], recipe: Recipe
) -> dict[str, str]:
    """What chapter 6 says about the recorded run."""
    log = {entry["step"]: entry for entry in run_log()}
    losses = {step: log[step]["loss"] for step in LOSS_STEPS}
    seconds = log[max(log)]["seconds"]
    trained, restarted = max(models), f"step-{recipe.restart_step:06d}"
    return {
        **{f"curve.loss.{step}": f"{loss:.3f}" for step, loss in losses.items()},
        "curve.loss_plot": loss_plot(losses, models[trained].config.vocab_size),
        "curve.loss_table": loss_table(losses),
        "curve.logged": f"{len(log)}",
        "curve.kept": f"{len(models)}",
        "curve.rest": f"{max(log) - 100:,}",
        "curve.minutes": f"{seconds / 60:.0f}",
        "curve.accuracy_plot": accuracy_plot(records),
        "curve.accuracy_table": accuracy_table(records),
        "curve.late_problem": LATE_PROBLEM,
        "curve.late_before": generate(models[restarted], LATE_PROBLEM)[0],
        "curve.late_after": generate(models[trained], LATE_PROBLEM)[0],
        **recipe_facts(models[trained], recipe),
    }


def run_log() -> list[dict[str, Any]]:
    """The logged steps of the published run."""
    record = json.loads((CHECKPOINTS / "training.json").read_text(encoding="utf-8"))
    log: list[dict[str, Any]] = record["log"]
    return log


def loss_plot(losses: dict[int, float], vocab_size: int) -> str:
    """The loss of the batch against the step, on a logarithmic axis."""
    x = Axis(
        "step, each mark ten times the last",
        1,
        max(losses),
        {10**power: f"{10**power:,}" for power in range(5)},
        True,
    )
    y = Axis("training loss, nats", 0, 6, {value: f"{value}" for value in range(7)})
    blind = math.log(vocab_size)
    lines = [
        Series("loss", [(float(step), loss) for step, loss in losses.items()]),
        Series(f"ln {vocab_size}", [(1.0, blind), (float(max(losses)), blind)]),
    ]
    said = (
        f"Line plot: the training loss falls from {losses[1]:.2f} at step 1 to {losses[100]:.2f} at step 100 "
        f"and {losses[max(losses)]:.2f} at step {max(losses):,}. The table has the values."
    )
    return line_plot(x, y, lines, said, legend=3.4)


def loss_table(losses: dict[int, float]) -> str:
    """The plotted losses as a Markdown table."""
    rows = [f"| {step:,} | {loss:.3f} |" for step, loss in losses.items()]
    return "\n".join(["| step | training loss |", "|--:|--:|", *rows])


def shares(records: dict[str, dict[str, Any]]) -> dict[int, dict[str, float]]:
    """By step and cell, the per cent of held-out problems that were right."""
    return {
        entry["step"]: {name: 100 * right / count for name, (right, count) in entry["right"].items()}
        for entry in timeline(records).values()
    }


def accuracy_plot(records: dict[str, dict[str, Any]]) -> str:
    """Held-out accuracy by operation and length at the kept steps, evenly spaced as on the slider."""
    found = shares(records)
    steps = list(found)
    labels = {float(i): short(step) for i, step in enumerate(steps)}
    x = Axis("step", 0, len(steps) - 1, labels)
    y = Axis("right, per cent", 0, 100, {value: f"{value}" for value in (0, 25, 50, 75, 100)})
    lines = [
        Series(
            f"{name[0].replace('-', '−')} {name[1]} digits",
            [(float(i), found[s][name]) for i, s in enumerate(steps)],
        )
        for name in CELLS
    ]
    early, last = found[steps[2]], found[steps[-1]]
    said = (
        f"Line plot with four lines. At step {steps[2]} right are: "
        + ", ".join(f"{name[0]} with {name[1]} digits {early[name]:.0f} %" for name in CELLS)
        + f". At the last step all are above {math.floor(min(last.values()))} %. The table has the values."
    )
    return line_plot(x, y, lines, said, legend=40)


def short(step: int) -> str:
    """A step in few characters for an axis: 250, 1k, 12k."""
    return f"{step // 1000}k" if step >= 1000 else f"{step}"


def accuracy_table(records: dict[str, dict[str, Any]]) -> str:
    """The plotted accuracies, rounded down, and the held-out loss, as a Markdown table."""
    lines = [
        "| step | held-out loss | "
        + " | ".join(f"{n[0].replace('-', '−')} {n[1]} digits" for n in CELLS)
        + " |"
    ]
    lines.append("|--:|--:|" + "--:|" * len(CELLS))
    entries = timeline(records).values()
    for entry, cells in zip(entries, shares(records).values(), strict=True):
        values = " | ".join(f"{math.floor(100 * cells[name]) / 100:.2f}" for name in CELLS)
        lines.append(f"| {entry['step']:,} | {entry['loss']:.3f} | {values} |")
    return "\n".join(lines)


def recipe_facts(model: TinyArithmeticGPT, recipe: Recipe) -> dict[str, str]:
    """The settings of the published recipe, and which parameters each optimizer has."""
    matrices = [p for name, p in model.named_parameters() if name.startswith("blocks.") and p.dim() == 2]
    inside, total = sum(p.numel() for p in matrices), sum(p.numel() for p in model.parameters())
    return {
        "recipe.matrix_rate": f"{recipe.matrix_learning_rate:g}",
        "recipe.rate": f"{recipe.learning_rate:g}",
        "recipe.warmup_steps": f"{recipe.warmup_steps:,}",
        "recipe.restart_step": f"{recipe.restart_step:,}",
        "recipe.restart_steps": f"{recipe.steps - recipe.restart_step:,}",
        "recipe.restart_percent": f"{100 * recipe.restart_fraction:g}",
        "recipe.final_percent": f"{100 * recipe.final_fraction:g}",
        "recipe.weight_decay": f"{recipe.weight_decay:g}",
        "recipe.clip": f"{recipe.clip:g}",
        "recipe.matrices": f"{len(matrices)}",
        "recipe.matrix_parameters": f"{inside:,}",
        "recipe.other_parameters": f"{total - inside:,}",
        "recipe.rate_table": rate_table(recipe),
    }


def rate_table(recipe: Recipe) -> str:
    """The two learning rates at some steps, as a Markdown table."""
    lines = ["| step | share of the highest | Muon | AdamW |", "|--:|--:|--:|--:|"]
    for step in RATE_STEPS:
        share = schedule(step, recipe)
        rates = (recipe.matrix_learning_rate * share, recipe.learning_rate * share)
        lines.append(f"| {step:,} | {100 * share:.1f} % | {rates[0]:.6f} | {rates[1]:.6f} |")
    return "\n".join(lines)
