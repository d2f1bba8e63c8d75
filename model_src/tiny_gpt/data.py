"""Problems, the split that decides which may be trained on, and batches of token IDs.

A problem is `a+b=` or `a-b=` with whole numbers 0 to 999, plain digits, most
significant first, no padding; the answer follows, then EOS:

    BOS 7 - 1 2 = - 5 EOS

One training row is that line shifted by one: the targets are the inputs' next
tokens. Every target counts in the loss except PAD.
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from tiny_gpt.prompt import LARGEST_OPERAND
from tiny_gpt.random32 import draws, mix32
from tiny_gpt.tokenizer import BOS_ID, EOS_ID, PAD_ID, CharacterTokenizer

OPERATIONS = ("+", "-")
TRAIN, TUNING, HELD_OUT = "train", "tuning", "held-out"

# --8<-- [start:split]
SPLIT_SALT = 0x413440
SPLIT_PARTS = 1000
HELD_OUT_PARTS = 50  # 5 % of pairs: for measuring, never trained on
TUNING_PARTS = 20  # 2 % of pairs: for choosing settings


def split_parts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The part, 0 to 999, of each unordered pair of operands.

    a+b, b+a, a-b and b-a share a part, so knowing one can not give away another.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    return mix32(SPLIT_SALT + low * (LARGEST_OPERAND + 1) + high) % SPLIT_PARTS


def in_training(parts: np.ndarray) -> np.ndarray:
    """Which parts may be trained on: bool [N]."""
    return parts >= HELD_OUT_PARTS + TUNING_PARTS


def split_of(a: int, b: int) -> str:
    """`train`, `tuning` or `held-out`, for operands 0 to 999."""
    part = int(split_parts(np.array([a]), np.array([b]))[0])
    if part < HELD_OUT_PARTS:
        return HELD_OUT
    return TUNING if part < HELD_OUT_PARTS + TUNING_PARTS else TRAIN


# --8<-- [end:split]


# --8<-- [start:problem]
def prompt(a: int, operation: str, b: int) -> str:
    """The text the model is asked to continue: `7-12=`."""
    return f"{a}{operation}{b}="


def answer(a: int, operation: str, b: int) -> str:
    """The text that is right after the prompt: `-5`."""
    return str(a + b if operation == "+" else a - b)


# --8<-- [end:problem]


@dataclass(frozen=True)
class Problems:
    """Many problems side by side: operands `a`, `b` as int64 [N], `is_minus` as bool [N]."""

    a: np.ndarray
    b: np.ndarray
    is_minus: np.ndarray

    def __len__(self) -> int:
        return len(self.a)

    def __getitem__(self, which: slice | np.ndarray) -> "Problems":
        return Problems(self.a[which], self.b[which], self.is_minus[which])

    @property
    def answers(self) -> np.ndarray:
        return np.where(self.is_minus, self.a - self.b, self.a + self.b)

    @property
    def longer_operand_digits(self) -> np.ndarray:
        """Digits of the longer operand: 1, 2 or 3."""
        longer = np.maximum(self.a, self.b)
        return 1 + (longer > 9).astype(int) + (longer > 99).astype(int)

    @property
    def carries(self) -> np.ndarray:
        """How many columns carry (for +) or borrow (for -, from the larger operand)."""
        count = np.zeros(len(self), dtype=int)
        pending = np.zeros(len(self), dtype=int)
        top, bottom = np.maximum(self.a, self.b), np.minimum(self.a, self.b)
        for _ in range(len(str(LARGEST_OPERAND))):
            carry = top % 10 + bottom % 10 + pending > 9
            borrow = top % 10 < bottom % 10 + pending
            pending = np.where(self.is_minus, borrow, carry).astype(int)
            count += pending
            top, bottom = top // 10, bottom // 10
        return count

    def prompts(self) -> list[str]:
        return [
            prompt(int(a), OPERATIONS[int(minus)], int(b))
            for a, b, minus in zip(self.a, self.b, self.is_minus, strict=True)
        ]

    def answer_texts(self) -> list[str]:
        return [str(value) for value in self.answers]


def all_problems(largest: int = LARGEST_OPERAND) -> Problems:
    """Every a+b and a-b with operands 0 to `largest`, sums first, in order of a, then b."""
    a, b = (grid.ravel() for grid in np.divmod(np.arange((largest + 1) ** 2), largest + 1))
    is_minus = np.repeat([False, True], len(a))
    return Problems(np.tile(a, 2), np.tile(b, 2), is_minus)


def problems_in(split: str, largest: int = LARGEST_OPERAND) -> Problems:
    """Every problem of a split with operands 0 to `largest`."""
    problems = all_problems(largest)
    parts = split_parts(problems.a, problems.b)
    inside = {
        HELD_OUT: parts < HELD_OUT_PARTS,
        TUNING: (parts >= HELD_OUT_PARTS) & (parts < HELD_OUT_PARTS + TUNING_PARTS),
        TRAIN: in_training(parts),
    }[split]
    return problems[inside]


# --8<-- [start:rows]
ROW_LENGTH = 2 + len("999+999=1998")  # BOS, the longest problem with its answer, EOS


def encode_rows(problems: Problems) -> np.ndarray:
    """BOS, problem, answer, EOS, then PAD: int64 [N, 14].

    The same tokens as `CharacterTokenizer.encode(prompt + answer)` and EOS, made
    for a whole batch at once.
    """
    token_id = CharacterTokenizer.token_id
    rows = np.full((len(problems), ROW_LENGTH), PAD_ID, dtype=np.int64)
    rows[:, 0] = BOS_ID
    end = np.ones(len(problems), dtype=np.int64)

    def write(ids: np.ndarray, where: np.ndarray) -> None:
        rows[np.flatnonzero(where), end[where]] = ids[where] if ids.ndim else ids
        end[where] += 1

    def write_number(values: np.ndarray) -> None:
        for power in (1000, 100, 10, 1):
            digit_ids = token_id("0") + values // power % 10
            write(digit_ids, (values >= power) | (power == 1))

    everywhere = np.ones(len(problems), dtype=bool)
    write_number(problems.a)
    write(np.where(problems.is_minus, token_id("-"), token_id("+")), everywhere)
    write_number(problems.b)
    write(np.array(token_id("=")), everywhere)
    write(np.array(token_id("-")), problems.answers < 0)
    write_number(np.abs(problems.answers))
    write(np.array(EOS_ID), everywhere)
    return rows


def inputs_and_targets(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Shift by one: the target of each position is the token after it. [N, 14] to two [N, 13]."""
    return rows[:, :-1], rows[:, 1:]


