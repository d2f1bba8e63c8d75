"""Answers: greedy and sampled text, and exact match by real decoding."""

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from tiny_gpt import evaluate, generate
from tiny_gpt.checkpoint import save_model
from tiny_gpt.config import ModelConfig
from tiny_gpt.data import HELD_OUT, TRAIN, Problems, all_problems, problems_in, split_of
from tiny_gpt.evaluate import answer_rows, answered_exactly, predicted_exactly
from tiny_gpt.generate import choose, greedy_rows, next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import PromptError
from tiny_gpt.random32 import draws, unit_interval
from tiny_gpt.tokenizer import BOS_ID, EOS_ID, PAD_ID, CharacterTokenizer


class AlwaysSays(nn.Module):
    """A stand-in for the model whose highest score is always one token's."""

    def __init__(self, token_id: int) -> None:
        super().__init__()
        self.config = ModelConfig()
        self.token_id = token_id

    def forward(self, ids: Tensor) -> Tensor:
        logits = torch.zeros(*ids.shape, 98)
        logits[..., self.token_id] = 1
        return logits


def sample(problems: Problems, count: int, seed: int = 0) -> Problems:
    return problems[np.sort(np.argsort(draws(seed, 0, len(problems)), kind="stable")[:count])]


def reference_choice(logits: list[float], temperature: float, top_k: int, draw: float) -> int:
    """Walk along the kept tokens, likeliest first, until the draw is used up."""
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:top_k]
    if temperature == 0:
        return order[0]
    weights = [math.exp((logits[i] - logits[order[0]]) / temperature) for i in order]
    target, reached = draw * sum(weights), 0.0
    for token_id, weight in zip(order, weights, strict=True):
        reached += weight
        if target < reached:
            return token_id
    return order[-1]


class TestChoose:
    # Whole and half numbers: ties are frequent.
    logits = st.lists(st.integers(-8, 8).map(lambda n: n / 2), min_size=98, max_size=98)

    @given(logits, st.floats(0.05, 5), st.integers(1, 98), st.integers(0, 2**32 - 1))
    def test_equals_the_reference(
        self, logits: list[float], temperature: float, top_k: int, draw: int
    ) -> None:
        share = draw / 2**32
        expected = reference_choice(logits, temperature, top_k, share)
        assert choose(torch.tensor(logits), temperature, top_k, share) == expected

    @given(logits, st.integers(1, 98), st.floats(0, 1, exclude_max=True))
    def test_temperature_0_takes_the_highest_score_and_the_lower_id(
        self, logits: list[float], top_k: int, draw: float
    ) -> None:
        assert choose(torch.tensor(logits), 0, top_k, draw) == logits.index(max(logits))

    @given(logits, st.floats(0.05, 5), st.integers(1, 98), st.floats(0, 1, exclude_max=True))
    def test_only_the_top_k_are_chosen(
        self, logits: list[float], temperature: float, top_k: int, draw: float
    ) -> None:
        token_id = choose(torch.tensor(logits), temperature, top_k, draw)
        above = sum(score > logits[token_id] for score in logits)
        assert above < top_k

    def test_top_1_is_greedy(self) -> None:
        logits = torch.randn(98, generator=torch.Generator().manual_seed(0))
        assert {choose(logits, 5.0, 1, draw / 10) for draw in range(10)} == {int(logits.argmax())}

    def test_a_draw_near_1_takes_the_last_kept(self) -> None:
        logits = torch.arange(98.0) / 98
        assert choose(logits, 1.0, 98, 1 - 2.0**-32) == 0
        assert choose(logits, 1.0, 5, 1 - 2.0**-32) == 93

    @pytest.mark.parametrize(
        ("draw", "token_id"), [(0.0, 0), (0.5 - 2.0**-32, 0), (0.5, 1), (1 - 2.0**-32, 1)]
    )
    def test_a_draw_on_the_border_takes_the_next(self, draw: float, token_id: int) -> None:
        assert choose(torch.zeros(98), 1.0, 2, draw) == token_id

    def test_frequencies_follow_the_temperature(self) -> None:
        logits = torch.full((98,), -50.0)
        logits[20], logits[21] = math.log(3), 0.0
        numbers = unit_interval(draws(0, 0, 4000))
        for temperature, expected in ((1.0, 3 / 4), (0.5, 9 / 10)):
            share = np.mean([choose(logits, temperature, 98, float(draw)) == 20 for draw in numbers])
            assert share == pytest.approx(expected, abs=0.02)


