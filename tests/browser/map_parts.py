"""The map of chapter 8 as the tests use it, and what Python says of its cells."""

from dataclasses import dataclass

import numpy as np
from playwright.sync_api import Locator, Page, expect

from export.questions.computations import shown
from live_parts import LivePart
from tiny_gpt.data import OPERATIONS, Problems, all_problems, in_training, split_of, split_parts
from tiny_gpt.evaluate import CONFIDENT, SMALL_OPERAND, answer_rows
from tiny_gpt.generate import greedy_answers
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

SIDES = {"train": "training", "tuning": "tuning", "held-out": "held out"}
LONG_RUN_MS = 120_000  # ten thousand problems on a busy machine


class MapPart(LivePart):
    element, label, press = "error-map", "Cell", "Run the map"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        feedback = self.root.locator("> .live-feedback")  # the detail has one of its own
        self.status = feedback.locator(".live-status")
        self.alert = feedback.get_by_role("alert")
        self.retry = feedback.get_by_role("button", name="Retry")
        self.problems = self.root.get_by_label("Problems", exact=True)
        self.weights = self.root.get_by_label("Answered by", exact=True)
        self.stop = self.root.get_by_role("button", name="Stop", exact=True)
        self.go = self.root.get_by_role("button", name="Go to it")
        self.grid = self.root.get_by_role("grid")
        self.lens = self.root.locator(".map-lens")
        self.detail = self.root.locator("map-detail")
        self.facts = self.root.locator(".map-facts")
        self.list = self.root.locator(".map-wrong")

    def choose(self, weights: str, operation: str = "+") -> None:
        self.weights.select_option(weights)
        self.problems.select_option(operation)

    def run(self, weights: str, operation: str = "+") -> None:
        self.choose(weights, operation)
        self.button.click()
        expect(self.root).to_have_attribute("data-state", "ready", timeout=LONG_RUN_MS)

    def counts(self, side: str = "all") -> list[int]:
        """Problems, computed, right, wrong, wrong with a high probability."""
        cells = self.root.locator(f"tr[data-count='{side}'] td").all_inner_texts()
        part, _, problems = cells[0].rpartition(" of ")
        texts = [problems, part or problems, *cells[1:]]
        return [int(text.replace(",", "")) for text in texts]

    def cell_text(self) -> str:
        """What assistive technology reads of the current cell."""
        name = self.grid.get_attribute("aria-activedescendant")
        return self.root.locator(f"#{name}").inner_text()

    def entries(self) -> list[str]:
        """The whole list of the wrong ones."""
        self.list.evaluate("list => { list.open = true; }")
        more = self.list.locator("> button")
        while more.is_visible():
            more.click()
        return self.list.locator("li").all_inner_texts()


@dataclass
class Answers:
    """What a model answers to all problems of a map, by Python: arrays in order of a, then b."""

    problems: Problems
    written: list[str]
    right: np.ndarray
    probability: np.ndarray

    @staticmethod
    def of(model: TinyArithmeticGPT, operation: str) -> "Answers":
        both = all_problems(SMALL_OPERAND)
        problems = both[both.is_minus == bool(OPERATIONS.index(operation))]
        written, probability = greedy_answers(model, problems)
        right = (written == answer_rows(problems)).all(axis=1)
        tokenizer = CharacterTokenizer()
        texts = []
        for row in written.tolist():
            text = tokenizer.decode(row[: row.index(EOS_ID)] if EOS_ID in row else row)
            texts.append(text if EOS_ID in row else f"{text}… without EOS")
        return Answers(problems, texts, right, probability)

    @property
    def confident(self) -> np.ndarray:
        return ~self.right & (self.probability > CONFIDENT)

    def counts(self, cells: np.ndarray) -> list[int]:
        """The table's numbers for some cells, when all is computed."""
        picked = [values[cells].sum() for values in (self.right, ~self.right, self.confident)]
        return [int(cells.sum()), int(cells.sum()), *map(int, picked)]

    def seen(self) -> np.ndarray:
        return in_training(split_parts(self.problems.a, self.problems.b))

    def verdict(self, cell: int) -> str:
        if self.right[cell]:
            return "right"
        return f"wrong with p above {CONFIDENT}" if self.confident[cell] else "wrong"

    def cell_text(self, cell: int) -> str:
        one = self.problems[np.array([cell])]
        share = shown("percent", float(self.probability[cell]))
        side = SIDES[split_of(int(one.a[0]), int(one.b[0]))]
        return f"{one.prompts()[0]}{self.written[cell]}, {self.verdict(cell)}, {share}, {side}"

    def entry(self, cell: int) -> str:
        one = self.problems[np.array([cell])]
        share = shown("percent", float(self.probability[cell]))
        mark = ", confident" if self.confident[cell] else ""
        side = SIDES[split_of(int(one.a[0]), int(one.b[0]))]
        return (
            f"{one.prompts()[0]} {self.written[cell]}, not {one.answer_texts()[0]}; p {share}{mark}; {side}"
        )


def model_workers(page: Page) -> int:
    """How many workers run the model; the search has one of its own."""
    return sum(worker.url.endswith("/runtime/worker.mjs") for worker in page.workers)


def expect_one_worker(page: Page) -> None:
    """Helpers have ended; the browser says so a moment later."""
    for _ in range(100):
        if model_workers(page) == 1:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{model_workers(page)} workers run on")


def pixels(canvas: Locator) -> list[int]:
    """A checksum of the picture's bytes, so that two pictures can be compared."""
    sums: list[int] = canvas.evaluate(
        """canvas => {
          const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
          copy.drawImage(canvas, 0, 0);
          const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
          let [sum, weighted] = [0, 0];
          data.forEach((value, place) => { sum += value; weighted = (weighted + value * (place % 9973)) % 1e9; });
          return [canvas.width, canvas.height, sum, weighted];
        }"""
    )
    return sums
