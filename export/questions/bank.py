"""Read the question bank and refuse what a reader could not answer.

One file a chapter, `docs/questions/chapter-N.yml`: a list of questions. The rules for
authors are in docs/maintain.md; a broken rule is a `QuestionError` that names file and id.
"""

import inspect
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from export.build import ROOT
from export.facts import FactError, fill_placeholders
from export.questions.computations import COMPUTATIONS, Value

FOLDER = ROOT / "docs" / "questions"
FILE_NAME = re.compile(r"chapter-(\d+)\.yml")
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
KINDS = ("predict", "check")
GATE = (True, False, "only")
PARAMETER_KINDS: dict[type, tuple[Any, ...]] = {  # what a parameter of `compute` must be, by its annotation
    str: ("text in quotes", str),
    int: ("a whole number", int),
    float: ("a number", int, float),
}
QUESTION_KEYS = {"id", "kind", "text", "options", "number", "compute", "gate"}
OPTION_KEYS = {"text", "why", "right", "value", "from", "below", "otherwise"}
NUMBER_KEYS = {"answer", "tolerance", "unit", "right", "wrong"}


class QuestionError(ValueError):
    """A question breaks a rule of the bank; the message names the file and the question."""


@dataclass(frozen=True)
class Option:
    """One choice: its text, why it is right or wrong, and the rule by which a computed value picks it."""

    text: str
    why: str
    right: bool = False  # for a fixed answer
    value: Value | None = None
    low: float = -math.inf  # a range: low <= value < high
    high: float = math.inf
    otherwise: bool = False

    def fits(self, value: Value) -> bool:
        """Whether a computed value picks this option; `otherwise` is left to the question."""
        if self.otherwise:
            return False
        if self.value is not None:
            return self.value == value
        return not isinstance(value, str) and self.low <= value < self.high


@dataclass(frozen=True)
class Number:
    """An answer that is typed: right within `tolerance` of `answer` or of the computed value."""

    answer: float | None
    tolerance: float
    unit: str
    right: str
    wrong: str


@dataclass(frozen=True)
class Question:
    """One question of the bank, its facts filled in and its value computed."""

    id: str
    chapter: int
    kind: str
    text: str
    options: tuple[Option, ...]
    number: Number | None
    compute: dict[str, Any] | None  # {"function": name, parameter: value}
    gate: bool
    on_page: bool
    value: Value | None  # what Python computes

    def right_options(self) -> list[int]:
        """Indices of the options that are right; a valid question has one."""
        if self.value is None:
            return [index for index, option in enumerate(self.options) if option.right]
        fitting = [index for index, option in enumerate(self.options) if option.fits(self.value)]
        return fitting or [index for index, option in enumerate(self.options) if option.otherwise]


def load_bank(facts: dict[str, str], folder: Path = FOLDER) -> dict[str, Question]:
    """All questions by id. Raises `QuestionError` for the first that breaks a rule."""
    bank: dict[str, Question] = {}
    for path in sorted(folder.iterdir()):
        name = FILE_NAME.fullmatch(path.name)
        if not name:
            raise QuestionError(f"docs/questions/{path.name}: the name must be chapter-N.yml")
        for place, entry in enumerate(_entries(path), start=1):
            where = f"docs/questions/{path.name}: question {_label(entry, place)}"
            try:
                question = _question(_with_facts(entry, facts, where), int(name[1]))
            except (QuestionError, FactError) as error:
                raise QuestionError(f"{where}: {error}") from None
            if question.id in bank:
                raise QuestionError(f"{where}: the id is taken by another question")
            bank[question.id] = question
    return bank


def _entries(path: Path) -> list[Any]:
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise QuestionError(f"docs/questions/{path.name}: not valid YAML: {error}") from None
    if not isinstance(entries, list):
        raise QuestionError(f"docs/questions/{path.name}: the file must be a list of questions")
    return entries


def _label(entry: Any, place: int) -> str:
    return str(entry.get("id", f"number {place}")) if isinstance(entry, dict) else f"number {place}"


def _with_facts(value: Any, facts: dict[str, str], where: str) -> Any:
    if isinstance(value, dict):
        return {key: _with_facts(inner, facts, where) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_facts(inner, facts, where) for inner in value]
    return fill_placeholders(value, facts, "it").strip() if isinstance(value, str) else value


