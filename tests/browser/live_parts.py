"""The live parts of a page as the tests use them: type, press, wait for a state, read."""

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from playwright.sync_api import Locator, Page, expect

# What `page.evaluate` runs: rows of token IDs through the page's own engine, all values back.
RUN_IN_PAGE = """
async ({ code, model, rows, outputs }) => {
  const { engine } = await import(code + "runtime/engine.mjs");
  const answer = await engine.run(model, rows, outputs);
  const encoded = (data) => new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1]);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new Blob([data]));
  });
  return Promise.all(outputs.map(async (name) => {
    const { data, dims } = answer.outputs[name];
    return { dims, data: await encoded(data) };
  }));
}
"""


class Row(NamedTuple):
    """A row of the score table: the token's ID and what the cells say."""

    id: int
    token: str
    logit: str
    probability: str


class LivePart:
    """What all live parts have: a box, a button, a state and the lines below them."""

    element = ""
    label = ""
    press = ""

    def __init__(self, page: Page, index: int = 0) -> None:
        self.page = page
        self.root = page.locator(self.element).nth(index)
        self.box = self.root.get_by_label(self.label, exact=True)
        self.button = self.root.get_by_role("button", name=self.press, exact=True)
        self.retry = self.root.get_by_role("button", name="Retry")
        self.status = self.root.locator(".live-status")
        self.alert = self.root.get_by_role("alert")
        self.progress = self.root.get_by_role("progressbar")

    def wait(self, state: str) -> None:
        expect(self.root).to_have_attribute("data-state", state)

    def submit(self, text: str) -> None:
        """Type `text` in place of what is there and press the button."""
        self.box.fill(text)
        self.button.click()

    def expect_error(self, sentence: str = "") -> None:
        """The state `error`, with a whole sentence that contains `sentence`, and nothing shown as a result."""
        self.wait("error")
        expect(self.alert).to_be_visible()
        expect(self.alert).to_contain_text(sentence)
        said = self.alert.inner_text()
        assert said[0].isupper() and said.endswith("."), said
        assert not {"undefined", "null", "NaN", "{", "}"} & set(said.replace(".", "").split()), said
        expect(self.status).to_be_empty()
        expect(self.progress).to_be_hidden()


class Scorer(LivePart):
    element, label, press = "prefix-scorer", "Prefix", "Score"

    def __init__(self, page: Page, index: int = 0) -> None:
        super().__init__(page, index)
        self.results = self.root.locator(".scorer-results")
        self.table = self.root.get_by_role("region")

    def score(self, text: str) -> None:
        self.submit(text)
        self.wait("ready")
        expect(self.results).to_be_visible()

    def rows(self) -> list[Row]:
        """The table as shown, from the top."""
        cells = self.root.locator("tbody tr").evaluate_all(
            """rows => rows.map(row => [
              Number(row.dataset.id),
              row.querySelector("th code").textContent,
              row.cells[1].textContent,
              row.cells[2].textContent,
            ])"""
        )
        return [Row(*values) for values in cells]

    def top(self) -> str:
        """The highest-scoring token, as shown above the table."""
        return self.root.locator(".scorer-top code").inner_text()

    def expect_no_result(self) -> None:
        expect(self.results).to_be_hidden()
        assert self.rows() == []


class Walk(LivePart):
    element, label, press = "position-walk", "Line", "Walk"

    def __init__(self, page: Page, index: int = 0) -> None:
        super().__init__(page, index)
        self.stage = self.root.locator(".walk-stage")
        self.source = self.root.locator(".walk-source")
        self.panel = self.root.locator(".walk-panel")

    def chips(self, legend: str) -> Locator:
        return self.root.get_by_role("group", name=legend).get_by_role("radio")

    def choose(self, legend: str, index: int) -> None:
        """Pick a position or an operation by mouse, counted from 0."""
        self.root.get_by_role("group", name=legend).locator("label").nth(index).click()

    def everything(self) -> list[list[list[list[list[list[str]]]]]]:
        """Every table of every view: [position][operation][block and head][table][row][cell]."""
        tables: list[Any] = self.root.evaluate(
            """root => {
              const [positions, operations] = root.querySelectorAll("fieldset");
              const tables = () => [...root.querySelectorAll(".walk-panel table")].map((table) =>
                [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
              const pick = (label, index) => {
                const id = [...root.querySelectorAll(".live-picker label")]
                  .find((element) => element.textContent === label)?.htmlFor;
                const select = document.getElementById(id);
                select.selectedIndex = index;
                select.dispatchEvent(new Event("change"));
              };
              const choices = (label) => [...root.querySelectorAll(".live-picker label")]
                .filter((element) => element.textContent === label)
                .flatMap(({ htmlFor }) => [...document.getElementById(htmlFor).options]).length;
              return [...positions.querySelectorAll("input")].map((position) => {
                position.click();
                return [...operations.querySelectorAll("input")].map((operation) => {
                  operation.click();
                  const views = [];
                  const blocks = choices("Block");
                  if (blocks === 0) return [tables()];
                  for (let block = 0; block < blocks; block += 1) {
                    pick("Block", block);
                    const heads = choices("Head");
                    if (heads === 0) views.push(tables());
                    for (let head = 0; head < heads; head += 1) {
                      pick("Head", head);
                      views.push(tables());
                    }
                  }
                  return views;
                });
              });
            }"""
        )
        return tables


def run_in_page(
    page: Page, code: str, model: str, rows: Sequence[Sequence[int]], outputs: Sequence[str]
) -> dict[str, np.ndarray]:
    """Run token IDs through the site's engine; `code` is the address of the site's own modules."""
    request = {"code": code, "model": model, "rows": list(map(list, rows)), "outputs": list(outputs)}
    answers = page.evaluate(RUN_IN_PAGE, request)
    return {
        name: np.frombuffer(base64.b64decode(answer["data"]), dtype="<f4").reshape(answer["dims"])
        for name, answer in zip(outputs, answers, strict=True)
    }


def open_model(page: Page, code: str, model: str) -> None:
    """Wait until everything asked before is answered and the model is open."""
    page.evaluate(
        "async ([code, model]) => (await import(code + 'runtime/engine.mjs')).engine.open(model)",
        [code, model],
    )
