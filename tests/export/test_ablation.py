"""The fixed list of chapter 9, what is right of it with parts off, and the chapter's numbers."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from export import ablation
from export.ablation import ablation_list, in_words, interval, measure, percent, switch_values
from export.build import GENERATED
from export.facts.inside import MEAN_STEP, PAIRS, head_means, right_with_mean
from export.forms import switches
from hooked_model import inside, switched_off
from tiny_gpt.config import ModelConfig
from tiny_gpt.data import HELD_OUT, TUNING, problems_in, split_of
from tiny_gpt.evaluate import answered_exactly
from tiny_gpt.generate import generate
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.random32 import draws
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

Command = Callable[..., Any]
NAMES = [switch.name for switch in switches(ModelConfig())]
WORDS = {switch.name: in_words(switch, ModelConfig()) for switch in switches(ModelConfig())}


@pytest.fixture(scope="module")
def trained(models: dict[str, TinyArithmeticGPT]) -> TinyArithmeticGPT:
    return models[max(models)]


@pytest.fixture(scope="module")
def facts(manifest: dict[str, Any]) -> dict[str, str]:
    values: dict[str, str] = json.loads((GENERATED / "facts.json").read_text(encoding="utf-8"))
    return values


def rows_of(table: str) -> list[list[str]]:
    """The cells of a Markdown table's body."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


class TestList:
    def test_it_is_held_out_and_half_sums(self) -> None:
        problems = ablation_list()
        assert len(set(problems.prompts())) == 200
        assert problems.is_minus.tolist() == [False] * 100 + [True] * 100
        pairs = zip(problems.a.tolist(), problems.b.tolist(), strict=True)
        assert {split_of(a, b) for a, b in pairs} == {HELD_OUT}

    @pytest.mark.parametrize("is_minus", [False, True])
    def test_it_has_the_smallest_draws(self, is_minus: bool) -> None:
        held_out = problems_in(HELD_OUT)
        texts = held_out[held_out.is_minus == is_minus].prompts()
        keys = draws(0, 0, len(texts)).tolist()
        limit = sorted(keys)[100]
        expected = [text for text, key in zip(texts, keys, strict=True) if key < limit]
        start = 100 if is_minus else 0
        assert ablation_list().prompts()[start : start + 100] == expected

    def test_the_page_gets_the_same(self, manifest: dict[str, Any]) -> None:
        text = (GENERATED / "ablation.mjs").read_text(encoding="utf-8")
        shipped = json.loads(text.partition(" = ")[2].rstrip().rstrip(";"))
        assert [f"{problem}=" for problem in shipped["problems"]] == ablation_list().prompts()
        assert shipped["normal_95"] == 1.96


@pytest.mark.parametrize("off", [(), *((name,) for name in NAMES), *PAIRS], ids="+".join)
def test_verdicts_are_those_of_the_hooked_network(off: tuple[str, ...], trained: TinyArithmeticGPT) -> None:
    found = measure(trained, off)
    with switched_off(trained, off):
        expected = answered_exactly(trained, ablation_list())
    assert np.array_equal(found.right, expected)
    assert found.sums == expected[:100].sum()
    assert found.differences == expected[100:].sum()
    assert found.total == found.sums + found.differences


def test_verdicts_are_those_of_writing_one_by_one(trained: TinyArithmeticGPT) -> None:
    problems = ablation_list()[::20]
    verdicts = measure(trained, ("block_1_head_2",)).right[::20]
    assert 0 < verdicts.sum() < len(verdicts)
    with switched_off(trained, ("block_1_head_2",)):
        for text, answer, verdict in zip(problems.prompts(), problems.answer_texts(), verdicts, strict=True):
            assert (generate(trained, text) == (answer, "EOS")) == verdict, text


def test_an_unknown_switch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^there is no switch block_3_head_1; the switches are positions,"):
        switch_values(ModelConfig(), ["block_3_head_1"])


@pytest.mark.parametrize(
    ("right", "count"), [(0, 200), (1, 200), (100, 200), (168, 200), (200, 200), (3, 10)]
)
def test_the_interval_solves_wilsons_equation(right: int, count: int) -> None:
    """Its ends are the shares p that lie 1.96 of their own standard deviations from what was measured."""
    share = right / count
    ends = interval(right, count)
    assert -1e-12 <= ends[0] <= share <= ends[1] <= 1 + 1e-12
    for p in ends:
        assert abs(share - p) == pytest.approx(1.96 * math.sqrt(max(0, p * (1 - p)) / count), abs=1e-9)


def test_a_share_below_all_is_never_shown_as_all() -> None:
    assert percent(2999, 3000) == "99.9"
    assert percent(200, 200) == "100.0"
    assert percent(0, 200) == "0.0"


