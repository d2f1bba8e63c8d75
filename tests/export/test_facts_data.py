"""Numbers of chapters 2 and 3, counted again in other ways."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch

from export.build import GENERATED
from export.facts.data import careless_parts, leaks
from export.facts.rows import mask_rows
from tiny_gpt.data import (
    HELD_OUT,
    TRAIN,
    Mix,
    Problems,
    ProblemStream,
    all_problems,
    problems_in,
    split_of,
)
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import CharacterTokenizer


@pytest.fixture(scope="module")
def facts(manifest: dict[str, Any]) -> dict[str, str]:
    values: dict[str, str] = json.loads((GENERATED / "facts.json").read_text(encoding="utf-8"))
    return values


def careless_side(a: int, is_minus: bool, b: int) -> str:
    """The careless rule for one problem, in Python's own whole numbers."""
    x = (0x413440 + (is_minus * 1000 + a) * 1000 + b) & 0xFFFFFFFF
    x = (x ^ (x >> 16)) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ (x >> 15)) * 0x846CA68B & 0xFFFFFFFF
    part = (x ^ (x >> 16)) % 1000
    return "held-out" if part < 50 else "tuning" if part < 70 else "train"


def test_the_careless_rule_is_one_by_one(facts: dict[str, str]) -> None:
    problems = all_problems()[::997]
    parts = careless_parts(problems)
    for a, b, is_minus, part in zip(problems.a, problems.b, problems.is_minus, parts, strict=True):
        side = "held-out" if part < 50 else "tuning" if part < 70 else "train"
        assert side == careless_side(int(a), bool(is_minus), int(b))


def test_the_leak_of_the_careless_rule_is_counted_right(facts: dict[str, str]) -> None:
    operands = range(1000)
    held_out = [(a, b) for a in operands for b in operands if careless_side(a, False, b) == HELD_OUT]
    twins = sum(careless_side(b, False, a) == TRAIN for a, b in held_out)
    assert facts["leak.held_out_sums"] == f"{len(held_out):,}"
    assert facts["leak.twins"] == f"{twins:,}"
    assert facts["leak.percent"] == f"{100 * twins / len(held_out):.2f}"
    assert f"| problem | a+b | {len(held_out):,} | {twins:,} |" in facts["leak.table"]


def test_our_split_has_no_twin_in_training(facts: dict[str, str]) -> None:
    held_out = problems_in(HELD_OUT)
    assert all(
        split_of(int(b), int(a)) == HELD_OUT for a, b in zip(held_out.a[::50], held_out.b[::50], strict=True)
    )
    sums = int((~held_out.is_minus).sum())
    assert f"| pair (ours) | a+b | {sums:,} | 0 | 0.00 % |" in facts["leak.table"]


def test_a_leak_is_counted_where_there_is_one() -> None:
    parts = np.full((2, 1000, 1000), 60)  # all for tuning
    parts[0, 3, 5], parts[0, 5, 3] = 0, 70
    parts[1, 7, 7] = 49
    assert leaks(parts.ravel()) == [(1, 1), (1, 0)]


def test_how_far_sums_give_away_differences(facts: dict[str, str]) -> None:
    held_out = problems_in(HELD_OUT)
    pairs = [
        (int(a), int(b))
        for a, b, is_minus in zip(held_out.a, held_out.b, held_out.is_minus, strict=True)
        if is_minus and a >= b
    ][::10]
    known = sum(split_of(a - b, b) == TRAIN for a, b in pairs)
    assert float(facts["leak.inverse_percent"]) == pytest.approx(100 * known / len(pairs), abs=1.5)


def test_pairs_without_a_common_divisor_hang_together(facts: dict[str, str]) -> None:
    """By Euclid's steps each of them comes down to 1 and 0, through pairs of the course."""
    coprime = total = 0
    for high in range(1000):
        for low in range(high + 1):
            total += 1
            coprime += math.gcd(high, low) == 1
    assert facts["leak.coprime_percent"] == f"{100 * coprime / total:.0f}"
    assert facts["data.pairs"] == f"{total:,}"


def test_the_stream_is_the_training_runs(facts: dict[str, str], records: dict[str, dict[str, Any]]) -> None:
    record = records[max(records)]
    recipe = record["recipe"]
    assert facts["stream.seed"] == f"{recipe['stream_seed']}"
    assert facts["stream.batch_size"] == f"{recipe['batch_size']:,}"
    stream = ProblemStream(recipe["stream_seed"], Mix())
    seen: set[tuple[int, bool, int]] = set()
    for start in range(0, record["problems_seen"], 100_000):
        batch = stream.take(min(100_000, record["problems_seen"] - start))
        seen |= set(zip(batch.a.tolist(), batch.is_minus.tolist(), batch.b.tolist(), strict=True))
    assert facts["stream.candidates"] == f"{stream.next_candidate:,}"
    assert facts["stream.different"] == f"{len(seen):,}"


def test_targets_of_the_first_batch(facts: dict[str, str]) -> None:
    stream = ProblemStream(42, Mix())
    batch: Problems = stream.take(512)
    lines = [p + a for p, a in zip(batch.prompts(), batch.answer_texts(), strict=True)]
    assert facts["rows.batch_counted"] == f"{sum(len(line) + 1 for line in lines):,}"
    assert facts["rows.batch_targets"] == f"{512 * 13:,}"
    assert facts["stream.first_batch_last"] == f"{stream.next_candidate - 1}"


def test_what_follows_changes_nothing_and_what_stands_before_does(
    facts: dict[str, str], models: dict[str, TinyArithmeticGPT]
) -> None:
    trained = models[max(models)]
    rows = mask_rows(trained, "7-12=", "-5")
    assert [line for line, *_ in rows] == ["7-12=", "7-12=-5", "7-12=04", "7-17=-5"]
    assert max(row[3] for row in rows[:3]) < 1e-5
    assert rows[3][3] > 0.1
    assert min(row[4] for row in rows[1:]) > 0.1
    plain = next_token_logits(trained, "7-12="), next_token_logits(trained, "7-17=")
    assert rows[3][3] == pytest.approx(float((plain[0] - plain[1]).abs().max()), abs=1e-4)
    assert rows[0][2] == CharacterTokenizer().token_name(int(torch.argmax(plain[0])))
    assert "| `12+34=53` | another ending | `4` | 0 |" in facts["mask.table"]
