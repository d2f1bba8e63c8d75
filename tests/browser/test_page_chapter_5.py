"""Chapter 5: the loss of each target on the page is PyTorch's, and a blind guess costs ln 98."""

import math
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from built_site import CHAPTER_5, OpenPage
from export.golden import BAD_PREFIXES
from live_parts import LivePart
from question_parts import ExercisePart
from test_page_layout import CONTRAST, expect_fits
from test_page_scorer import shown_name
from tiny_gpt.checkpoint import CHECKPOINTS, load_model
from tiny_gpt.line_loss import line_losses
from tiny_gpt.prompt import PromptError, check_prefix
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

LINES = ["12+34=46", "", " ", "hello", "999+999=1998", "=", "a=b=c", "9" * 31]


class LineLoss(LivePart):
    element, label, press = "line-loss", "Line", "Measure"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.results = self.root.locator(".loss-results")
        self.weights = self.root.get_by_label("Weights", exact=True)

    def measure(self, line: str, weights: str | None = None) -> None:
        if weights:
            self.weights.select_option(weights)
        self.submit(line)
        self.wait("ready")

    def rows(self) -> list[list[str]]:
        """Target, probability and loss of each row of the table."""
        cells: list[list[str]] = self.root.locator("tbody").evaluate(
            "body => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        return cells

    def bars(self) -> list[float]:
        """Width of each bar as a share of the place of the mark at ln 98, the mean's bar last."""
        widths: list[float] = self.root.locator(".loss-track").evaluate_all(
            """tracks => tracks.map((track) => {
              const [bar, mark] = track.children;
              const box = (part) => part.getBoundingClientRect();
              return box(bar).width / (box(mark).left + box(mark).width / 2 - box(track).left);
            })"""
        )
        return widths


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*\.?\d*", text)]


def expect_losses(part: LineLoss, line: str, losses: list[float]) -> None:
    """Table, bars, mean and sentences belong to `line` and are these losses."""
    names = [shown_name(i) for i in [*CharacterTokenizer().encode(line)[1:], EOS_ID]]
    rows = part.rows()
    assert [row[0] for row in rows] == names
    for (_, share, loss), expected in zip(rows, losses, strict=True):
        assert float(loss) == pytest.approx(expected, abs=6e-4)
        assert float(share) == pytest.approx(math.exp(-expected), rel=6e-3, abs=6e-7)
    mean = sum(losses) / len(losses)
    assert float(part.root.locator("tfoot td").inner_text()) == pytest.approx(mean, abs=6e-4)
    for width, expected in zip(part.bars(), [*losses, mean], strict=True):
        assert width == pytest.approx(expected / math.log(98), abs=0.04)
    expect(part.root.locator(".loss-summary code")).to_have_text(f'"{line}"')
    said = part.status.inner_text()
    assert f"over {len(losses)} target{'s' * (len(losses) != 1)}: " in said
    assert said.endswith(f"{'below' if mean < math.log(98) else 'above'} the price of a blind guess.")
    assert numbers(said)[-1] == pytest.approx(abs(mean - math.log(98)), abs=6e-4)
    (perplexity,) = numbers(part.results.get_by_text("Perplexity").inner_text().partition("Perplexity")[2])
    assert perplexity == pytest.approx(math.exp(mean), rel=1e-3, abs=6e-3)
    halves = part.root.locator(".loss-halves")
    if "=" in line:
        start = line.index("=") + 1
        expected_halves = [sum(half) / len(half) for half in (losses[:start], losses[start:])]
        assert numbers(halves.inner_text()) == pytest.approx(expected_halves, abs=6e-4)
    else:
        expect(halves).to_have_count(0)


@pytest.mark.parametrize("weights", ["step-000000", "step-000250", "step-014000"])
def test_losses_are_pytorchs(open_page: OpenPage, weights: str) -> None:
    model = load_model(CHECKPOINTS / f"{weights}.safetensors")
    part = LineLoss(open_page(CHAPTER_5))
    for line in LINES:
        part.measure(line, weights)
        expect_losses(part, line, line_losses(model, line))


def test_equal_logits_cost_exactly_a_blind_guess(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_5)
    part = LineLoss(page)
    part.measure("12+34=46", "even")
    assert {(share, loss) for _, share, loss in part.rows()} == {(f"{1 / 98:.6f}", f"{math.log(98):.3f}")}
    expect(part.status).to_have_text("Mean loss 4.585 over 9 targets: exactly the price of a blind guess.")
    expect(part.results).to_contain_text("Perplexity, e to the power of the mean: 98.00.")
    expect(part.results).to_contain_text("A training row has 13 targets. The other 4 would be PAD")
    assert page.url.endswith("?loss.line=12%2B34%3D46&loss.weights=even")


def test_changes_clear_what_was_measured(open_page: OpenPage) -> None:
    part = LineLoss(open_page(CHAPTER_5))
    part.measure("1+1=2")
    part.box.press("End")
    part.box.press("Backspace")
    part.wait("idle")
    expect(part.results).to_be_hidden()
    expect(part.status).to_have_text("The line has changed. Press Measure to compute the loss.")
    part.measure("1+1=2")
    part.weights.select_option("even")
    part.wait("idle")
    expect(part.results).to_be_hidden()
    expect(part.status).to_contain_text("The weights have changed.")


@pytest.mark.parametrize("text", [text for text in BAD_PREFIXES if "\n" not in text])
def test_bad_lines_are_refused_in_pythons_words(open_page: OpenPage, text: str) -> None:
    with pytest.raises(PromptError) as refusal:
        check_prefix(text)
    part = LineLoss(open_page(CHAPTER_5))
    part.submit(text)
    part.expect_error()
    expect(part.alert).to_have_text(str(refusal.value))
    expect(part.results).to_be_hidden()
    expect(part.box).to_have_value(text)
    expect(part.box).to_have_attribute("aria-invalid", "true")


def test_links_bring_back_line_and_weights(open_page: OpenPage) -> None:
    part = LineLoss(open_page(CHAPTER_5 + "?loss.weights=step-000250&loss.line=" + quote("1+1=2")))
    expect(part.box).to_have_value("1+1=2")
    expect(part.weights).to_have_value("step-000250")
    bad = LineLoss(open_page(CHAPTER_5 + "?loss.weights=step-7&loss.line=" + quote("1−1")))
    warnings = bad.root.locator(".live-warning")
    expect(warnings).to_have_count(2)
    expect(warnings.first).to_contain_text("The link's line “1−1” does not fit this page")
    expect(bad.box).to_have_value("12+34=46")
    expect(bad.weights).to_have_value("step-014000")


def test_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_5)
    part = LineLoss(page)
    part.box.focus()
    page.keyboard.press("End")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    part.wait("ready")
    expect(part.box).to_be_focused()
    expect(part.root.locator(".loss-summary code")).to_have_text('"12+34=467"')
    page.keyboard.press("Tab")
    expect(part.weights).to_be_focused()
    page.keyboard.press("Home")
    part.wait("idle")
    expect(part.weights).to_have_value("even")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    part.wait("ready")
    expect(part.status).to_contain_text("exactly")


