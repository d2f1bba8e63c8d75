/**
 * `<split-finder problem="12+34">`: type a problem and learn its part of the split, how the
 * part is computed, and which other problems share it.
 *
 * Attributes: `problem` is the text to start with; `link` is the name under which the page's
 * address keeps it.
 */
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import {
  HELD_OUT_PARTS,
  LARGEST_OPERAND,
  SPLIT_PARTS,
  SPLIT_SALT,
  TUNING_PARTS,
  answer,
  carries,
  pairNumber,
  prompt,
  readProblem,
  splitOf,
  splitPart,
} from "../runtime/problems.mjs";
import { checkPrefix } from "../runtime/prompt.mjs";
import { mix32 } from "../runtime/random32.mjs";
import { PLAIN_TEXT_BOX, grouped, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { SIDES } from "./split-label.mjs";

/** @typedef {import("../runtime/problems.mjs").Problem} Problem */

const TUNING_END = HELD_OUT_PARTS + TUNING_PARTS;

/** The problem that was typed; throws a CourseError when it is none. @param {string} text */
function parse(text) {
  checkPrefix(text);
  const problem = readProblem(text);
  if (!problem) {
    throw new CourseError(
      `The course has no problem “${text}”. Type two whole numbers from 0 to ${LARGEST_OPERAND} with + or - between them, without spaces and leading zeros, such as 12+34.`,
    );
  }
  return problem;
}

/** a+b, b+a, a-b, b-a, each once. @param {Problem} problem @returns {Problem[]} */
function relatives({ a, b }) {
  const orders = a === b ? [[a, b]] : [[a, b], [b, a]];
  return ["+", "-"].flatMap((operation) =>
    orders.map(([first, second]) => ({ a: first, operation: /** @type {"+" | "-"} */ (operation), b: second })),
  );
}

export default class SplitFinder extends LiveElement {
  #linked = false; // the address holds a problem to start with
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("problem"),
    name: "problem",
    oninput: () => this.#changed(),
  });
  #results = h("div", { class: "finder-results", hidden: true });

  build() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    const readable = (/** @type {string} */ text) => (parse(text), text);
    this.#box.value = stateValue(state, "problem", readable, this.getAttribute("problem") ?? "", complaints);
    this.#box.setAttribute("aria-describedby", this.errorId);
    ignoreComposingEnter(this.#box);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      h("label", { for: this.#box.id }, "Problem"),
      this.#box,
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Find its side"),
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, form, this.feedback, this.#results);
    this.#linked = "problem" in state && complaints.length === 0;
  }

  connectedCallback() {
    super.connectedCallback();
    if (this.#linked) this.#find(parse(this.#box.value));
    this.#linked = false;
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    this.#clear();
    try {
      const problem = parse(this.#box.value);
      writeState(this.getAttribute("link"), { problem: this.#box.value });
      this.#find(problem);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#box.setAttribute("aria-invalid", "true");
      this.show("error", error.message);
    }
  }

  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.show("idle", "The problem has changed. Press the button to find its side.");
  }

  #clear() {
    this.#box.removeAttribute("aria-invalid");
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }

  /** @param {Problem} problem */
  #find(problem) {
    const part = splitPart(problem.a, problem.b);
    this.#results.replaceChildren(strip(part), steps(problem), family(problem));
    this.#results.hidden = false;
    const side = splitOf(problem.a, problem.b);
    const columns = carries(problem);
    const kind = problem.operation === "+" ? "carry" : "borrow";
    const many = columns === 1 ? `1 ${kind}` : `${columns} ${kind.replace("y", "ie")}s`;
    this.show("ready", `${prompt(problem)}${answer(problem)}, with ${many}, is in part ${part}. Its side: ${SIDES[side]}.`);
  }
}

/** All parts as a bar with the three sides, and a mark at one of them. @param {number} part */
function strip(part) {
  const sides = [
    { name: SIDES["held-out"], from: 0, to: HELD_OUT_PARTS },
    { name: SIDES.tuning, from: HELD_OUT_PARTS, to: TUNING_END },
    { name: SIDES.train, from: TUNING_END, to: SPLIT_PARTS },
  ];
  const mark = h("span", { class: "finder-mark" });
  mark.style.insetInlineStart = `${(100 * (part + 0.5)) / SPLIT_PARTS}%`;
  const areas = sides.map(({ from, to }) => {
    const area = h("span", { class: "finder-area" });
    area.style.flexGrow = String(to - from);
    return area;
  });
  return h(
    "div",
    { class: "finder-strip" },
    h("div", { class: "finder-bar", "aria-hidden": "true" }, ...areas, mark),
    h(
      "p",
      { class: "live-hint" },
      `Parts: ${sides.map(({ name, from, to }) => `${from} to ${to - 1} ${name}`).join(", ")}.`,
    ),
  );
}

/** How the part is computed, number by number. @param {Problem} problem */
function steps({ a, b }) {
  const number = pairNumber(a, b);
  const scrambled = mix32(SPLIT_SALT + number);
  const lines = [
    `The pair is ${Math.min(a, b)} and ${Math.max(a, b)}, the smaller first: ${Math.min(a, b)} × ${grouped(LARGEST_OPERAND + 1)} + ${Math.max(a, b)} = ${grouped(number)}.`,
    `The fixed number ${grouped(SPLIT_SALT)} is added: ${grouped(SPLIT_SALT + number)}.`,
    `mix32 scrambles that into ${grouped(scrambled)}.`,
    `The remainder after dividing by ${grouped(SPLIT_PARTS)}, its last three digits, is the part: ${scrambled % SPLIT_PARTS}.`,
  ];
  return h("ol", { class: "finder-steps" }, ...lines.map((line) => h("li", {}, line)));
}

/** The problems that share the pair. @param {Problem} problem */
function family(problem) {
  const column = (/** @type {string} */ title) => h("th", { scope: "col" }, title);
  const table = h(
    "table",
    { class: "live-table" },
    h("caption", {}, "All problems with these two operands. Each part is computed by itself."),
    h("thead", {}, h("tr", {}, column("Problem"), column("Answer"), column("Part"), column("Side"))),
    h(
      "tbody",
      {},
      ...relatives(problem).map((relative) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, h("code", {}, prompt(relative))),
          h("td", {}, h("code", {}, answer(relative))),
          h("td", {}, splitPart(relative.a, relative.b)),
          h("td", {}, SIDES[splitOf(relative.a, relative.b)]),
        ),
      ),
    ),
  );
  return h("div", { class: "live-scroll" }, table);
}
