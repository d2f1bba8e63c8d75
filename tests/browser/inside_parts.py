"""The live parts of chapter 9 as the tests use them."""

from playwright.sync_api import Locator, Page, expect

from live_parts import LivePart

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
