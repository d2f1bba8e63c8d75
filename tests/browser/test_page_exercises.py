"""Exercises: each can be solved, and a wrong try is told with what was measured."""

import re
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from built_site import (
    CHAPTER_1,
    CHAPTER_2,
    CHAPTER_3,
    CHAPTER_4,
    CHAPTER_5,
    CHAPTER_6,
    CHAPTER_7,
    CHAPTER_8,
    CHAPTER_9,
    CHAPTER_10,
    PAGES,
    OpenPage,
    Site,
)
from question_parts import ExercisePart
from site_server import missing
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT


class Case(NamedTuple):
    """An exercise on its page, with values that solve it and values that do not."""

    address: str
    name: str
    solution: dict[str, str]
    wrong: dict[str, str]


NOT_THE_LAST_ONE = Case(CHAPTER_4, "chapter-4/not-the-last-one", {"Prefix": "wSQ"}, {"Prefix": "1+1="})
HELD_OUT_AND_RIGHT = Case(
    CHAPTER_2, "chapter-2/held-out-and-right", {"Problem": "141+579"}, {"Problem": "12+34"}
)
TEXT_OF_IDS = Case(CHAPTER_3, "chapter-3/text-of-ids", {"Text": "40-7="}, {"Text": "40-7"})
END_WITHOUT_TRUTH = Case(CHAPTER_3, "chapter-3/end-without-truth", {"Line": "12+34=47"}, {"Line": "12+34=46"})
TWO_MODELS_AGREE = Case(CHAPTER_10, "chapter-10/two-models-agree", {"Prefix": "0+11=1"}, {"Prefix": "1+1="})
SPARE_A_HEAD = Case(
    CHAPTER_9,
    "chapter-9/spare-a-head",
    {"Head_to_switch_off": "block_2_head_3"},
    {"Head_to_switch_off": "block_1_head_3"},
)
SPARE_TWO_HEADS = Case(
    CHAPTER_9,
    "chapter-9/spare-two-heads",
    {"First_head": "block_1_head_2", "Second_head": "block_2_head_3"},
    {"First_head": "block_1_head_1", "Second_head": "block_2_head_3"},
)
EQUALS_LIKELIEST = Case(CHAPTER_1, "chapter-1/equals-likeliest", {"Prefix": "12+34"}, {"Prefix": "12+3="})
RIGHT_BY_ACCIDENT = Case(CHAPTER_1, "chapter-1/right-by-accident", {"Product": "2*2="}, {"Product": "2*3="})
WRONG_EASY_SUM = Case(
    CHAPTER_7,
    "chapter-7/wrong-easy-sum",
    {"Sum": "7+5=", "Temperature": "3", "Top-k": "98", "Seed": "24"},
    {"Sum": "7+5=", "Temperature": "1", "Top-k": "98", "Seed": "0"},
)
CHANCE_BEATS_GREEDY = Case(
    CHAPTER_7,
    "chapter-7/chance-beats-greedy",
    {"Problem": "12+34=", "Weights": "step-001000", "Temperature": "1", "Top-k": "98", "Seed": "5"},
    {"Problem": "12+34=", "Weights": "step-001000", "Temperature": "1", "Top-k": "98", "Seed": "0"},
)
WRONG_AND_SURE = Case(
    CHAPTER_8,
    "chapter-8/wrong-and-sure",
    {"Sum": "68+91", "Weights": "step-001000"},
    {"Sum": "12+34", "Weights": "step-001000"},
)
DEARER_THAN_BLIND = Case(CHAPTER_5, "chapter-5/dearer-than-blind", {"Line": "123456"}, {"Line": "12+34=46"})
CHEAP_LINE = Case(
    CHAPTER_5,
    "chapter-5/cheap-line",
    {"Problem_with_its_answer": "997+999=1996"},
    {"Problem_with_its_answer": "12+34=46"},
)
UNLEARNED = Case(CHAPTER_6, "chapter-6/unlearned", {"Problem": "5+65="}, {"Problem": "7-12="})
CASES = [
    EQUALS_LIKELIEST,
    RIGHT_BY_ACCIDENT,
    WRONG_EASY_SUM,
    CHANCE_BEATS_GREEDY,
    HELD_OUT_AND_RIGHT,
    TEXT_OF_IDS,
    END_WITHOUT_TRUTH,
    NOT_THE_LAST_ONE,
    WRONG_AND_SURE,
    TWO_MODELS_AGREE,
    SPARE_A_HEAD,
    SPARE_TWO_HEADS,
    DEARER_THAN_BLIND,
    CHEAP_LINE,
    UNLEARNED,
]