def _question(entry: Any, chapter: int) -> Question:
    _expect_keys(entry, QUESTION_KEYS, {"id", "kind", "text"})
    if not ID.fullmatch(str(entry["id"])):
        raise QuestionError("the id must be lower-case words joined by hyphens")
    if entry["kind"] not in KINDS:
        raise QuestionError(f"the kind must be {' or '.join(KINDS)}")
    gate = entry.get("gate", False)
    if gate not in GATE:
        raise QuestionError("gate must be true, false or only")
    if ("options" in entry) == ("number" in entry):
        raise QuestionError("it needs either options or a number")
    compute = entry.get("compute")
    value = _computed(compute) if compute is not None else None
    question = Question(
        id=entry["id"],
        chapter=chapter,
        kind=entry["kind"],
        text=_text(entry, "text"),
        options=tuple(_options(entry.get("options", []), value)),
        number=_number(entry["number"], value) if "number" in entry else None,
        compute=compute,
        gate=bool(gate),
        on_page=gate != "only",
        value=value,
    )
    if question.options:
        _expect_one_right(question)
    return question


def _computed(compute: Any) -> Value:
    """What Python computes for a question."""
    if not isinstance(compute, dict) or compute.get("function") not in COMPUTATIONS:
        raise QuestionError(f"compute must name a function: {', '.join(COMPUTATIONS)}")
    parameters = {name: value for name, value in compute.items() if name != "function"}
    function = COMPUTATIONS[compute["function"]].compute
    wanted = inspect.signature(function).parameters
    if parameters.keys() != wanted.keys():
        raise QuestionError(f"compute of {compute['function']} takes {', '.join(wanted)}")
    for name, value in parameters.items():
        kind, *accepted = PARAMETER_KINDS.get(wanted[name].annotation, ("a list", list))
        if not isinstance(value, tuple(accepted)) or isinstance(value, bool):
            raise QuestionError(f"{name} of compute must be {kind}")
    try:
        return function(**parameters)
    except (ValueError, IndexError) as error:
        raise QuestionError(f"compute fails: {error}") from None


def _options(entries: Any, value: Value | None) -> Iterator[Option]:
    if not isinstance(entries, list) or len(entries) == 1:
        raise QuestionError("options must be a list of two or more")
    for entry in entries:
        _expect_keys(entry, OPTION_KEYS, {"text", "why"})
        rules = [name for name in ("right", "value", "from", "below", "otherwise") if name in entry]
        if value is None and set(rules) - {"right"}:
            raise QuestionError(f"an option with {rules[0]} needs a computed answer")
        if value is not None:
            if rules not in (["value"], ["from"], ["below"], ["from", "below"], ["otherwise"]):
                raise QuestionError("each option of a computed answer needs value, from, below or otherwise")
            if "value" in entry and isinstance(entry["value"], str) != isinstance(value, str):
                kind = "text in quotes" if isinstance(value, str) else "a number or true or false"
                raise QuestionError(f"the value of an option must be {kind}")
        yield Option(
            text=_text(entry, "text"),
            why=_text(entry, "why"),
            right=entry.get("right", False) is True,
            value=entry.get("value"),
            low=entry.get("from", -math.inf),
            high=entry.get("below", math.inf),
            otherwise="otherwise" in entry,
        )


def _number(entry: Any, value: Value | None) -> Number:
    _expect_keys(entry, NUMBER_KEYS, {"right", "wrong"})
    if ("answer" in entry) == (value is not None):
        raise QuestionError("a number needs either an answer or a compute")
    answer, tolerance = entry.get("answer"), entry.get("tolerance", 0)
    if isinstance(answer, str):  # a fact
        answer = _read_number(answer)
    for name, number in (("answer", answer if value is None else value), ("tolerance", tolerance)):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise QuestionError(f"the {name} must be a number")
    return Number(answer, tolerance, str(entry.get("unit", "")), _text(entry, "right"), _text(entry, "wrong"))


def _read_number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise QuestionError("the answer must be a number") from None


def _expect_one_right(question: Question) -> None:
    right = question.right_options()
    if len(right) != 1:
        what = "computed value is " + repr(question.value) if question.compute else "answer is fixed"
        raise QuestionError(f"{len(right)} options are right and one must be; the {what}")
    texts = [option.text for option in question.options]
    if len(set(texts)) < len(texts):
        raise QuestionError("two options have the same text")


def _expect_keys(entry: Any, known: set[str], needed: set[str]) -> None:
    if not isinstance(entry, dict):
        raise QuestionError(f"expected {', '.join(sorted(needed))}, found {entry!r}")
    unknown = [str(key) for key in entry if key not in known]
    if unknown:
        raise QuestionError(f"unknown key {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    missing = sorted(needed - entry.keys())
    if missing:
        raise QuestionError(f"{', '.join(missing)} is missing")


def _text(entry: dict[str, Any], name: str) -> str:
    text = entry[name]
    if not isinstance(text, str) or not text.strip():
        raise QuestionError(f"{name} must be text; put it in quotes")
    if "\n\n" in text:
        raise QuestionError(f"{name} must be one paragraph")
    return " ".join(text.split("\n"))
