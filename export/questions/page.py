"""Put the bank onto the pages: `{% ... %}` lines of a chapter become HTML that reads well by itself.

    {% question ID %}          a question with its answer in a closed details element
    {% chapter-progress %}     one line: what the reader has done in this chapter
    {% course-progress %}      the list of chapters with what the reader has done in each
    {% chapter 5 %}            anywhere in a text: a link to the chapter, if the navigation has it
    {% gate %}                 the final test: every question of the bank that is marked for it

The elements of the same names in `site_assets/widgets/` take the HTML over; what it
says is all that they know, so a page carries its own questions and no others.
"""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from export.questions.bank import Option, Question
from export.questions.computations import COMPUTATIONS, shown, shown_parameter

MACRO = re.compile(r"^\{% (\S+)(?: (\S+))? %\}$", re.MULTILINE)
CHAPTER_LINK = re.compile(r"\{% chapter(-title)? (\d+) %\}")
EXERCISE = re.compile(r'<course-exercise\s[^>]*\bname="([^"]+)"')
CHAPTER_TITLE = re.compile(r"(\d+)\. (.+)")
GATE_PAGE = "part-1/gate.md"
KIND_TITLES = {"predict": "Predict, then see", "check": "Check yourself"}


class MacroError(ValueError):
    """A `{% ... %}` line that can not be expanded; the message says which."""


@dataclass
class Chapter:
    """A chapter of the navigation with what a reader can do in it."""

    number: int
    title: str
    page: str  # path below docs/
    predict: list[str] = field(default_factory=list)
    check: list[str] = field(default_factory=list)
    exercises: list[str] = field(default_factory=list)


def chapters(nav: Any, docs: Path, bank: dict[str, Question]) -> list[Chapter]:
    """The pages of the navigation whose title starts with a chapter's number."""
    found = []
    for title, page in _entries(nav):
        name = CHAPTER_TITLE.fullmatch(title)
        if name:
            chapter = Chapter(int(name[1]), name[2], page)
            own = [q for q in bank.values() if q.chapter == chapter.number and q.on_page]
            chapter.predict = [question.id for question in own if question.kind == "predict"]
            chapter.check = [question.id for question in own if question.kind == "check"]
            chapter.exercises = EXERCISE.findall((docs / page).read_text(encoding="utf-8"))
            found.append(chapter)
    return found


def expand(markdown: str, page: str, bank: dict[str, Question], course: list[Chapter]) -> str:
    """Replace each `{% ... %}` line. Raises `MacroError`."""

    def block(match: re.Match[str]) -> str:
        name, argument = match[1], match[2]
        if name == "question":
            if argument not in bank:
                raise MacroError(f"{page} names the question {argument}, which is not in docs/questions")
            return live_block(question_html(bank[argument]))
        if argument is not None:
            raise MacroError(f"{page}: {match[0]} takes no argument")
        if name == "chapter-progress":
            own = next((chapter for chapter in course if chapter.page == page), None)
            if own is None:
                raise MacroError(f"{page} has {match[0]} and is no chapter of the navigation")
            return live_block(chapter_progress_html(own))
        if name == "course-progress":
            return live_block(course_progress_html(course, page))
        if name == "gate":
            return live_block(gate_html(bank, course, page))
        raise MacroError(f"{page}: {match[0]} is not known")

    def link(match: re.Match[str]) -> str:
        words = f"chapter {match[2]}"
        own = next((chapter for chapter in course if chapter.number == int(match[2])), None)
        if own is None:
            return words
        return _chapter_link(own, page) if match[1] else f"[{words}]({_up(page)}{own.page})"

    return CHAPTER_LINK.sub(link, MACRO.sub(block, markdown))


def live_block(content: str) -> str:
    return f'<div class="course-live" data-search-exclude markdown>\n{content}\n</div>'


def question_html(question: Question) -> str:
    """The question with its answer in a details element, as Markdown inside HTML."""
    attributes = {"name": question.id, "kind": question.kind}
    if question.compute:
        attributes["compute"] = json.dumps(question.compute)
    return "\n".join(
        [f"<course-question{_attributes(attributes)} markdown>", *_content(question), "</course-question>"]
    )


def gate_html(bank: dict[str, Question], course: list[Chapter], page: str) -> str:
    """The chapters and the bank's questions for the final test, which `course-gate` draws from."""
    lines = ["<course-gate markdown>", '<ul class="gate-chapters" markdown>']
    lines += [f'<li data-chapter="{c.number}" markdown>{_chapter_link(c, page)}</li>' for c in course]
    lines.append("</ul>")
    for question in bank.values():
        if question.gate:
            attributes = {
                "class": "gate-question",
                "data-search-exclude": "",
                "data-name": question.id,
                "data-kind": question.kind,
                "data-chapter": str(question.chapter),
            }
            if question.compute:
                attributes["data-compute"] = json.dumps(question.compute)
            lines += [f"<div{_attributes(attributes)} markdown>", *_content(question), "</div>"]
    return "\n".join([*lines, "</course-gate>"])


def _content(question: Question) -> Iterator[str]:
    yield f'<p class="question-kind">{KIND_TITLES[question.kind]}</p>'
    yield f'<p class="question-text" markdown>{question.text}</p>'
    yield from _option_lines(question) if question.options else _number_lines(question)


