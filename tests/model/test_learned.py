"""What is learned first: the verdicts, the sample, the record and its command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny_gpt import learned
from tiny_gpt.checkpoint import load_model, published, read_record
from tiny_gpt.data import HELD_OUT, Problems, encode_rows, problems_in, split_of
from tiny_gpt.evaluate import answer_rows, one_pass
from tiny_gpt.generate import LONGEST_ANSWER, greedy_rows
from tiny_gpt.tokenizer import EOS_ID, PAD_ID, CharacterTokenizer

Command = Callable[..., Any]
PATHS = published()


def ids(text: str, ends: bool = True) -> list[int]:
    tokens = [CharacterTokenizer.token_id(character) for character in text] + [EOS_ID] * ends
    return tokens + [PAD_ID] * (LONGEST_ANSWER - len(tokens))


@pytest.mark.parametrize(
    ("written", "right", "good"),
    [
        ("46", "46", {"sign", "length", "leading", "last", "exact"}),
        ("-5", "-5", {"sign", "length", "leading", "last", "exact"}),
        ("5", "-5", {"leading", "last"}),
        ("-46", "46", {"leading", "last"}),
        ("49", "46", {"sign", "length", "leading"}),
        ("36", "46", {"sign", "length", "last"}),
        ("4", "46", {"sign", "leading"}),
        ("446", "46", {"sign", "leading", "last"}),
        ("-15", "-5", {"sign", "last"}),
        ("", "7", set()),
        ("-", "-7", {"sign"}),
        ("=4", "46", {"length"}),
    ],
)
def test_verdicts(written: str, right: str, good: set[str]) -> None:
    found = learned.verdicts(np.array([ids(written)]), np.array([ids(right)]))
    assert tuple(found) == learned.MEASURES
    assert {name for name, value in found.items() if value[0]} == good


def test_an_answer_without_an_end_has_no_length_and_no_last_digit() -> None:
    found = learned.verdicts(np.array([ids("46464", ends=False)]), np.array([ids("46")]))
    assert {name for name, value in found.items() if value[0]} == {"sign", "leading"}


def test_right_answers_are_right_in_every_measure() -> None:
    rows = answer_rows(learned.sample())
    assert all(value.all() for value in learned.verdicts(rows, rows).values())


def test_sample_is_fixed_and_held_out() -> None:
    problems = learned.sample()
    assert problems.prompts() == learned.sample().prompts()
    assert len(set(problems.prompts())) == len(problems)
    is_long = problems.longer_operand_digits == 3
    assert is_long.sum() == learned.LONG_PROBLEMS
    held_out = problems_in(HELD_OUT)
    assert (~is_long).sum() == (held_out.longer_operand_digits < 3).sum()
    pairs = zip(problems.a.tolist(), problems.b.tolist(), strict=True)
    assert {split_of(a, b) for a, b in pairs} == {HELD_OUT}
    assert 0.4 < problems[is_long].is_minus.mean() < 0.6


def test_record_covers_every_published_step_and_the_whole_sample() -> None:
    record = learned.recorded()
    problems = learned.sample()
    assert [entry["step"] for entry in record["steps"]] == [read_record(path)["step"] for path in PATHS]
    assert record["problems"] == len(problems)
    nothing = learned.counted(problems, {name: np.zeros(len(problems), bool) for name in learned.MEASURES})
    for entry in record["steps"]:
        assert [{**row, **dict.fromkeys(learned.MEASURES, 0)} for row in entry["rows"]] == nothing
        for row in entry["rows"]:
            assert 0 <= row["exact"] <= min(row[name] for name in learned.MEASURES)


@pytest.mark.parametrize("place", [1, 4, -1])
def test_cells_of_the_record_measured_again(place: int) -> None:
    """Every problem with operands below 100, and the hardest sums, at three of the steps."""
    problems = learned.sample()
    carries = (problems.longer_operand_digits == 3) & ~problems.is_minus & (problems.carries == 3)
    for cell, wanted in (
        (problems.longer_operand_digits == 2, [("+", 2, None), ("-", 2, None), ("-", 2, 1)]),
        (carries, [("+", 3, 3)]),
    ):
        part: Problems = problems[cell]
        found = learned.verdicts(greedy_rows(load_model(PATHS[place]), part), answer_rows(part))
        rows = learned.counted(part, found)
        for key in wanted:
            assert learned.row_of(rows, *key) == learned.row_of(
                learned.recorded()["steps"][place]["rows"], *key
            )


def test_losses_of_the_record_measured_again() -> None:
    entry = learned.recorded()["steps"][2]
    assert learned.losses(load_model(PATHS[2]), learned.sample()) == pytest.approx(entry["loss"], abs=1e-5)


def test_losses_are_the_parts_of_the_mean_loss() -> None:
    problems, model = learned.sample()[::200], load_model(PATHS[4])
    parts = learned.losses(model, problems)
    rows = encode_rows(problems)
    after = (rows == CharacterTokenizer.token_id("=")).argmax(axis=1).sum()
    targets = (rows != PAD_ID).sum() - len(rows)
    mean = (parts["problem"] * after + parts["answer"] * (targets - after)) / targets
    assert mean == pytest.approx(one_pass(model, problems)[0], abs=1e-5)


def test_percent_is_rounded_down() -> None:
    assert learned.percent({"problems": 3000, "exact": 2999}, "exact") == 99.9
    assert learned.percent({"problems": 3, "exact": 3}, "exact") == 100


class TestCommand:
    def test_prints_the_record(self, command: Command) -> None:
        outcome = command(learned.main)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("5,956 held-out problems, greedy decoding")
        assert outcome.out.count("\n     0 ") == 5

    def test_writes_what_it_measures(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        few = learned.sample()[:40]
        monkeypatch.setattr(learned, "sample", lambda: few)
        monkeypatch.setattr(learned, "published", lambda: PATHS[-1:])
        monkeypatch.setattr(learned, "printed", lambda record: "the table")
        outcome = command(learned.main, "--write", "--out", tmp_path / "learned.json")
        assert (outcome.code, outcome.out) == (0, "the table\n")
        record = json.loads((tmp_path / "learned.json").read_text(encoding="utf-8"))
        assert record["problems"] == 40
        assert [entry["step"] for entry in record["steps"]] == [read_record(PATHS[-1])["step"]]

    def test_a_missing_record_is_one_line(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(learned, "RECORD", tmp_path / "none.json")
        outcome = command(learned.main)
        assert outcome.code == 1
        assert len(outcome.err.splitlines()) == 1
        assert "--write" in outcome.err
