"""Test the model on problems it never saw: exact match by real greedy decoding.

    python -m tiny_gpt.evaluate

An answer counts when every character and EOS are right. Cells are split by
operation, digits of the longer operand, and carries (or borrows).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from tiny_gpt.checkpoint import load_model, published, to_json, write_atomically
from tiny_gpt.command import CommandParser, add_checkpoint_argument, run_command
from tiny_gpt.data import (
    HELD_OUT,
    OPERATIONS,
    TRAIN,
    TUNING,
    Problems,
    all_problems,
    encode_rows,
    in_training,
    inputs_and_targets,
    problems_in,
    split_parts,
)
from tiny_gpt.generate import LONGEST_ANSWER, greedy_answers
from tiny_gpt.model import TinyArithmeticGPT, next_token_loss
from tiny_gpt.tokenizer import PAD_ID, CharacterTokenizer

SMALL_OPERAND = 99
CONFIDENT = 0.9  # a wrong answer with more than this probability is a confident error


# --8<-- [start:exact]
def answered_exactly(model: TinyArithmeticGPT, problems: Problems, progress: bool = False) -> np.ndarray:
    """For each problem, whether greedy decoding writes the answer and then EOS: bool [N]."""
    return graded(model, problems, progress)[0]


def graded(
    model: TinyArithmeticGPT, problems: Problems, progress: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The verdicts of `answered_exactly`, and the probability of what was written: bool and float64 [N]."""
    right = np.empty(len(problems), dtype=bool)
    probability = np.empty(len(problems))
    chunk = 8192
    for start in tqdm(range(0, len(problems), chunk), disable=not progress, unit="batch"):
        part = problems[start : start + chunk]
        written, probability[start : start + chunk] = greedy_answers(model, part)
        right[start : start + chunk] = (written == answer_rows(part)).all(axis=1)
    return right, probability


def answer_rows(problems: Problems) -> np.ndarray:
    """What follows `=` when all is right: answer, EOS, PAD; int64 [N, 5]."""
    rows = encode_rows(problems)
    start = (rows == CharacterTokenizer.token_id("=")).argmax(axis=1) + 1
    places = start[:, None] + np.arange(LONGEST_ANSWER)
    return np.where(
        places < rows.shape[1],
        np.take_along_axis(rows, np.minimum(places, rows.shape[1] - 1), axis=1),
        PAD_ID,
    )


# --8<-- [end:exact]


def predicted_exactly(model: TinyArithmeticGPT, problems: Problems, batch_size: int = 2048) -> np.ndarray:
    """The same verdict as `answered_exactly` from one pass a problem: bool [N].

    With the right answer in the row, every answer token and EOS must have the
    highest score. Greedy decoding writes the answer exactly when that holds.
    Ties aside, both agree; a test compares them.
    """
    return one_pass(model, problems, batch_size)[1]


@torch.inference_mode()
def one_pass(
    model: TinyArithmeticGPT, problems: Problems, batch_size: int = 2048
) -> tuple[float, np.ndarray]:
    """The mean next-token loss in nats over all targets, and the verdicts of `predicted_exactly`."""
    rows = encode_rows(problems)
    device = model.token_embedding.weight.device
    right = np.empty(len(problems), dtype=bool)
    total, targets_seen = 0.0, 0
    for start in range(0, len(problems), batch_size):
        ids = torch.from_numpy(rows[start : start + batch_size]).to(device)
        inputs, targets = inputs_and_targets(ids)
        logits = model(inputs)
        is_target = targets != PAD_ID
        count = int(is_target.sum())
        total += next_token_loss(logits, targets).item() * count
        targets_seen += count
        in_answer = (inputs == CharacterTokenizer.token_id("=")).cumsum(dim=1) > 0
        hits = (logits.argmax(dim=-1) == targets) | ~(in_answer & is_target)
        right[start : start + batch_size] = hits.all(dim=1).cpu().numpy()
    return total / targets_seen, right


