"""Chapter 7: what the page draws from a seed, shapes and counts is what Python draws, shapes and counts."""

import re
import shlex
from collections import Counter
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from built_site import CHAPTER_7, OpenPage, Site
from export.questions.computations import opened, result
from live_parts import LivePart
from test_page_chapter_1 import expect_percent
from test_page_layout import CONTRAST, expect_fits
from test_page_scorer import shown_name
from tiny_gpt import generate
from tiny_gpt.generate import next_token_logits, sampled_answers
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import PromptError, check_prefix, check_setting
from tiny_gpt.random32 import draws, unit_interval

SLOWER = 4
LONGEST_TASK_MS = 200


class Settings(LivePart):
    """What the parts with a form for sampling share."""

    results_class = ""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.results = self.root.locator(self.results_class)
        self.weights = self.root.get_by_label("Weights", exact=True)

    def fill(self, **values: str | float) -> None:
        """Put values into the fields by their labels, `_` for a space and `Top_k` for Top-k."""
        for name, value in values.items():
            label = name.replace("Top_k", "Top-k").replace("_", " ")
            field = self.root.get_by_label(label, exact=True)
            if field.evaluate("field => field.localName") == "select":
                field.select_option(str(value))
            else:
                field.fill(str(value))

    def press_and_wait(self) -> None:
        self.button.click()
        self.wait("ready")


class SampledWriter(Settings):
    element, label, press, results_class = "sampled-writer", "Prefix", "Write", ".writer-results"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.next = self.root.get_by_role("button", name="Next seed", exact=True)
        self.cards = self.root.locator(".step-card")
        self.written = self.root.locator(".writer-text mark")
        self.command = self.root.locator(".writer-results .live-hint code")