class TestNextTokenLogits:
    @pytest.mark.parametrize("text", ["", "1+1=", "1" * 31])
    def test_are_the_models_last_row(self, initial_model: TinyArithmeticGPT, text: str) -> None:
        logits = next_token_logits(initial_model, text)
        ids = torch.tensor([CharacterTokenizer().encode(text)])
        assert logits.shape == (98,)
        assert torch.equal(logits, initial_model(ids)[0, -1])

    @pytest.mark.parametrize("text", ["7–12=", "1" * 32])
    def test_apply_the_rule_of_the_prompt(self, initial_model: TinyArithmeticGPT, text: str) -> None:
        with pytest.raises(PromptError):
            next_token_logits(initial_model, text)


class TestSampledAnswers:
    def test_counts_what_generate_writes(self, initial_model: TinyArithmeticGPT) -> None:
        text = "1" * 28  # short, so that some draws fill the context
        counts = generate.sampled_answers(initial_model, text, 1.5, 60, range(3, 33))
        assert counts == Counter(
            generate.generate(initial_model, text, temperature=1.5, top_k=60, seed=seed)
            for seed in range(3, 33)
        )
        assert sum(counts.values()) == 30 and len(counts) > 10
        assert "context full" in {reason for _, reason in counts}

    def test_scores_each_text_once(self) -> None:
        model = AlwaysSays(EOS_ID)
        calls = []
        model.register_forward_pre_hook(lambda *_: calls.append(1))
        assert generate.sampled_answers(model, "1+1=", 0.05, 98, range(50)) == {("", "EOS"): 50}
        assert len(calls) == 1


class TestGenerate:
    def test_greedy_is_the_same_every_time(self, initial_model: TinyArithmeticGPT) -> None:
        first = generate.generate(initial_model, "12+34=")
        assert (
            first
            == generate.generate(initial_model, "12+34=")
            == generate.generate(initial_model, "12+34=", seed=9)
        )

    def test_greedy_follows_the_highest_score(self, initial_model: TinyArithmeticGPT) -> None:
        written, _ = generate.generate(initial_model, "1+1=")
        for place, character in enumerate(written):
            logits = next_token_logits(initial_model, "1+1=" + written[:place])
            assert int(logits.argmax()) == CharacterTokenizer.token_id(character)

    def test_a_seed_repeats_and_another_differs(self, initial_model: TinyArithmeticGPT) -> None:
        def text(seed: int) -> str:
            return generate.generate(initial_model, "1+1=", temperature=1.0, top_k=50, seed=seed)[0]

        assert text(1) == text(1)
        assert len({text(seed) for seed in range(5)}) == 5

    def test_draw_number_i_chooses_token_i(self, initial_model: TinyArithmeticGPT) -> None:
        written, _ = generate.generate(initial_model, "1+1=", temperature=0.8, top_k=60, seed=7)
        assert written
        for place, draw in enumerate(unit_interval(draws(7, 0, len(written)))):
            logits = next_token_logits(initial_model, "1+1=" + written[:place]).tolist()
            expected = reference_choice(logits, 0.8, 60, float(draw))
            assert CharacterTokenizer.token_id(written[place]) == expected

    @pytest.mark.parametrize("length", [0, 1, 5, 30, 31])
    def test_stops_when_the_context_is_full(self, length: int) -> None:
        model: Any = AlwaysSays(CharacterTokenizer.token_id("7"))
        assert generate.generate(model, "1" * length) == ("7" * (32 - length), "context full")

    @pytest.mark.parametrize(
        ("token_id", "reason"), [(EOS_ID, "EOS"), (PAD_ID, "PAD or BOS"), (BOS_ID, "PAD or BOS")]
    )
    def test_stops_at_a_special_token(self, token_id: int, reason: str) -> None:
        model: Any = AlwaysSays(token_id)
        assert generate.generate(model, "1+1=") == ("", reason)

    @pytest.mark.parametrize("text", ["7–12=", "1" * 32])
    def test_applies_the_rule_of_the_prompt(self, initial_model: TinyArithmeticGPT, text: str) -> None:
        with pytest.raises(PromptError):
            generate.generate(initial_model, text)


