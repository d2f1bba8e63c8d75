"""Questions with fresh numbers: Python finds the same right answers, and exactly one option is right."""

import json
import math
from typing import Any

import numpy as np
import pytest
from test_javascript import node

from export.build import build
from export.questions.computations import COMPUTATIONS, carries, opened, token_name
from tiny_gpt.data import Problems, encode_rows, split_of
from tiny_gpt.generate import next_token_logits
from tiny_gpt.tokenizer import PAD_ID, CharacterTokenizer

SEEDS = 40
MAKE = f"""
const {{ TEMPLATES, freshQuestion }} = await import("../../site_assets/runtime/fresh-questions.mjs");
const all = Object.keys(TEMPLATES).map((name) => [name,
  Array.from({{ length: {SEEDS} }}, (_, seed) => freshQuestion(name, seed * 2654435761))]);
console.log(JSON.stringify(Object.fromEntries(all)));
"""


@pytest.fixture(scope="module")
def questions() -> dict[str, list[dict[str, Any]]]:
    build()
    outcome = node("--input-type=module", "-e", MAKE)
    assert outcome.returncode == 0, outcome.stderr
    made: dict[str, list[dict[str, Any]]] = json.loads(outcome.stdout)
    return made


def row(a: int, operation: str, b: int) -> list[int]:
    """The training row of a problem: BOS, characters, EOS, PAD."""
    problem = Problems(np.array([a]), np.array([b]), np.array([operation == "-"]))
    return [int(token) for token in encode_rows(problem)[0]]


def decimals(value: float) -> str:
    return f"{value:.3f}"


ANSWERS = {
    "carry-count": lambda a, b: str(carries(a, "+", b)),
    "target-at": lambda a, operation, b, position: f"`{token_name(row(a, operation, b)[position + 1])}`",
    "id-of-character": lambda known, asked: str(CharacterTokenizer.token_id(asked)),
    "loss-of": lambda percent: decimals(-math.log(percent / 100)),
    "temperature-ratio": lambda ratio, temperature: f"{round(ratio ** (1 / temperature)):,}",
    "side-of-split": lambda a, b: f"a {'training' if split_of(b, a) == 'train' else split_of(b, a)} problem",
    "linear-parameters": lambda input, output: f"{(input + 1) * output:,}",
    "counted-targets": lambda a, operation, b: str(
        sum(token != PAD_ID for token in row(a, operation, b)[1:])
    ),
}


def test_each_template_is_compared(questions: dict[str, list[dict[str, Any]]]) -> None:
    computed = {name for name, made in questions.items() if "compute" in made[0]}
    assert set(questions) == set(ANSWERS) | computed
    assert len(questions) >= 6
    assert computed == {"top-digit", "cheapest-line"}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_right_option_is_pythons(questions: dict[str, list[dict[str, Any]]], name: str) -> None:
    for question in questions[name]:
        right = [option["text"] for option in question["options"] if option.get("right")]
        assert right == [ANSWERS[name](**question["parameters"])], question["text"]


def test_computed_questions_have_one_fitting_option(questions: dict[str, list[dict[str, Any]]]) -> None:
    for name in ("top-digit", "cheapest-line"):
        for question in questions[name]:
            parameters = dict(question["compute"])
            value = COMPUTATIONS[parameters.pop("function")].compute(**parameters)
            fitting = [o for o in question["options"] if o.get("value") == value]
            others = [o for o in question["options"] if o.get("otherwise")]
            assert len(fitting) == 1 or (not fitting and len(others) == 1), question
            if name == "top-digit":
                logits = next_token_logits(opened("trained"), parameters["prefix"])
                first, second = logits.topk(2).values
                assert float(first - second) > 1e-3
            else:  # the explanations say that the line of equal digits is the cheapest
                assert len(set(str(value))) == 1
                losses = sorted(
                    COMPUTATIONS["loss"].compute(model="initial", line=line) for line in parameters["lines"]
                )
                assert float(losses[1]) - float(losses[0]) > 1e-3


def test_questions_are_whole(questions: dict[str, list[dict[str, Any]]]) -> None:
    for name, made in questions.items():
        assert len({json.dumps(question) for question in made}) > SEEDS // 8, f"{name} repeats itself"
        for question in made:
            texts = [option["text"] for option in question["options"]]
            assert len(texts) >= 3 and len(set(texts)) == len(texts), question
            assert question["text"].endswith("?")
            assert 1 <= question["chapter"] <= 10
            for text in [question["text"], *texts, *(option["why"] for option in question["options"])]:
                assert not {"undefined", "NaN", "null"} & set(text.split()), question
                assert text.count("`") % 2 == 0


def test_the_right_option_moves(questions: dict[str, list[dict[str, Any]]]) -> None:
    for name in ANSWERS:
        places = {
            [bool(option.get("right")) for option in question["options"]].index(True)
            for question in questions[name]
        }
        assert len(places) >= 3, name


def test_a_seed_gives_the_same_question_again(questions: dict[str, list[dict[str, Any]]]) -> None:
    assert json.loads(node("--input-type=module", "-e", MAKE).stdout) == questions
