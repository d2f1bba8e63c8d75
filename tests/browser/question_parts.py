"""Questions, exercises and progress of a page as the tests use them."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from live_parts import LivePart

COMPUTE_IN_PAGE = """
async ({ code, name, parameters }) => {
  const { COMPUTATIONS, shown } = await import(code + "runtime/computations.mjs");
  const { engine } = await import(code + "runtime/engine.mjs");
  const value = await COMPUTATIONS[name].compute(engine, parameters);
  return { value, shown: shown(COMPUTATIONS[name].kind, value), kind: COMPUTATIONS[name].kind };
}
"""


class QuestionPart(LivePart):
    """One question: choose or type, commit, read what is revealed."""

    element, press = "course-question", "Commit"

    def __init__(self, page: Page, name: str) -> None:
        self.element = f'course-question[name="{name}"]'
        self.label = "Your answer"
        super().__init__(page)
        self.radios = self.root.get_by_role("radio")
        self.reveal = self.root.locator(".question-reveal")
        self.verdict = self.root.locator(".question-verdict")
        self.computed = self.root.locator(".question-computed")
        self.first = self.root.locator(".question-first")

    def commit(self, answer: int | str) -> None:
        """Choose the option of this index, or type this number, and commit."""
        if isinstance(answer, int):
            self.root.locator(".question-choice").nth(answer).click()
        else:
            self.box.fill(answer)
        self.button.click()
        self.wait("ready")

    def expect_verdict(self, is_right: bool) -> None:
        expect(self.reveal).to_be_visible()
        expect(self.verdict).to_contain_text("✓ Right" if is_right else "✗ Not right. The answer is")


class ExercisePart(LivePart):
    """One exercise: fill the fields, press Check, read what was measured."""

    press = "Check"

    def __init__(self, page: Page, name: str) -> None:
        self.element = f'course-exercise[name="{name}"]'
        super().__init__(page)
        self.solved = self.root.locator(".exercise-solved")

    def check(self, **values: str) -> str:
        """Fill the fields by their labels (`_` for a space); returns the sentence."""
        for label, value in values.items():
            field = self.root.get_by_label(label.replace("_", " "), exact=True)
            if field.evaluate("field => field.localName") == "select":
                field.select_option(value)
            else:
                field.fill(value)
        self.button.click()
        self.wait("ready")
        return self.status.inner_text()


def compute_in_page(page: Page, code: str, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Value of a computation on the device, how it is shown, and its kind."""
    answer: dict[str, Any] = page.evaluate(
        COMPUTE_IN_PAGE, {"code": code, "name": name, "parameters": parameters}
    )
    return answer


def texts(parts: Locator) -> list[str]:
    """Texts of all matching elements, white space as one space."""
    return [" ".join(text.split()) for text in parts.all_inner_texts()]
