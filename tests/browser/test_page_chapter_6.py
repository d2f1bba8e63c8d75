"""Chapter 6: every step of the time line scores and writes what PyTorch does with the same weights."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from built_site import CHAPTER_6, OpenPage, Site
from export.golden import BAD_PREFIXES
from live_parts import LivePart
from question_parts import ExercisePart
from site_server import missing
from test_page_layout import CONTRAST, expect_fits
from test_page_scorer import shown_name
from tiny_gpt.checkpoint import CHECKPOINTS, load_model, published, read_record
from tiny_gpt.generate import LONGEST_ANSWER, generate, next_token_logits
from tiny_gpt.learned import percent, row_of
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import PromptError, check_prefix
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

STEPS = [read_record(path)["step"] for path in published()]
PREFIX = "358+467="


class TimeLine(LivePart):
    element, label, press = "time-line", "Prefix", "Score"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.slider = self.root.get_by_role("slider", name="Step of training")
        self.step = self.root.locator(".line-step")
        self.results = self.root.locator(".line-results")

    def slide(self, step: int) -> None:
        """Move the slider to a step, as a drag does: input, then change."""
        self.slider.fill(str(STEPS.index(step)))

    def score_at(self, step: int, prefix: str | None = None) -> None:
        self.slide(step)
        if prefix is not None:
            self.submit(prefix)
        expect(self.results.locator(".line-echo")).to_contain_text(f"Weights: {label(step)}.")
        self.wait("ready")

    def rows(self, table: str) -> list[list[str]]:
        cells: list[list[str]] = self.root.locator(f".{table} tbody").evaluate(
            "body => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        return cells


def label(step: int) -> str:
    if step == STEPS[0]:
        return "untrained (step 0)"
    return f"trained (step {step:,})" if step == STEPS[-1] else f"step {step:,}"


def model_at(step: int) -> TinyArithmeticGPT:
    return load_model(CHECKPOINTS / f"step-{step:06d}.safetensors")


def probability(model: TinyArithmeticGPT, prefix: str, written: str, ended: bool) -> float:
    """The product of the probabilities of what was written, EOS included where it came."""
    ids = [*CharacterTokenizer().encode(written)[1:], *([EOS_ID] if ended else [])]
    product, text = 1.0, prefix
    for token in ids:
        product *= float(next_token_logits(model, text).double().softmax(dim=0)[token])
        text += CharacterTokenizer().token_name(token)
    return product


def expect_step(line: TimeLine, step: int, prefix: str, right: str | None) -> str:
    """Tokens, answer and verdict shown are PyTorch's at this step; returns what is written."""
    model = model_at(step)
    shares = next_token_logits(model, prefix).double().softmax(dim=0)
    expected = [int(i) for i in shares.argsort(descending=True)[:5]]
    rows = line.rows("line-top")
    assert [name for name, _ in rows] == [shown_name(i) for i in expected]
    for (_, share), token in zip(rows, expected, strict=True):
        assert float(share) == pytest.approx(float(shares[token]), rel=1e-2, abs=1e-6)
    written, reason = generate(model, prefix)
    ended = reason == "EOS" and len(written) < LONGEST_ANSWER
    written = written[:LONGEST_ANSWER]
    answer = line.root.locator(".line-answer")
    assert answer.locator("code").text_content() == (written or " ")
    expect(answer).to_contain_text("and then EOS" if ended else f"and no EOS within {len(written)} tokens")
    (row,) = [row for row in line.rows("line-seen") if row[0] == f"{step:,}"]
    verdict = "–" if right is None else "✓ right" if ended and written == right else "✗ wrong"
    assert [row[1], row[3]] == [(written or " ") + ("" if ended else "…"), verdict]
    assert float(row[2]) == pytest.approx(probability(model, prefix, written, ended), rel=2e-2, abs=1e-6)
    return written


def test_every_step_writes_what_pytorch_writes(open_page: OpenPage) -> None:
    line = TimeLine(open_page(CHAPTER_6))
    line.wait("idle")
    line.score_at(100, PREFIX)
    for step in STEPS:
        line.score_at(step)
        expect_step(line, step, PREFIX, "825")
    assert [row[0] for row in line.rows("line-seen")] == [f"{step:,}" for step in STEPS]
    assert {row[3] for row in line.rows("line-seen")} == {"✓ right", "✗ wrong"}


