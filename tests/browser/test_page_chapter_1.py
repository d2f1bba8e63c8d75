"""Chapter 1: the answer that the page writes, step by step, is the one that Python writes."""

import math

import pytest
from playwright.sync_api import Page, expect

from built_site import CHAPTER_1, OpenPage, Site
from live_parts import LivePart
from question_parts import ExercisePart
from site_server import missing
from test_page_layout import CONTRAST, expect_fits
from test_page_scorer import shown_name
from tiny_gpt.generate import generate, next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import unseen_operands
from tiny_gpt.tokenizer import CharacterTokenizer

TOP = 5
PROMPTS = ["12+34=", "7-12=", "999+999=", "2*3=", "hello", "", "1234+5678=", "12 + 34 =", "~" * 31]
FILLS_THE_CONTEXT = "9" * 20 + "+1="


class Writer(LivePart):
    element, label, press = "answer-writer", "Prefix", "Step"

    def __init__(self, page: Page, index: int = 0) -> None:
        super().__init__(page, index)
        self.all = self.root.get_by_role("button", name="Write all", exact=True)
        self.results = self.root.locator(".writer-results")
        self.cards = self.root.locator(".step-card")
        self.written = self.root.locator(".writer-text mark")

    def write(self, text: str) -> None:
        self.box.fill(text)
        self.all.click()
        self.wait("ready")


def percent(share: float) -> str:
    """How the page writes a share."""
    return f"{math.floor(10_000 * share) / 100:.2f} %" if share >= 0.0001 else "< 0.01 %"


def expect_percent(shown: str, share: float) -> None:
    """The share that Python computes, up to what float64 in two programs can differ."""
    assert shown in {percent(share), percent(share * (1 - 1e-4)), percent(share * (1 + 1e-4) + 1e-7)}, share


def expect_step(writer: Writer, model: TinyArithmeticGPT, step: int, text: str) -> str:
    """Card number `step` shows the text that was fed in and Python's scores after it; returns the choice."""
    card = writer.cards.nth(step)
    expect(card.locator(".step-title")).to_have_text(f"Step {step + 1}")
    fed = card.locator(".step-fed code").all_text_contents()
    assert fed == [shown_name(token) for token in CharacterTokenizer().encode(text)]
    logits = next_token_logits(model, text).double()
    shares = logits.softmax(dim=0)
    order = logits.argsort(descending=True, stable=True)[:TOP].tolist()
    rows = card.locator("tbody tr").all()
    assert len(rows) == TOP + 1
    for row, token in zip(rows, order, strict=False):
        assert row.get_attribute("data-id") == str(token)
        assert row.locator("th code").text_content() == shown_name(token)
        logit, share = row.locator("td").all_text_contents()
        assert float(logit) == pytest.approx(float(logits[token]), abs=0.0051)
        expect_percent(share, float(shares[token]))
    assert rows[TOP].locator("th").text_content() == "93 others"
    expect_percent(rows[TOP].locator("td").last.inner_text(), float(1 - shares[order].sum()))
    assert card.locator(".step-row--chosen th").text_content() == f"{shown_name(order[0])} chosen"
    chosen = card.locator(".step-chosen code").inner_text()
    assert chosen == shown_name(order[0])
    return chosen


