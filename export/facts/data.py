"""Facts about problems, their split and their rows: what is drawn, what a careless split would leak."""

import numpy as np

from tiny_gpt.data import (
    HELD_OUT_PARTS,
    ROW_LENGTH,
    SPLIT_PARTS,
    SPLIT_SALT,
    TUNING_PARTS,
    Mix,
    Problems,
    ProblemStream,
    all_problems,
    encode_rows,
    split_parts,
)
from tiny_gpt.prompt import LARGEST_OPERAND
from tiny_gpt.random32 import mix32
from tiny_gpt.recipe import Recipe
from tiny_gpt.tokenizer import PAD_ID

OPERANDS = LARGEST_OPERAND + 1
FIRST_TRAIN_PART = HELD_OUT_PARTS + TUNING_PARTS


# --8<-- [start:careless]
def careless_parts(problems: Problems) -> np.ndarray:
    """The part of each problem as it is written: a+b and b+a fall where they may."""
    number = (problems.is_minus * OPERANDS + problems.a) * OPERANDS + problems.b
    return mix32(SPLIT_SALT + number) % SPLIT_PARTS


# --8<-- [end:careless]


# --8<-- [start:leaks]
def leaks(parts: np.ndarray) -> list[tuple[int, int]]:
    """Held-out problems, and those of them whose twin is in training: sums, then differences.

    `parts` has one number a problem, in the order of `all_problems`. A twin has the
    operands swapped.
    """
    grid = parts.reshape(2, OPERANDS, OPERANDS)  # [operation, a, b]
    held_out = grid < HELD_OUT_PARTS
    twin_in_training = grid.transpose(0, 2, 1) >= FIRST_TRAIN_PART
    return [
        (int(one.sum()), int((one & twin).sum()))
        for one, twin in zip(held_out, twin_in_training, strict=True)
    ]


# --8<-- [end:leaks]


def data_facts(recipe: Recipe) -> dict[str, str]:
    """What chapters 2 and 3 say about problems; `recipe` is that of the trained model."""
    problems = all_problems()
    parts = split_parts(problems.a, problems.b)
    return {
        "data.problems": f"{len(problems):,}",
        "data.largest_operand": f"{LARGEST_OPERAND}",
        "data.pairs": f"{OPERANDS * (OPERANDS + 1) // 2:,}",
        "data.train_problems": f"{int((parts >= FIRST_TRAIN_PART).sum()):,}",
        "split.parts": f"{SPLIT_PARTS:,}",
        "split.first_train_part": f"{FIRST_TRAIN_PART}",
        "split.train_percent": f"{100 - 100 * FIRST_TRAIN_PART / SPLIT_PARTS:g}",
        **_leak_facts(leaks(careless_parts(problems)), leaks(parts)),
        **_inverse_facts(parts.reshape(2, OPERANDS, OPERANDS)[0]),
        **_mix_facts(recipe.mix),
        **_stream_facts(recipe),
    }


def _leak_facts(careless: list[tuple[int, int]], ours: list[tuple[int, int]]) -> dict[str, str]:
    lines = [
        "| split by | kind | held out | twin in training | score |",
        "|---|---|--:|--:|--:|",
    ]
    for name, counts in (("problem", careless), ("pair (ours)", ours)):
        for sign, (held_out, twins) in zip(("a+b", "a−b"), counts, strict=True):
            lines.append(f"| {name} | {sign} | {held_out:,} | {twins:,} | {100 * twins / held_out:.2f} % |")
    held_out, twins = careless[0]
    return {
        "leak.table": "\n".join(lines),
        "leak.held_out_sums": f"{held_out:,}",
        "leak.twins": f"{twins:,}",
        "leak.percent": f"{100 * twins / held_out:.2f}",
    }


def _inverse_facts(parts: np.ndarray) -> dict[str, str]:
    """How far sums give away differences; `parts` [a, b] are those of the course's split."""
    a, b = np.divmod(np.arange(OPERANDS**2), OPERANDS)
    known = (a >= b) & (parts[a, b] < HELD_OUT_PARTS)
    sums = parts[a[known] - b[known], b[known]]  # of (a-b)+b=a
    coprime = np.gcd(a, b)[a <= b] == 1
    return {
        "leak.inverse_percent": f"{100 * float((sums >= FIRST_TRAIN_PART).mean()):.0f}",
        "leak.coprime_percent": f"{100 * float(coprime.mean()):.0f}",
    }


def _mix_facts(mix: Mix) -> dict[str, str]:
    return {
        "mix.minus": f"{mix.minus}",
        "mix.near": f"{mix.near}",
        "mix.nines": f"{mix.nines}",
        "mix.plain": f"{100 - mix.near - mix.nines}",
        "mix.near_distance": f"{mix.near_distance}",
        "mix.largest_values": ", ".join(f"{size - 1}" for size in mix.ranges),
    }


def _stream_facts(recipe: Recipe) -> dict[str, str]:
    """The training run's own stream: its first batch, and all of it."""
    stream = ProblemStream(recipe.stream_seed, recipe.mix)
    targets = encode_rows(stream.take(recipe.batch_size))[:, 1:]
    first_batch_end = stream.next_candidate
    counted = int((targets != PAD_ID).sum())
    stream = ProblemStream(recipe.stream_seed, recipe.mix)
    seen = np.zeros((2, OPERANDS, OPERANDS), dtype=bool)
    for _ in range(recipe.steps):
        batch = stream.take(recipe.batch_size)
        seen[batch.is_minus.astype(int), batch.a, batch.b] = True
    return {
        "stream.seed": f"{recipe.stream_seed}",
        "stream.batch_size": f"{recipe.batch_size:,}",
        "stream.first_batch_last": f"{first_batch_end - 1:,}",
        "stream.candidates": f"{stream.next_candidate:,}",
        "stream.different": f"{int(seen.sum()):,}",
        "rows.length": f"{ROW_LENGTH}",
        "rows.positions": f"{targets.shape[1]}",
        "rows.batch_targets": f"{targets.size:,}",
        "rows.batch_counted": f"{counted:,}",
        "rows.batch_pad_percent": f"{100 * (1 - counted / targets.size):.1f}",
    }
