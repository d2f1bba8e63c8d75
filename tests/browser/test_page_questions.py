"""Questions: commit, then see; what is shown as right is what Python computes."""

import json

import pytest
from playwright.sync_api import Page, expect

from built_site import CHAPTER_4, PAGES, OpenPage, Site
from export.build import GENERATED
from export.questions.bank import Question, load_bank
from export.questions.computations import COMPUTATIONS, shown
from question_parts import QuestionPart
from test_page_layout import expect_contrast, expect_fits

PREDICT, CHECK, NUMBER = "random-top-after-1-plus-1", "without-the-mask", "parameters-of-qkv"


@pytest.fixture(scope="module")
def bank(built_site: Site) -> dict[str, Question]:
    return load_bank(json.loads((GENERATED / "facts.json").read_text(encoding="utf-8")))


def names_on(page: Page) -> list[str]:
    """Ids of the questions of a page, in order."""
    elements = page.locator("course-question:not([unrecorded])")
    names: list[str] = elements.evaluate_all("all => all.map((one) => one.getAttribute('name'))")
    return names


def wrong_answer(question: Question) -> int | str:
    if question.number:
        return "-12345"
    return next(i for i in range(len(question.options)) if i not in question.right_options())


def right_answer(question: Question) -> int | str:
    if question.number:
        target = question.number.answer if question.value is None else question.value
        assert isinstance(target, (int, float))
        return f"{target:.10g}"
    return question.right_options()[0]


@pytest.mark.parametrize("address", PAGES)
def test_right_and_wrong_answers_are_told_as_python_has_them(
    open_page: OpenPage, site: Site, bank: dict[str, Question], address: str
) -> None:
    page = open_page(address)
    for name in names_on(page):
        question, part = bank[name], QuestionPart(page, name)
        part.wait("idle")
        expect(part.reveal).to_be_hidden()
        expect(part.first).to_be_hidden()
        part.commit(wrong_answer(question))
        part.expect_verdict(False)
        expect(part.first).to_contain_text("was not right")
        part.commit(right_answer(question))
        part.expect_verdict(True)
        expect(part.first).to_contain_text("was not right")  # the first one is kept
        if question.compute:
            assert question.value is not None
            kind = COMPUTATIONS[question.compute["function"]].kind
            expect(part.computed).to_contain_text("Computed on this device in")
            said = part.computed.locator(".question-value").inner_text()
            if kind in ("percent", "decimal"):
                numbers = [
                    float(s.strip(" %").replace("−", "-")) for s in (said, shown(kind, question.value))
                ]
                assert numbers[0] == pytest.approx(numbers[1], abs=0.011)
            else:
                assert said == shown(kind, question.value)
        else:
            expect(part.computed).to_have_count(0)


def test_explanations_belong_to_the_chosen_answer(open_page: OpenPage) -> None:
    part = QuestionPart(open_page(CHAPTER_4), CHECK)
    part.commit(1)
    expect(part.reveal).to_contain_text("Copying them is easier than adding")
    expect(part.reveal).to_contain_text("each position could read its target")
    expect(part.reveal).not_to_contain_text("Softmax works on any numbers")
    part.commit(0)
    expect(part.reveal).to_contain_text("each position could read its target")
    expect(part.reveal).not_to_contain_text("Copying them")


def test_nothing_is_computed_or_told_before_the_commit(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_4)
    part = QuestionPart(page, PREDICT)
    part.wait("idle")
    expect(part.root.locator("details")).to_have_count(0)
    part.root.locator(".question-choice").nth(2).click()
    assert site.server.paths("assets/models/*") == []
    part.button.click()
    part.wait("ready")
    part.expect_verdict(True)
    assert len(site.server.paths("assets/runtime/*")) == 1


def test_a_commit_needs_an_answer(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4)
    part = QuestionPart(page, CHECK)
    part.button.click()
    part.expect_error("Choose an answer, then press Commit.")
    expect(part.first).to_be_hidden()
    part.root.locator(".question-choice").nth(0).click()
    part.wait("idle")
    number = QuestionPart(page, NUMBER)
    for text in ("", "many", "1.2.3", "-", "12,34", "0x10", "0,693", "x7", "=7", ":0.5"):
        number.submit(text)
        number.expect_error("Type a number such as 12 or 0.5")
        expect(number.box).to_have_attribute("aria-invalid", "true")
    for text in ("49536", "49,536", " +49536.0 "):
        number.commit(text)
        number.expect_verdict(True)
    number.commit("−49536")
    number.expect_verdict(False)


def test_another_choice_clears_the_result(open_page: OpenPage) -> None:
    part = QuestionPart(open_page(CHAPTER_4), CHECK)
    part.commit(1)
    part.root.locator(".question-choice").nth(2).click()
    expect(part.reveal).to_be_hidden()
    expect(part.status).to_have_text("Press Commit to check this answer.")
    expect(part.radios.nth(2)).to_be_checked()


def test_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4)
    part = QuestionPart(page, CHECK)
    part.wait("idle")
    part.root.evaluate("root => { root.tabIndex = -1; root.focus(); root.removeAttribute('tabindex'); }")
    page.keyboard.press("Tab")
    expect(part.radios.nth(0)).to_be_focused()
    outline = part.radios.nth(0).evaluate("radio => parseFloat(getComputedStyle(radio).outlineWidth)")
    assert outline >= 2
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(part.radios.nth(2)).to_be_checked()
    page.keyboard.press("Tab")
    expect(part.button).to_be_focused()
    page.keyboard.press("Space")
    part.wait("ready")
    part.expect_verdict(False)
    expect(part.button).to_be_focused()
    expect(part.status).to_contain_text("Not right. The answer is")


def test_names_and_roles(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4)
    part = QuestionPart(page, CHECK)
    expect(part.root.get_by_role("group", name="What would happen without the mask?")).to_have_count(1)
    expect(part.radios).to_have_count(3)
    expect(part.root.get_by_role("status")).to_have_count(1)
    assert part.radios.nth(1).evaluate("radio => radio.labels[0].textContent").startswith("The network would")


def test_a_failed_download_can_be_retried(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_4, rough=True)
    part = QuestionPart(page, PREDICT)
    part.wait("idle")
    page.context.set_offline(True)
    part.root.locator(".question-choice").nth(2).click()
    part.button.click()
    part.expect_error("offline")
    expect(part.first).to_be_hidden()  # nothing was judged
    expect(part.radios.nth(2)).to_be_checked()
    page.context.set_offline(False)
    part.retry.click()
    part.wait("ready")
    part.expect_verdict(True)
    expect(part.first).to_contain_text("was right")


def test_without_javascript_the_question_and_its_answer_can_be_read(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4, java_script_enabled=False)
    part = QuestionPart(page, CHECK)
    expect(part.root.get_by_text("What would happen without the mask?")).to_be_visible()
    expect(part.root.get_by_text("Copying them is easier")).to_be_hidden()
    part.root.locator("summary").click()
    expect(part.root.locator(".question-solution")).to_contain_text("The loss would fall close to 0")
    expect(part.root.get_by_text("Copying them is easier")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark")])
def test_narrow_and_in_both_palettes(
    open_page: OpenPage, bank: dict[str, Question], width: int, scheme: str
) -> None:
    page = open_page(
        CHAPTER_4, viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    for name in names_on(page):
        QuestionPart(page, name).commit(wrong_answer(bank[name]))
    expect_fits(page, "all questions answered")
    expect_contrast(page, "all questions answered")
    for choice in page.locator(".question-choice").all():
        box = choice.bounding_box()
        assert box is not None and box["height"] >= 36, "too small to touch"