def _option_lines(question: Question) -> Iterator[str]:
    yield '<ul class="question-options" markdown>'
    for option in question.options:
        yield f"<li{_attributes(_rule(option))} markdown>{option.text}</li>"
    yield "</ul>"
    right = question.options[question.right_options()[0]]
    yield from _answer_start(question, right.text)
    yield '<ul class="question-whys" markdown>'
    for option in question.options:
        yield (
            f'<li markdown><span class="question-option">{option.text}</span>: '
            f'<span class="question-why">{_with_value(option.why, question)}</span></li>'
        )
    yield "</ul>"
    yield "</details>"


def _rule(option: Option) -> dict[str, str]:
    """When the option is right, as attributes that the element reads."""
    if option.right:
        return {"data-right": "true"}
    if option.otherwise:
        return {"data-otherwise": "true"}
    if option.value is not None:
        return {"data-value": json.dumps(option.value)}
    limits = {"data-from": option.low, "data-below": option.high}
    return {name: f"{limit:g}" for name, limit in limits.items() if abs(limit) != float("inf")}


def _number_lines(question: Question) -> Iterator[str]:
    number = question.number
    assert number is not None
    attributes = {"data-tolerance": f"{number.tolerance:.12g}", "data-unit": number.unit}
    if number.answer is not None:
        attributes["data-answer"] = f"{number.answer:.12g}"
    what = f"Answer with a number ({number.unit})." if number.unit else "Answer with a number."
    yield f'<p class="question-number"{_attributes(attributes)}>{what}</p>'
    solution = "{value}" if number.answer is None else f"{number.answer:,.12g}"
    yield from _answer_start(question, f"{solution} {number.unit}".strip())
    yield f'<p class="question-why-right" markdown>{_with_value(number.right, question)}</p>'
    yield f'<p class="question-why-wrong" markdown>{_with_value(number.wrong, question)}</p>'
    yield "</details>"


def _answer_start(question: Question, solution: str) -> Iterator[str]:
    yield '<details class="question-answer" markdown>'
    yield "<summary>Answer</summary>"
    yield f'<p class="question-solution" markdown>{_with_value(solution, question)}</p>'
    if question.compute:
        yield f'<p class="question-computed" markdown>{computed_sentence(question)}.</p>'


def computed_sentence(question: Question) -> str:
    """What was computed and its value, as Markdown."""
    assert question.compute is not None
    parameters = dict(question.compute)
    sentence = COMPUTATIONS[parameters.pop("function")].sentence
    for name, value in parameters.items():
        sentence = sentence.replace(f"{{{name}}}", shown_parameter(name, value))
    return _with_value(sentence, question)


def _with_value(text: str, question: Question) -> str:
    """`{value}` becomes an element whose text the page replaces by what the device computes."""
    if "{value}" not in text or question.compute is None or question.value is None:
        return text
    kind = COMPUTATIONS[question.compute["function"]].kind
    tag = "code" if kind == "token" else "span"
    value = html.escape(shown(kind, question.value))
    return text.replace("{value}", f'<{tag} class="question-value">{value}</{tag}>')


def chapter_progress_html(chapter: Chapter) -> str:
    """The line at a chapter's end."""
    attributes = _progress_attributes(chapter)
    return (
        f"<chapter-progress{_attributes(attributes)} markdown>\n"
        f"<p>This chapter has {_amounts(chapter)}.</p>\n</chapter-progress>"
    )


def course_progress_html(course: list[Chapter], page: str) -> str:
    """The list of chapters, each with a link that MkDocs resolves from `page`."""
    lines = ["<course-progress markdown>", '<ul class="progress-list" markdown>']
    for chapter in course:
        attributes = _attributes(_progress_attributes(chapter))
        amounts = f'<span class="progress-amounts">{_amounts(chapter)}</span>'
        lines.append(f"<li{attributes} markdown>{_chapter_link(chapter, page)}: {amounts}</li>")
    gate = f"[Test yourself: Part I]({_up(page)}{GATE_PAGE})"
    amounts = '<span class="progress-amounts">a dozen questions</span>'
    lines.append(f"<li data-gate markdown>{gate}: {amounts}</li>")
    return "\n".join([*lines, "</ul>", "</course-progress>"])


def _chapter_link(chapter: Chapter, page: str) -> str:
    return f"[{chapter.number}. {chapter.title}]({_up(page)}{chapter.page})"


def _up(page: str) -> str:
    """From a page's folder to docs/."""
    return "../" * page.count("/")


def _progress_attributes(chapter: Chapter) -> dict[str, str]:
    return {
        "data-chapter": str(chapter.number),
        "data-predict": " ".join(chapter.predict),
        "data-check": " ".join(chapter.check),
        "data-exercises": " ".join(chapter.exercises),
    }


def _amounts(chapter: Chapter) -> str:
    """`2 predictions, 5 questions and 1 exercise`."""
    amounts = ((chapter.predict, "prediction"), (chapter.check, "question"), (chapter.exercises, "exercise"))
    predictions, questions, exercises = (
        f"{len(ids)} {name}{'' if len(ids) == 1 else 's'}" for ids, name in amounts
    )
    return f"{predictions}, {questions} and {exercises}"


def _attributes(values: dict[str, str]) -> str:
    return "".join(f' {name}="{html.escape(value)}"' for name, value in values.items())


def _entries(nav: Any) -> Iterator[tuple[str, str]]:
    for entry in nav or []:
        for title, value in entry.items() if isinstance(entry, dict) else []:
            if isinstance(value, str):
                yield title, value
            else:
                yield from _entries(value)