@pytest.mark.parametrize(
    ("prefix", "right"), [("7-12=", "-5"), ("", None), ("12+34=4", None), ("2*3=", None), ("1000+1=", None)]
)
def test_other_prefixes(open_page: OpenPage, prefix: str, right: str | None) -> None:
    line = TimeLine(open_page(CHAPTER_6))
    for step in (250, 14000):
        line.score_at(step, prefix)
        expect_step(line, step, prefix, right)
    warnings = line.root.locator(".live-warning")
    expect(warnings).to_have_count(1 if prefix.startswith("1000") else 0)


def test_the_record_of_a_step_is_the_committed_one(open_page: OpenPage) -> None:
    line = TimeLine(open_page(CHAPTER_6))
    for step in STEPS:
        line.slide(step)
        record = read_record(CHECKPOINTS / f"step-{step:06d}.safetensors")
        said = line.root.locator(".line-record").inner_text()
        assert f"held-out loss {record['held_out_loss']:.3f};" in said
        cells = [
            (op, digits, percent(row_of(record["held_out"], op, digits), "right"))
            for op in "+-"
            for digits in (2, 3)
        ]
        expected = ", ".join(f"{'−' if op == '-' else op} with {d} digits {p:.1f} %" for op, d, p in cells)
        assert f"right answers: {expected}." in said
        assert re.search(r"Its weights are 0\.\d\d MB", said)
        expect(line.step).to_have_text(f"{label(step)}, after {record['problems_seen']:,} problems")
        assert line.slider.get_attribute("aria-valuetext") == label(step)
    line.wait("idle")


def test_sliding_downloads_nothing_before_score_and_each_step_once(open_page: OpenPage, site: Site) -> None:
    line = TimeLine(open_page(CHAPTER_6))
    line.slide(250)
    line.slide(500)
    line.wait("idle")

    def asked() -> list[str]:
        return [
            found[0]
            for request in site.server.requests
            if (found := re.search(r"models/step-\d+", request.path))
        ]

    assert asked() == []
    line.score_at(500, PREFIX)
    line.score_at(250)
    line.score_at(500)
    line.score_at(250, "1+1=")
    assert asked() == ["models/step-000500", "models/step-000250"]


def test_a_fast_drag_ends_at_the_step_where_it_rests(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_6)
    line = TimeLine(page)
    line.score_at(100, PREFIX)
    line.slider.evaluate(
        """(slider, steps) => {
          for (const step of steps) {
            slider.value = step;
            slider.dispatchEvent(new Event("input"));
          }
          slider.dispatchEvent(new Event("change"));
        }""",
        [2, 3, 4, 5, 6, 7],
    )
    expect(line.results).to_be_hidden()
    line.wait("ready")
    expect(line.results.locator(".line-echo")).to_contain_text("Weights: step 6,000.")
    expect(line.results).to_be_visible()
    expect_step(line, 6000, PREFIX, "825")
    visited = {row[0] for row in line.rows("line-seen")}
    assert {"100", "6,000"} <= visited and len(visited) <= 3, visited
    assert page.url.endswith("?time.prefix=" + quote(PREFIX) + "&time.step=6000")


def test_a_new_prefix_while_a_step_is_computed(open_page: OpenPage) -> None:
    line = TimeLine(open_page(CHAPTER_6))
    line.submit(PREFIX)
    line.box.fill("1+1=")
    line.wait("idle")
    expect(line.results).to_be_hidden()
    line.score_at(2000, "1+1=")
    expect(line.root.locator(".line-echo code")).to_have_text('"1+1="')
    assert [row[0] for row in line.rows("line-seen")][-1] == "2,000"
    expect_step(line, 2000, "1+1=", "2")