# --8<-- [end:rows]


# --8<-- [start:stream]
DRAWS_PER_CANDIDATE = 5


@dataclass(frozen=True)
class Mix:
    """How training problems are drawn; shares are whole per cents.

    `minus`: share of subtractions. `near`: both operands close to each other, so
    the sign and the leading digits of a difference need care. `nines`: operands
    whose digits nearly add up to 9, so one carry can run through all columns. What
    is left is plain: each operand draws its largest value from `ranges`, then
    itself, so every length appears.
    """

    minus: int = 70
    near: int = 15
    nines: int = 5
    ranges: tuple[int, ...] = (10, 100, 1000, 1000)
    near_distance: int = 40


def candidates(seed: int, start: int, count: int, mix: Mix) -> Problems:
    """Candidates `start` to `start + count - 1` of a seed, of any split."""
    first, scale_a, scale_b, value_a, value_b = (
        draws(seed, start * DRAWS_PER_CANDIDATE, count * DRAWS_PER_CANDIDATE)
        .reshape(count, DRAWS_PER_CANDIDATE)
        .T.astype(np.int64)
    )
    is_minus = first % 100 < mix.minus
    kind = first // 100 % 100
    ranges = np.array(mix.ranges)
    range_a, range_b = ranges[scale_a % len(ranges)], ranges[scale_b % len(ranges)]
    a, b = value_a % range_a, value_b % range_b

    distance = value_b % (2 * mix.near_distance + 1) - mix.near_distance
    nearby = np.clip(a + distance, 0, LARGEST_OPERAND)
    complement = np.clip(range_a - 1 - a + value_b % 3 - 1, 0, range_a - 1)
    is_near = kind < mix.near
    is_nines = ~is_near & (kind < mix.near + mix.nines)
    b = np.where(is_near, nearby, np.where(is_nines, complement, b))
    return Problems(a, b, is_minus)


class ProblemStream:
    """Training problems in a fixed order: the candidates that the split allows.

    Its whole state is `next_candidate`, so a stopped run goes on with one int.
    """

    def __init__(self, seed: int, mix: Mix, next_candidate: int = 0) -> None:
        self.seed = seed
        self.mix = mix
        self.next_candidate = next_candidate

    def take(self, count: int) -> Problems:
        """The next `count` training problems."""
        taken: list[Problems] = []
        missing = count
        while missing:
            chunk = candidates(self.seed, self.next_candidate, missing + missing // 8 + 8, self.mix)
            parts = split_parts(chunk.a, chunk.b)
            allowed = np.flatnonzero(in_training(parts))[:missing]
            enough = len(allowed) == missing
            self.next_candidate += int(allowed[-1]) + 1 if enough else len(chunk)
            taken.append(chunk[allowed])
            missing -= len(allowed)
        return join(taken)


# --8<-- [end:stream]


def join(parts: list[Problems]) -> Problems:
    """Problems of all parts, in order."""
    return Problems(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("a", "b", "is_minus")))