class TestFacts:
    def test_the_table_is_what_the_hooked_network_answers(
        self, facts: dict[str, str], trained: TinyArithmeticGPT
    ) -> None:
        rows = rows_of(facts["inside.table"])
        assert [row[0] for row in rows] == ["nothing", *WORDS.values()]
        for row, off in zip(rows, [(), *((name,) for name in NAMES)], strict=True):
            with switched_off(trained, off):
                right = answered_exactly(trained, ablation_list())
            sums, total = int(right[:100].sum()), int(right.sum())
            assert row[1:4] == [str(sums), str(total - sums), str(total)]
            assert row[4] == f"{total / 2:.1f} %"
            for name in off:
                assert facts[f"inside.right.{name}"] == str(total)
                assert facts[f"inside.percent.{name}"] == f"{total / 2:.1f}"
                assert facts[f"inside.interval.{name}"] == row[5]

    def test_what_the_prose_says_of_heads_is_in_the_table(self, facts: dict[str, str]) -> None:
        rows = {row[0]: int(row[3]) for row in rows_of(facts["inside.table"]) if row[0].startswith("head")}
        assert len(rows) == 8
        assert rows[facts["inside.best_head"]] == max(rows.values())
        assert facts["inside.best_head_percent"] == f"{max(rows.values()) / 2:.1f}"
        dead = [name for name, right in rows.items() if right == 0]
        assert facts["inside.dead_heads"] == " and ".join(dead)
        assert max(rows.values()) < 0.99 * 200, "the exercise says that no head leaves 99 %"

    def test_pairs(self, facts: dict[str, str], trained: TinyArithmeticGPT) -> None:
        for row, pair in zip(rows_of(facts["inside.pairs_table"]), PAIRS, strict=True):
            counts = []
            for off in ((pair[0],), (pair[1],), pair):
                with switched_off(trained, off):
                    counts.append(int(answered_exactly(trained, ablation_list()).sum()))
            first, second, both = counts
            assert row[0] == "; ".join(WORDS[name] for name in pair)
            assert row[1:] == [str(first), str(second), f"{first * second / 200:.0f}", str(both)]

    def test_a_mean_of_zero_is_the_switch(self, trained: TinyArithmeticGPT) -> None:
        for block, head in ((0, 1), (1, 2)):
            zero = torch.zeros(32, dtype=torch.float64)
            switch = f"block_{block + 1}_head_{head + 1}"
            assert right_with_mean(trained, block, head, zero) == measure(trained, (switch,)).total

    def test_means_are_the_heads_own(self, facts: dict[str, str], trained: TinyArithmeticGPT) -> None:
        """Each line alone, weights times values, added up over its own positions."""
        tuning = problems_in(TUNING)[::MEAN_STEP]
        assert facts["inside.mean_problems"] == f"{len(tuning):,}"
        total, count = torch.zeros(4, 32, dtype=torch.float64), 0
        for prompt, answer in zip(tuning.prompts(), tuning.answer_texts(), strict=True):
            ids = torch.tensor([[*CharacterTokenizer().encode(prompt + answer), EOS_ID]])
            with torch.inference_mode():
                block = trained.blocks[0]
                _, _, value = block.attention.queries_keys_values(block.attention_norm(trained.embed(ids)))
                weights = inside(trained, ids)["block_1_attention_weights"]
                total += torch.einsum("bhqk,bhkd->hd", weights, value)
            count += ids.shape[1]
        assert torch.allclose(head_means(trained)[0], total / count, atol=1e-9)

    def test_attention_table(self, facts: dict[str, str], trained: TinyArithmeticGPT) -> None:
        ids = torch.tensor([CharacterTokenizer().encode("12+34=46")])
        found = inside(trained, ids)
        rows = rows_of(facts["inside.attention_table"])
        turning = [row for row in rows if row[2].split(",")[0] != row[3].split(",")[0]]
        assert facts["inside.turning_heads"] == str(len(turning))
        for row in rows:
            weights = found[f"block_{row[0]}_attention_weights"][0, int(row[1]) - 1]
            for cell, position in ((row[2], 6), (row[3], 7)):
                share, source = weights[position].max(dim=-1)
                assert cell.startswith(f"position {int(source)}, ")
                assert cell.endswith(f": {100 * float(share):.0f} %")

    def test_the_lens_table_counts_top_tokens(
        self, facts: dict[str, str], trained: TinyArithmeticGPT
    ) -> None:
        """Counted line by line, each line alone."""
        counts = {name: [0, 0, 0] for name in ("lens_0_logits", "lens_1_logits", "logits")}
        problems = ablation_list()
        for prompt, answer in zip(problems.prompts(), problems.answer_texts(), strict=True):
            wanted = [*CharacterTokenizer().encode(answer)[1:], EOS_ID]
            found = inside(trained, torch.tensor([CharacterTokenizer().encode(prompt + answer)]))
            for name, (first, all_tokens, ends) in counts.items():
                tops = found[name][0, len(prompt) :].argmax(dim=-1).tolist()
                hits = [top == token for top, token in zip(tops, wanted, strict=True)]
                counts[name] = [first + hits[0], all_tokens + sum(hits), ends + hits[-1]]
        rows = [[int(cell.split()[0]) for cell in row[1:]] for row in rows_of(facts["inside.lens_table"])]
        assert rows == list(counts.values())


class TestCommand:
    def test_one_set_of_switches(self, command: Command, trained: TinyArithmeticGPT) -> None:
        outcome = command(ablation.main, "--off", "scale", "block_2_head_3")
        assert (outcome.code, outcome.err) == (0, "")
        lines = outcome.out.splitlines()
        assert len(lines) == 3
        with switched_off(trained, ("scale", "block_2_head_3")):
            right = answered_exactly(trained, ablation_list())
        assert lines[2].startswith("scale + block_2_head_3 ")
        counts = [int(right[:100].sum()), int(right[100:].sum()), int(right.sum())]
        assert [int(cell) for cell in lines[2].split()[3:6]] == counts

    def test_each_switch_alone(self, command: Command, facts: dict[str, str]) -> None:
        lines = command(ablation.main).out.splitlines()
        assert [line.split()[0] for line in lines[1:]] == ["nothing", *NAMES]
        rows = rows_of(facts["inside.table"])
        assert [line.split()[1:4] for line in lines[1:]] == [row[1:4] for row in rows]

    def test_an_unknown_switch_is_one_line(self, command: Command) -> None:
        outcome = command(ablation.main, "--off", "head_9")
        assert outcome.code == 2
        assert len(outcome.err.splitlines()) == 1
        assert "head_9" in outcome.err