class Counting(Settings):
    element, label, press, results_class = "draw-counter", "Prefix", "Draw and count", ".draws-results"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.stop = self.root.get_by_role("button", name="Stop", exact=True)

    def rows(self) -> list[list[str]]:
        """Answer, times, share, first seed, verdict, as the table has them."""
        cells: list[list[str]] = self.root.locator("tbody").evaluate(
            "body => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        return cells


class Shaper(Settings):
    element, label, press, results_class = "score-shaper", "Prefix", "Score", ".shape-results"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.temperature = self.root.get_by_label("Temperature", exact=True)
        self.top_k = self.root.get_by_label("Top-k", exact=True)

    def slide(self, temperature: float, top_k: int) -> None:
        """Move both sliders and let them rest."""
        for slider, value in ((self.temperature, temperature), (self.top_k, top_k)):
            slider.fill(str(value))
        expect(self.status).to_contain_text(f", top-k {top_k}: ")

    def rows(self) -> list[list[str]]:
        """ID, token, logit, before, after."""
        cells: list[list[str]] = self.root.locator("tbody").evaluate(
            "body => [...body.rows].map((row) => [row.dataset.id, ...[...row.cells].map((c) => c.textContent)])"
        )
        return cells


def expected_shares(logits: torch.Tensor, temperature: float, top_k: int) -> torch.Tensor:
    """Softmax of the kept logits over the temperature, the others at 0."""
    order = logits.argsort(descending=True, stable=True)
    kept = torch.full_like(logits, float("-inf"))
    if temperature == 0:
        top_k, temperature = 1, 1.0
    kept[order[:top_k]] = logits[order[:top_k]] / temperature
    return kept.softmax(dim=0)


@pytest.mark.parametrize(
    ("model", "prefix", "temperature", "top_k", "seeds"),
    [
        ("step-001000", "12+34=", "1", 98, range(6)),
        ("step-000500", "457+385=", "1.3", 40, [0, 2**32 - 1]),
        ("trained", "7+5=", "5", 98, [3, 24]),
        ("trained", "7-12=", "0", 98, [7]),
        ("trained", "2+3=", "3", 3, [1, 2]),
        ("initial", "9" * 20, "1", 98, [0]),
        ("trained", "9" * 31, "2.5", 98, [0]),
    ],
)
def test_a_seed_gives_pythons_text(
    open_page: OpenPage,
    site: Site,
    model: str,
    prefix: str,
    temperature: str,
    top_k: int,
    seeds: list[int],
) -> None:
    writer = SampledWriter(open_page(CHAPTER_7))
    key = site.manifest.get(model, model)
    for seed in seeds:
        writer.fill(Prefix=prefix, Temperature=temperature, Top_k=top_k, Seed=seed, Weights=key)
        writer.press_and_wait()
        written, reason = generate.generate(opened(model), prefix, float(temperature), top_k, seed)
        assert writer.written.text_content() == written
        stop = "a full context" if reason == "context full" else reason
        expect(writer.status).to_contain_text(f" and ended with {stop}.")
        steps = len(written) + (reason != "context full")
        expect(writer.cards).to_have_count(steps)
        for step in (0, steps - 1):
            logits = next_token_logits(opened(model), prefix + written[:step]).double()
            after = expected_shares(logits, float(temperature), top_k)
            card = writer.cards.nth(step)
            for row in card.locator("tr[data-id]").all():
                token = int(row.get_attribute("data-id") or "")
                cells = row.locator("td").all_text_contents()
                if temperature == "0":
                    assert float(cells[0]) == pytest.approx(float(logits[token]), abs=0.0051)
                    continue
                expect_percent(cells[0], float(logits.softmax(dim=0)[token]))
                expect_share(cells[1], float(after[token]))
            if temperature != "0":
                draw = float(unit_interval(draws(seed, step, 1))[0])
                expect(card.locator(".step-chosen")).to_contain_text(f"Draw {draw:.4f} takes ")


def expect_share(shown: str, share: float) -> None:
    """A share that may be exactly none."""
    if share == 0:
        assert shown == "0 %"
    else:
        expect_percent(shown, share)


def test_the_command_shown_writes_the_same_text(
    open_page: OpenPage, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = SampledWriter(open_page(CHAPTER_7))
    for prefix, seed, model in (
        ("12+34=", 5, "step-001000"),
        ("it's 1+1", 3, "step-014000"),
        ("-5", 1, None),
    ):
        writer.fill(Prefix=prefix, Temperature="1.5", Top_k=50, Seed=seed)
        if model:
            writer.weights.select_option(model)
        writer.press_and_wait()
        python, flag, module, *arguments = shlex.split(writer.command.inner_text())
        assert (python, flag, module) == ("python", "-m", "tiny_gpt.generate")
        assert generate.main(arguments) == 0
        printed = capsys.readouterr().out.removesuffix("\n")
        assert writer.written.text_content() == printed


def test_next_seed_adds_one(open_page: OpenPage) -> None:
    writer = SampledWriter(open_page(CHAPTER_7))
    model = opened("step-001000")
    for seed in (1, 2, 3, 4, 5):
        writer.next.click()
        expect(writer.status).to_contain_text(f"Seed {seed}: ")
        written, _ = generate.generate(model, "12+34=", 1.0, 98, seed)
        verdict = "right" if written == "46" else "wrong"
        expect(writer.status).to_have_text(
            f"Seed {seed}: the model wrote “{written}” and ended with EOS. That is {verdict}."
        )
        expect(writer.root.get_by_label("Seed", exact=True)).to_have_value(str(seed))
    expect(writer.written).to_have_text("46")


@pytest.mark.parametrize(
    ("model", "prefix", "temperature", "top_k", "seed", "count"),
    [
        ("trained", "457+385=", 2, 98, 0, 200),
        ("trained", "457+385=", 1, 98, 0, 1000),
        ("step-001000", "12+34=", 0.5, 98, 17, 200),
        ("step-001000", "12+34=", 3, 12, 0, 200),
        ("trained", "7-12=", 5, 98, 2**32 - 20, 50),
        ("trained", "hello", 1, 98, 0, 50),
    ],
)
def test_counts_are_pythons(
    open_page: OpenPage,
    site: Site,
    model: str,
    prefix: str,
    temperature: float,
    top_k: int,
    seed: int,
    count: int,
) -> None:
    part = Counting(open_page(CHAPTER_7))
    key = site.manifest.get(model, model)
    part.fill(Prefix=prefix, Temperature=temperature, Top_k=top_k, First_seed=seed, Draws=count, Weights=key)
    part.press_and_wait()
    seeds = [(seed + index) % 2**32 for index in range(count)]
    expected = sampled_answers(opened(model), prefix, temperature, top_k, seeds)
    rows = part.rows()
    shown: Counter[tuple[str, str]] = Counter()
    is_problem = bool(re.fullmatch(r"\d+[+-]\d+=", prefix))
    wrong = 0
    for answer, times, _, first, verdict in rows:
        written, reason = generate.generate(opened(model), prefix, temperature, top_k, int(first))
        assert answer == written + ("" if reason == "EOS" else f" {reason}")
        shown[written, reason] = int(times.replace(",", ""))
        is_right = is_problem and (written, reason) == (str(result(prefix)), "EOS")
        assert verdict == (("right" if is_right else "wrong") if is_problem else "–")
        wrong += shown[written, reason] * (not is_right)
    assert shown == expected
    times = [shown[key] for key in shown]
    assert times == sorted(times, reverse=True)
    judged = f"Wrong: {wrong:,} of {count:,}." if is_problem else f"{count:,} draws."
    noun = "answer" if len(rows) == 1 else "answers"
    expect(part.status).to_have_text(f"{judged} {len(rows)} different {noun}.")
    expect(part.stop).to_be_hidden()


def test_stop_keeps_what_was_counted_and_the_page_stays_free(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_7)
    part = Counting(page)
    part.press_and_wait()  # the model is there
    part.fill(Prefix="1+1=", Temperature=5, Draws=1000)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    # Without the test tool's own code in the page, which would count as the page's.
    longest = page.evaluate(
        """() => new Promise((resolve) => {
          let longest = 0;
          new PerformanceObserver((list) => {
            for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
          }).observe({ type: "longtask" });
          const part = document.querySelector("draw-counter");
          setTimeout(() => part.querySelector("form").requestSubmit(), 100);
          const look = setInterval(() => {
            if (!part.querySelector("caption")?.textContent.startsWith("150 draws")) return;
            clearInterval(look);
            resolve(longest);
          }, 100);
        })"""
    )
    assert longest < LONGEST_TASK_MS
    part.stop.click()
    part.wait("ready")
    expect(part.status).to_contain_text("Stopped after ")
    expect(part.button).to_be_focused()
    expect(part.stop).to_be_hidden()
    said = part.status.inner_text()
    stopped = re.search(r"Stopped after (\d+) of 1,000 draws", said)
    assert stopped, said
    assert sum(int(times) for _, times, *_ in part.rows()) == int(stopped[1])


def test_rare_answers_share_a_row(open_page: OpenPage) -> None:
    part = Counting(open_page(CHAPTER_7))
    part.fill(Prefix="12+34=", Temperature=5)
    part.press_and_wait()
    expected = sampled_answers(opened("trained"), "12+34=", 5, 98, range(200)).most_common()
    rows = part.rows()
    assert len(expected) > 51 and len(rows) == 51
    assert [int(times) for _, times, *_ in rows[:50]] == [times for _, times in expected[:50]]
    assert rows[50][:2] == [
        f"{len(expected) - 50} other answers",
        str(sum(times for _, times in expected[50:])),
    ]
    expect(part.status).to_contain_text(f"{len(expected)} different answers.")


def test_a_change_ends_the_counting(open_page: OpenPage) -> None:
    part = Counting(open_page(CHAPTER_7))
    part.fill(Prefix="1+1=", Temperature=5, Draws=1000)
    part.button.click()
    expect(part.root.locator("caption")).to_contain_text("draws")
    part.fill(Temperature=1)
    part.wait("idle")
    expect(part.results).to_be_hidden()
    expect(part.stop).to_be_hidden()
    part.fill(Draws=50)
    part.press_and_wait()
    expect(part.status).to_have_text("Wrong: 0 of 50. 1 different answer.")


@pytest.mark.parametrize(
    ("temperature", "top_k"), [(1, 98), (0.5, 98), (2, 98), (5, 30), (0.05, 98), (0, 98), (1, 1), (1, 2)]
)
def test_the_whole_distribution_is_pythons(open_page: OpenPage, temperature: float, top_k: int) -> None:
    part = Shaper(open_page(CHAPTER_7))
    part.press_and_wait()
    part.slide(temperature, top_k)
    logits = next_token_logits(opened("step-001000"), "12+34=").double()
    before, after = logits.softmax(dim=0), expected_shares(logits, temperature, top_k)
    rows = part.rows()
    order = logits.argsort(descending=True, stable=True).tolist()
    assert [int(row[0]) for row in rows] == order
    for (_, token, logit, first, last), token_id in zip(rows, order, strict=True):
        assert token == shown_name(token_id)
        assert float(logit) == pytest.approx(float(logits[token_id]), abs=1e-4)
        expect_percent(first, float(before[token_id]))
        expect_share(last, float(after[token_id]))
    kept = 1 if temperature == 0 else int((after > 0).sum())
    named = "0, greedy" if temperature == 0 else f"{temperature}"
    expect(part.status).to_contain_text(f"Temperature {named}, top-k {top_k}: {kept} token")
    expect(part.status).to_contain_text(f"The likeliest, {shown_name(order[0])}, gets ")


def test_distribution_by_keyboard_and_link(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    page = open_page(CHAPTER_7)
    part = Shaper(page)
    part.box.focus()
    page.keyboard.press("Enter")
    part.wait("ready")
    for stop in (part.weights, part.button, part.temperature, part.top_k, part.root.get_by_role("region")):
        page.keyboard.press("Tab")
        expect(stop).to_be_focused()
    part.temperature.focus()
    page.keyboard.press("ArrowRight")
    expect(part.temperature).to_have_attribute("aria-valuetext", "1.05")
    expect(part.status).to_contain_text("Temperature 1.05, top-k 98: ")
    page.keyboard.press("Home")
    expect(part.status).to_contain_text("Temperature 0, greedy, top-k 98: 1 token can be drawn.")
    part.top_k.focus()
    page.keyboard.press("ArrowLeft")
    expect(part.status).to_contain_text("top-k 97")
    part.slide(2.5, 5)
    again = Shaper(open_page(page.url.partition("/course/")[2]))
    again.press_and_wait()
    assert again.rows() == part.rows()
    expect(again.temperature).to_have_value("2.5")
    expect(again.top_k).to_have_value("5")
    part.weights.select_option(label=part.weights.locator("option").last.inner_text())
    part.wait("idle")
    expect(part.results).to_be_hidden()


def test_links_bring_back_settings(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_7)
    writer, part = SampledWriter(page), Counting(page)
    values: dict[str, Any] = {"Prefix": "7-12=", "Temperature": "2.5", "Top_k": 20, "Weights": "step-002000"}
    writer.fill(**values, Seed=11)
    writer.press_and_wait()
    part.fill(**values, First_seed=12, Draws=50)
    part.press_and_wait()
    again = open_page(page.url.partition("/course/")[2])
    other, others = SampledWriter(again), Counting(again)
    expect(others.root.get_by_label("Draws", exact=True)).to_have_value("50")
    other.press_and_wait()
    others.press_and_wait()
    assert (other.status.inner_text(), others.rows()) == (writer.status.inner_text(), part.rows())


def test_a_bad_link_is_told_and_the_usual_values_stay(open_page: OpenPage) -> None:
    bad = "sample.temperature=9&sample.top-k=1.5&sample.seed=-1&sample.model=small&count.model=step-000777"
    page = open_page(f"{CHAPTER_7}?{bad}&count.count=7&shape.temperature=cold")
    writer, part, shaper = SampledWriter(page), Counting(page), Shaper(page)
    warnings = writer.root.locator(".live-warning")
    expect(warnings).to_have_count(4)
    said = warnings.all_text_contents()
    assert [sentence.split("“")[0] for sentence in said] == [
        f"The link's {name} " for name in ("temperature", "top-k", "seed", "model")
    ]
    expect(part.root.locator(".live-warning")).to_have_count(2)
    expect(shaper.root.locator(".live-warning")).to_contain_text("The link's temperature “cold”")
    for label, value in {"Temperature": "1", "Top-k": "98", "Seed": "0", "Weights": "step-001000"}.items():
        expect(writer.root.get_by_label(label, exact=True)).to_have_value(value)
    expect(part.root.get_by_label("Draws", exact=True)).to_have_value("200")


@pytest.mark.parametrize("kind", [SampledWriter, Counting])
def test_bad_settings_are_refused_in_pythons_words(
    open_page: OpenPage, kind: type[SampledWriter] | type[Counting]
) -> None:
    part = kind(open_page(CHAPTER_7))
    seed = "Seed" if kind is SampledWriter else "First seed"
    part.fill(Weights="step-001000")
    part.press_and_wait()
    tries = [
        ("Prefix", "12−34=", lambda text: check_prefix(text)),
        *(
            ("Temperature", text, lambda text: check_setting("temperature", text))
            for text in ("9", "hot", "")
        ),
        *(("Top-k", text, lambda text: check_setting("top-k", text)) for text in ("0", "99", "1.5")),
        *((seed, text, lambda text: check_setting("seed", text)) for text in ("-1", str(2**32))),
    ]
    for label, text, check in tries:
        with pytest.raises(PromptError) as refused:
            check(text)
        box = part.root.get_by_label(label, exact=True)
        usual = box.input_value()
        box.fill(text)
        part.wait("idle")
        expect(part.results).to_be_hidden()
        part.button.click()
        part.expect_error()
        assert part.alert.text_content() == str(refused.value)
        expect(box).to_have_attribute("aria-invalid", "true")
        expect(box).to_have_value(text)
        box.fill(usual)
    part.press_and_wait()
    expect(part.results).to_be_visible()


def test_counting_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_7)
    part = Counting(page)
    part.box.focus()
    for label in ("Temperature", "Top-k", "First seed", "Weights", "Draws"):
        page.keyboard.press("Tab")
        expect(part.root.get_by_label(label, exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    expect(part.button).to_be_focused()
    page.keyboard.press("Enter")
    part.wait("ready")
    expect(part.status).to_contain_text("of 200.")
    expect(part.button).to_be_focused()
    page.keyboard.press("Tab")
    expect(part.results).to_be_focused()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (1280, "dark")])
def test_results_fit_and_can_be_read(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(CHAPTER_7, viewport={"width": width, "height": 800}, color_scheme=scheme)
    shaper, writer, part = Shaper(page), SampledWriter(page), Counting(page)
    writer.fill(Prefix="2+3=", Temperature=3, Seed=2**32 - 1)
    part.fill(Prefix="2+3=", Temperature=3, Draws=200)
    for one in (shaper, writer, part):
        one.press_and_wait()
    shaper.slide(2, 3)
    expect_fits(page, "all shown")
    found = page.evaluate(CONTRAST, "score-shaper, sampled-writer, draw-counter")
    assert len(found) > 100
    assert [text for ratio, text in found if ratio < 4.5] == []
