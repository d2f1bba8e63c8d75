"""The question bank: what is in it can be answered, and what breaks a rule stops the build."""

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from mkdocs.config import load_config

from export.build import GENERATED, ROOT, build
from export.questions.bank import FOLDER, Question, QuestionError, load_bank
from export.questions.computations import COMPUTATIONS, opened, shown
from export.questions.page import MACRO, MacroError, chapters, expand
from tiny_gpt.generate import next_token_logits

DOCS = ROOT / "docs"
FACTS = {"model.width": "128"}
FIXED: dict[str, Any] = {
    "id": "a-question",
    "kind": "check",
    "text": "How many?",
    "options": [
        {"text": "one", "why": "Too few.", "right": True},
        {"text": "two", "why": "Too many."},
    ],
}
NUMBER: dict[str, Any] = {
    "id": "a-number",
    "kind": "check",
    "text": "How wide?",
    "number": {"answer": "{{ model.width }}", "unit": "numbers", "right": "It is so.", "wrong": "Count."},
}
COMPUTED: dict[str, Any] = {
    "id": "computed",
    "kind": "predict",
    "text": "What comes?",
    "compute": {"function": "top_token", "model": "initial", "prefix": "1+1="},
    "options": [
        {"text": "`=`", "why": "It is {value}.", "value": "="},
        {"text": "another", "why": "No.", "otherwise": True},
    ],
}


@pytest.fixture(scope="module")
def bank() -> dict[str, Question]:
    build()
    return load_bank(json.loads((GENERATED / "facts.json").read_text(encoding="utf-8")))


def write(folder: Path, *entries: Any, name: str = "chapter-4.yml") -> Path:
    (folder / name).write_text(yaml.safe_dump(list(entries), allow_unicode=True), encoding="utf-8")
    return folder


def changed(entry: dict[str, Any], **values: Any) -> dict[str, Any]:
    """A copy with some keys replaced; None takes a key away."""
    return {key: value for key, value in {**entry, **values}.items() if value is not None}


def test_exactly_one_option_matches_pythons_value(bank: dict[str, Question]) -> None:
    computed = [question for question in bank.values() if question.compute]
    assert len(computed) >= 2
    for question in bank.values():
        if question.options:
            assert len(question.right_options()) == 1, question.id


def test_computed_answers_do_not_hang_on_rounding(bank: dict[str, Question]) -> None:
    """The device may differ by 1e-5 from Python; no answer may turn on that."""
    for question in bank.values():
        compute = question.compute or {}
        if compute.get("function") == "top_token":
            first, second = next_token_logits(opened(compute["model"]), compute["prefix"]).topk(2).values
            assert float(first - second) > 1e-3, question.id
        if isinstance(question.value, float):
            edges = [edge for option in question.options for edge in (option.low, option.high)]
            for limit in filter(math.isfinite, edges):
                assert abs(question.value - limit) > 1e-3 * max(1e-3, abs(limit)), question.id
            if question.number:
                assert question.number.tolerance > 1e-4 * max(1, abs(question.value)), question.id


def test_every_question_stands_once_on_the_page_of_its_chapter(bank: dict[str, Question]) -> None:
    nav = load_config(str(ROOT / "mkdocs.yml")).nav
    pages = {chapter.number: chapter.page for chapter in chapters(nav, DOCS, bank)}
    used = Counter(
        (match[2], path.relative_to(DOCS).as_posix())
        for path in DOCS.rglob("*.md")
        for match in MACRO.finditer(path.read_text(encoding="utf-8"))
        if match[1] == "question"
    )
    wanted = Counter((question.id, pages[question.chapter]) for question in bank.values() if question.on_page)
    assert used == wanted


def test_every_chapter_asks_for_predictions_and_questions(bank: dict[str, Question]) -> None:
    nav = load_config(str(ROOT / "mkdocs.yml")).nav
    for chapter in chapters(nav, DOCS, bank):
        assert len(chapter.predict) >= 2, chapter.title
        assert 3 <= len(chapter.check) <= 5, chapter.title
        assert chapter.exercises, chapter.title


def test_explanations_are_sentences(bank: dict[str, Question]) -> None:
    for question in bank.values():
        texts = [option.why for option in question.options]
        if question.number:
            texts += [question.number.right, question.number.wrong]
        for text in texts:
            assert re.search(r"[.!?][`)]?$", text), f"{question.id}: {text}"
        assert re.search(r"[?.]$", question.text), question.id


def test_facts_and_values_are_filled_in(tmp_path: Path) -> None:
    bank = load_bank(FACTS, write(tmp_path, NUMBER, COMPUTED))
    number = bank["a-number"].number
    assert number is not None and number.answer == 128
    html = expand("{% question computed %}", "page.md", bank, [])
    assert 'It is <code class="question-value">=</code>.' in html
    assert '<p class="question-solution" markdown>`=`</p>' in html
    assert html.startswith('<div class="course-live" data-search-exclude markdown>')


