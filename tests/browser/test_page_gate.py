"""The final test: a dozen from a seed, counted by first answers, kept with the day."""

import re
from datetime import date
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from built_site import GATE, HOME, OpenPage, Site, follow_link
from export.questions.computations import COMPUTATIONS
from test_page_layout import expect_contrast, expect_fits

SIZE = 12
# Answer each question of the dozen, right or wrong as told, by the options' own rules in the page's code.
MADE = """
async ({ code, seed }) => {
  const { drawGate } = await import(code + "widgets/gate-questions.mjs");
  const { TEMPLATES, freshQuestion } = await import(code + "runtime/fresh-questions.mjs");
  return Object.fromEntries(Object.keys(TEMPLATES).map((name) => [`fresh-${name}`, freshQuestion(name, seed)]));
}
"""


def names(page: Page) -> list[str]:
    found: list[str] = page.locator("[data-question]").evaluate_all(
        "all => all.map((x) => x.dataset.question)"
    )
    return found


def right_texts(page: Page, site: Site, seed: int) -> dict[str, str]:
    """Text of the right option of every question of the dozen: Python's for what is computed."""
    made: dict[str, Any] = page.evaluate(MADE, {"code": site.code, "seed": seed})
    right = {}
    for name, question in made.items():
        options = question["options"]
        if "compute" in question:
            parameters = dict(question["compute"])
            value = COMPUTATIONS[parameters.pop("function")].compute(**parameters)
            fitting = [option["text"] for option in options if option.get("value") == value]
            right[name] = (fitting or [o["text"] for o in options if o.get("otherwise")])[0]
        else:
            right[name] = next(option["text"] for option in options if option.get("right"))
    static = page.request.get(page.url.partition("?")[0]).text()
    for block in re.findall(r'<div class="gate-question".*?</details>', static, re.DOTALL):
        found = re.search(r'data-name="([^"]+)"', block)
        assert found
        solution = re.search(r'<p class="question-solution">(.*?)</p>', block, re.DOTALL)
        assert solution
        right[found[1]] = re.sub(r"<[^>]+>", "", solution[1])
    return {name: " ".join(text.replace("`", "").split()) for name, text in right.items()}


def answer_all(page: Page, site: Site, seed: int, wrong: int = 0) -> list[str]:
    """Answer the dozen, the first `wrong` questions wrongly; returns their names."""
    right = right_texts(page, site, seed)
    asked = names(page)
    for place, name in enumerate(asked):
        question = page.locator(f'[data-question="{name}"] course-question')
        choices = question.locator(".question-choice")
        if choices.count() == 0:
            number = "-1" if place < wrong else re.sub(r"[^\d.]", "", right[name])
            question.get_by_label("Your answer").fill(number)
        else:
            labels = [" ".join(text.split()) for text in choices.all_inner_texts()]
            assert labels.count(right[name]) == 1, (name, labels, right[name])
            index = labels.index(right[name])
            choices.nth((index + 1) % len(labels) if place < wrong else index).click()
        question.get_by_role("button", name="Commit").click()
        expect(question).to_have_attribute("data-state", "ready")
        verdict = "✗ Not right" if place < wrong else "✓ Right"
        expect(question.locator(".question-verdict")).to_contain_text(verdict)
    return asked[:wrong]


@pytest.mark.parametrize("seed", [1, 7, 4_294_967_295])
def test_right_answers_are_pythons(open_page: OpenPage, site: Site, seed: int) -> None:
    page = open_page(f"{GATE}?gate.seed={seed}")
    expect(page.locator(".gate-seed")).to_contain_text(f"Seed of this dozen: {seed}.")
    assert len(names(page)) == len(set(names(page))) == SIZE
    assert sum(name.startswith("fresh-") for name in names(page)) >= 6
    answer_all(page, site, seed)
    expect(page.locator(".gate-result")).to_contain_text(f"Your score: {SIZE} of {SIZE}.")
    expect(page.locator(".gate-result")).to_contain_text("Nothing was missed.")


