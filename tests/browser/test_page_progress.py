"""Progress on the device: what is counted, kept, cleared, and shared between tabs."""

import json

import pytest
from playwright.sync_api import Page, expect

from built_site import CHAPTER_4, HOME, OpenPage, Site, follow_link
from question_parts import ExercisePart, QuestionPart
from test_page_layout import expect_contrast, expect_fits

CHAPTER_4_LINE = 'course-progress [data-chapter="4"]'
KEY = "build-a-tiny-gpt/progress/v1"
NOTHING = "0 of 2 predictions made, 0 of 5 questions right at first try, 0 of 1 exercise solved"
SOME = "1 of 2 predictions made, 1 of 5 questions right at first try, 1 of 1 exercise solved"
REFUSE_STORAGE = """
Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
"""


def do_some(page: Page) -> None:
    """One prediction, one right and one wrong answer, one exercise."""
    QuestionPart(page, "random-top-probability").commit(0)
    QuestionPart(page, "without-the-mask").commit(0)
    QuestionPart(page, "same-token-two-positions").commit(0)
    QuestionPart(page, "same-token-two-positions").commit(1)  # too late to count
    ExercisePart(page, "chapter-4/not-the-last-one").check(Prefix="wSQ")


def test_everything_is_counted_and_survives(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4)
    line = page.locator("chapter-progress")
    expect(line).to_contain_text(NOTHING)
    do_some(page)
    expect(line).to_contain_text(SOME)
    follow_link(page, "Build a tiny GPT")
    expect(page.locator(CHAPTER_4_LINE)).to_contain_text(SOME)
    page.reload()
    expect(page.locator(CHAPTER_4_LINE)).to_contain_text(SOME)
    expect(page.locator("course-progress")).to_contain_text("Kept in this browser, on this device")
    follow_link(page, "Build the network")
    expect(page.locator("chapter-progress")).to_contain_text(SOME)
    expect(QuestionPart(page, "same-token-two-positions").first).to_contain_text("was not right")
    expect(ExercisePart(page, "chapter-4/not-the-last-one").solved).to_be_visible()
    stored = json.loads(page.evaluate("key => localStorage.getItem(key)", KEY))
    assert stored["questions"]["without-the-mask"]["right"] is True
    own = page.evaluate("Object.keys(localStorage).filter((key) => !key.includes('.__'))")  # the theme's
    assert own == [KEY]


def test_another_tab_follows(open_page: OpenPage, site: Site) -> None:
    page = open_page(HOME)
    other = page.context.new_page()
    other.goto(site.url + CHAPTER_4)
    QuestionPart(other, "without-the-mask").commit(0)
    expect(page.locator(CHAPTER_4_LINE)).to_contain_text("1 of 5 questions right")
    page.get_by_role("button", name="Clear progress").click()
    page.locator("course-progress").get_by_role("button", name="Clear", exact=True).click()
    expect(other.locator("chapter-progress")).to_contain_text(NOTHING)
    expect(QuestionPart(other, "without-the-mask").first).to_be_hidden()


def test_clear_asks_first(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4)
    QuestionPart(page, "without-the-mask").commit(0)
    follow_link(page, "Build a tiny GPT")
    item = page.locator(CHAPTER_4_LINE)
    ask = page.get_by_role("button", name="Clear progress")
    ask.press("Enter")
    expect(page.get_by_role("group", name="Clear progress?")).to_be_visible()
    expect(page.get_by_role("button", name="Keep it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(item).to_contain_text("1 of 5 questions")
    expect(ask).to_be_focused()
    ask.click()
    page.locator("course-progress").get_by_role("button", name="Clear", exact=True).click()
    expect(item).to_contain_text(NOTHING)
    expect(page.locator("course-progress").get_by_role("status")).to_have_text("Progress cleared.")
    expect(ask).to_be_focused()


def test_refused_storage_is_said_once(open_page: OpenPage) -> None:
    page = open_page("about/")
    page.context.add_init_script(REFUSE_STORAGE)
    page.reload()
    follow_link(page, "Build the network")
    first, second = QuestionPart(page, "without-the-mask"), QuestionPart(page, "position-0-attends-to")
    first.commit(0)
    expect(first.reveal).to_contain_text("This browser keeps no data for this site")
    second.commit(0)
    expect(second.reveal).not_to_contain_text("keeps no data")
    expect(page.locator("chapter-progress")).to_contain_text("2 of 5 questions right")
    follow_link(page, "Build a tiny GPT")
    expect(page.locator("course-progress")).to_contain_text("keeps no data for this site")
    expect(page.locator(CHAPTER_4_LINE)).to_contain_text("2 of 5 questions right")


@pytest.mark.parametrize("text", ["{", "[]", '{"questions": {"without-the-mask": 1}, "gate": {}}', "null"])
def test_damaged_storage_counts_as_nothing(open_page: OpenPage, site: Site, text: str) -> None:
    page = open_page("about/")
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, text])
    page.goto(site.url + CHAPTER_4)
    expect(page.locator("chapter-progress")).to_contain_text(NOTHING)
    QuestionPart(page, "without-the-mask").commit(0)
    expect(page.locator("chapter-progress")).to_contain_text("1 of 5 questions right")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_list_on_a_phone(open_page: OpenPage, scheme: str) -> None:
    page = open_page(viewport={"width": 360, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    page.get_by_role("button", name="Clear progress").click()
    expect_fits(page, "confirmation")
    expect_contrast(page, "confirmation")


def test_static_text_without_javascript(open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    expect(page.locator(CHAPTER_4_LINE)).to_contain_text("2 predictions, 5 questions and 1 exercise")