# --8<-- [start:table]
def table(problems: Problems, right: np.ndarray) -> list[dict[str, Any]]:
    """Rows of operation, digits of the longer operand, carries, problems and how many are right.

    `digits` or `carries` None is the sum over all of them.
    """
    rows = []
    for is_minus, operation in enumerate(OPERATIONS):
        of_operation = problems.is_minus == bool(is_minus)
        for digits in (None, 1, 2, 3):
            of_digits = of_operation & ((problems.longer_operand_digits == digits) if digits else True)
            for carries in (None,) if digits is None else (None, *range(digits + 1)):
                cell = of_digits & ((problems.carries == carries) if carries is not None else True)
                if cell.any():
                    rows.append(
                        {
                            "operation": operation,
                            "digits": digits,
                            "carries": carries,
                            "problems": int(cell.sum()),
                            "right": int(right[cell].sum()),
                        }
                    )
    return rows


# --8<-- [end:table]


def evaluate(model: TinyArithmeticGPT, split: str = HELD_OUT, progress: bool = False) -> dict[str, Any]:
    """The table of a split, and all 20,000 problems with operands 0 to 99, as plain data."""
    problems = problems_in(split)
    small = all_problems(SMALL_OPERAND)
    small_right, probability = graded(model, small, progress)
    wrong = [text for text, ok in zip(small.prompts(), small_right, strict=True) if not ok]
    return {
        "split": split,
        "table": table(problems, answered_exactly(model, problems, progress)),
        "operands_0_to_99": {
            "problems": len(small),
            "right": int(small_right.sum()),
            "first_wrong": wrong[:20],
        },
        "maps": maps(small, small_right, probability),
    }


def maps(problems: Problems, right: np.ndarray, probability: np.ndarray) -> list[dict[str, Any]]:
    """The counts of the two maps of chapter 8: right, wrong, wrong with p > CONFIDENT, trained on."""
    is_trained = in_training(split_parts(problems.a, problems.b))
    rows = []
    for is_minus, operation in enumerate(OPERATIONS):
        cell = problems.is_minus == bool(is_minus)
        wrong = cell & ~right
        rows.append(
            {
                "operation": operation,
                "problems": int(cell.sum()),
                "right": int((cell & right).sum()),
                "wrong": int(wrong.sum()),
                "confident_wrong": int((wrong & (probability > CONFIDENT)).sum()),
                "in_training": int((cell & is_trained).sum()),
                "wrong_in_training": int((wrong & is_trained).sum()),
            }
        )
    return rows


def exact_percent(row: dict[str, Any]) -> float:
    """Per cent of a row's problems that are right, rounded down to two decimals: 100 means all."""
    return 10_000 * row["right"] // row["problems"] / 100


def printed(result: dict[str, Any]) -> str:
    """The result as the text that the command prints."""
    lines = [f"{result['split']} problems, exact match by greedy decoding", ""]
    lines.append("op  longer operand  carries  problems    right    exact")
    for row in result["table"]:
        digits = f"{row['digits']} digit{'s' if row['digits'] > 1 else ''}" if row["digits"] else "all"
        carries = "all" if row["carries"] is None else row["carries"]
        lines.append(
            f"{row['operation']:<3} {digits:<15} {carries:<7} {row['problems']:>9,} {row['right']:>8,} "
            f"{exact_percent(row):>7.2f} %"
        )
    small = result["operands_0_to_99"]
    lines += ["", f"operands 0 to 99, both operations: {small['right']:,} of {small['problems']:,} right"]
    if small["first_wrong"]:
        lines.append("wrong: " + " ".join(small["first_wrong"]))
    lines += ["", "op  problems    right    wrong  wrong, p > 0.9  in training  wrong, in training"]
    for row in result["maps"]:
        lines.append(
            f"{row['operation']:<3} {row['problems']:>8,} {row['right']:>8,} {row['wrong']:>8,} "
            f"{row['confident_wrong']:>15,} {row['in_training']:>12,} {row['wrong_in_training']:>19,}"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the held-out table of a checkpoint."""
    parser = CommandParser("tiny_gpt.evaluate", "Exact-match accuracy by greedy decoding.")
    parser.add_argument("--split", choices=(HELD_OUT, TUNING, TRAIN), default=HELD_OUT, help="which problems")
    parser.add_argument("--json", type=Path, metavar="FILE", default=None, help="write the numbers here too")
    add_checkpoint_argument(parser)
    options = parser.parse_args(argv)
    result = evaluate(load_model(options.checkpoint or published()[-1]), options.split, progress=True)
    print(printed(result))
    if options.json:
        write_atomically(options.json, to_json(result))
    return 0


if __name__ == "__main__":
    run_command(main)