def test_wrong_answers_name_their_chapter_and_the_score_is_kept(open_page: OpenPage, site: Site) -> None:
    page = open_page(f"{GATE}?gate.seed=3")
    missed = answer_all(page, site, 3, wrong=4)
    for name in names(page):
        note = page.locator(f'[data-question="{name}"] .gate-chapter')
        expect(note).to_have_count(1 if name in missed else 0)
    expect(page.locator(".gate-score")).to_have_text(
        f"{SIZE} of {SIZE} answered, {SIZE - 4} right at first try."
    )
    expect(page.locator(".gate-result")).to_contain_text(f"Your score: {SIZE - 4} of {SIZE}.")
    follow_link(page, "Build a tiny GPT")
    line = page.locator("course-progress [data-gate]")
    expect(line).to_contain_text(f"best {SIZE - 4} of {SIZE} on {date.today().isoformat()}, 1 dozen finished")
    # the same dozen again does not better the score
    page.goto(f"{site.url}{GATE}?gate.seed=3")
    answer_all(page, site, 3)
    expect(page.locator(".gate-result")).to_contain_text("its first score is the one that is kept")
    page.goto(site.url + HOME)
    expect(line).to_contain_text(f"best {SIZE - 4} of {SIZE}")


def test_an_answer_counts_once_and_not_for_the_chapter(open_page: OpenPage, site: Site) -> None:
    page = open_page(f"{GATE}?gate.seed=5")
    right = right_texts(page, site, 5)
    choices = '[data-question]:not([data-question^="fresh-"]):has(.question-choice)'
    name = page.locator(choices).first.get_attribute("data-question")
    assert name
    asked = page.locator(f'[data-question="{name}"]')
    labels = [" ".join(text.split()) for text in asked.locator(".question-choice").all_inner_texts()]
    at = labels.index(right[name])
    asked.locator(".question-choice").nth((at + 1) % len(labels)).click()
    asked.get_by_role("button", name="Commit").click()
    expect(page.locator(".gate-score")).to_have_text(f"1 of {SIZE} answered, 0 right at first try.")
    asked.locator(".question-choice").nth(at).click()
    asked.get_by_role("button", name="Commit").click()
    expect(asked.locator(".question-verdict")).to_contain_text("✓ Right")
    expect(page.locator(".gate-score")).to_have_text(f"1 of {SIZE} answered, 0 right at first try.")
    asked.locator(".gate-chapter").get_by_role("link").click()
    expect(page.locator("chapter-progress")).to_contain_text(re.compile(r"\b0 of \d+ questions"))


def test_another_dozen_and_its_link(open_page: OpenPage) -> None:
    page = open_page(GATE)
    expect(page.locator("[data-question]")).to_have_count(SIZE)
    first = names(page)
    seed = page.locator(".gate-seed").inner_text()
    page.get_by_role("button", name="Another dozen").click()
    assert page.locator(".gate-seed").inner_text() != seed
    made = page.locator('.gate-list course-question[data-state="idle"]')
    expect(made).to_have_count(SIZE)
    text = page.locator(".gate-list").inner_text()
    assert names(page) != first
    expect(page.locator(".gate-list input").first).to_be_focused()
    assert re.search(r"\?gate\.seed=\d+$", page.url)
    page.reload()
    expect(made).to_have_count(SIZE)
    assert page.locator(".gate-list").inner_text() == text


@pytest.mark.parametrize("seed", ["x", "-1", "4294967296", "1.5"])
def test_a_bad_link_is_told(open_page: OpenPage, seed: str) -> None:
    page = open_page(f"{GATE}?gate.seed={seed}")
    expect(page.locator("course-gate .live-hint").first).to_contain_text("does not fit this page")
    expect(page.locator("[data-question]")).to_have_count(SIZE)


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (360, "light")])
def test_on_a_phone(open_page: OpenPage, site: Site, width: int, scheme: str) -> None:
    page = open_page(
        f"{GATE}?gate.seed=11",
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    answer_all(page, site, 11, wrong=SIZE)
    expect_fits(page, "finished")
    expect_contrast(page, "finished")


def test_by_instant_navigation(open_page: OpenPage) -> None:
    page = open_page("about/")
    follow_link(page, "Test yourself: Part I")
    expect(page.locator("[data-question]")).to_have_count(SIZE)
    expect(page.locator("[data-question] course-question").first).to_have_attribute("data-state", "idle")


def test_without_javascript_the_bank_can_be_read(open_page: OpenPage) -> None:
    page = open_page(GATE, java_script_enabled=False)
    expect(page.get_by_text("What would happen without the mask?")).to_be_visible()
    expect(page.locator("course-gate").get_by_role("link", name="4. Build the network")).to_be_visible()
