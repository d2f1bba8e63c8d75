"""Chapter 2: the split, the leak and the stream on the page are Python's."""

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from built_site import CHAPTER_2, OpenPage
from export.facts.data import careless_parts, leaks
from live_parts import LivePart
from question_parts import ExercisePart
from test_page_layout import CONTRAST, expect_fits
from tiny_gpt.data import Mix, all_problems, answer, candidates, split_of, split_parts
from tiny_gpt.random32 import draws

SIDES = {"train": "training", "tuning": "tuning", "held-out": "held out"}
EXERCISE = "chapter-2/held-out-and-right"
TUNING_PAIR = (250, 384)
SLOWER = 4
LONGEST_TASK_MS = 200


class Finder(LivePart):
    element, label, press = "split-finder", "Problem", "Find its side"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.results = self.root.locator(".finder-results")


class Stream(LivePart):
    element, label, press = "problem-stream", "Seed", "Draw"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.results = self.root.locator(".stream-results")
        self.totals = self.root.locator(".stream-totals")
        self.count = self.root.get_by_label("Candidates", exact=True)
        self.more = self.root.get_by_role("button", name="Next batch")


def rows(part: Locator) -> list[list[str]]:
    """The cells of the table's body inside a live part."""
    cells: list[list[str]] = part.locator("tbody").evaluate(
        "body => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return cells


def part_of(a: int, b: int) -> int:
    return int(split_parts(np.array([a]), np.array([b]))[0])


def expected_rows(seed: int, start: int, count: int) -> list[list[str]]:
    """What the stream's table says of these candidates."""
    problems = candidates(seed, start, count, Mix())
    lines = zip(problems.prompts(), problems.answer_texts(), strict=True)
    found = []
    for index, (prompt, text) in enumerate(lines):
        a, b = int(problems.a[index]), int(problems.b[index])
        side = split_of(a, b)
        found.append(
            [
                f"{start + index:,}",
                prompt + text,
                str(problems.carries[index]),
                str(part_of(a, b)),
                SIDES[side],
            ]
        )
    return found


def test_finder_says_what_python_says(open_page: OpenPage) -> None:
    finder = Finder(open_page(CHAPTER_2))
    pairs = [(12, 34), (34, 12), (0, 0), (999, 999), (0, 999), (127, 924), TUNING_PAIR]
    pairs += [(int(a), int(b)) for a, b in (draws(5, 0, 40) % 1000).reshape(-1, 2)]
    sides = set()
    for index, (a, b) in enumerate(pairs):
        operation = "+-"[index % 2]
        finder.submit(f"{a}{operation}{b}" + "=" * (index % 3 == 0))
        finder.wait("ready")
        part, side = part_of(a, b), SIDES[split_of(a, b)]
        expect(finder.status).to_contain_text(f"is in part {part}. Its side: {side}.")
        expect(finder.status).to_contain_text(f"{a}{operation}{b}={answer(a, operation, b)}, with ")
        orders = [(a, b)] if a == b else [(a, b), (b, a)]
        assert rows(finder.root) == [
            [f"{x}{sign}{y}=", answer(x, sign, y), str(part), side] for sign in "+-" for x, y in orders
        ]
        steps = finder.root.locator(".finder-steps li").all_inner_texts()
        assert steps[-1].endswith(f"is the part: {part}.")
        sides.add(side)
    assert sides == set(SIDES.values())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The course has no problem “”. Type two whole numbers from 0 to 999"),
        ("12*34", "The course has no problem “12*34”."),
        ("012+3", "without spaces and leading zeros"),
        ("12 + 34", "without spaces"),
        ("1000+1", "from 0 to 999"),
        ("12−34", "Type - instead."),
    ],
)
def test_finder_refuses_with_a_sentence(open_page: OpenPage, text: str, sentence: str) -> None:
    finder = Finder(open_page(CHAPTER_2))
    finder.submit("12+34")
    finder.wait("ready")
    finder.submit(text)
    finder.expect_error(sentence)
    expect(finder.results).to_be_hidden()
    expect(finder.box).to_have_value(text)
    finder.box.fill("12+3")
    finder.wait("idle")
    expect(finder.results).to_be_hidden()


def test_stream_draws_pythons_candidates(open_page: OpenPage) -> None:
    stream = Stream(open_page(CHAPTER_2))
    expect(stream.box).to_have_value("42")
    expect(stream.more).to_be_hidden()
    for seed, count in ((42, 100), (0, 20), (2**32 - 1, 200)):
        stream.count.select_option(str(count))
        stream.submit(str(seed))
        stream.wait("ready")
        first = expected_rows(seed, 0, count)
        assert rows(stream.root) == first
        stream.more.click()
        expect(stream.status).to_contain_text(f"Candidates {count} to {2 * count - 1} of seed {seed}:")
        second = expected_rows(seed, count, count)
        assert rows(stream.root) == second
        taken = [sum(row[4] == "training" for row in batch) for batch in (first, second)]
        expect(stream.status).to_contain_text(f"training takes {taken[1]},")
        share = 100 * sum(taken) / (2 * count)  # of 40, 200 or 400: two decimals are exact
        expect(stream.totals).to_contain_text(
            f"Of all {2 * count} candidates from 0 on: training {sum(taken)} ({share:.2f} %)"
        )