def test_exercises_measure_pytorchs_loss(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_5)
    model = load_model(CHECKPOINTS / "step-014000.safetensors")

    def mean(line: str) -> str:
        losses = line_losses(model, line)
        return f"{sum(losses) / len(losses):.3f}"

    dear = ExercisePart(page, "chapter-5/dearer-than-blind")
    assert f"The mean loss of the line is {mean('12+34=47')}." in dear.check(Line="12+34=47")
    assert f"Solved. The mean loss of the line is {mean('=====')}." in dear.check(Line="=====")
    for text in ("hello", "1+1", "12 + 34"):
        dear.root.get_by_label("Line", exact=True).fill(text)
        dear.button.click()
        dear.expect_error("Type at least 5 characters, only digits, +, - and =.")
    cheap = ExercisePart(page, "chapter-5/cheap-line")
    assert f"is {mean('1+1=2')}." in cheap.check(Problem_with_its_answer="1+1=2")
    cheap.root.get_by_label("Problem with its answer", exact=True).fill("1+1=3")
    cheap.button.click()
    cheap.expect_error("Type a problem with its right answer")
    cheap.root.get_by_label("Problem with its answer", exact=True).fill("999+999=1998")
    cheap.button.click()
    cheap.expect_error("The chapter tells what 999+999=1998 costs.")


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (1280, "dark")])
def test_results_fit_and_can_be_read(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(CHAPTER_5, viewport={"width": width, "height": 800}, color_scheme=scheme)
    part = LineLoss(page)
    part.submit("\u2014" * 5)
    part.expect_error()
    expect_fits(page, "refused")
    part.measure("~W" * 15)
    expect_fits(page, "all shown")
    found = page.evaluate(CONTRAST, "line-loss")
    assert len(found) > 60
    assert [text for ratio, text in found if ratio < 4.5] == []
