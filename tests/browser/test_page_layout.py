"""Looks that a reader depends on: no sideways scrolling, contrast, palettes, motion, forced colours."""

import base64

import pytest
from playwright.sync_api import Page

from built_site import CHAPTER_4, HOME, PAGES, OpenPage, Site
from live_parts import Scorer, Walk

CONTRAST = """
(selector) => {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = color;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
  const background = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const color = rgba(getComputedStyle(e).backgroundColor);
      layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  for (const root of document.querySelectorAll(selector)) {
    for (const element of [root, ...root.querySelectorAll("*")]) {
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      const isBox = ["input", "select"].includes(element.localName) && element.type !== "radio";
      if (!(hasText || isBox) || !element.checkVisibility()) continue;
      const below = background(element);
      const ratio = contrast(over(rgba(getComputedStyle(element).color), below), below);
      found.push([ratio, `${element.localName}.${element.className}: ${String(element.value ?? element.textContent).slice(0, 40)}`]);
      if (isBox) {
        const style = getComputedStyle(element);
        const outside = background(element.parentElement);
        const edge = contrast(over(rgba(style.borderTopColor), outside), outside);
        if (edge < 3) found.push([0, `border of ${element.localName}.${element.className}: ${edge}`]);
      }
    }
  }
  return found;
}
"""

# Elements that reach beyond the window and do not lie in a box that scrolls by itself.
TOO_WIDE = """
() => {
  const page = document.documentElement;
  const scrolls = (element) => element && (
    ["auto", "scroll"].includes(getComputedStyle(element).overflowX) && element !== page && element !== document.body
    || scrolls(element.parentElement));
  const wide = [...document.querySelectorAll(".md-main *, .md-footer *")].filter((element) =>
    element.checkVisibility() && !scrolls(element.parentElement)
    && getComputedStyle(element).position !== "fixed" && !element.closest(".md-sidebar")
    && element.getBoundingClientRect().right > page.clientWidth + 1 && element.getBoundingClientRect().width > 0);
  return {
    scroll: page.scrollWidth - page.clientWidth,
    wide: wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 120)),
  };
}
"""


def expect_no_sideways_scroll(page: Page, where: str) -> None:
    found = page.evaluate(TOO_WIDE)
    assert found == {"scroll": 0, "wide": []}, where


def open_all_details(page: Page) -> None:
    page.locator(".md-content details").evaluate_all("all => all.forEach((one) => { one.open = true; })")


