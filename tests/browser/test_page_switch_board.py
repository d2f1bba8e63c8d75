"""Chapter 9, the switch board: what is answered with parts off is what the hooked PyTorch network answers."""

import re
from collections.abc import Sequence

import numpy as np
from playwright.sync_api import expect

import site_server
from built_site import CHAPTER_9, OpenPage, Site
from export.ablation import ablation_list, in_words, interval
from export.forms import switches
from hooked_model import switched_off
from inside_parts import Board
from question_parts import ExercisePart
from test_page_scorer import shown_name
from tiny_gpt.checkpoint import CHECKPOINTS, load_model
from tiny_gpt.config import ModelConfig
from tiny_gpt.evaluate import answer_rows
from tiny_gpt.generate import greedy_rows
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import EOS_ID

NAMES = [switch.name for switch in switches(ModelConfig())]
WORDS = {switch.name: in_words(switch, ModelConfig()) for switch in switches(ModelConfig())}


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
