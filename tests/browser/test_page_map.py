"""Chapter 8: the map on the page has Python's answers, and can be stopped, read and moved over by anybody."""

import re

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from built_site import CHAPTER_8, OpenPage, Site, follow_link
from live_parts import open_model
from main_thread import watched_tasks
from map_parts import LONG_RUN_MS, Answers, MapPart, expect_one_worker, pixels
from site_server import missing
from test_page_layout import CONTRAST, expect_fits, toggle_palette
from tiny_gpt.checkpoint import CHECKPOINTS, SMALL, load_model
from tiny_gpt.data import split_of
from tiny_gpt.generate import next_token_logits
from tiny_gpt.maps import recorded

EARLY = "step-001000"
LONGEST_TASK_MS = 200
SLOWER = 4  # a phone's processor against a laptop's
CELLS = 10_000


@pytest.fixture(scope="module")
def early() -> Answers:
    """All sums up to 99 as the checkpoint that is often wrong answers them."""
    return Answers.of(load_model(CHECKPOINTS / f"{EARLY}.safetensors"), "+")


def cell_of(a: int, b: int) -> int:
    return a * 100 + b


@pytest.mark.parametrize("operation", ["+", "-"])
@pytest.mark.parametrize("weights", ["trained", EARLY, SMALL])
def test_counts_are_those_of_evaluate(open_page: OpenPage, site: Site, weights: str, operation: str) -> None:
    """The record is what `python -m tiny_gpt.evaluate` counts: tests/model/test_maps.py."""
    key = site.manifest.get(weights, weights)
    part = MapPart(open_page(CHAPTER_8))
    part.run(key, operation)
    row = next(row for row in recorded()["models"][key]["maps"] if row["operation"] == operation)
    expected = [row["right"], row["wrong"], row["confident_wrong"]]
    assert part.counts() == [CELLS, CELLS, *expected]
    seen = part.counts("train")
    assert [seen[0], seen[3]] == [row["in_training"], row["wrong_in_training"]]
    right, wrong, confident = (f"{count:,}" for count in expected)
    expect(part.status).to_contain_text(
        f"Of {CELLS:,} problems {right} are right and {wrong} wrong, {confident} of these with p above 0.9."
    )


def test_every_cell_is_pythons(open_page: OpenPage, early: Answers) -> None:
    part = MapPart(open_page(CHAPTER_8))
    part.run(EARLY)
    sides = np.array(
        [split_of(int(a), int(b)) for a, b in zip(early.problems.a, early.problems.b, strict=True)]
    )
    for side in ("train", "tuning", "held-out"):
        assert part.counts(side) == early.counts(sides == side)
    expect(part.list.locator("summary")).to_have_text(
        f"The wrong ones as text: {(~early.right).sum():,}, of them {early.confident.sum()} with p above 0.9"
    )
    entries = part.entries()
    wrong = np.flatnonzero(~early.right)
    assert sorted(map(without_last_digit, entries)) == sorted(
        without_last_digit(early.entry(cell)) for cell in wrong
    )
    assert ["confident" in entry for entry in entries] == sorted(
        ("confident" in entry for entry in entries), reverse=True
    )


def without_last_digit(text: str) -> str:
    """Float32 may round the second decimal of a per cent to its neighbour."""
    return re.sub(r"\.\d\d %", " %", text)


