"""The pages by keyboard and with a screen reader: order, focus, names, roles and what is announced."""

from typing import Any

from playwright.sync_api import Page, expect

from built_site import CHAPTER_4, OpenPage
from live_parts import LivePart, Scorer, Walk

# The element with the focus: its name, and whether an outline of at least 2 px shows where it is.
FOCUSED = """
() => {
  const element = document.activeElement;
  const shown = element.type === "radio" ? element.nextElementSibling : element;
  const style = getComputedStyle(shown);
  const box = shown.getBoundingClientRect();
  return {
    tag: element.localName,
    name: element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent,
    part: element.closest("prefix-scorer, position-walk")?.localName ?? null,
    visible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    onScreen: box.width > 0 && box.bottom > 0 && box.top < innerHeight,
  };
}
"""


def tab_through(page: Page, part: LivePart) -> list[str]:
    """Press Tab from the page's start; names of the stops inside `part`, in order."""
    part.root.evaluate("root => { root.tabIndex = -1; root.focus(); root.removeAttribute('tabindex'); }")
    names: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        focused: dict[str, Any] = page.evaluate(FOCUSED)
        if focused["part"] != part.element:
            return names
        assert focused["visible"] and focused["onScreen"], focused
        names.append(focused["name"])
    raise AssertionError(f"Tab does not leave the element: {names}")


def test_scorer_by_keyboard(open_page: OpenPage) -> None:
    page = open_page()
    scorer = Scorer(page)
    scorer.wait("idle")
    details = "What happens when I press Score?"
    assert tab_through(page, scorer) == ["Prefix", "Score", details]
    scorer.box.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    scorer.wait("ready")
    expect(scorer.button).to_be_focused()
    region = "Scores of all 98 tokens, scrollable"
    assert tab_through(page, scorer) == [
        *("Prefix", "Score", region, "Token", "Logit", "Probability", details)
    ]
    # and backwards
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(FOCUSED)["name"] == details

    scorer.table.focus()
    page.keyboard.press("End")
    page.wait_for_function("box => box.scrollTop > 100", arg=scorer.table.element_handle())
    scorer.root.locator("summary").press("Enter")
    expect(scorer.root.locator("details")).to_have_attribute("open", "")


def test_error_by_keyboard(open_page: OpenPage) -> None:
    page = open_page()
    scorer = Scorer(page)
    scorer.box.fill("1−1=")
    scorer.box.press("Enter")
    scorer.expect_error()
    expect(scorer.box).to_be_focused()
    scorer.box.press("End")
    scorer.box.press("x")
    expect(scorer.box).to_have_value("1−1=x")


def test_walk_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4)
    walk = Walk(page)
    walk.wait("idle")
    assert tab_through(page, walk) == ["4 =", "1. Turn the token ID into a vector", "Line", "Walk"]

    walk.chips("Position").nth(4).focus()
    page.keyboard.press("ArrowRight")
    expect(walk.chips("Position").nth(5)).to_be_focused()
    expect(walk.chips("Position").nth(5)).to_be_checked()
    expect(walk.panel).to_contain_text("Position 5, 2")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(walk.panel).to_contain_text("Position 2, +")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(walk.panel).to_contain_text("let earlier positions contribute")
    stops = tab_through(page, walk)
    hidden = [f"Position {later} is hidden. Why?" for later in (3, 4, 5)]
    assert stops == ["2 +", "2. Let earlier positions contribute", "Block", "Head", *hidden, "Line", "Walk"]
    walk.root.get_by_label("Head").focus()
    page.keyboard.press("ArrowDown")
    expect(walk.panel).to_contain_text("Head 2 of block 1 adds up")
    expect(walk.root.get_by_label("Head")).to_be_focused()


def test_names_and_roles(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4)
    scorer, walk = Scorer(page), Walk(page)
    expect(scorer.root.get_by_role("textbox", name="Prefix", exact=True)).to_have_count(1)
    expect(scorer.root.get_by_role("button", name="Score", exact=True)).to_have_count(1)
    expect(walk.root.get_by_role("textbox", name="Line", exact=True)).to_have_count(1)
    expect(walk.root.get_by_role("button", name="Walk", exact=True)).to_have_count(1)
    expect(walk.root.get_by_role("group", name="Position")).to_have_count(1)
    expect(walk.root.get_by_role("group", name="Operation")).to_have_count(1)
    expect(scorer.root.get_by_role("status")).to_have_count(1)
    walk.choose("Operation", 1)
    expect(walk.root.get_by_role("combobox", name="Block")).to_be_visible()
    expect(walk.root.get_by_role("combobox", name="Head")).to_be_visible()
    scorer.score("1+1=")
    table = scorer.table.get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_count(3)
    expect(table.get_by_role("rowheader")).to_have_count(98)
    expect(table.locator("caption")).to_be_visible()
    # a control without a name would be announced as its type alone
    unnamed = page.locator(
        ":is(prefix-scorer, position-walk) :is(button, input, select, progress)"
    ).evaluate_all(
        """controls => controls.filter((control) =>
          !(control.getAttribute("aria-label") || control.labels?.[0]?.textContent || control.textContent.trim())
        ).map((control) => control.outerHTML)"""
    )
    assert unnamed == []


def test_what_is_announced(open_page: OpenPage) -> None:
    """Live regions stand in the page, and are in the tree, before their text changes."""
    scorer = Scorer(open_page())
    scorer.wait("idle")
    status = scorer.root.get_by_role("status")
    expect(status).to_have_count(1)
    expect(status).to_be_empty()
    scorer.score("12+34=")
    expect(status).to_contain_text("Scored on this device in")
    scorer.submit("12−34=")
    scorer.expect_error()
    assert scorer.alert.get_attribute("role") == "alert"
    expect(scorer.alert).to_contain_text("Type - instead.")
