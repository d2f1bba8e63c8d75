"""The box: what is refused and how, and that a result always belongs to what is in the box."""

import pytest
from playwright.sync_api import expect

from built_site import CHAPTER_4, OpenPage, Site, follow_link
from live_parts import Scorer, Walk, open_model
from site_server import Held
from test_page_scorer import expect_scores
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import TYPED_FOR, PromptError, check_prefix, unseen_operands

BAD_PREFIXES = [
    "12−34=",
    "12–34=",
    "“1+1=”",
    "1\u00a0+ 1=",
    "1+1=é",
    "１+1=",
    "1+1=\u200b",
    "1+1=\t",
    "2+2=😀",
    "\u202e1+1=",
    "9" * 32,
    "~" * 200,
    "1+1=" + " " * 28,
    "é" + "9" * 40,
]


def sentence_for(text: str) -> str:
    """What the command line says about the same text."""
    with pytest.raises(PromptError) as refused:
        check_prefix(text)
    return str(refused.value)


def test_bad_prefixes(open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT) -> None:
    scorer = Scorer(open_page())
    for text in BAD_PREFIXES:
        scorer.submit(text)
        scorer.expect_error()
        assert scorer.alert.text_content() == sentence_for(text)
        expect(scorer.box).to_have_value(text)
        expect(scorer.box).to_have_attribute("aria-invalid", "true")
        assert scorer.alert.get_attribute("id") in (scorer.box.get_attribute("aria-describedby") or "")
        scorer.expect_no_result()
        expect(scorer.retry).to_be_hidden()
    assert site.server.paths("assets/models/*") == []

    scorer.box.fill("12-34=")
    scorer.wait("idle")
    expect(scorer.alert).to_have_count(0)  # hidden
    assert scorer.box.get_attribute("aria-invalid") is None
    scorer.button.click()
    scorer.wait("ready")
    expect_scores(scorer, trained_model, "12-34=")

    scorer.submit("12−34=")  # after a score the refusal shows no old result
    scorer.expect_error("Type - instead.")
    scorer.expect_no_result()


def test_each_known_substitute_says_what_to_type(open_page: OpenPage) -> None:
    scorer = Scorer(open_page())
    for character, replacement in TYPED_FOR.items():
        scorer.submit(f"1{character}1=")
        scorer.expect_error(f"Type {replacement} instead.")
        scorer.expect_error("Character 2 of the input is")


def test_numbers_never_seen(open_page: OpenPage) -> None:
    scorer = Scorer(open_page())
    warnings = scorer.root.locator(".live-warning")
    for text in ("999+999=", "1000-1=", "1234+5678=", "12+34=5678", "0999+1="):
        scorer.score(text)
        assert warnings.all_text_contents() == unseen_operands(text)
    assert unseen_operands("1000-1=")


def test_typing_hides_the_result(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    scorer = Scorer(open_page())
    for edit in ("End 5", "Backspace", "Delete", "cut", "undo"):
        scorer.score("12+34=")
        scorer.box.focus()
        if edit == "End 5":
            scorer.box.press("End")
            scorer.box.press("5")
        elif edit == "cut":
            scorer.box.press("ControlOrMeta+a")
            scorer.box.press("ControlOrMeta+x")
        elif edit == "undo":
            scorer.box.press("End")
            scorer.box.press("4")
            scorer.score(scorer.box.input_value())
            scorer.box.focus()
            scorer.box.press("ControlOrMeta+z")
        else:
            scorer.box.press("Home" if edit == "Delete" else "End")
            scorer.box.press(edit)
        assert scorer.box.input_value() != "12+34=" or edit == "undo"
        scorer.wait("idle")
        scorer.expect_no_result()
        expect(scorer.status).to_have_text("The prefix has changed. Press Score to score it.")
    scorer.score("12+34=")
    expect_scores(scorer, trained_model, "12+34=")


def test_typing_while_loading_drops_the_answer(
    open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT
) -> None:
    held = Held()
    site.server.fail("assets/models/*", held)
    scorer = Scorer(open_page())
    scorer.submit("12+34=")
    scorer.wait("loading")
    scorer.box.press("End")
    scorer.box.press("4")
    scorer.wait("idle")
    expect(scorer.progress).to_be_hidden()
    held.release()
    open_model(scorer.page, site.code, site.manifest["trained"])
    scorer.wait("idle")
    scorer.expect_no_result()
    scorer.button.click()
    scorer.wait("ready")
    expect_scores(scorer, trained_model, "12+34=4")


def test_a_second_press_while_loading_wins(
    open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT
) -> None:
    held = Held()
    site.server.fail("assets/models/*", held)
    scorer = Scorer(open_page())
    scorer.submit("12+34=")
    scorer.wait("loading")
    scorer.submit("7-12=")
    scorer.button.click()
    held.release()
    scorer.wait("ready")
    open_model(scorer.page, site.code, site.manifest["trained"])
    expect_scores(scorer, trained_model, "7-12=")


def test_leaving_the_page_while_loading(
    open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT
) -> None:
    held = Held()
    site.server.fail("assets/models/*", held)
    page = open_page()
    scorer = Scorer(page)
    scorer.submit("12+34=")
    scorer.wait("loading")
    follow_link(page, "Build the network")
    held.release()
    open_model(page, site.code, site.manifest["trained"])
    for part in (Scorer(page, 0), Scorer(page, 1), Walk(page)):
        part.wait("idle")
    page.go_back()
    expect(page.locator("h1")).to_contain_text("Build a tiny GPT")
    scorer.wait("idle")
    scorer.expect_no_result()
    scorer.score("12+34=")
    expect_scores(scorer, trained_model, "12+34=")


def test_enter_of_a_composition_does_not_score(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    scorer = Scorer(page)
    scorer.box.fill("1+")
    keyboard = page.context.new_cdp_session(page)
    keyboard.send("Input.imeSetComposition", {"text": "1=", "selectionStart": 2, "selectionEnd": 2})
    page.keyboard.press("Enter")  # chooses what the input method offers
    keyboard.send("Input.insertText", {"text": "1="})
    expect(scorer.box).to_have_value("1+1=")
    # Safari ends the composition first and gives the Enter after it the code 229.
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
    keyboard.send("Input.dispatchKeyEvent", {"type": "keyDown", "text": "\r", **enter})
    keyboard.send("Input.dispatchKeyEvent", {"type": "keyUp", **enter})
    scorer.wait("idle")
    assert site.server.paths("*/worker.mjs") == []
    page.keyboard.press("Enter")
    scorer.wait("ready")


@pytest.mark.parametrize("part", [Scorer, Walk])
def test_box_attributes(open_page: OpenPage, part: type[Scorer] | type[Walk]) -> None:
    box = part(open_page(CHAPTER_4)).box
    for name, value in {
        "type": "text",
        "autocapitalize": "off",
        "autocomplete": "off",
        "autocorrect": "off",
        "spellcheck": "false",
    }.items():
        expect(box).to_have_attribute(name, value)
    assert box.get_attribute("maxlength") is None  # a long text is refused in words, not cut
