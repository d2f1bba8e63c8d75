"""Chapter 9, attention maps and logit lens: what the page shows is what the hooked PyTorch network computes."""

import re
from urllib.parse import quote

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from built_site import CHAPTER_9, OpenPage
from export.golden import BAD_PREFIXES
from hooked_model import inside
from inside_parts import Board, Lens, Maps
from test_page_layout import CONTRAST, expect_fits
from test_page_scorer import shown_name
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import PromptError, check_prefix
from tiny_gpt.tokenizer import CharacterTokenizer


def expect_grid(maps: Maps, weights: torch.Tensor) -> None:
    """The open grid holds these weights [T, T] in per cent, and the sentence the chosen one."""
    shown = maps.values()
    sees_ahead = bool((weights.triu(1) > 0).any())
    for row, cells in enumerate(shown):
        assert len(cells) == len(weights)
        for column, text in enumerate(cells):
            if column > row and not sees_ahead:
                assert text == "hidden"
                continue
            assert abs(float(text) - 100 * float(weights[row, column])) <= 0.501, (row, column)
    found = re.search(r"takes (\d+\.\d\d) %", maps.says.inner_text())
    assert found
    assert abs(float(found[1]) - 100 * float(weights[-1].max())) <= 0.00501


@pytest.mark.parametrize("line", ["12+34=46", "", "999-1000=" + "7" * 22])
def test_every_head_is_pytorchs(open_page: OpenPage, trained_model: TinyArithmeticGPT, line: str) -> None:
    maps = Maps(open_page(CHAPTER_9))
    maps.look(line)
    found = inside(trained_model, torch.tensor([CharacterTokenizer().encode(line)]))
    for place in range(8):
        block, head = divmod(place, 4)
        maps.root.locator(".maps-choice").nth(place).click()
        expect(maps.grid).to_have_attribute("aria-label", f"Weights of head {head + 1} of block {block + 1}")
        weights = found[f"block_{block + 1}_attention_weights"][0, head]
        expect_grid(maps, weights)
        share, source = weights[-1].max(dim=-1)
        card = maps.root.locator(".maps-card").nth(place)
        expect(card).to_contain_text(f"last row: {100 * float(share):.0f} % from ")
        expect(card).to_contain_text(f"at {int(source)}")
        pixels = card.locator("canvas").evaluate(
            """canvas => [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data]
              .filter((_, index) => index % 4 === 3)"""
        )
        assert np.abs(np.array(pixels) - 255 * weights.flatten().numpy()).max() <= 1


