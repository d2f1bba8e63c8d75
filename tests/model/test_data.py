"""Problems: no leak between splits, rows equal to the tokenizer's, a stream that can be resumed."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny_gpt.data import (
    HELD_OUT,
    ROW_LENGTH,
    TRAIN,
    TUNING,
    Mix,
    Problems,
    ProblemStream,
    all_problems,
    answer,
    candidates,
    encode_rows,
    inputs_and_targets,
    join,
    problems_in,
    prompt,
    split_of,
)
from tiny_gpt.prompt import LARGEST_OPERAND
from tiny_gpt.tokenizer import EOS_ID, PAD_ID, CharacterTokenizer

SPLITS = (TRAIN, TUNING, HELD_OUT)
operands = st.integers(0, LARGEST_OPERAND)
seeds = st.integers(0, 2**32 - 1)
mixes = st.sampled_from(
    [Mix(), Mix(near=100, nines=0), Mix(near=0, nines=100), Mix(minus=0), Mix(minus=100, ranges=(10,))]
)


def problem_list(*lines: tuple[int, str, int]) -> Problems:
    a, operations, b = zip(*lines, strict=True)
    return Problems(np.array(a), np.array(b), np.array(operations) == "-")


def as_tuples(problems: Problems) -> list[tuple[int, int, bool]]:
    return list(zip(problems.a.tolist(), problems.b.tolist(), problems.is_minus.tolist(), strict=True))


@pytest.fixture(scope="module")
def splits() -> dict[str, Problems]:
    return {split: problems_in(split) for split in SPLITS}


@pytest.fixture(scope="module")
def split_grid(splits: dict[str, Problems]) -> np.ndarray:
    """The split of each a+b and a-b, by number in SPLITS; built from the lists of problems alone."""
    grid = np.full((2, LARGEST_OPERAND + 1, LARGEST_OPERAND + 1), -1)
    for number, split in enumerate(SPLITS):
        members = splits[split]
        grid[members.is_minus.astype(int), members.a, members.b] = number
    return grid


class TestProblems:
    @given(operands, operands)
    def test_prompt_and_answer(self, a: int, b: int) -> None:
        assert prompt(a, "+", b) + answer(a, "+", b) == f"{a}+{b}={a + b}"
        assert prompt(a, "-", b) + answer(a, "-", b) == f"{a}-{b}={a - b}"

    def test_texts(self) -> None:
        problems = problem_list((7, "-", 12), (0, "+", 0), (999, "+", 999))
        assert problems.prompts() == ["7-12=", "0+0=", "999+999="]
        assert problems.answer_texts() == ["-5", "0", "1998"]
        assert problems.answers.tolist() == [-5, 0, 1998]
        assert len(problems) == 3
        assert problems[1:].prompts() == ["0+0=", "999+999="]

    def test_join(self) -> None:
        first, second = problem_list((1, "+", 2)), problem_list((3, "-", 4), (5, "+", 6))
        assert join([first, second]).prompts() == ["1+2=", "3-4=", "5+6="]

    @pytest.mark.parametrize(
        ("a", "b", "digits"),
        [(0, 0, 1), (9, 9, 1), (10, 3, 2), (3, 10, 2), (99, 99, 2), (100, 0, 3), (7, 999, 3)],
    )
    def test_digits_of_the_longer_operand(self, a: int, b: int, digits: int) -> None:
        assert problem_list((a, "+", b)).longer_operand_digits.tolist() == [digits]

    @staticmethod
    def carries_by_hand(a: int, operation: str, b: int) -> int:
        """Add or subtract on paper, column by column from the right, and count what is carried."""
        top, bottom = (f"{value:03}" for value in (max(a, b), min(a, b)))
        count = pending = 0
        for x, y in zip(reversed(top), reversed(bottom), strict=True):
            column = int(x) + int(y) + pending if operation == "+" else int(x) - int(y) - pending
            pending = int(column > 9 or column < 0)
            count += pending
        return count

    @pytest.mark.parametrize(
        ("a", "operation", "b", "count"),
        [
            (999, "+", 1, 3),
            (5, "+", 5, 1),
            (4, "+", 5, 0),
            (100, "-", 1, 2),
            (1, "-", 100, 2),
            (55, "-", 5, 0),
        ],
    )
    def test_known_carries(self, a: int, operation: str, b: int, count: int) -> None:
        assert self.carries_by_hand(a, operation, b) == count
        assert problem_list((a, operation, b)).carries.tolist() == [count]

    @given(st.lists(st.tuples(operands, st.sampled_from("+-"), operands), min_size=1, max_size=50))
    def test_carries_equal_those_on_paper(self, lines: list[tuple[int, str, int]]) -> None:
        expected = [self.carries_by_hand(*line) for line in lines]
        assert problem_list(*lines).carries.tolist() == expected

    def test_all_problems_in_order(self) -> None:
        expected = [f"{a}{sign}{b}=" for sign in "+-" for a in range(4) for b in range(4)]
        assert all_problems(3).prompts() == expected
        assert len(all_problems()) == 2 * 1000 * 1000


FROZEN_SIZES = {TRAIN: 1_860_398, TUNING: 40_234, HELD_OUT: 99_368}
FROZEN_FIRST = ["1+18=", "6+12=", "6+14=", "6+19="]


class TestSplits:
    def test_disjoint_and_complete(self, splits: dict[str, Problems], split_grid: np.ndarray) -> None:
        assert (split_grid >= 0).all()
        assert sum(len(members) for members in splits.values()) == split_grid.size

    def test_sizes(self, splits: dict[str, Problems]) -> None:
        assert len(splits[HELD_OUT]) / 2e6 == pytest.approx(0.05, abs=0.002)
        assert len(splits[TUNING]) / 2e6 == pytest.approx(0.02, abs=0.001)

    def test_frozen(self, splits: dict[str, Problems]) -> None:
        # A change of the hash would move held-out problems into training.
        assert {split: len(members) for split, members in splits.items()} == FROZEN_SIZES
        assert problems_in(HELD_OUT, largest=20).prompts()[:4] == FROZEN_FIRST

    def test_all_four_problems_of_a_pair_are_on_one_side(self, split_grid: np.ndarray) -> None:
        plus, minus = split_grid
        assert (plus == plus.T).all()
        assert (plus == minus).all()

    @given(operands, operands)
    def test_split_of_agrees(self, split_grid: np.ndarray, a: int, b: int) -> None:
        assert split_of(a, b) == split_of(b, a) == SPLITS[split_grid[0, a, b]]

    def test_split_of_one_pair_warns_of_nothing(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert split_of(3, 5) in SPLITS

    def test_each_length_of_operand_is_in_each_split(self, splits: dict[str, Problems]) -> None:
        for members in splits.values():
            assert set(members.longer_operand_digits.tolist()) == {1, 2, 3}

    def test_a_smaller_largest_operand_keeps_the_sides(self, split_grid: np.ndarray) -> None:
        for number, split in enumerate(SPLITS):
            few = problems_in(split, largest=30)
            assert few.a.max() <= 30
            assert (split_grid[few.is_minus.astype(int), few.a, few.b] == number).all()


class TestStream:
    @given(seeds, mixes, st.integers(0, 2**20))
    def test_never_yields_a_kept_out_problem(
        self, split_grid: np.ndarray, seed: int, mix: Mix, start: int
    ) -> None:
        problems = ProblemStream(seed, mix, start).take(1000)
        assert len(problems) == 1000
        assert (
            split_grid[problems.is_minus.astype(int), problems.a, problems.b] == SPLITS.index(TRAIN)
        ).all()

    @pytest.mark.parametrize(
        "mix", [Mix(), Mix(near=100), Mix(near=0, nines=100)], ids=["usual", "near", "nines"]
    )
    def test_operands_stay_in_range(self, mix: Mix) -> None:
        problems = candidates(42, 0, 200_000, mix)
        for values in (problems.a, problems.b):
            assert values.min() >= 0
            assert values.max() <= LARGEST_OPERAND

    def test_every_pair_of_operand_lengths_and_operations(self) -> None:
        problems = ProblemStream(42, Mix()).take(5000)
        lengths = [(len(str(a)), len(str(b)), is_minus) for a, b, is_minus in as_tuples(problems)]
        for a_digits in (1, 2, 3):
            for b_digits in (1, 2, 3):
                for is_minus in (False, True):
                    assert lengths.count((a_digits, b_digits, is_minus)) >= 50

    def test_carry_heavy_problems_appear(self) -> None:
        problems = ProblemStream(42, Mix()).take(5000)
        for is_minus in (False, True):
            assert set(problems[problems.is_minus == is_minus].carries.tolist()) >= {0, 1, 2}
        assert (problems.carries == 3).sum() >= 40

    def test_shares_follow_the_mix(self) -> None:
        problems = ProblemStream(1, Mix(minus=30)).take(20_000)
        assert problems.is_minus.mean() == pytest.approx(0.3, abs=0.02)
        near = candidates(1, 0, 5000, Mix(near=100, near_distance=7))
        assert np.abs(near.a - near.b).max() == 7

    @given(seeds, mixes, st.lists(st.integers(1, 300), min_size=1, max_size=5))
    def test_parts_equal_the_whole(self, seed: int, mix: Mix, counts: list[int]) -> None:
        stream, whole = ProblemStream(seed, mix), ProblemStream(seed, mix)
        parts = join([stream.take(count) for count in counts])
        assert as_tuples(parts) == as_tuples(whole.take(sum(counts)))
        assert stream.next_candidate == whole.next_candidate

    def test_three_and_five_are_eight(self) -> None:
        stream = ProblemStream(42, Mix())
        parts = as_tuples(stream.take(3)) + as_tuples(stream.take(5))
        assert parts == as_tuples(ProblemStream(42, Mix()).take(8))

    @given(seeds, st.integers(1, 500), st.integers(1, 500))
    def test_resumed_equals_unbroken(self, seed: int, before: int, after: int) -> None:
        unbroken = ProblemStream(seed, Mix())
        unbroken.take(before)
        resumed = ProblemStream(seed, Mix(), unbroken.next_candidate)
        assert as_tuples(resumed.take(after)) == as_tuples(unbroken.take(after))

    def test_seeds_differ(self) -> None:
        assert as_tuples(ProblemStream(1, Mix()).take(20)) != as_tuples(ProblemStream(2, Mix()).take(20))


EDGES = [
    (a, operation, b)
    for a in (0, 1, 9, 10, 99, 100, 999)
    for operation in "+-"
    for b in (0, 1, 9, 10, 99, 100, 999)
]


class TestRows:
    @staticmethod
    def row_by_tokenizer(a: int, operation: str, b: int) -> list[int]:
        text = prompt(a, operation, b) + answer(a, operation, b)
        ids = [*CharacterTokenizer().encode(text), EOS_ID]
        return ids + [PAD_ID] * (ROW_LENGTH - len(ids))

    def test_edges(self) -> None:
        assert encode_rows(problem_list(*EDGES)).tolist() == [self.row_by_tokenizer(*line) for line in EDGES]

    @given(st.lists(st.tuples(operands, st.sampled_from("+-"), operands), min_size=1, max_size=50))
    def test_random(self, lines: list[tuple[int, str, int]]) -> None:
        assert encode_rows(problem_list(*lines)).tolist() == [self.row_by_tokenizer(*line) for line in lines]

    def test_shape_and_type(self) -> None:
        rows = encode_rows(all_problems(30))
        assert rows.shape == (2 * 31 * 31, ROW_LENGTH)
        assert rows.dtype == np.int64

    def test_the_longest_fits_without_pad(self) -> None:
        assert encode_rows(problem_list((999, "+", 999)))[0, -1] == EOS_ID

    def test_targets_are_the_next_tokens(self) -> None:
        rows = encode_rows(problem_list((7, "-", 12), (999, "+", 999)))
        inputs, targets = inputs_and_targets(rows)
        assert inputs.shape == targets.shape == (2, ROW_LENGTH - 1)
        assert (inputs[:, 1:] == targets[:, :-1]).all()
        assert (inputs[:, 0] == rows[:, 0]).all()
        assert (targets[:, -1] == rows[:, -1]).all()
