"""Facts of chapters 5 and 6: prices, the learned record, the recorded run and its plots."""

import json
import math
import re

import pytest

from export.facts.curve import LOSS_STEPS, RATE_STEPS, curve_facts, run_log
from export.facts.learned import learned_facts
from export.facts.losses import LINE, LONG_LINE, SHORT_LINE, batch_loss, loss_facts, price_table
from export.plot import HEIGHT, LEFT, TOP, WIDTH, Axis, Series, line_plot
from tiny_gpt.checkpoint import CHECKPOINTS, load_model, published, read_record
from tiny_gpt.learned import recorded
from tiny_gpt.line_loss import line_losses
from tiny_gpt.recipe import Recipe


def cells(table: str) -> list[list[str]]:
    """The body of a Markdown table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_prices_are_minus_ln_p() -> None:
    prices = {name.split(",")[0]: float(price) for name, price in cells(price_table(98))}
    assert prices["1"] == 0
    assert prices["0.5"] == pytest.approx(math.log(2), abs=5e-4)
    assert prices["1/98"] == pytest.approx(math.log(98), abs=5e-4)
    assert list(prices.values()) == sorted(prices.values())


def test_a_batch_is_a_mean_over_targets_not_over_lines() -> None:
    initial, trained = (load_model(published()[i]) for i in (0, -1))
    facts = loss_facts(initial, trained)
    short, long = line_losses(trained, SHORT_LINE), line_losses(trained, LONG_LINE)
    both = [*short, *long]
    assert batch_loss(trained, [SHORT_LINE, LONG_LINE]) == pytest.approx(sum(both) / len(both), abs=1e-6)
    assert facts["pair.batch_mean"] != facts["pair.mean_of_means"]
    rows = cells(facts["line.table"])
    assert [row[0].strip("`") for row in rows] == [*LINE, "EOS", "**mean**"]
    assert rows[-1][2] == f"**{facts['line.mean']}**"


def test_learned_facts_are_the_record() -> None:
    facts, record = learned_facts(), recorded()
    for entry in record["steps"]:
        for row in entry["rows"]:
            if row["digits"] not in (2, 3):
                continue
            key = f"learned.{'plus' if row['operation'] == '+' else 'minus'}{row['digits']}.{entry['step']}."
            if row["carries"] is None:
                for measure in ("sign", "length", "leading", "last", "exact"):
                    share = 100 * row[measure] / row["problems"]
                    assert 0 <= share - float(facts[key + measure]) < 0.1001
            else:
                share = 100 * row["exact"] / row["problems"]
                assert 0 <= share - float(facts[f"{key}carries_{row['carries']}"]) < 0.1001
    assert len(cells(facts["learned.plus3.table"])) == len(record["steps"])


def test_curve_facts_are_the_records() -> None:
    models = {path.stem: load_model(path) for path in published()[-2:]}
    records = {path.stem: read_record(path) for path in published()}
    recipe = Recipe.from_dict(records[max(records)]["recipe"])
    facts = curve_facts(records, models, recipe)
    log = {entry["step"]: entry["loss"] for entry in run_log()}
    assert cells(facts["curve.loss_table"]) == [[f"{s:,}", f"{log[s]:.3f}"] for s in LOSS_STEPS]
    for row, record in zip(cells(facts["curve.accuracy_table"]), records.values(), strict=True):
        assert row[:2] == [f"{record['step']:,}", f"{record['held_out_loss']:.3f}"]
        counted = [r for r in record["held_out"] if r["carries"] is None and r["digits"] in (2, 3)]
        expected = [math.floor(10_000 * r["right"] / r["problems"]) / 100 for r in counted]
        assert [float(cell) for cell in row[2:]] == expected
    rates = {int(row[0].replace(",", "")): float(row[2]) for row in cells(facts["recipe.rate_table"])}
    assert list(rates) == list(RATE_STEPS)
    assert max(rates.values()) == rates[99] == pytest.approx(recipe.matrix_learning_rate, rel=1e-3)
    assert rates[12000] == pytest.approx(recipe.matrix_learning_rate * recipe.restart_fraction)
    assert (facts["curve.late_before"], facts["curve.late_after"]) == ("-10", "-20")


def test_the_committed_log_is_complete() -> None:
    record = json.loads((CHECKPOINTS / "training.json").read_text(encoding="utf-8"))
    steps = [entry["step"] for entry in record["log"]]
    assert steps == sorted(set(steps)) and steps[-1] == record["recipe"]["steps"]
    assert set(LOSS_STEPS) <= set(steps)


def test_a_plot_puts_points_where_the_axes_say() -> None:
    x = Axis("x", 1, 100, {1: "1", 100: "100"}, is_log=True)
    y = Axis("y", 0, 2, {0: "0", 2: "2"})
    text = line_plot(x, y, [Series("a<b", [(1, 0), (10, 1), (100, 2)])], 'said "so"', legend=1)
    found = re.search(r'plot-line--1" points="([^"]+)"', text)
    assert found
    points = [tuple(map(float, point.split(","))) for point in found[1].split()]
    (left, low), (middle, half), (right, high) = points
    assert (left, high) == (LEFT, TOP)
    assert middle - left == pytest.approx(right - middle) and low - half == pytest.approx(half - high)
    assert right < WIDTH and low < HEIGHT
    assert "a&lt;b" in text and 'aria-label="said &quot;so&quot;"' in text and "style" not in text