def test_nothing_starts_by_itself(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    part.wait("idle")
    page.wait_for_load_state("networkidle")
    assert not [request for request in site.server.requests if request.path.endswith(".bin")]
    assert part.counts() == [CELLS, 0, 0, 0, 0]
    hint = part.root.locator(".live-hint").first
    sizes = (
        site.manifest["runtime"]["bytes"],
        site.manifest["models"][site.manifest["trained"]]["bytes"],
    )
    for size in sizes:
        expect(hint).to_contain_text(f"({size / 1e6:.2f} MB)")


def test_stop_works_at_once_and_keeps_what_came_in(open_page: OpenPage, site: Site, early: Answers) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    expect(part.stop).to_be_hidden()
    part.choose(EARLY)
    part.button.click()
    expect(part.stop).to_be_visible()
    page.wait_for_function(
        "() => document.querySelector('tr[data-count=all]').cells[2].textContent !== '0'", timeout=LONG_RUN_MS
    )
    part.stop.focus()
    state = part.stop.evaluate(
        """async (button) => {
          button.click();
          await new Promise((resolve) => setTimeout(resolve));
          return document.querySelector("error-map").dataset.state;
        }"""
    )
    assert state == "ready", "the page waits for the batch that is computed"
    expect(part.status).to_contain_text(re.compile(r"^Stopped after [\d.]+ s; the map is partial\."))
    expect(part.stop).to_be_hidden()
    expect(part.button).to_be_focused()
    counts = part.counts()
    _, computed, right, wrong, _ = counts
    assert 0 < computed < CELLS and computed == right + wrong
    picture = pixels(part.root.locator(".map-canvas"))
    open_model(page, site.code, EARLY)  # whatever was still computed has come in
    assert part.counts() == counts
    assert pixels(part.root.locator(".map-canvas")) == picture
    assert set(map(without_last_digit, part.entries())) <= {
        without_last_digit(early.entry(cell)) for cell in np.flatnonzero(~early.right)
    }
    part.button.click()
    expect(part.status).to_contain_text("Computed on this device", timeout=LONG_RUN_MS)
    assert part.counts()[1] == CELLS


def test_no_long_task(open_page: OpenPage, browser: Browser) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    part.wait("idle")
    with watched_tasks(browser, page) as longest:
        part.run("step-000000")  # all wrong: the longest list
    assert longest.tasks > 100
    assert longest.own < LONGEST_TASK_MS / SLOWER, longest


@pytest.mark.parametrize("cores", [1, 4])
def test_any_number_of_workers_counts_the_same(open_page: OpenPage, early: Answers, cores: int) -> None:
    page = open_page(CHAPTER_8)
    page.add_init_script(f"Object.defineProperty(navigator, 'hardwareConcurrency', {{ get: () => {cores} }})")
    page.reload()
    part = MapPart(page)
    part.run(EARLY)
    assert part.counts() == early.counts(np.ones(CELLS, dtype=bool))
    expect_one_worker(page)


def test_a_helper_that_fails_leaves_its_work_to_the_first(open_page: OpenPage, early: Answers) -> None:
    page = open_page(CHAPTER_8, rough=True)
    page.add_init_script(
        """{
          const Original = Worker;
          let started = 0;
          window.Worker = class extends Original {
            constructor(url, options) {
              if (String(url).includes("/runtime/worker.mjs")) started += 1;
              super(started > 1 ? "data:text/javascript,throw new Error('no')" : url, options);
            }
          };
          Object.defineProperty(navigator, "hardwareConcurrency", { get: () => 2 });
        }"""
    )
    page.reload()
    part = MapPart(page)
    part.run(EARLY)
    assert part.counts() == early.counts(np.ones(CELLS, dtype=bool))


def test_a_failed_download_is_told_and_can_be_retried(open_page: OpenPage, site: Site) -> None:
    site.server.fail(f"*/models/{SMALL}-*", missing)
    part = MapPart(open_page(CHAPTER_8, rough=True))
    part.choose(SMALL)
    part.button.click()
    part.wait("error")
    expect(part.alert).to_contain_text("The model did not arrive: the server answered 404.")
    expect(part.stop).to_be_hidden()
    site.server.heal()
    part.retry.click()
    expect(part.root).to_have_attribute("data-state", "ready", timeout=LONG_RUN_MS)
    assert part.counts()[1] == CELLS


def test_another_choice_ends_the_run_and_clears_the_map(open_page: OpenPage) -> None:
    part = MapPart(open_page(CHAPTER_8))
    part.choose(EARLY)
    part.button.click()
    expect(part.stop).to_be_visible()
    part.problems.select_option("-")
    part.wait("idle")
    expect(part.status).to_have_text("The choice has changed. Press Run the map to compute it.")
    expect(part.stop).to_be_hidden()
    assert part.counts() == [CELLS, 0, 0, 0, 0]
    expect(part.grid).to_have_attribute("aria-label", re.compile("differences a−b"))
    expect(part.box).to_have_value("12-34")


def test_leaving_the_page_ends_the_run(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    part.choose(EARLY)
    part.button.click()
    page.wait_for_function(
        "() => document.querySelector('tr[data-count=all]').cells[2].textContent !== '0'", timeout=LONG_RUN_MS
    )
    follow_link(page, "About")
    expect_one_worker(page)


def test_lookup_table_is_right_on_what_it_stores_alone(
    open_page: OpenPage, site: Site, early: Answers
) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    part.run("table", "-")
    seen = int(early.seen().sum())
    assert part.counts("train") == [seen, seen, seen, 0, 0]
    assert part.counts() == [CELLS, CELLS, seen, CELLS - seen, 0]
    assert part.counts("held-out")[2] == 0
    expect(part.status).to_contain_text("A table of all training lines.")
    expect(part.detail.get_by_role("button", name="Score it")).to_be_hidden()
    assert not [request for request in site.server.requests if request.path.endswith(".bin")]
    unseen = next(f"{a}-0" for a in range(100) if split_of(a, 0) != "train")
    part.box.fill(unseen)
    part.go.click()
    expect(part.facts).to_contain_text("nothing is wrong")


def test_grid_by_keyboard(open_page: OpenPage, early: Answers) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    part.run(EARLY)
    assert part.cell_text() == early.cell_text(cell_of(12, 34))
    part.box.focus()
    page.keyboard.press("Shift+Tab")
    expect(part.grid).to_be_focused()
    outline = part.grid.evaluate("grid => getComputedStyle(grid).outlineStyle")
    assert outline != "none"
    moves = {
        "ArrowRight": (12, 35),
        "ArrowDown": (13, 35),
        "ArrowLeft": (13, 34),
        "ArrowUp": (12, 34),
        "PageDown": (22, 34),
        "PageUp": (12, 34),
        "End": (12, 99),
        "Home": (12, 0),
        "Control+End": (99, 99),
        "Control+Home": (0, 0),
    }
    for key, (a, b) in moves.items():
        before = part.grid.get_attribute("aria-activedescendant")
        page.keyboard.press(key)
        assert part.grid.get_attribute("aria-activedescendant") != before, "the same cell is not read again"
        assert without_last_digit(part.cell_text()) == without_last_digit(early.cell_text(cell_of(a, b))), key
        expect(part.box).to_have_value(f"{a}+{b}")
        expect(part.facts).to_contain_text(f"{a}+{b}=")
        cell = part.root.get_by_role("gridcell")
        expect(cell).to_have_attribute("aria-colindex", str(b + 1))
        expect(cell.locator("..")).to_have_attribute("aria-rowindex", str(a + 1))
    for key in ("ArrowUp", "ArrowLeft"):  # at the corner
        page.keyboard.press(key)
        expect(part.box).to_have_value("0+0")
    assert "map.cell=12" in page.url, "passing by changes no address"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "map.cell=1%2B0" in page.url
    expect(part.grid).to_be_focused()
    page.keyboard.press("Tab")
    expect(part.box).to_be_focused()


def test_a_click_chooses_a_cell_and_the_lens_its_neighbour(open_page: OpenPage, early: Answers) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    part.run(EARLY)
    box = part.grid.bounding_box()
    assert box is not None
    side = part.grid.evaluate("grid => grid.clientWidth")
    part.grid.click(position={"x": side * 0.685, "y": side * 0.915})
    expect(part.box).to_have_value("91+68")
    expect(part.facts).to_contain_text(f"91+68= {early.written[cell_of(91, 68)]}")
    lens = part.lens.evaluate("lens => lens.clientWidth")
    part.lens.click(position={"x": lens * 6.5 / 9, "y": lens * 3.5 / 9})
    expect(part.box).to_have_value("90+70")
    assert "map.cell=90%2B70" in page.url


def test_cell_box_and_its_rules(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    complaint = part.root.locator(".map-finder").get_by_role("alert")
    for text in ("", "100+1", "7-12", "seven", "07+1", "1+2+3"):
        part.box.fill(text)
        part.go.click()
        expect(complaint).to_contain_text(
            f"This map has no cell “{text}”. Type two whole numbers from 0 to 99 with +"
        )
        expect(part.box).to_have_value(text)
        expect(part.box).to_have_attribute("aria-invalid", "true")
    part.box.fill("7+12=")
    part.box.press("Enter")
    expect(complaint).to_be_hidden()
    expect(part.facts).to_contain_text("7+12= not computed yet.")
    assert (
        part.cell_text() == f"7+12= not computed, {'training' if split_of(7, 12) == 'train' else 'held out'}"
    )


def test_scored_token_by_token_as_in_python(open_page: OpenPage, early: Answers) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    part.weights.select_option(EARLY)
    model = load_model(CHECKPOINTS / f"{EARLY}.safetensors")
    for a, b in ((68, 91), (12, 34)):
        part.box.fill(f"{a}+{b}")
        part.go.click()
        part.detail.get_by_role("button", name="Score it").click()
        expect(part.detail).to_have_attribute("data-state", "ready")
        written = early.written[cell_of(a, b)]
        rows = part.detail.locator("tbody tr")
        expect(rows).to_have_count(len(written) + 1)
        for place, row in enumerate(rows.all()):
            shares = next_token_logits(model, f"{a}+{b}={written[:place]}").softmax(dim=0)
            _, token, share, _, second = row.locator("th, td").all_inner_texts()
            assert token == (written[place] if place < len(written) else "EOS")
            best, other = shares.topk(2).values.tolist()
            assert float(share) == pytest.approx(best, abs=2e-6)
            assert float(second) == pytest.approx(other, abs=2e-6)
        product = early.probability[cell_of(a, b)]
        expect(part.detail.locator(".live-status")).to_contain_text(f"{product:.5f}"[:-1])
    part.grid.press("ArrowRight")
    expect(part.detail.locator("tbody tr").first).to_be_hidden()


def test_links_bring_back_the_choice_and_start_nothing(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_8)
    part = MapPart(page)
    part.run("table", "-")
    part.box.fill("50-49")
    part.go.click()
    again = open_page(page.url.partition("/course/")[2])
    part = MapPart(again)
    part.wait("idle")
    expect(part.problems).to_have_value("-")
    expect(part.weights).to_have_value("table")
    expect(part.box).to_have_value("50-49")
    assert part.counts()[1] == 0

    part = MapPart(open_page(CHAPTER_8 + "?map.operation=*&map.weights=step-7&map.cell=7-7"))
    warnings = part.root.locator(".live-warning")
    expect(warnings).to_have_count(3)
    expect(warnings.first).to_contain_text("The link's operation “*” does not fit this page")
    expect(part.weights).to_have_value(EARLY)
    expect(part.box).to_have_value("12+34")


def test_picture_differs_by_shape_and_follows_the_palette(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_8, color_scheme="light")
    part = MapPart(page)
    canvas = part.root.locator(".map-canvas")
    empty = pixels(canvas)
    part.run("table")
    full = pixels(canvas)
    assert full[:2] == empty[:2] and full != empty
    counts = part.counts()
    pictures = {tuple(full)}
    for _ in range(3):
        toggle_palette(page)
        pictures.add(tuple(pixels(canvas)))
        assert part.counts() == counts
    assert len(pictures) == 2
    samples = {tuple(pixels(sample)) for sample in part.root.locator(".map-sample").all()}
    assert len(samples) == 4


def test_forced_colours_keep_the_states_apart(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_8, forced_colors="active")
    part = MapPart(page)
    part.wait("idle")
    assert len({tuple(pixels(sample)) for sample in part.root.locator(".map-sample").all()}) == 4


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (1280, "light")])
def test_it_fits_and_can_be_read(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(CHAPTER_8, viewport={"width": width, "height": 800}, color_scheme=scheme)
    part = MapPart(page)
    expect_fits(page, "idle")
    part.run("table")
    part.list.locator("summary").click()
    part.box.fill("1000+1")
    part.go.click()
    expect_fits(page, "computed")
    part.run(SMALL)
    part.detail.get_by_role("button", name="Score it").click()
    expect(part.detail).to_have_attribute("data-state", "ready")
    expect_fits(page, "scored")
    found = page.evaluate(CONTRAST, "error-map")
    assert [text for ratio, text in found if ratio < 4.5] == []
    cells = part.root.locator(".map-canvas").evaluate("canvas => canvas.width / 100")
    assert cells == int(cells) >= 2
