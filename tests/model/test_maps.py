"""The record of chapter 8's counts: fresh, whole, and what the models answer now."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny_gpt import evaluate, maps
from tiny_gpt.checkpoint import CHECKPOINTS, SMALL, load_model, published, published_small, read_record
from tiny_gpt.data import HELD_OUT, TRAIN, all_problems, split_of

Command = Callable[..., Any]
EARLY = "step-001000"
PATHS = [*published(), published_small()]


def entry(name: str) -> dict[str, Any]:
    found: dict[str, Any] = maps.recorded()["models"][name]
    return found


def test_record_covers_every_published_model_as_it_is_now() -> None:
    record = maps.recorded()
    assert list(record["models"]) == [path.stem for path in PATHS]
    for path in PATHS:
        assert entry(path.stem)["sha256"] == read_record(path)["sha256"], "measure again: maps --write"
    assert (record["largest_operand"], record["confident"]) == (evaluate.SMALL_OPERAND, evaluate.CONFIDENT)
    assert (record["long_problems"], record["draw_seed"]) == (maps.LONG_PROBLEMS, maps.DRAW_SEED)


def test_counts_fit_each_other_and_the_checkpoints_records() -> None:
    nobody = np.zeros(20_000, dtype=bool)
    empty = evaluate.maps(all_problems(evaluate.SMALL_OPERAND), nobody, nobody.astype(float))
    for path in PATHS:
        rows = entry(path.stem)["maps"]
        for row, shape in zip(rows, empty, strict=True):
            assert {k: row[k] for k in ("operation", "problems", "in_training")} == {
                k: shape[k] for k in ("operation", "problems", "in_training")
            }
            assert row["right"] + row["wrong"] == row["problems"]
            assert row["confident_wrong"] <= row["wrong"]
            assert row["wrong_in_training"] <= min(row["wrong"], row["in_training"])
        small = read_record(path).get("operands_0_to_99")
        if small:
            assert sum(row["right"] for row in rows) == small["right"]


@pytest.mark.parametrize("name", [EARLY, SMALL, published()[-1].stem])
def test_maps_counted_again(name: str) -> None:
    """The whole of three models; the others differ in their weights alone."""
    assert maps.map_counts(load_model(CHECKPOINTS / f"{name}.safetensors")) == entry(name)["maps"]


def test_evaluate_prints_the_recorded_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    few = all_problems(3)
    monkeypatch.setattr(evaluate, "problems_in", lambda split: few)
    result = evaluate.evaluate(load_model(published_small()))
    assert result["maps"] == entry(SMALL)["maps"]


def test_long_problems_are_drawn_from_their_side() -> None:
    for split in (TRAIN, HELD_OUT):
        problems = maps.long_problems(split)
        assert len(problems) == len(set(problems.prompts())) == maps.LONG_PROBLEMS
        assert (problems.longer_operand_digits == 3).all()
        pairs = zip(problems.a[:300].tolist(), problems.b[:300].tolist(), strict=True)
        assert {split_of(a, b) for a, b in pairs} == {split}
        assert problems.prompts() == maps.long_problems(split).prompts()


@pytest.mark.parametrize("name", [SMALL, EARLY])
def test_long_problems_counted_again(name: str) -> None:
    assert maps.long_counts(load_model(CHECKPOINTS / f"{name}.safetensors")) == entry(name)["long"]


class TestCommand:
    def test_prints_the_record(self, command: Command) -> None:
        outcome = command(maps.main)
        assert (outcome.code, outcome.err) == (0, "")
        line = next(line for line in outcome.out.splitlines() if line.startswith(f"{EARLY}  + "))
        row = entry(EARLY)["maps"][0]
        assert f"{row['right']:,}" in line and f"{row['confident_wrong']:,}" in line

    def test_writes_what_it_measures(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(maps, "published", lambda: [])
        monkeypatch.setattr(maps, "SMALL_OPERAND", 9)
        monkeypatch.setattr(maps, "LONG_PROBLEMS", 40)
        outcome = command(maps.main, "--write", "--out", tmp_path / "maps.json")
        assert outcome.code == 0
        record = json.loads((tmp_path / "maps.json").read_text(encoding="utf-8"))
        assert list(record["models"]) == [SMALL]
        assert record["models"][SMALL]["maps"][0]["problems"] == 100
        assert all(0 <= count <= 40 for count in record["models"][SMALL]["long"].values())

    def test_a_missing_record_is_named(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(maps, "RECORD", CHECKPOINTS / "no-such.json")
        outcome = command(maps.main)
        assert outcome.code == 1
        assert outcome.err.startswith(f"error: {CHECKPOINTS / 'no-such.json'} can not be read")
        assert outcome.err.count("\n") == 1
