"""The pages' sources: code comes from files, numbers from facts, links stay relative."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mkdocs.config import load_config

from export.build import GENERATED, ROOT, build
from export.facts import PLACEHOLDER
from export.hook import ADDRESS_FACT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CODE = sorted(
    path
    for pattern in (
        "model_src/tiny_gpt/*.py",
        "export/**/*.py",
        "docs/snippets/**/*",
        "site_assets/runtime/*.mjs",
        "tests/**/*.py",
        "docs/**/*.md",
    )
    for path in ROOT.glob(pattern)
    if path.is_file() and path.name != Path(__file__).name
)
MARKER = re.compile(r"--8<--\s*\[\s*(start|end)\s*:\s*([\w-]+)\s*\]")
INCLUDE = re.compile(r"""^\s*--8<--\s+["']([^"']+)["']\s*$""", re.MULTILINE)
LONGEST_TYPED_CODE = 3


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def marker_faults(text: str) -> list[str]:
    """What is wrong with the section markers of a file."""
    faults, opened, seen = [], [], set()
    for number, line in enumerate(text.splitlines(), start=1):
        if "--8<--" in line and ("[start" in line or "[end" in line) and not MARKER.search(line):
            faults.append(f"line {number}: a marker that is not written as one")
        for kind, section in MARKER.findall(line):
            if kind == "start":
                if section in seen:
                    faults.append(f"line {number}: {section} starts twice")
                seen.add(section)
                opened.append(section)
            elif not opened or opened.pop() != section:
                faults.append(f"line {number}: {section} ends and did not start, or another one is open")
    return faults + [f"{section} does not end" for section in opened]


@pytest.mark.parametrize("path", CODE, ids=name)
def test_section_markers_come_in_pairs(path: Path) -> None:
    assert marker_faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "# --8<-- [start:a]\n",
        "# --8<-- [end:a]\n",
        "# --8<-- [start:a]\n# --8<-- [end:b]\n",
        "# --8<-- [start:a]\n# --8<-- [end:a]\n# --8<-- [start:a]\n# --8<-- [end:a]\n",
        "# --8<-- [start a]\n",
    ],
)
def test_broken_pairs_are_found(text: str) -> None:
    assert marker_faults(text)


def test_each_included_file_and_section_exists() -> None:
    included = [
        (path, target) for path in PAGES for target in INCLUDE.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(included) > 10
    for page, target in included:
        file, _, section = target.partition(":")
        assert (ROOT / file).is_file(), f"{name(page)} includes {file}"
        found = MARKER.findall((ROOT / file).read_text(encoding="utf-8"))
        assert not section or ("start", section) in found, f"{name(page)} includes {target}"
        assert not section or ("end", section) in found, f"{name(page)} includes {target}"


def test_every_section_of_the_model_is_on_a_page() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    source = (ROOT / "model_src/tiny_gpt/model.py").read_text(encoding="utf-8")
    for kind, section in MARKER.findall(source):
        assert kind == "end" or f'"model_src/tiny_gpt/model.py:{section}"' in text, section


def fenced_blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Language and lines of each fenced block."""
    fence, language = "", ""
    lines: list[str] = []
    for line in text.splitlines():
        found = re.match(r"\s*(`{3,}|~{3,})\s*([\w-]*)", line)
        if not fence and found:
            fence, language, lines = found[1], found[2], []
        elif fence and line.strip() == fence:
            yield language, lines
            fence = ""
        elif fence:
            lines.append(line)
    assert not fence, "a fenced block does not end"


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_python_on_pages_is_included_not_typed(path: Path) -> None:
    for language, lines in fenced_blocks(path.read_text(encoding="utf-8")):
        if language in ("py", "python", "python3"):
            typed = [line for line in lines if line.strip() and not INCLUDE.match(line)]
            assert len(typed) <= LONGEST_TYPED_CODE, "\n".join(typed)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_every_placeholder_is_a_fact(path: Path) -> None:
    build()
    facts = json.loads((GENERATED / "facts.json").read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")
    assert {key for key in PLACEHOLDER.findall(text) if key not in facts} <= {ADDRESS_FACT}
    assert not re.search(r"\{\{|\}\}", PLACEHOLDER.sub("", text)), "braces that no fact will fill"


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_markdown_has_no_scripts_styles_or_absolute_links(path: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", path.read_text(encoding="utf-8"))  # code in a line says what not to do
    assert not re.search(r"<(script|style|iframe)\b", text, re.IGNORECASE)
    assert not re.search(r"<[^>]*\s(style|on\w+)\s*=", text, re.IGNORECASE)
    assert not re.search(r"\{[^}]*\bstyle\s*=", text)
    assert not re.search(r"\]\(\s*/|\]:\s*/|(href|src)\s*=\s*[\"']?/", text)
    assert "127.0.0.1" not in re.sub(r"http://127\.0\.0\.1:8000/", "", text)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_live_parts_stand_in_a_block_of_their_own(path: Path) -> None:
    """A custom element with blocks inside would break a paragraph."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if re.match(r"\s*<[a-z]+-[a-z-]+[\s>]", line):
            assert re.match(r"\s*<div\b[^>]*data-search-exclude", lines[number - 1]), line


def test_navigation_and_pages_are_the_same_set() -> None:
    def targets(entries: list[object]) -> Iterator[str]:
        for entry in entries:
            for value in entry.values() if isinstance(entry, dict) else [entry]:
                if isinstance(value, list):
                    yield from targets(value)
                else:
                    yield str(value)

    nav = load_config(str(ROOT / "mkdocs.yml")).nav
    assert nav
    listed = list(targets(nav))
    assert sorted(listed) == [path.relative_to(DOCS).as_posix() for path in PAGES]