def test_weights_that_do_not_arrive_can_be_retried(open_page: OpenPage, site: Site) -> None:
    line = TimeLine(open_page(CHAPTER_6, rough=True))
    line.score_at(500, PREFIX)
    site.server.fail("assets/models/step-001000*", missing)
    line.slide(1000)
    line.expect_error()
    expect(line.results).to_be_hidden()
    site.server.heal()
    line.retry.click()
    line.wait("ready")
    expect_step(line, 1000, PREFIX, "825")
    line.slide(500)
    line.wait("ready")
    expect_step(line, 500, PREFIX, "825")


@pytest.mark.parametrize("text", [text for text in BAD_PREFIXES if "\n" not in text][:3])
def test_bad_prefixes_are_refused_in_pythons_words(open_page: OpenPage, text: str) -> None:
    with pytest.raises(PromptError) as refusal:
        check_prefix(text)
    line = TimeLine(open_page(CHAPTER_6))
    line.submit(text)
    line.expect_error()
    expect(line.alert).to_have_text(str(refusal.value))
    expect(line.box).to_have_value(text)
    line.slide(250)
    line.expect_error()
    expect(line.results).to_be_hidden()


def test_links_bring_back_prefix_and_step(open_page: OpenPage) -> None:
    line = TimeLine(open_page(CHAPTER_6 + "?time.step=4000&time.prefix=" + quote("1+1=")))
    expect(line.box).to_have_value("1+1=")
    expect(line.step).to_contain_text("step 4,000, after 2,048,000 problems")
    bad = TimeLine(open_page(CHAPTER_6 + "?time.step=77&time.prefix=" + quote("1−1")))
    expect(bad.root.locator(".live-warning")).to_have_count(2)
    expect(bad.box).to_have_value(PREFIX)
    expect(bad.step).to_contain_text("step 100,")


def test_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_6)
    line = TimeLine(page)
    line.box.focus()
    page.keyboard.press("Enter")
    line.wait("ready")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(line.slider).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(line.step).to_contain_text("step 250,")
    expect(line.results.locator(".line-echo")).to_contain_text("Weights: step 250.")
    line.wait("ready")
    expect(line.slider).to_be_focused()
    expect(line.status).to_have_text(
        re.compile(r"^Step 250: It writes 812, which is wrong \(probability 0\.\d+\)\.$")
    )
    page.keyboard.press("End")
    line.wait("ready")
    expect(line.results.locator(".line-echo")).to_contain_text("Weights: trained (step 14,000).")
    expect_step(line, 14000, PREFIX, "825")


def test_the_exercise_measures_what_pytorch_writes(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_6)
    early, later = model_at(250), model_at(1000)
    unlearned = ExercisePart(page, "chapter-6/unlearned")
    said = unlearned.check(Problem="5+65=")
    wrong = generate(later, "5+65=")[0]
    assert generate(early, "5+65=")[0] == "70"
    assert f"Solved. Step 250 writes 70 (right), step 1,000 writes {wrong} (wrong)." in said
    unlearned.root.get_by_label("Problem", exact=True).fill("hello")
    unlearned.button.click()
    unlearned.expect_error("Type a problem such as 12+34=")


def test_plots_have_their_values_in_tables(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_6)
    plots = page.locator("svg.plot")
    expect(plots).to_have_count(2)
    tables = page.locator("figure.plot-figure + details table")
    for index, lines in enumerate((1, 4)):
        points = (
            plots.nth(index)
            .locator("polyline")
            .evaluate_all("all => all.map((line) => line.getAttribute('points').split(' ').length)")
        )
        rows = tables.nth(index).locator("tbody tr").count()
        assert points[:lines] == [rows] * lines
        assert "The table has the values." in (plots.nth(index).get_attribute("aria-label") or "")


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (1280, "dark")])
def test_results_fit_and_can_be_read(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(CHAPTER_6, viewport={"width": width, "height": 800}, color_scheme=scheme)
    line = TimeLine(page)
    line.submit("\u2014" * 5)
    line.expect_error()
    expect_fits(page, "refused")
    line.score_at(0, "~W" * 10)
    line.score_at(14000)
    expect_fits(page, "all shown")
    found = page.evaluate(CONTRAST, "time-line, svg.plot")
    assert len(found) > 30
    assert [text for ratio, text in found if ratio < 4.5] == []