def set_text_size(page: Page, pixels: int) -> None:
    """The reader's own setting of the browser's default font; usually 16 px."""
    session = page.context.new_cdp_session(page)
    session.send("Page.setFontSizes", {"fontSizes": {"standard": pixels, "fixed": pixels * 13 // 16}})
    session.detach()
    page.wait_for_function("size => matchMedia(`(max-width: ${innerWidth / size}em)`).matches", arg=pixels)
    root = page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")
    assert 1 <= root / pixels < 1.6, f"the page's text is {root} px"


def expect_fits(page: Page, where: str) -> None:
    """No sideways scrolling, with the usual text and with text of twice the size."""
    for size in (16, 32):
        set_text_size(page, size)
        expect_no_sideways_scroll(page, f"{where}, text of {size} px")
    set_text_size(page, 16)


@pytest.mark.parametrize("width", [320, 360, 1280])
def test_no_sideways_scrolling(open_page: OpenPage, site: Site, width: int) -> None:
    page = open_page("about/", viewport={"width": width, "height": 800})
    for address in PAGES:
        page.goto(site.url + address)
        open_all_details(page)
        expect_fits(page, f"{address} at {width}")
        for index in range(page.locator("prefix-scorer").count()):
            scorer = Scorer(page, index)
            scorer.submit("9" * 40)
            scorer.expect_error()
            expect_fits(page, f"{address}: refused")
            scorer.score("~W" * 15)
            expect_fits(page, f"{address}: scored")
        if address == CHAPTER_4:
            walk = Walk(page)
            walk.submit("999-1000=-1" + "W" * 20)
            walk.wait("ready")
            for operation in range(4):
                walk.choose("Operation", operation)
                expect_fits(page, f"operation {operation + 1}")
    lost = open_page("no-such-page/", rough=True, viewport={"width": width, "height": 800})
    expect_fits(lost, "404")


def palette(page: Page) -> str:
    return str(page.evaluate("document.body.dataset.mdColorScheme"))


def toggle_palette(page: Page) -> None:
    page.locator(".md-header__option label:visible").click()


def expect_contrast(page: Page, where: str) -> None:
    found = page.evaluate(CONTRAST, "prefix-scorer, position-walk, .md-content table, .md-content p")
    assert len(found) > 5
    assert [text for ratio, text in found if ratio < 4.5] == [], where


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(open_page: OpenPage, scheme: str) -> None:
    page = open_page(CHAPTER_4, color_scheme=scheme, reduced_motion="reduce")
    assert palette(page) == {"light": "default", "dark": "slate"}[scheme]
    scorer, walk = Scorer(page), Walk(page)
    open_all_details(page)
    walk.wait("idle")
    expect_contrast(page, "idle")
    scorer.score("1234+1=")
    Scorer(page, 1).submit("1−1=")
    Scorer(page, 1).expect_error()
    for operation in range(4):
        walk.choose("Operation", operation)
        expect_contrast(page, f"operation {operation + 1}")
    walk.choose("Position", 0)
    walk.choose("Operation", 1)
    walk.panel.get_by_role("button", name="is hidden").first.click()
    expect_contrast(page, "hidden position")


def test_palette_toggle_keeps_the_result(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4, color_scheme="light")
    scorer, walk = Scorer(page), Walk(page)
    scorer.score("1+1=")
    walk.choose("Operation", 3)
    before = (scorer.rows(), scorer.status.inner_text(), walk.panel.inner_text())
    colours: set[tuple[str, ...]] = set()
    seen = set()
    for _ in range(4):
        toggle_palette(page)
        seen.add(palette(page))
        colours.add(
            tuple(
                part.evaluate("element => getComputedStyle(element).backgroundColor")
                for part in (scorer.button, scorer.box, walk.root.locator("input:checked + span").first)
            )
        )
        assert (scorer.rows(), scorer.status.inner_text(), walk.panel.inner_text()) == before
        scorer.wait("ready")
    assert seen == {"default", "slate"}
    assert len(colours) == 2, "colours do not follow the palette"


def test_reduced_motion(open_page: OpenPage) -> None:
    page = open_page(reduced_motion="reduce")
    Scorer(page).score("12+34=")
    longest = page.evaluate(
        """() => Math.max(...[...document.querySelectorAll("*")].flatMap((element) => {
          const style = getComputedStyle(element);
          return [style.transitionDuration, style.animationDuration]
            .flatMap((list) => list.split(",").map(parseFloat));
        }))"""
    )
    assert longest <= 0.001
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


@pytest.mark.parametrize("address", [HOME, CHAPTER_4])
def test_nothing_moves_by_itself(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    Scorer(page).wait("idle")
    page.wait_for_load_state("networkidle")
    endless = page.evaluate(
        """() => document.getAnimations()
          .filter((animation) => animation.effect.getComputedTiming().iterations === Infinity).length"""
    )
    assert endless == 0


# How far the colours that fill two pictures differ, as a contrast ratio; read beside the left border.
FILL_CONTRAST = """
async (pictures) => {
  const luminances = await Promise.all(pictures.map(async (picture) => {
    const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const [r, g, b] = [...canvas.getImageData(4, Math.floor(image.height / 2), 1, 1).data]
      .map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }));
  return (Math.max(...luminances) + 0.05) / (Math.min(...luminances) + 0.05);
}
"""


def test_forced_colours(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4, forced_colors="active")
    walk = Walk(page)
    walk.wait("idle")
    for legend in ("Position", "Operation"):
        group = walk.root.get_by_role("group", name=legend)
        chips = (group.locator("input:checked + span"), group.locator("input:not(:checked) + span").first)
        pictures = [base64.b64encode(chip.screenshot()).decode("ascii") for chip in chips]
        assert page.evaluate(FILL_CONTRAST, pictures) >= 3, "the chosen chip looks like the others"
    assert all(ratio >= 4.5 for ratio, _ in page.evaluate(CONTRAST, "position-walk .walk-chips"))
    walk.choose("Operation", 1)
    is_hidden = walk.panel.locator(".score-bar").first.evaluate(
        "bar => getComputedStyle(bar).backgroundColor === getComputedStyle(document.body).backgroundColor"
    )
    assert not is_hidden, "the bars can not be seen"


@pytest.mark.parametrize("width", [320, 1280])
def test_score_table_scrolls_in_its_own_box(open_page: OpenPage, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 700})
    scorer = Scorer(page)
    scorer.score("12+34=")
    height, content = scorer.table.evaluate("box => [box.clientHeight, box.scrollHeight]")
    assert height < 700 and content > 2 * height
    scorer.table.evaluate("box => { box.scrollTop = 500; }")
    heading = scorer.table.get_by_role("button", name="Logit")
    offset = heading.evaluate(
        "button => button.getBoundingClientRect().top - button.closest('.score-table').getBoundingClientRect().top"
    )
    assert 0 <= offset < 40, "the headings scroll away"