def test_write_all_equals_python(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    writer = Writer(open_page(CHAPTER_1))
    expect(writer.box).to_have_value("12+34=")
    for prompt in PROMPTS:
        writer.write(prompt)
        written, reason = generate(trained_model, prompt)
        steps = len(written) + (reason == "EOS")
        expect(writer.cards).to_have_count(steps)
        expect(writer.written).to_have_text(written)
        assert writer.root.locator(".writer-text code").text_content() == prompt + written
        chosen = [expect_step(writer, trained_model, step, prompt + written[:step]) for step in range(steps)]
        assert chosen == [shown_name(CharacterTokenizer.token_id(c)) for c in written] + ["EOS"] * (
            reason == "EOS"
        )
        expect(writer.status).to_contain_text(f": {steps} step")
        warnings = writer.results.locator(".live-warning").all_text_contents()
        assert warnings == unseen_operands(prompt)


def test_a_full_context_stops_the_writing(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    writer = Writer(open_page(CHAPTER_1))
    written, reason = generate(trained_model, FILLS_THE_CONTEXT)
    assert reason == "context full"
    writer.write(FILLS_THE_CONTEXT)
    expect(writer.written).to_have_text(written)
    expect(writer.status).to_have_text(
        f"The model wrote “{written}”, and then the context was full: {len(written)} steps."
    )
    expect(writer.cards.last).to_contain_text("The context is full, so the writing stops.")


def test_step_by_step(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    writer = Writer(open_page(CHAPTER_1))
    for step, token in enumerate(["4", "6"]):
        writer.button.click()
        expect(writer.cards).to_have_count(step + 1)
        expect(writer.status).to_have_text(f"Step {step + 1} wrote {token}.")
        assert expect_step(writer, trained_model, step, "12+34=46"[: 6 + step]) == token
    writer.button.click()
    expect(writer.status).to_have_text("The model wrote “46”, then EOS, which ends the text: 3 steps.")
    expect(writer.cards).to_have_count(3)
    writer.button.click()  # a finished answer begins anew
    expect(writer.status).to_have_text("Step 1 wrote 4.")
    expect(writer.cards).to_have_count(1)
    writer.all.click()  # and goes on from where it is
    expect(writer.cards).to_have_count(3)
    expect(writer.written).to_have_text("46")


def test_typing_clears_and_bad_input_is_refused(open_page: OpenPage) -> None:
    writer = Writer(open_page(CHAPTER_1))
    writer.write("12+34=")
    writer.box.press("End")
    writer.box.press("4")
    writer.wait("idle")
    expect(writer.results).to_be_hidden()
    expect(writer.status).to_contain_text("The prefix has changed.")
    for text, sentence in {"12−34=": "Type - instead.", "9" * 32: "Shorten it by 1."}.items():
        writer.box.fill(text)
        for press in (writer.button, writer.all):
            press.click()
            writer.expect_error(sentence)
            expect(writer.box).to_have_value(text)
            expect(writer.box).to_have_attribute("aria-invalid", "true")
            expect(writer.results).to_be_hidden()
            expect(writer.cards).to_have_count(0)


def test_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_1)
    writer = Writer(page)
    writer.box.focus()
    page.keyboard.press("Enter")
    expect(writer.status).to_have_text("Step 1 wrote 4.")
    expect(writer.box).to_be_focused()
    page.keyboard.press("Tab")
    expect(writer.button).to_be_focused()
    page.keyboard.press("Space")
    expect(writer.status).to_have_text("Step 2 wrote 6.")
    page.keyboard.press("Tab")
    expect(writer.all).to_be_focused()
    page.keyboard.press("Enter")
    expect(writer.status).to_contain_text("3 steps")
    expect(writer.all).to_be_focused()


def test_a_link_keeps_the_text(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_1)
    writer = Writer(page)
    writer.write("7-12=")
    again = Writer(open_page(page.url.partition("/course/")[2]))
    expect(again.box).to_have_value("7-12=")
    broken = Writer(open_page(CHAPTER_1 + "?write.prefix=1%E2%88%921"))
    expect(broken.root.locator(".live-warning")).to_contain_text("The link's prefix “1−1” does not fit")
    expect(broken.box).to_have_value("12+34=")


def test_a_failed_download_can_be_retried(open_page: OpenPage, site: Site) -> None:
    site.server.fail("assets/models/*", missing)
    writer = Writer(open_page(CHAPTER_1, rough=True))
    writer.button.click()
    writer.expect_error("the server answered 404")
    site.server.heal()
    writer.retry.click()
    writer.wait("ready")
    expect(writer.written).to_have_text("4")


@pytest.mark.parametrize("prefix", ["12+34", "1", "", "12+34=46", "9-"])
def test_likeliest_equals_is_pythons(
    open_page: OpenPage, trained_model: TinyArithmeticGPT, prefix: str
) -> None:
    exercise = ExercisePart(open_page(CHAPTER_1), "chapter-1/equals-likeliest")
    said = exercise.check(Prefix=prefix)
    shares = next_token_logits(trained_model, prefix).double().softmax(dim=0)
    equals = CharacterTokenizer.token_id("=")
    assert said.startswith("✓" if int(shares.argmax()) == equals else "Not")
    shown = said.partition(" %")[0].split()[-1]
    assert float(shown) == pytest.approx(100 * float(shares[equals]), abs=0.011)


def test_products_are_judged(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    exercise = ExercisePart(open_page(CHAPTER_1), "chapter-1/right-by-accident")
    for a, b in ((2, 2), (2, 3), (0, 0), (12, 34)):
        said = exercise.check(Product=f"{a}*{b}=")
        written, _ = generate(trained_model, f"{a}*{b}=")
        assert f"The model wrote {written}. The product is {a * b}, the sum is {a + b}." in said
        assert said.startswith("✓" if written == str(a * b) else "Not")
    exercise.root.get_by_label("Product", exact=True).fill("2+3=")
    exercise.button.click()
    exercise.expect_error("This is no product")


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (1280, "dark")])
def test_results_fit_and_can_be_read(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(CHAPTER_1, viewport={"width": width, "height": 800}, color_scheme=scheme)
    writer = Writer(page)
    writer.write("9" * 25)
    expect_fits(page, "all shown")
    found = page.evaluate(CONTRAST, "answer-writer")
    assert len(found) > 100
    assert [text for ratio, text in found if ratio < 4.5] == []