def test_stream_refuses_a_bad_seed(open_page: OpenPage) -> None:
    stream = Stream(open_page(CHAPTER_2))
    stream.submit("42")
    stream.wait("ready")
    stream.submit("4294967296")
    stream.expect_error("The seed must be from 0 to 4294967295, and “4294967296” is outside.")
    expect(stream.results).to_be_hidden()
    expect(stream.more).to_be_hidden()


def test_leak_is_counted_as_in_python_without_a_long_task(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_2)
    problems = all_problems()
    expected = []
    for name, parts in (
        ("problem", careless_parts(problems)),
        ("pair (ours)", split_parts(problems.a, problems.b)),
    ):
        for sign, (held_out, twins) in zip(("a+b", "a−b"), leaks(parts), strict=True):
            expected.append([name, sign, f"{held_out:,}", f"{twins:,}", f"{100 * twins / held_out:.2f} %"])
    counter = page.locator("leak-counter")
    expect(counter).to_have_attribute("data-state", "idle")
    page.evaluate(
        """() => {
          window.longest = 0;
          new PerformanceObserver((list) => {
            for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
          }).observe({ type: "longtask" });
        }"""
    )
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    counter.get_by_role("button", name="Count on this device").click()
    expect(counter).to_have_attribute("data-state", "ready")
    assert page.evaluate("window.longest") < LONGEST_TASK_MS
    assert rows(counter) == expected
    written = page.locator("details.success table").first.locator("tbody tr")
    assert [row.locator("td").all_text_contents() for row in written.all()] == expected


def test_links_bring_back_what_was_shown(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_2)
    finder, stream = Finder(page), Stream(page)
    finder.submit("127+924")
    finder.wait("ready")
    stream.count.select_option("50")
    stream.submit("7")
    stream.more.click()
    expect(stream.status).to_contain_text("Candidates 50 to 99 of seed 7")
    shown = finder.status.inner_text(), rows(finder.root), rows(stream.root)
    address = page.url.partition("/course/")[2]

    again = open_page(address)
    finder, stream = Finder(again), Stream(again)
    finder.wait("ready")
    stream.wait("ready")
    assert (finder.status.inner_text(), rows(finder.root), rows(stream.root)) == shown
    expect(stream.box).to_have_value("7")
    expect(stream.count).to_have_value("50")


def test_a_bad_link_is_told_and_the_usual_values_stay(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_2 + "?find.problem=1%2B1000&draw.seed=-1&draw.from=0&draw.count=10")
    finder, stream = Finder(page), Stream(page)
    expect(finder.root.locator(".live-warning")).to_contain_text("The link's problem “1+1000” does not fit")
    expect(stream.root.locator(".live-warning")).to_contain_text("The link's seed “-1” does not fit")
    expect(finder.box).to_have_value("12+34")
    expect(stream.box).to_have_value("42")
    finder.wait("idle")
    stream.wait("idle")


def test_exercise_can_be_solved_and_says_what_is_missing(open_page: OpenPage) -> None:
    exercise = ExercisePart(open_page(CHAPTER_2), EXERCISE)
    said = exercise.check(Problem="12+34")
    assert "Not solved yet." in said
    assert "in part 85 (training), has 0 of 2 carries, and the model wrote 46, which is right." in said
    assert "has 3 of 2 carries" in exercise.check(Problem="289+848")
    assert "Solved." in exercise.check(Problem="127+924=")
    expect(exercise.solved).to_be_visible()
    exercise.root.get_by_label("Problem", exact=True).fill("twelve")
    exercise.button.click()
    exercise.expect_error("The course has no problem “twelve”.")


def test_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_2)
    finder, stream = Finder(page), Stream(page)
    finder.box.focus()
    page.keyboard.press("Enter")
    finder.wait("ready")
    stream.box.focus()
    page.keyboard.press("Enter")
    stream.wait("ready")
    for part in (stream.count, stream.button, stream.more):
        page.keyboard.press("Tab")
        expect(part).to_be_focused()
    page.keyboard.press("Enter")
    expect(stream.status).to_contain_text("Candidates 100 to 199")
    expect(stream.more).to_be_focused()
    page.keyboard.press("Tab")
    expect(stream.root.get_by_role("region")).to_be_focused()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (1280, "dark")])
def test_results_fit_and_can_be_read(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(CHAPTER_2, viewport={"width": width, "height": 800}, color_scheme=scheme)
    finder, stream = Finder(page), Stream(page)
    finder.submit("9" * 31)
    finder.expect_error()
    expect_fits(page, "refused")
    finder.submit("999-998=")
    stream.submit(str(2**32 - 1))
    page.get_by_role("button", name="Count on this device").click()
    expect(page.locator("leak-counter")).to_have_attribute("data-state", "ready")
    expect_fits(page, "all shown")
    found = page.evaluate(CONTRAST, "split-finder, problem-stream, leak-counter")
    assert len(found) > 100
    assert [text for ratio, text in found if ratio < 4.5] == []
