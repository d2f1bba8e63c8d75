"""Golden cases of greedy decoding: what Python writes, how likely it is, and whether it is right."""

from typing import Any

from tiny_gpt.data import HELD_OUT, Problems, all_problems, join, problems_in
from tiny_gpt.evaluate import SMALL_OPERAND, answer_rows
from tiny_gpt.generate import greedy_answers
from tiny_gpt.model import TinyArithmeticGPT

SMALL_EVERY, HELD_OUT_EVERY = 47, 997


def answer_problems() -> Problems:
    """Problems of both operations and all lengths: a share of those up to 99, and of the held-out ones."""
    return join([all_problems(SMALL_OPERAND)[::SMALL_EVERY], problems_in(HELD_OUT)[::HELD_OUT_EVERY]])


def answer_cases(models: dict[str, TinyArithmeticGPT]) -> dict[str, Any]:
    """`greedy_answers` by model: token IDs with PAD after EOS, probabilities, and the verdict of `graded`."""
    problems = answer_problems()
    cases: dict[str, Any] = {"prompts": problems.prompts(), "answers": problems.answer_texts(), "models": {}}
    for name, model in models.items():
        written, probability = greedy_answers(model, problems)
        right = (written == answer_rows(problems)).all(axis=1)
        cases["models"][name] = {
            "written": written.tolist(),
            "probability": probability.tolist(),
            "right": right.tolist(),
        }
    return cases
