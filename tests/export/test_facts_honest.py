"""The facts of chapter 8: intervals, tables from the records, and what lies outside the list."""

import json
from typing import Any

import pytest

from export.ablation import interval
from export.build import GENERATED
from export.facts.honest import (
    OUTSIDE_SUMS,
    held_out_in_full,
    outside_right,
    seen_and_unseen,
)
from tiny_gpt.checkpoint import SMALL, published, published_small, read_record
from tiny_gpt.generate import generate
from tiny_gpt.maps import recorded
from tiny_gpt.model import TinyArithmeticGPT

TRAINED = published()[-1]
EARLY = "step-001000"


@pytest.fixture(scope="module")
def facts(manifest: dict[str, Any]) -> dict[str, str]:
    values: dict[str, str] = json.loads((GENERATED / "facts.json").read_text(encoding="utf-8"))
    return values


@pytest.mark.parametrize(
    ("right", "problems", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # R. G. Newcombe, 1998, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_interval_gives_the_published_intervals(right: int, problems: int, low: float, high: float) -> None:
    assert interval(right, problems) == pytest.approx((low, high), abs=1e-4)


def test_interval_of_all_right_is_no_point() -> None:
    low, high = interval(476, 476)
    assert high == pytest.approx(1)
    assert low == pytest.approx(476 / (476 + 1.96**2))


def test_the_table_is_the_records(facts: dict[str, str]) -> None:
    held_out = read_record(TRAINED)["held_out"]
    assert facts["honest.table"] == held_out_in_full(held_out)
    lines = facts["honest.table"].splitlines()
    assert len(lines) == 2 + len(held_out)
    for line, row in zip(lines[2:], held_out, strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[4:6] == [f"{row['problems'] - row['right']:,}", f"{row['problems']:,}"]
    whole = [row for row in held_out if row["digits"] is None]
    assert facts["honest.problems"] == f"{sum(row['problems'] for row in whole):,}"
    assert facts["honest.wrong"] == f"{sum(row['problems'] - row['right'] for row in whole):,}"
    cells = [row for row in held_out if row["carries"] is not None]
    worst = max(1 - row["right"] / row["problems"] for row in cells)
    wrong, problems = (
        int(part.replace(",", "")) for part in facts["honest.hardest"].split(": ")[1].split()[:3:2]
    )
    assert wrong / problems == pytest.approx(worst)


def test_models_are_compared_by_their_records(facts: dict[str, str]) -> None:
    *_, trained, small = facts["honest.models_table"].splitlines()
    for line, path in ((trained, TRAINED), (small, published_small())):
        record = read_record(path)
        assert f"| {record['operands_0_to_99']['right']:,} of 20,000 |" in line
        assert f"| {record['step']:,} |" in line


def test_seen_and_unseen_add_up_to_the_maps(facts: dict[str, str]) -> None:
    entry = recorded()["models"][SMALL]
    seen, unseen = seen_and_unseen(entry["maps"])
    assert seen["problems"] + unseen["problems"] == 20_000
    assert seen["right"] + unseen["right"] == sum(row["right"] for row in entry["maps"])
    line = next(line for line in facts["honest.seen_table"].splitlines() if "smaller" in line)
    cells = [float(cell.strip(" %")) for cell in line.strip("|").split("|")[1:]]
    assert cells[0] == pytest.approx(100 * seen["right"] / seen["problems"], abs=0.01)
    assert cells[1] == pytest.approx(100 * unseen["right"] / unseen["problems"], abs=0.01)


def test_what_the_prose_says_of_the_early_step_is_recorded(facts: dict[str, str]) -> None:
    sums, differences = recorded()["models"][EARLY]["maps"]
    assert facts["map.early_step"] == "1,000"
    assert facts["map.early_right"] == f"{sums['right']:,}"
    assert facts["map.early_confident"] == f"{sums['confident_wrong']:,}"
    assert facts["map.early_minus_right"] == f"{differences['right']:,}"
    assert facts["map.confident_percent"] == "90"


def test_claims_of_the_text() -> None:
    """What the chapter says in words, and a retrained model could make wrong."""
    models = recorded()["models"]
    for name in (TRAINED.stem, EARLY):
        seen, unseen = seen_and_unseen(models[name]["maps"])
        gap = seen["right"] / seen["problems"] - unseen["right"] / unseen["problems"]
        assert abs(gap) < 0.02, "seen and unseen lie close together"
    small_seen, small_unseen = seen_and_unseen(models[SMALL]["maps"])
    assert 0 < small_unseen["right"] / small_unseen["problems"] < small_seen["right"] / small_seen["problems"]
    assert all(row["wrong"] == 0 for row in models[TRAINED.stem]["maps"])
    confident = [sum(row["confident_wrong"] for row in entry["maps"]) for entry in models.values()]
    assert confident != sorted(confident, reverse=True), "they do not become fewer at each step"


def test_sums_outside_the_list(facts: dict[str, str], models: dict[str, TinyArithmeticGPT]) -> None:
    model = models[TRAINED.stem]
    assert facts["honest.outside_right"] == str(outside_right(model)) == "0"
    assert facts["honest.outside_sums"] == str(OUTSIDE_SUMS)
    for prompt, right in (("1000+100=", "1100"), ("9999+999=", "10998"), ("4321+123=", "4444")):
        assert generate(model, prompt)[0] != right
