"""Chapter 3: tokens, targets and the mask on the page are Python's."""

from itertools import pairwise
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from built_site import CHAPTER_3, OpenPage
from export.facts.rows import mask_rows
from export.golden import BAD_PREFIXES, golden_prefixes
from live_parts import LivePart
from question_parts import ExercisePart
from test_page_layout import CONTRAST, expect_fits
from test_page_scorer import shown_name
from tiny_gpt.data import ROW_LENGTH
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import PromptError, check_prefix
from tiny_gpt.tokenizer import EOS_ID, PAD_ID, CharacterTokenizer

EXACT = 1e-5


class Chips(LivePart):
    element, label, press = "token-chips", "Line", ""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.results = self.root.locator(".chips-results")
        self.summary = self.root.locator(".chips-summary")

    def row(self) -> list[tuple[str, list[str], list[int], str]]:
        """Each position: its number, the two tokens, their IDs, and what is said of the loss."""
        found = self.root.locator(".chip").evaluate_all(
            """chips => chips.map((chip) => [
              chip.querySelector(".chip-position").lastChild.textContent,
              [...chip.querySelectorAll("code")].map((code) => code.textContent),
              [...chip.querySelectorAll(".chip-token")].map((token) => Number(token.dataset.id)),
              chip.querySelector(".chip-counts").textContent,
            ])"""
        )
        return [(place, names, ids, counts) for place, names, ids, counts in found]


