/**
 * `<course-question name="ID" kind="predict">`: the reader commits to an answer, then
 * the page computes what the question asks, or says it, and explains.
 *
 * The element's static content is the question (see question-data.mjs). Attributes:
 * `name` keys the kept progress, `compute` says what to compute on this device, and
 * `unrecorded` keeps the answer out of the progress. After each answer the event
 * `question-answered` bubbles up, its detail {name, right}.
 */
import { engine } from "../runtime/engine.mjs";
import { pageError } from "../runtime/messages.mjs";
import { progress } from "../runtime/progress.mjs";
import { PLAIN_TEXT_BOX, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { readQuestion, rightOption, withValue } from "./question-data.mjs";

/** A typed number: digits with an optional sign, point and thousands commas. In `0,693` the comma is none of them. */
const NUMBER = /^[+\-−]?([1-9]\d{0,2}(,\d{3})+|\d+)?(\.\d+)?$/;

/**
 * @typedef {import("../runtime/computations.mjs").Value} Value
 * @typedef {{value: Value, shownValue: string, milliseconds: number}} Computed
 */

/** Compute on this device; the functions are loaded on first use. @param {{function: string} & Record<string, any>} compute @returns {Promise<Computed>} */
async function computeHere({ function: name, ...parameters }) {
  let module;
  try {
    module = await import("../runtime/computations.mjs");
  } catch (cause) {
    throw pageError(navigator.onLine ? "network" : "offline", { what: "the computation" }, cause);
  }
  const { kind, compute } = module.COMPUTATIONS[name];
  const started = performance.now();
  const value = await compute(engine, parameters);
  return { value, shownValue: module.shown(kind, value), milliseconds: performance.now() - started };
}

export default class CourseQuestion extends LiveElement {
  /** @type {import("./question-data.mjs").Question} */
  #question;
  /** @type {HTMLInputElement[]} the radio buttons, or the one number box */
  #inputs = [];
  #first = h("p", { class: "question-first" });
  #reveal = h("div", { class: "question-reveal", hidden: true });

  build() {
    this.#question = readQuestion(this);
    const { kind, title, text, compute, number } = this.#question;
    const legend = h("legend", { class: "question-text" }, ...text);
    const fieldset = h("fieldset", { class: "question-choices" }, legend, number ? this.#numberRow() : h("div", {}, ...this.#radios()));
    const form = h(
      "form",
      { class: "question-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      fieldset,
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Commit"),
      compute && h("p", { class: "live-hint" }, "Commit first. Then the model on this device computes the answer."),
    );
    this.dataset.kind = kind;
    this.replaceChildren(h("p", { class: "question-kind" }, title), form, this.feedback, this.#reveal, this.#first);
  }

  connectedCallback() {
    super.connectedCallback();
    progress.addEventListener("change", this.#showFirst);
    this.#showFirst();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    progress.removeEventListener("change", this.#showFirst);
  }

  #radios() {
    const name = uniqueId("choice");
    return this.#question.options.map(({ content }) => {
      const input = h("input", { type: "radio", name, onchange: () => this.#changed() });
      this.#inputs.push(input);
      return h("label", { class: "question-choice" }, input, h("span", {}, ...content.map((node) => node.cloneNode(true))));
    });
  }

  #numberRow() {
    const { unit } = this.#question.number;
    const box = h("input", {
      ...PLAIN_TEXT_BOX,
      class: "live-box question-number-box",
      inputmode: "decimal",
      id: uniqueId("number"),
      "aria-describedby": this.errorId,
      oninput: () => this.#changed(),
    });
    ignoreComposingEnter(box);
    this.#inputs.push(box);
    return h("p", { class: "live-row" }, h("label", { for: box.id }, "Your answer"), box, unit && h("span", {}, unit));
  }

  /** What the reader has chosen: the option's index or the number; a sentence where nothing can be used. @returns {number | string} */
  #committed() {
    if (!this.#question.number) {
      const index = this.#inputs.findIndex((input) => input.checked);
      return index >= 0 ? index : "Choose an answer, then press Commit.";
    }
    const text = this.#inputs[0].value.trim();
    if (!/\d/.test(text) || !NUMBER.test(text)) return "Type a number such as 12 or 0.5, then press Commit.";
    return Number(text.replaceAll(",", "").replace("−", "-"));
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    this.#clear();
    this.drop();
    const committed = this.#committed();
    if (typeof committed === "string") {
      if (this.#question.number) this.#inputs[0].setAttribute("aria-invalid", "true");
      this.show("error", committed);
      return;
    }
    const { compute } = this.#question;
    if (!compute) {
      this.#answer(committed, null);
      return;
    }
    void this.ask(() => computeHere(compute), (found) => this.#answer(committed, found));
  }

  /**
   * Judge and explain.
   * @param {number} committed
   * @param {Computed | null} found what was computed, if anything was
   */
  #answer(committed, found) {
    const { id, computed, options, number, solution } = this.#question;
    const copies = (/** @type {Node[]} */ nodes) => nodes.map((node) => node.cloneNode(true));
    const filled = (/** @type {Node[]} */ nodes) =>
      found ? withValue(copies(nodes), found.shownValue) : copies(nodes);
    const target = number ? (number.answer ?? Number(found.value)) : rightOption(options, found?.value);
    const isRight = number ? Math.abs(committed - target) <= number.tolerance + 1e-9 * Math.abs(target) : committed === target;
    const explanations = number
      ? [filled(isRight ? number.right : number.wrong), ...(isRight ? [] : [filled(number.right)])]
      : [...(isRight ? [] : [[...copies(options[committed].content), ": ", ...filled(options[committed].why)]]), filled(options[target].why)];
    const answer = number ? filled(solution) : copies(options[target].content);
    if (!this.hasAttribute("unrecorded")) progress.answered(id, isRight);
    const lines = [
      h("p", { class: "question-verdict" }, isRight ? "✓ Right: " : "✗ Not right. The answer is: ", ...answer),
      found && h("p", { class: "question-computed" }, ...filled(computed), ` Computed on this device in ${found.milliseconds.toFixed(0)} ms.`),
      ...explanations.map((nodes) => h("p", {}, ...nodes)),
    ];
    const notice = this.hasAttribute("unrecorded") ? "" : progress.storageNotice();
    if (notice) lines.push(h("p", { class: "live-hint" }, notice));
    this.#reveal.replaceChildren(...lines.filter((line) => line !== null));
    this.#reveal.dataset.right = String(isRight);
    this.#reveal.hidden = false;
    const said = answer.map((node) => node.textContent).join("");
    this.show("ready", isRight ? `Right: ${said}` : `Not right. The answer is: ${said}`);
    this.dispatchEvent(new CustomEvent("question-answered", { bubbles: true, detail: { name: id, right: isRight } }));
  }

  /** Another answer is chosen now: what was shown does not belong to it. */
  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "Press Commit to check this answer.");
  }

  #clear() {
    for (const input of this.#inputs) input.removeAttribute("aria-invalid");
    this.#reveal.hidden = true;
    this.#reveal.replaceChildren();
  }

  #showFirst = () => {
    const first = this.hasAttribute("unrecorded") ? undefined : progress.firstAnswer(this.#question.id);
    this.#first.hidden = !first;
    this.#first.textContent = first ? `Your first answer was ${first.right ? "right" : "not right"}. It is kept; you can try again.` : "";
  };
}
