"""The glossary: every term has an anchor, a chapter and its place in the alphabet."""

import re
from pathlib import Path

from mkdocs.config import load_config

from export.build import ROOT
from export.questions.page import chapters

DOCS = ROOT / "docs"
TERM = re.compile(r"^\*\*([^*]+)\*\*\{ #([\w-]+) \}: (.+?) Explained in \{% chapter (\d+) %\}\.$", re.DOTALL)
TEXT = (DOCS / "glossary.md").read_text(encoding="utf-8")
ENTRIES = [paragraph for paragraph in TEXT.split("\n\n") if paragraph.startswith("**")]
LARGEST_CHAPTER = 10


def entries() -> list[tuple[str, str, str, int]]:
    """Term, anchor, explanation and chapter of each entry."""
    found = []
    for paragraph in ENTRIES:
        entry = TERM.match(" ".join(paragraph.split()))
        assert entry, f"not written as an entry: {paragraph}"
        found.append((entry[1], entry[2], entry[3], int(entry[4])))
    return found


def test_every_entry_is_whole() -> None:
    assert len(entries()) >= 50
    for term, anchor, explanation, chapter in entries():
        assert anchor == re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")
        assert explanation.endswith("."), term
        sentences = re.findall(r"[.!?](?:\s|$)", re.sub(r"\{\{[^}]*\}\}", "0", explanation))
        assert 1 <= len(sentences) <= 3, f"{term} has {len(sentences)} sentences"
        assert 1 <= chapter <= LARGEST_CHAPTER, term


def test_terms_are_sorted_under_their_letters() -> None:
    terms = [term for term, *_ in entries()]
    assert terms == sorted(terms, key=str.lower)
    assert len({term.lower() for term in terms}) == len(terms)
    letter = ""
    for line in TEXT.splitlines():
        if line.startswith("## "):
            letter = line.removeprefix("## ")
        elif line.startswith("**"):
            assert line[2].upper() == letter, line


def test_terms_of_the_part_are_there() -> None:
    terms = {anchor for _, anchor, *_ in entries()}
    wanted = """
    token id bos eos pad logit softmax probability embedding position residual-stream attention head
    query key value mask block layernorm gelu feed-forward parameter checkpoint step batch epoch
    loss nat cross-entropy perplexity teacher-forcing gradient optimizer adamw muon learning-rate
    warm-up cosine clipping held-out tuning leak greedy temperature top-k seed context exact-match
    carry borrow logit-lens ablation onnx wasm opset float16-float32-float64 parity target
    """
    assert set(wanted.split()) - terms == set()


def test_links_to_the_glossary_name_a_term() -> None:
    terms = {anchor for _, anchor, *_ in entries()}
    for path in (*DOCS.rglob("*.md"), *(DOCS / "questions").glob("*.yml")):
        for anchor in re.findall(r"glossary\.md#([\w-]+)", path.read_text(encoding="utf-8")):
            assert anchor in terms, f"{path.relative_to(ROOT)} links to {anchor}"


def test_a_term_links_to_its_chapter_once_the_navigation_has_it(site: Path) -> None:
    html = (site / "glossary/index.html").read_text(encoding="utf-8")
    own = {c.number: c.page for c in chapters(load_config(str(ROOT / "mkdocs.yml")).nav, DOCS, {})}
    for _, anchor, _, chapter in entries():
        paragraph = html.split(f'<strong id="{anchor}">')[1].partition("</p>")[0]
        if chapter in own:
            address = own[chapter].removesuffix(".md")
            assert f'<a href="../{address}/">chapter {chapter}</a>' in paragraph, anchor
        else:
            assert f"chapter {chapter}." in paragraph, anchor