def test_maps_and_lens_follow_the_switches(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    page = open_page(CHAPTER_9)
    board, maps, lens = Board(page), Maps(page), Lens(page)
    maps.look("12+34=")
    lens.look("12+34=")
    expect(maps.results).to_contain_text("with all switches on.")
    off = ["mask", "block_1_head_1"]
    for name in off:
        board.switch(name).set_checked(False)
    echo = "with these switches off: causal mask and head 1 of block 1."
    expect(maps.results).to_contain_text(echo)
    expect(lens.results).to_contain_text(echo)
    maps.wait("ready")
    lens.wait("ready")
    found = inside(trained_model, torch.tensor([CharacterTokenizer().encode("12+34=")]), off)
    expect_grid(maps, found["block_1_attention_weights"][0, 0])
    expect_lens(lens, found)
    board.ready()
    board.reset.click()
    expect(maps.results).to_contain_text("with all switches on.")


STAGES = ("lens_0_logits", "lens_1_logits", "logits")


def percent_of(text: str) -> float:
    return 0.0 if text.startswith("<") else float(text.removesuffix(" %"))


def expect_lens(lens: Lens, found: dict[str, torch.Tensor], place: int = -1) -> None:
    """Both tables are these logits': five tokens of one position, and the top of every position."""
    shares = [found[name][0].softmax(dim=-1) for name in STAGES]
    highest = lens.cells(0)
    for stage, share in enumerate(shares):
        best = share[place].sort(descending=True, stable=True)
        for rank, row in enumerate(highest):
            token, shown = row[stage]
            assert token == shown_name(int(best.indices[rank]))
            assert 0 <= 100 * float(best.values[rank]) - percent_of(shown) < 0.0101
    for position, row in enumerate(lens.cells(1)):
        for stage, share in enumerate(shares):
            token, shown = row[stage]
            assert token == shown_name(int(share[position].argmax()))
            assert 0 <= 100 * float(share[position].max()) - percent_of(shown) < 0.0101


@pytest.mark.parametrize("line", ["12+34=", "57-132=-75", ""])
def test_the_lens_is_pytorchs(open_page: OpenPage, trained_model: TinyArithmeticGPT, line: str) -> None:
    lens = Lens(open_page(CHAPTER_9))
    lens.look(line)
    found = inside(trained_model, torch.tensor([CharacterTokenizer().encode(line)]))
    expect_lens(lens, found)
    for name in STAGES:
        expect(lens.status).to_contain_text(shown_name(int(found[name][0, -1].argmax())))
    for place in {0, len(line) // 2}:
        lens.position.select_option(str(place))
        expect_lens(lens, found, place)


def test_the_grid_by_keyboard(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    page = open_page(CHAPTER_9)
    maps = Maps(page)
    maps.look("1+1=2")
    weights = inside(trained_model, torch.tensor([CharacterTokenizer().encode("1+1=2")]))
    page.keyboard.press("Tab")
    expect(maps.heads.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(maps.heads.nth(1)).to_be_focused()
    expect(maps.heads.nth(1)).to_be_checked()
    expect(maps.grid).to_have_attribute("aria-label", "Weights of head 2 of block 1")
    expect_grid(maps, weights["block_1_attention_weights"][0, 1])
    assert maps.grid.locator("[tabindex='0']").count() == 1
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    cell = maps.grid.locator("tbody tr").nth(4).locator("td").nth(0)
    expect(cell).to_be_focused()
    share = 100 * float(weights["block_1_attention_weights"][0, 1, 4, 0])
    expect(maps.says).to_have_text(
        re.compile(rf"^Position 4, =, takes {share:.1f}\d % .* from position 0, BOS\.$")
    )
    page.keyboard.press("End")
    expect(maps.says).to_have_text(
        "Position 4, =, can not read position 5, 2: it comes later, and the mask hides it."
    )
    page.keyboard.press("ArrowRight")  # there is nothing further
    expect(maps.grid.locator("tbody tr").nth(4).locator("td").nth(5)).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[role=grid]')") is None
    assert "attention.head=2" in page.url


@pytest.mark.parametrize("text", [text for text in BAD_PREFIXES if "\n" not in text])
@pytest.mark.parametrize("kind", [Maps, Lens])
def test_bad_lines_are_named_in_pythons_words(
    open_page: OpenPage, kind: type[Maps] | type[Lens], text: str
) -> None:
    with pytest.raises(PromptError) as refusal:
        check_prefix(text)
    part = kind(open_page(CHAPTER_9))
    part.submit(text)
    part.expect_error()
    expect(part.alert).to_have_text(str(refusal.value))
    expect(part.results).to_be_hidden()
    expect(part.box).to_have_value(text)
    expect(part.box).to_have_attribute("aria-invalid", "true")
    part.box.fill("1+1=")
    part.wait("idle")
    part.button.click()
    part.wait("ready")
    expect(part.results).to_be_visible()
    part.box.press("End")
    part.box.press("2")
    part.wait("idle")
    expect(part.results).to_be_hidden()


def test_links_bring_back_what_was_shown(open_page: OpenPage) -> None:
    query = f"?attention.line={quote('5-5=0')}&attention.block=2&attention.head=4&lens.line={quote('1+1=')}"
    page = open_page(CHAPTER_9 + query + "&lens.position=2&board.off=mask,block_2_head_1&board.model=trained")
    board, maps, lens = Board(page), Maps(page), Lens(page)
    board.wait("idle")
    assert board.off() == ["mask", "block_2_head_1"]
    expect(maps.box).to_have_value("5-5=0")
    maps.button.click()
    maps.wait("ready")
    expect(maps.grid).to_have_attribute("aria-label", "Weights of head 4 of block 2")
    expect(maps.results).to_contain_text("with these switches off: causal mask and head 1 of block 2.")
    lens.button.click()
    lens.wait("ready")
    expect(lens.position).to_have_value("2")
    assert "attention.head=4" in page.url and "lens.position=2" in page.url

    bad = open_page(
        CHAPTER_9 + "?attention.line=5%E2%88%925&attention.block=3&attention.head=x"
        "&lens.position=-1&board.off=mask,head_9&board.model=step-7"
    )
    board, maps, lens = Board(bad), Maps(bad), Lens(bad)
    board.wait("idle")
    for part, count in ((board, 2), (maps, 3), (lens, 1)):
        expect(part.root.locator(".live-warning")).to_have_count(count)
        expect(part.root.locator(".live-warning").first).to_contain_text("does not fit this page")
    assert board.off() == []
    maps.button.click()
    maps.wait("ready")
    expect(maps.grid).to_have_attribute("aria-label", "Weights of head 1 of block 1")


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (1280, "light")])
def test_results_fit_and_can_be_read(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(CHAPTER_9, viewport={"width": width, "height": 800}, color_scheme=scheme)
    board, maps, lens = Board(page), Maps(page), Lens(page)
    maps.submit("9" * 40)
    maps.expect_error()
    expect_fits(page, "refused")
    board.switch("block_1_feed_forward").set_checked(False)
    maps.look("W~" * 15)
    lens.look("W~" * 15)
    board.ready()
    maps.wait("ready")
    lens.wait("ready")
    expect_fits(page, "all shown")
    found = page.evaluate(CONTRAST, "attention-maps, switch-board, logit-lens")
    assert len(found) > 500
    assert [text for ratio, text in found if ratio < 4.5] == []


def test_pictures_in_forced_colours(open_page: OpenPage) -> None:
    maps = Maps(open_page(CHAPTER_9, forced_colors="active"))
    maps.look("1+1=")
    background = maps.root.locator("canvas").first.evaluate(
        "canvas => getComputedStyle(canvas).backgroundColor"
    )
    assert background == "rgb(255, 255, 255)", "the black pixels can not be seen"