OPTIONS = FIXED["options"]
BROKEN: list[tuple[str, list[Any], str]] = [
    ("unknown key", [changed(FIXED, colour="red")], "unknown key colour"),
    ("no id", [changed(FIXED, id=None)], "number 1: id is missing"),
    ("bad id", [changed(FIXED, id="A Question")], "lower-case words"),
    ("duplicate id", [FIXED, FIXED], "a-question: the id is taken"),
    ("bad kind", [changed(FIXED, kind="quiz")], "predict or check"),
    ("bad gate", [changed(FIXED, gate="maybe")], "gate must be"),
    ("no answer", [changed(FIXED, options=None)], "either options or a number"),
    ("one option", [changed(FIXED, options=OPTIONS[:1])], "two or more"),
    ("two right", [changed(FIXED, options=[{**o, "right": True} for o in OPTIONS])], "2 options are right"),
    ("none right", [changed(FIXED, options=[{**o, "right": False} for o in OPTIONS])], "0 options are right"),
    ("no explanation", [changed(FIXED, options=[{"text": "one"}, OPTIONS[1]])], "why is missing"),
    ("empty explanation", [changed(FIXED, options=[{**OPTIONS[0], "why": " "}, OPTIONS[1]])], "must be text"),
    ("same text", [changed(FIXED, options=[OPTIONS[0], {**OPTIONS[1], "text": "one"}])], "same text"),
    ("unknown fact", [changed(FIXED, text="{{ model.colour }}?")], "model.colour"),
    ("text is a number", [changed(FIXED, options=[{**OPTIONS[0], "text": 1}, OPTIONS[1]])], "in quotes"),
    ("two paragraphs", [changed(FIXED, text="a\n\nb")], "one paragraph"),
    ("value without compute", [changed(COMPUTED, compute=None)], "needs a computed answer"),
    ("unknown function", [changed(COMPUTED, compute={"function": "guess"})], "must name a function"),
    ("missing parameter", [changed(COMPUTED, compute={"function": "top_token"})], "takes model, prefix"),
    (
        "unknown model",
        [changed(COMPUTED, compute={**COMPUTED["compute"], "model": "large"})],
        "no model 'large'",
    ),
    (
        "parameter of another type",
        [changed(COMPUTED, compute={**COMPUTED["compute"], "prefix": 11})],
        "prefix of compute must be text in quotes",
    ),
    (
        "option without a rule",
        [changed(COMPUTED, options=[{"text": "x", "why": "y"}, COMPUTED["options"][1]])],
        "needs value, from, below or otherwise",
    ),
    (
        "value of another type",
        [changed(COMPUTED, options=[{"text": "x", "why": "y", "value": 2}, COMPUTED["options"][1]])],
        "value of an option must be text in quotes",
    ),
    (
        "two options fit",
        [changed(COMPUTED, options=[COMPUTED["options"][0], {**COMPUTED["options"][0], "text": "x"}])],
        "2 options are right",
    ),
    ("number without answer", [changed(NUMBER, number={"right": "a.", "wrong": "b."})], "either an answer"),
    ("number is text", [changed(NUMBER, number={**NUMBER["number"], "answer": "many"})], "must be a number"),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "sentence"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_a_broken_question_is_named(tmp_path: Path, entries: list[Any], sentence: str) -> None:
    with pytest.raises(QuestionError) as error:
        load_bank(FACTS, write(tmp_path, *entries))
    assert str(error.value).startswith("docs/questions/chapter-4.yml: question ")
    assert sentence in str(error.value)
    assert str(entries[-1].get("id", "number")) in str(error.value)


def test_broken_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "chapter-4.yml").write_text("a: [", encoding="utf-8")
    with pytest.raises(QuestionError, match=r"chapter-4\.yml: not valid YAML"):
        load_bank(FACTS, tmp_path)
    (tmp_path / "chapter-4.yml").write_text("a: b", encoding="utf-8")
    with pytest.raises(QuestionError, match="must be a list"):
        load_bank(FACTS, tmp_path)
    (tmp_path / "chapter-4.yml").rename(tmp_path / "part.yml")
    with pytest.raises(QuestionError, match=r"part\.yml: the name must be"):
        load_bank(FACTS, tmp_path)


@pytest.mark.parametrize(
    "line", ["{% question nothing %}", "{% chapter-progress %}", "{% course-progress x %}", "{% quiz %}"]
)
def test_lines_that_can_not_be_expanded(line: str) -> None:
    with pytest.raises(MacroError, match=r"page\.md"):
        expand(f"text\n\n{line}\n", "page.md", {}, [])


def test_values_are_shown_with_their_rounding() -> None:
    assert shown("percent", 0.99999) == "99.99 %"
    assert shown("percent", 0.00003) == "less than 0.01 %"
    assert shown("decimal", -0.12345) == "−0.123"
    assert shown("whole", 1234) == "1,234"
    assert shown("verdict", False) == "wrong"
    assert {computation.kind for computation in COMPUTATIONS.values()} == {
        *("token", "verdict", "decimal", "percent", "whole")
    }


def test_the_bank_is_not_published() -> None:
    assert list(FOLDER.glob("*.yml"))
    assert "questions/" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