class MaskCheck(LivePart):
    element, label, press = "mask-check", "Line with its answer", "Compare"

    def rows(self) -> list[list[str]]:
        cells: list[list[str]] = self.root.locator("tbody").evaluate(
            "body => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        return cells


def expected_row(line: str) -> list[tuple[str, list[str], list[int], str]]:
    """The positions of a line's row, from Python's tokenizer."""
    ids = [*CharacterTokenizer().encode(line), EOS_ID]
    ids += [PAD_ID] * (ROW_LENGTH - len(ids))
    return [
        (
            str(position),
            [shown_name(token), shown_name(target)],
            [token, target],
            "ignored" if target == PAD_ID else "in loss",
        )
        for position, (token, target) in enumerate(pairwise(ids))
    ]


def test_chips_are_pythons_rows(open_page: OpenPage) -> None:
    chips = Chips(open_page(CHAPTER_3))
    chips.wait("ready")
    expect(chips.box).to_have_value("7-12=-5")
    assert chips.row() == expected_row("7-12=-5")
    for line in ["", "999+999=1998", *golden_prefixes()[:40:3]]:
        chips.box.fill(line)
        expect(chips.root.locator(".chip")).to_have_count(len(expected_row(line)))
        assert chips.row() == expected_row(line), line
        counted = len(line) + 1
        expect(chips.summary).to_contain_text(f"{counted} target{'s' * (counted != 1)} in the loss")


def test_chips_follow_each_key_and_are_announced_once(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_3)
    chips = Chips(page)
    chips.box.fill("")
    for end, key in enumerate("12+34", start=1):
        chips.box.press(key)
        assert chips.row() == expected_row("12+34"[:end])
        expect(chips.status).to_be_empty()
    chips.box.press("Enter")
    expect(chips.status).to_have_text("A row of 14 tokens: 13 positions, 6 targets in the loss, 7 PAD.")
    assert page.url.endswith("?row.line=12%2B34")


@pytest.mark.parametrize("text", [text for text in BAD_PREFIXES if "\n" not in text])
def test_bad_characters_are_named_in_pythons_words(open_page: OpenPage, text: str) -> None:
    with pytest.raises(PromptError) as refusal:
        check_prefix(text)
    chips = Chips(open_page(CHAPTER_3))
    chips.box.fill(text)
    chips.expect_error()
    expect(chips.alert).to_have_text(str(refusal.value))
    expect(chips.results).to_be_hidden()
    expect(chips.box).to_have_value(text)
    expect(chips.box).to_have_attribute("aria-invalid", "true")
    chips.box.fill("1+1=")
    chips.wait("ready")
    expect(chips.results).to_be_visible()
    assert chips.row() == expected_row("1+1=")


@pytest.mark.parametrize("line", ["12+34=46", "7-12=x", "a=~b c", "999+999=" + "1998" * 5])
def test_mask_check_is_pytorchs(open_page: OpenPage, trained_model: TinyArithmeticGPT, line: str) -> None:
    check = MaskCheck(open_page(CHAPTER_3))
    check.submit(line)
    check.wait("ready")
    start, _, ending = line.partition("=")
    expected = mask_rows(trained_model, f"{start}=", ending)
    shown = check.rows()
    for cells, (text, what, top, change, change_unmasked) in zip(shown, expected, strict=True):
        assert cells[:3] == [text, what, shown_name(CharacterTokenizer.token_id(top))]
        if what == "nothing follows":
            assert cells[3:] == ["–", "–"]
            continue
        assert float(cells[3]) == pytest.approx(change, abs=2e-3)
        assert float(cells[4]) == pytest.approx(change_unmasked, abs=2e-3)
    assert max(float(shown[1][3]), float(shown[2][3])) < EXACT
    assert min(float(shown[1][4]), float(shown[2][4]), float(shown[3][3])) > 0.01


@pytest.mark.parametrize("line", ["", "12+34", "12+34=", "=46"])
def test_mask_check_needs_an_answer(open_page: OpenPage, line: str) -> None:
    check = MaskCheck(open_page(CHAPTER_3))
    check.submit(line)
    check.expect_error("The line needs an = with something before and after it")
    expect(check.box).to_have_value(line)


def test_links_bring_back_what_was_shown(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_3 + "?row.line=" + quote("5-5=0") + "&mask.line=" + quote("1+1=2"))
    expect(MaskCheck(page).box).to_have_value("1+1=2")
    chips = Chips(page)
    expect(chips.box).to_have_value("5-5=0")
    assert chips.row() == expected_row("5-5=0")
    bad = open_page(CHAPTER_3 + "?row.line=" + quote("5−5") + "&mask.line=12")
    for part, usual in ((Chips(bad), "7-12=-5"), (MaskCheck(bad), "12+34=46")):
        expect(part.root.locator(".live-warning")).to_contain_text("The link's line")
        expect(part.box).to_have_value(usual)


def test_exercises(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_3)
    ids = CharacterTokenizer().encode("40-7=")
    expect(page.locator('course-exercise[name="chapter-3/text-of-ids"] strong')).to_have_text(
        ", ".join(map(str, ids))
    )
    puzzle = ExercisePart(page, "chapter-3/text-of-ids")
    assert "Your text has the IDs 1, 23, 19, 14, 26, 32." in puzzle.check(Text="40+7=")
    said = puzzle.check(Text="40-7=")
    assert "Solved." in said and "goes on with 3 3 EOS: the IDs 22, 22, 2." in said

    ends = ExercisePart(page, "chapter-3/end-without-truth")
    assert "Not solved yet." in ends.check(Line="1+1=2")
    assert "EOS has 99.99 % and is the likeliest. The line is a problem" in ends.status.inner_text()
    assert "the likeliest is" in ends.check(Line="hello")
    assert "Solved." in ends.check(Line="1+1=22")
    ends.root.get_by_label("Line", exact=True).fill("1+1=")
    ends.button.click()
    ends.expect_error("The line has 4 of at least 5 characters.")


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (1280, "dark")])
def test_results_fit_and_can_be_read(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(CHAPTER_3, viewport={"width": width, "height": 800}, color_scheme=scheme)
    chips, check = Chips(page), MaskCheck(page)
    chips.box.fill("\u2014" * 5)
    check.submit("W" * 31)
    check.expect_error()
    expect_fits(page, "refused")
    chips.box.fill("~W" * 15)
    check.submit("999-1000=" + "W" * 22)
    check.wait("ready")
    expect_fits(page, "all shown")
    found = page.evaluate(CONTRAST, "token-chips, mask-check")
    assert len(found) > 100
    assert [text for ratio, text in found if ratio < 4.5] == []
