"""Chapter 9: what the page shows with parts switched off is what the hooked PyTorch network computes."""

import re
from collections.abc import Sequence
from urllib.parse import quote

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page, expect

import site_server
from built_site import CHAPTER_9, OpenPage, Site
from export.ablation import ablation_list, in_words, interval
from export.forms import switches
from export.golden import BAD_PREFIXES
from hooked_model import inside, switched_off
from live_parts import LivePart
from question_parts import ExercisePart
from test_page_layout import CONTRAST, expect_fits
from test_page_scorer import shown_name
from tiny_gpt.checkpoint import CHECKPOINTS, load_model
from tiny_gpt.config import ModelConfig
from tiny_gpt.evaluate import answer_rows
from tiny_gpt.generate import greedy_rows
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import PromptError, check_prefix
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

NAMES = [switch.name for switch in switches(ModelConfig())]
WORDS = {switch.name: in_words(switch, ModelConfig()) for switch in switches(ModelConfig())}
MANY = 120_000  # ms for two rounds of 200 problems on a machine that others use too


class Board(LivePart):
    element, press = "switch-board", "Measure"

    def __init__(self, page: Page) -> None:
        self.label = "Weights"
        super().__init__(page)
        self.results = self.root.locator(".board-results")
        self.stop = self.root.get_by_role("button", name="Stop")
        self.all_on = self.root.get_by_role("button", name="All on")
        self.reset = self.root.get_by_role("button", name="Reset")

    def switch(self, name: str) -> Locator:
        return self.root.locator(f'input[name="{name}"]')

    def off(self) -> list[str]:
        names: list[str] = self.root.locator("input[role=switch]:not(:checked)").evaluate_all(
            "boxes => boxes.map((box) => box.name)"
        )
        return names

    def ready(self) -> None:
        expect(self.root).to_have_attribute("data-state", "ready", timeout=MANY)

    def table(self, name: str = "board-table") -> list[list[str]]:
        cells: list[list[str]] = self.root.locator(f".{name} tbody").evaluate(
            "body => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        return cells


class Maps(LivePart):
    element, label, press = "attention-maps", "Line", "Look"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.results = self.root.locator(".inside-results")
        self.grid = self.root.get_by_role("grid")
        self.says = self.root.locator(".grid-says")
        self.heads = self.root.get_by_role("radio")

    def look(self, line: str) -> None:
        self.submit(line)
        self.wait("ready")

    def values(self) -> list[list[str]]:
        cells: list[list[str]] = self.grid.locator("tbody").evaluate(
            "body => [...body.rows].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))"
        )
        return cells


class Lens(LivePart):
    element, label, press = "logit-lens", "Line", "Look"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.results = self.root.locator(".inside-results")
        self.position = self.root.get_by_label("Position", exact=True)

    def look(self, line: str) -> None:
        self.submit(line)
        self.wait("ready")

    def cells(self, index: int) -> list[list[tuple[str, str]]]:
        """Token and probability in each cell of the table of this index."""
        found: list[list[list[str]]] = (
            self.root.locator("table")
            .nth(index)
            .evaluate(
                """table => [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("td")].map((cell) =>
              [cell.querySelector("code").textContent, cell.querySelector(".lens-share").textContent]))"""
            )
        )
        return [[(token, share) for token, share in row] for row in found]


def answered(model: TinyArithmeticGPT, off: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """What the hooked network writes for the list, [200, 5], and the verdicts, [200]."""
    with switched_off(model, off):
        written = greedy_rows(model, ablation_list())
    return written, (written == answer_rows(ablation_list())).all(axis=1)


def written_text(row: np.ndarray) -> str:
    """How the page writes an answer."""
    ids = row.tolist()
    ended = EOS_ID in ids
    ids = ids[: ids.index(EOS_ID)] if ended else ids
    names = [shown_name(token) for token in ids]
    text = "".join(f"[{name}]" if len(name) > 1 else name for name in names)
    return text + ("" if ended else " (no EOS)") or "nothing, EOS at once"


def expect_column(board: Board, column: int, right: np.ndarray) -> None:
    """A column of the comparison holds the counts of these verdicts."""
    low, high = (f"{100 * end:.1f}" for end in interval(int(right.sum()), 200))
    expected = [
        str(int(right[:100].sum())),
        str(int(right[100:].sum())),
        str(int(right.sum())),
        f"{right.sum() / 2:.1f} %",
        f"{low} to {high} %",
    ]
    assert [row[column] for row in board.table()] == expected


def expect_changes(board: Board, model: TinyArithmeticGPT, off: Sequence[str], before: np.ndarray) -> None:
    """The comparison, the sentence and every example are the hooked network's."""
    written, right = answered(model, off)
    expect_column(board, 1, before)
    expect_column(board, 2, right)
    lost, won = int((before & ~right).sum()), int((~before & right).sum())
    says = f"{lost} went from right to wrong, {won} from wrong to right."
    expect(board.root.locator(".board-changes")).to_have_text(says)
    total = f"{right.sum()} of 200 ({right.sum() / 2:.1f} %)"
    expect(board.status).to_contain_text(f"Right after: {total}.")
    for name in off:
        expect(board.status).to_contain_text(WORDS[name])
    examples = board.table("board-examples") if lost + won else []
    assert len(examples) == min(6, lost + won)
    places = {text: place for place, text in enumerate(ablation_list().prompts())}
    for problem, answer, text, verdict in examples:
        place = places[problem]
        assert answer == ablation_list().answer_texts()[place]
        assert text == written_text(written[place])
        assert verdict == ("right" if right[place] else "wrong")
        assert right[place] != before[place]


def test_every_switch_counts_what_pytorch_counts(
    open_page: OpenPage, trained_model: TinyArithmeticGPT
) -> None:
    board = Board(open_page(CHAPTER_9))
    board.wait("idle")
    boxes = board.root.get_by_role("switch")
    assert boxes.evaluate_all("boxes => boxes.map((box) => box.name)") == NAMES
    _, before = answered(trained_model, ())
    for name in NAMES:
        board.switch(name).set_checked(False)
        board.ready()
        assert board.off() == [name]
        expect_changes(board, trained_model, [name], before)
        board.switch(name).set_checked(True)


def test_several_switches_and_all_on(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    board = Board(open_page(CHAPTER_9))
    _, before = answered(trained_model, ())
    off = ["scale", "block_1_head_2", "block_2_head_3"]
    for name in off:
        board.switch(name).set_checked(False)
    board.ready()
    expect_changes(board, trained_model, off, before)
    board.all_on.click()
    board.ready()
    assert board.off() == []
    expect_column(board, 1, before)
    assert len(board.table()[0]) == 2
    expect(board.status).to_contain_text("With all switches on, 200 of 200 (100.0 %) are right.")
    board.reset.click()
    board.wait("idle")
    expect(board.results).to_be_hidden()
    assert "board." not in board.page.url


def test_another_checkpoint_has_its_own_baseline(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_9 + "?board.off=block_2_head_3&board.model=step-001000")
    board = Board(page)
    board.wait("idle")
    assert board.off() == ["block_2_head_3"]
    board.button.click()
    board.ready()
    model = load_model(CHECKPOINTS / "step-001000.safetensors")
    _, before = answered(model, ())
    assert 0 < before.sum() < 200
    expect_changes(board, model, ["block_2_head_3"], before)
    board.box.select_option("step-000500")
    board.wait("idle")
    expect(board.results).to_be_hidden()
    expect(board.status).to_contain_text("The weights have changed.")


def test_stop(open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT) -> None:
    page = open_page(CHAPTER_9)
    board = Board(page)
    held = site_server.Held()
    site.server.fail("assets/models/step-014000*", held)
    board.switch("mask").set_checked(False)
    board.wait("loading")
    expect(board.stop).to_be_hidden()
    # stops itself at the first batch that is done, so that no time is waited for
    page.evaluate(
        """() => {
          const stop = [...document.querySelectorAll("switch-board button")].find(({ textContent }) => textContent === "Stop");
          const bar = document.querySelector('switch-board progress[aria-label="Problems answered"]');
          new MutationObserver((_, watch) => {
            if (bar.hidden || bar.value === 0) return;
            watch.disconnect();
            stop.focus();
            stop.click();
          }).observe(bar, { attributes: true });
        }"""
    )
    held.release()
    board.wait("idle")
    expect(board.status).to_have_text(
        re.compile(r"^Stopped after \d+ answers\. Press Measure to start again\.$")
    )
    assert 0 < int(re.findall(r"\d+", board.status.inner_text())[0]) < 400
    expect(board.stop).to_be_hidden()
    expect(board.button).to_be_focused()
    expect(board.results).to_be_hidden()
    board.button.press("Enter")
    board.ready()
    expect_changes(board, trained_model, ["mask"], answered(trained_model, ())[1])


def test_a_newer_flip_replaces_an_older_one(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    board = Board(open_page(CHAPTER_9))
    for name in ("positions", "block_1_feed_forward", "block_2_head_3"):
        board.switch(name).set_checked(False)
    for name in ("positions", "block_1_feed_forward"):
        board.switch(name).set_checked(True)
    board.ready()
    expect_changes(board, trained_model, ["block_2_head_3"], answered(trained_model, ())[1])


def test_board_after_a_failed_download(
    open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT
) -> None:
    site.server.fail("assets/graphs/*inside*", site_server.missing)
    board = Board(open_page(CHAPTER_9, rough=True))
    board.switch("block_2_head_3").set_checked(False)
    board.expect_error("The model did not arrive")
    expect(board.stop).to_be_hidden()
    site.server.heal()
    board.retry.click()
    board.ready()
    expect_changes(board, trained_model, ["block_2_head_3"], answered(trained_model, ())[1])


def test_board_by_keyboard(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    page = open_page(CHAPTER_9)
    board = Board(page)
    board.wait("idle")
    board.switch("block_2_head_1").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    box = board.root.get_by_role("group", name="Block 2").get_by_role("switch", name="Head 3")
    expect(box).to_be_focused()
    page.keyboard.press("Space")
    expect(box).not_to_be_checked()
    board.ready()
    expect(box).to_be_focused()
    expect_changes(board, trained_model, ["block_2_head_3"], answered(trained_model, ())[1])


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


def test_exercises_measure_what_pytorch_measures(
    open_page: OpenPage, trained_model: TinyArithmeticGPT
) -> None:
    page = open_page(CHAPTER_9)
    one = ExercisePart(page, "chapter-9/spare-a-head")
    passed = []
    heads = [name for name in NAMES if "_head_" in name]
    for name in heads:
        said = one.check(Head_to_switch_off=name)
        _, right = answered(trained_model, [name])
        assert (
            f"Without {WORDS[name]}, {right.sum()} of 200 problems are right: {right.sum() / 2:.1f} %" in said
        )
        if said.startswith("✓"):
            passed.append(name)
        assert said.startswith("✓") == (right.sum() > 160)
    assert len(passed) == 1
    two = ExercisePart(page, "chapter-9/spare-two-heads")
    two.root.get_by_label("Second head").select_option(heads[0])
    two.button.click()
    two.expect_error("Both choices are the same head.")


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