class TestGreedyRows:
    @pytest.mark.parametrize("which", ["initial_model", "briefly_trained_model"])
    def test_equal_generate(self, which: str, request: pytest.FixtureRequest) -> None:
        model: TinyArithmeticGPT = request.getfixturevalue(which)
        trained = which == "briefly_trained_model"
        problems = sample(all_problems(9), 20) if trained else sample(all_problems(), 50)
        ends = set()
        for text, row in zip(problems.prompts(), greedy_rows(model, problems).tolist(), strict=True):
            written, reason = generate.generate(model, text)
            ends.add(reason)
            expected = CharacterTokenizer().encode(written)[1:] + [EOS_ID] * (reason == "EOS")
            assert row[: len(expected)] == expected[: len(row)]
            if reason == "EOS":
                assert row[len(expected) :] == [PAD_ID] * (len(row) - len(expected))
        if trained:
            assert "EOS" in ends

    def test_do_not_depend_on_the_batch_size(self, briefly_trained_model: TinyArithmeticGPT) -> None:
        problems = sample(all_problems(), 60)
        expected = greedy_rows(briefly_trained_model, problems)
        assert (greedy_rows(briefly_trained_model, problems, batch_size=7) == expected).all()

    @pytest.mark.parametrize("token_id", [EOS_ID, 20])
    def test_hold_what_is_written(self, token_id: int) -> None:
        model: Any = AlwaysSays(token_id)
        model.token_embedding = nn.Embedding(1, 1)
        rows = greedy_rows(model, all_problems(11))
        expected = [EOS_ID, *[PAD_ID] * 4] if token_id == EOS_ID else [20] * 5
        assert rows.tolist() == [expected] * len(rows)

    def test_probabilities_are_the_products_of_the_chosen_tokens(
        self, briefly_trained_model: TinyArithmeticGPT
    ) -> None:
        problems = sample(all_problems(9), 20)
        rows, probabilities = generate.greedy_answers(briefly_trained_model, problems)
        for text, row, probability in zip(problems.prompts(), rows, probabilities, strict=True):
            expected = 1.0
            for place, token in enumerate(row[row != PAD_ID]):
                written = CharacterTokenizer().decode(row[:place].tolist())
                expected *= float(next_token_logits(briefly_trained_model, text + written).softmax(0)[token])
            assert probability == pytest.approx(expected, rel=1e-4)

    def test_read_nothing_after_the_equals_sign(
        self, initial_model: TinyArithmeticGPT, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        problems = sample(all_problems(), 20)
        expected = greedy_rows(initial_model, problems)
        real = generate.encode_rows

        def without_answers(given: Problems) -> np.ndarray:
            rows = real(given)
            after = (rows == CharacterTokenizer.token_id("=")).cumsum(axis=1) > 0
            after[:, 1:] = after[:, :-1].copy()
            return np.where(after, 97, rows)

        monkeypatch.setattr(generate, "encode_rows", without_answers)
        assert (greedy_rows(initial_model, problems) == expected).all()


class TestExactMatch:
    def test_answer_rows(self) -> None:
        problems = sample(all_problems(), 300)
        for text, row in zip(problems.answer_texts(), answer_rows(problems).tolist(), strict=True):
            expected = [*CharacterTokenizer().encode(text)[1:], EOS_ID]
            assert row == expected + [PAD_ID] * (5 - len(expected))

    def test_decoding_and_prediction_agree(self, briefly_trained_model: TinyArithmeticGPT) -> None:
        problems = all_problems(12)
        decoded = answered_exactly(briefly_trained_model, problems)
        assert 0 < decoded.sum() < len(problems)
        assert (predicted_exactly(briefly_trained_model, problems) == decoded).all()
        assert (predicted_exactly(briefly_trained_model, problems, batch_size=50) == decoded).all()

    def test_right_is_what_generate_writes(self, briefly_trained_model: TinyArithmeticGPT) -> None:
        problems = all_problems(4)
        decoded = answered_exactly(briefly_trained_model, problems)
        for text, expected, right in zip(problems.prompts(), problems.answer_texts(), decoded, strict=True):
            assert (generate.generate(briefly_trained_model, text) == (expected, "EOS")) == right

    def test_chunks_are_put_together_in_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        problems = all_problems(99)

        def every_third_is_wrong(_: object, part: Problems) -> tuple[np.ndarray, np.ndarray]:
            return answer_rows(part) * (part.a % 3 > 0)[:, None], part.b / 1000

        monkeypatch.setattr(evaluate, "greedy_answers", every_third_is_wrong)
        model: Any = None
        assert (answered_exactly(model, problems) == (problems.a % 3 > 0)).all()
        assert (evaluate.graded(model, problems)[1] == problems.b / 1000).all()

    def test_an_answer_without_its_end_is_wrong(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def endless(_: object, part: Problems) -> tuple[np.ndarray, np.ndarray]:
            rows = answer_rows(part)
            return np.where(rows == EOS_ID, 19, rows), np.ones(len(part))

        monkeypatch.setattr(evaluate, "greedy_answers", endless)
        model: Any = None
        assert not answered_exactly(model, all_problems(30)).any()


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The table of the held-out problems, as if those whose first operand ends in 0 were wrong."""
    problems = problems_in(HELD_OUT)
    return evaluate.table(problems, problems.a % 10 != 0)


class TestTable:
    def test_totals(self, rows: list[dict[str, Any]]) -> None:
        problems = problems_in(HELD_OUT)
        for number, operation in enumerate("+-"):
            members = problems[problems.is_minus == bool(number)]
            total = {"problems": len(members), "right": int((members.a % 10 != 0).sum())}
            of_operation = [row for row in rows if row["operation"] == operation]
            whole, *parts = of_operation
            assert (whole["digits"], whole["carries"]) == (None, None)
            for key, value in total.items():
                assert whole[key] == value
                assert sum(row[key] for row in parts if row["carries"] is None) == value
                assert sum(row[key] for row in parts if row["carries"] is not None) == value

    def test_cells(self, rows: list[dict[str, Any]]) -> None:
        cells = {(row["operation"], row["digits"], row["carries"]) for row in rows}
        assert len(cells) == len(rows)
        assert {("+", 3, 3), ("-", 3, 2), ("+", 1, None), ("-", 2, 0)} <= cells
        problems = problems_in(HELD_OUT)
        members = ~problems.is_minus & (problems.longer_operand_digits == 2) & (problems.carries == 1)
        cell = next(r for r in rows if (r["operation"], r["digits"], r["carries"]) == ("+", 2, 1))
        assert cell["problems"] == members.sum()
        assert cell["right"] == (members & (problems.a % 10 != 0)).sum()

    def test_no_cell_is_empty(self, rows: list[dict[str, Any]]) -> None:
        assert all(0 <= row["right"] <= row["problems"] and row["problems"] > 0 for row in rows)


class TestEvaluateCommand:
    def test_prints_and_writes_the_same_table(
        self,
        briefly_trained_model: TinyArithmeticGPT,
        command: Callable[..., Any],
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        few = sample(problems_in(HELD_OUT), 300)
        monkeypatch.setattr(evaluate, "problems_in", lambda split: few if split == HELD_OUT else None)
        monkeypatch.setattr(evaluate, "SMALL_OPERAND", 9)
        checkpoint = tmp_path / "brief.safetensors"
        save_model(checkpoint, briefly_trained_model)
        outcome = command(evaluate.main, "--checkpoint", checkpoint, "--json", tmp_path / "result.json")
        assert outcome.code == 0
        result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
        assert outcome.out.rstrip("\n") == evaluate.printed(result)
        small = all_problems(9)
        right = answered_exactly(briefly_trained_model, small)
        assert result["split"] == HELD_OUT
        assert result["table"] == evaluate.table(few, answered_exactly(briefly_trained_model, few))
        assert result["operands_0_to_99"]["problems"] == 200
        assert result["operands_0_to_99"]["right"] == right.sum()
        wrong = [text for text, ok in zip(small.prompts(), right, strict=True) if not ok]
        assert result["operands_0_to_99"]["first_wrong"] == wrong[:20]
        for row, is_minus in zip(result["maps"], (False, True), strict=True):
            cell = small.is_minus == is_minus
            assert row["problems"] == cell.sum() == row["right"] + row["wrong"]
            assert row["right"] == right[cell].sum()
            seen = [split_of(a, b) == TRAIN for a, b in zip(small.a[cell], small.b[cell], strict=True)]
            assert row["in_training"] == sum(seen)
            assert row["wrong_in_training"] == (np.array(seen) & ~right[cell]).sum()

    def test_printed_shares(self) -> None:
        row = {"operation": "+", "digits": 3, "carries": 2, "problems": 2000, "right": 1999}
        whole = {"operation": "-", "digits": None, "carries": None, "problems": 10, "right": 10}
        small = {"problems": 20000, "right": 19999, "first_wrong": ["7-12="]}
        text = evaluate.printed(
            {"split": HELD_OUT, "table": [row, whole], "operands_0_to_99": small, "maps": []}
        )
        lines = [line.split() for line in text.splitlines()]
        assert ["+", "3", "digits", "2", "2,000", "1,999", "99.95", "%"] in lines
        assert ["-", "all", "all", "10", "10", "100.00", "%"] in lines
        assert "19,999 of 20,000 right" in text
        assert "wrong: 7-12=" in text
