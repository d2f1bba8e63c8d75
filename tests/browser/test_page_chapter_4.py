"""Chapter 4: the exercise on random weights and the walk, recorded and live."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from built_site import CHAPTER_4, OpenPage, Site
from export.forms import output_names
from export.walk import recorded_walk
from live_parts import Scorer, Walk
from test_page_scorer import expect_scores, shown_name
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

SPECIFIED = {
    "token row": ["0.018", "0.053", "0.032", "-0.024"],
    "position row": ["0.012", "0.010", "-0.013", "-0.011"],
    "sum": ["0.029", "0.062", "0.019", "-0.035"],
}
OPERATIONS = (
    "Turn the token ID into a vector",
    "Let earlier positions contribute",
    "Transform the position",
    "Score the 98 next tokens",
)
HEADS = 4
BLOCKS = 2


def test_exercise_on_random_weights(
    open_page: OpenPage, site: Site, random_model: TinyArithmeticGPT, trained_model: TinyArithmeticGPT
) -> None:
    page = open_page(CHAPTER_4)
    scorer = Scorer(page)
    size = site.manifest["models"][site.manifest["initial"]]["bytes"] / 1e6
    expect(scorer.root.locator(".scorer-card")).to_have_text(f"Random weights. Epoch 0. {size:.2f} MB.")
    expect(scorer.box).to_have_value("1+1=")
    scorer.button.click()
    scorer.wait("ready")
    expect_scores(scorer, random_model, "1+1=")
    scorer.score("1+2=")
    expect_scores(scorer, random_model, "1+2=")

    # the second scorer of the page has trained weights, and the first one keeps its result
    trained = Scorer(page, 1)
    trained.score("1+2=")
    expect_scores(trained, trained_model, "1+2=")
    expect_scores(scorer, random_model, "1+2=")
    assert len(site.server.paths("assets/runtime/*")) == 1
    assert len(site.server.paths("assets/models/*")) == 2


def test_recorded_table_equals_the_specification(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4)
    walk = Walk(page)
    expect(walk.source).to_have_text(
        'Recorded numbers of "1+1=2", from the untrained seed-42 weights, written when this site was built.'
    )
    expect(walk.chips("Position").nth(4)).to_be_checked()
    expect(walk.chips("Operation").nth(0)).to_be_checked()
    expect(walk.panel).to_contain_text("Position 4, =")
    shown = {
        row[0]: [cell.replace("−", "-") for cell in row[1:]]
        for row in walk.panel.locator("tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
    }
    assert shown == SPECIFIED
    prose = page.locator("table:not([class])", has_text="position row").locator("tbody tr")
    for row, (name, numbers) in zip(prose.all(), SPECIFIED.items(), strict=True):
        assert [cell.replace("−", "-") for cell in row.inner_text().split("\t")] == [name, *numbers]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and text of a nested value with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]")
    else:
        yield path, value


def expect_equal_values(found: Any, expected: Any, tolerance: float) -> None:
    """The same structure, texts, IDs and ranks; numbers with a fraction but for a tolerance."""
    values, wanted = dict(leaves(found)), dict(leaves(expected))
    assert values.keys() == wanted.keys()
    for path, value in wanted.items():
        if isinstance(value, float):
            assert abs(values[path] - value) <= tolerance, path
        else:
            assert values[path] == value, path


def number(cell: str) -> float:
    return float(cell.replace("−", "-"))


def expect_everything(walk: Walk, values: dict[str, Any]) -> None:
    """Each view of each position shows the numbers of `values`, rounded to three decimals."""
    positions = walk.everything()
    assert len(positions) == len(values["positions"]) == len(values["text"]) + 1

    def expect_row(row: list[str], name: str, numbers: list[float]) -> None:
        assert row[0] == name
        assert [number(cell) for cell in row[1:]] == pytest.approx(numbers, abs=5.2e-4)

    for position, (operations, wanted) in enumerate(zip(positions, values["positions"], strict=True)):
        vector, attention, feed_forward, scores = operations
        for row, name in zip(vector[0][0], ("token row", "position row", "sum"), strict=True):
            expect_row(row, name, wanted[name.replace(" ", "_")])
        assert len(attention) == BLOCKS * HEADS
        for view, (weights, table) in enumerate(attention):
            block = wanted["blocks"][view // HEADS]
            assert len(weights) == len(positions)
            for source, (cell, weight) in enumerate(
                zip(weights, block["attention"][view % HEADS], strict=True)
            ):
                token_id = values["positions"][source]["token_id"]
                assert cell[0] == f"{source} {shown_name(token_id)}"
                if source <= position:
                    assert number(cell[1]) == pytest.approx(weight, abs=5.2e-4)
                else:
                    assert weight == 0 and cell[1].startswith("hidden")
            expect_row(table[0], "before", block["before"])
            expect_row(table[1], "after", block["after_attention"])
        assert len(feed_forward) == BLOCKS
        for (table,), block in zip(feed_forward, wanted["blocks"], strict=True):
            added = [
                after - before
                for after, before in zip(block["output"], block["after_attention"], strict=True)
            ]
            expect_row(table[0], "before", block["after_attention"])
            expect_row(table[1], "added", added)
            expect_row(table[2], "after", block["output"])
        top, target = scores[0][0]
        assert (top[0], top[1]) == ("highest score", shown_name(wanted["top"]["token_id"]))
        assert (target[0], target[1]) == ("training target", shown_name(wanted["target"]["token_id"]))
        assert number(top[2]) == pytest.approx(wanted["top"]["logit"], abs=5.2e-4)
        assert number(target[2]) == pytest.approx(wanted["target"]["logit"], abs=5.2e-4)
        assert (top[3], target[3]) == ("1 of 98", f"{wanted['target']['rank']} of 98")


def test_recorded_walk_shows_every_position(
    open_page: OpenPage, site: Site, random_model: TinyArithmeticGPT
) -> None:
    walk = Walk(open_page(CHAPTER_4))
    walk.wait("idle")
    recorded = site.module_value("walk")
    expect_equal_values(recorded, recorded_walk(random_model), tolerance=2e-6)
    expect_everything(walk, recorded)
    assert site.server.paths("assets/models/*") == []


def test_walk_by_mouse(open_page: OpenPage) -> None:
    walk = Walk(open_page(CHAPTER_4))
    for operation, name in enumerate(OPERATIONS):
        walk.choose("Operation", operation)
        expect(walk.chips("Operation").nth(operation)).to_be_checked()
        expect(walk.panel).to_contain_text(f"Position 4, =: {name[0].lower()}{name[1:]}")
    walk.choose("Position", 5)
    expect(walk.panel).to_contain_text("The target is EOS: this is the last position")
    expect(walk.panel.get_by_role("row", name="training target")).to_contain_text("EOS")
    walk.choose("Position", 0)
    expect(walk.panel).to_contain_text("The target is the token at position 1.")
    walk.choose("Operation", 1)
    for block in range(BLOCKS):
        walk.root.get_by_label("Block").select_option(index=block)
        for head in range(HEADS):
            walk.root.get_by_label("Head").select_option(index=head)
            expect(walk.panel).to_contain_text(f"Head {head + 1} of block {block + 1} adds up")
            expect(walk.root.get_by_label("Head")).to_be_focused()


def test_hidden_later_position_is_explained(open_page: OpenPage) -> None:
    walk = Walk(open_page(CHAPTER_4))
    walk.choose("Operation", 1)
    walk.choose("Position", 2)
    hidden = walk.panel.get_by_role("button", name="is hidden. Why?")
    assert [button.get_attribute("aria-label") for button in hidden.all()] == [
        f"Position {later} is hidden. Why?" for later in (3, 4, 5)
    ]
    explanation = walk.panel.get_by_role("status")
    expect(explanation).to_be_empty()
    hidden.nth(1).click()
    expect(explanation).to_contain_text("Position 4")
    expect(explanation).to_contain_text("position 2")
    hidden.nth(2).focus()
    walk.page.keyboard.press("Enter")
    expect(explanation).to_contain_text("Position 5")


LIVE_WALK = """
async ({ code, text, ids, outputs, model, blocks }) => {
  const { engine } = await import(code + "runtime/engine.mjs");
  const { walkFrom } = await import(code + "widgets/walk-data.mjs");
  const answer = await engine.run(model, [ids], outputs);
  return walkFrom(text, ids, answer.outputs, blocks);
}
"""


def test_live_walk_equals_pytorch(open_page: OpenPage, site: Site, random_model: TinyArithmeticGPT) -> None:
    walk = Walk(open_page(CHAPTER_4))
    walk.button.click()
    walk.wait("ready")
    expect(walk.source).to_contain_text('Computed on this device: "1+1=2"')
    expect(walk.status).to_contain_text("Computed on this device in")
    expect_everything(walk, site.module_value("walk"))

    line = " 7-12 =-5"
    walk.choose("Position", 4)
    walk.submit(line)
    walk.wait("ready")
    expect(walk.source).to_contain_text(f'Computed on this device: "{line}"')
    expect_everything(walk, recorded_walk(random_model, line))

    for text in ("1+1=2", "", "x", "999-1000=-1", "9" * 31):
        ids = CharacterTokenizer().encode(text)
        live = walk.page.evaluate(
            LIVE_WALK,
            {
                "code": site.code,
                "text": text,
                "ids": ids,
                "outputs": output_names(BLOCKS),
                "model": site.manifest["initial"],
                "blocks": BLOCKS,
            },
        )
        # Python's numbers have six decimals
        expect_equal_values(live, recorded_walk(random_model, text), tolerance=1e-5 + 5e-7)
        assert live["positions"][-1]["target"]["token_id"] == EOS_ID


def test_changed_line_hides_the_old_walk(open_page: OpenPage) -> None:
    walk = Walk(open_page(CHAPTER_4))
    walk.box.fill("1+1=3")
    expect(walk.stage).to_be_hidden()
    expect(walk.status).to_contain_text("The line has changed. Press Walk")
    walk.box.fill("1+1=2")
    expect(walk.stage).to_be_visible()
    expect(walk.source).to_contain_text("Recorded numbers")
    walk.submit("1+1=−2")
    walk.expect_error("Type - instead.")
    expect(walk.stage).to_be_hidden()
    expect(walk.box).to_have_attribute("aria-invalid", "true")
    walk.submit("1+1=-2")
    walk.wait("ready")
    expect(walk.stage).to_be_visible()
    expect(walk.chips("Position")).to_have_count(7)
    walk.box.fill("1+1=")
    walk.wait("idle")
    expect(walk.stage).to_be_hidden()


def test_code_and_downloads(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_4)
    source = (site.folder / "downloads/tiny_gpt/model.py").read_text(encoding="utf-8")
    page.get_by_text("model.py, complete").click()
    shown = page.locator("details", has_text="model.py, complete").locator("code").last.text_content() or ""
    wanted = [line for line in source.splitlines() if "--8<--" not in line]
    assert shown.rstrip().splitlines() == wanted[: len(shown.rstrip().splitlines())]
    assert len(shown.rstrip().splitlines()) == len(wanted)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download model.py").click()
    assert download.value.path().read_text(encoding="utf-8") == source