def test_every_exercise_has_a_case(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    found = set()
    for address in PAGES:
        page.goto(site.url + address)
        exercises = page.locator("course-exercise")
        found |= set(exercises.evaluate_all("all => all.map((one) => one.getAttribute('name'))"))
    assert found == {case.name for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_it_can_be_solved_and_a_wrong_try_is_told(open_page: OpenPage, case: Case) -> None:
    page = open_page(case.address)
    exercise = ExercisePart(page, case.name)
    exercise.wait("idle")
    expect(exercise.root.locator(".exercise-task")).to_be_visible()
    said = exercise.check(**case.wrong)
    assert said.startswith("Not solved yet. ") and re.search(r"\d", said) and said.endswith("."), said
    expect(exercise.root).to_have_attribute("data-passed", "false")
    expect(exercise.solved).to_be_hidden()
    said = exercise.check(**case.solution)
    assert said.startswith("✓ Solved. ") and re.search(r"\d", said) and said.endswith("."), said
    expect(exercise.solved).to_be_visible()
    page.reload()
    exercise.wait("idle")
    expect(exercise.solved).to_be_visible()


def lead(model: TinyArithmeticGPT, prefix: str) -> float:
    """Logit of the last character above the best other token."""
    logits = next_token_logits(model, prefix)
    last = ord(prefix[-1]) - ord(" ") + 3
    others = logits.clone()
    others[last] = float("-inf")
    return float(logits[last] - others.max())


@pytest.mark.parametrize("prefix", ["1+1=", "wSQ", "999-1000", " a "])
def test_chapter_4_measures_what_python_computes(
    open_page: OpenPage, random_model: TinyArithmeticGPT, prefix: str
) -> None:
    exercise = ExercisePart(open_page(CHAPTER_4), NOT_THE_LAST_ONE.name)
    said = exercise.check(Prefix=prefix)
    expected = lead(random_model, prefix)
    numbers = [float(number) for number in re.findall(r"\d+\.\d{3}", said)]
    assert numbers[0] == pytest.approx(float(next_token_logits(random_model, prefix).max()), abs=1e-3)
    assert numbers[1] == pytest.approx(abs(expected), abs=1e-3)
    assert said.startswith("✓" if expected < 0 else "Not")


def test_input_rules(open_page: OpenPage) -> None:
    exercise = ExercisePart(open_page(CHAPTER_4), NOT_THE_LAST_ONE.name)
    box = exercise.root.get_by_label("Prefix")
    tries: dict[str, str] = {
        "1−1=": "Type - instead.",
        "9" * 32: "Shorten it by 1.",
        "ab": "The prefix has 2 of at least 3 characters.",
    }
    for text, sentence in tries.items():
        box.fill(text)
        exercise.button.click()
        exercise.expect_error(sentence)
        expect(box).to_have_value(text)
    box.press("End")
    box.press("Backspace")
    exercise.wait("idle")
    expect(exercise.status).to_have_text("The input has changed. Press Check to check it.")


def test_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4)
    exercise = ExercisePart(page, NOT_THE_LAST_ONE.name)
    exercise.wait("idle")
    box = exercise.root.get_by_label("Prefix")
    box.focus()
    page.keyboard.type("1+1=")
    page.keyboard.press("Enter")
    exercise.wait("ready")
    expect(box).to_be_focused()
    page.keyboard.press("Tab")
    expect(exercise.button).to_be_focused()


def test_a_definition_that_does_not_arrive_can_be_retried(open_page: OpenPage, site: Site) -> None:
    site.server.fail("*/exercises/chapter-4.mjs", missing)
    page = open_page(CHAPTER_4, rough=True)
    exercise = ExercisePart(page, NOT_THE_LAST_ONE.name)
    exercise.expect_error("The exercise did not arrive")
    site.server.heal()
    exercise.retry.click()
    exercise.wait("idle")
    expect(exercise.root.get_by_label("Prefix")).to_be_visible()
