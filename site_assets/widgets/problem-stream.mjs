/**
 * `<problem-stream>`: draw candidates by the rule that training uses, from a seed, and see
 * on which side of the split each one falls.
 *
 * Attributes: `seed` to start with; `link` is the name under which the page's address keeps
 * seed, place and count.
 */
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { candidates } from "../runtime/problem-stream.mjs";
import { answer, carries, prompt, splitOfPart, splitPart } from "../runtime/problems.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { checkSetting } from "../runtime/prompt.mjs";
import { PLAIN_TEXT_BOX, grouped, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { SIDES } from "./split-label.mjs";

const COUNTS = [10, 20, 50, 100, 200];
const USUAL_COUNT = 100;
const COLUMNS = ["No.", "Problem", "Carries, borrows", "Part", "Side"];

/** A place in the stream as a link names it. @param {string} text */
function place(text) {
  if (!/^\d{1,8}$/.test(text)) throw new RangeError("not a candidate's number");
  return Number(text);
}

/** A batch size as a link names it. @param {string} text */
function batchSize(text) {
  if (!COUNTS.map(String).includes(text)) throw new RangeError("not one of the counts");
  return Number(text);
}

export default class ProblemStream extends LiveElement {
  /** @type {number | undefined} the candidate at which the page's address says to start */
  #linked;
  #seed = 0;
  #first = 0; // where the drawing began
  #next = 0; // the first candidate that was not drawn yet
  /** @type {Record<import("../runtime/problems.mjs").Split, number>} */
  #totals = { train: 0, tuning: 0, "held-out": 0 };
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box stream-seed",
    inputmode: "numeric",
    id: uniqueId("seed"),
    name: "seed",
    oninput: () => this.#changed(),
  });
  #count = h(
    "select",
    { id: uniqueId("count"), name: "count" },
    ...COUNTS.map((count) => h("option", { value: count }, count)),
  );
  #more = h("button", { type: "button", class: "live-button", hidden: true, onclick: () => this.#draw() }, "Next batch");
  #results = h("div", { class: "stream-results", hidden: true });

  build() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    const usual = this.getAttribute("seed") ?? "0";
    this.#box.value = stateValue(state, "seed", (text) => String(checkSetting("seed", text)), usual, complaints);
    this.#count.value = String(stateValue(state, "count", batchSize, USUAL_COUNT, complaints));
    const from = stateValue(state, "from", place, 0, complaints);
    this.#box.setAttribute("aria-describedby", this.errorId);
    ignoreComposingEnter(this.#box);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      h("label", { for: this.#box.id }, "Seed"),
      this.#box,
      h("span", { class: "live-picker" }, h("label", { for: this.#count.id }, "Candidates"), this.#count),
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Draw"),
      this.#more,
    );
    const hint = h(
      "p",
      { class: "live-hint" },
      "The same problems as in Python, from the same seed. Draw starts at candidate 0; Next batch goes on. Training takes the candidates whose side is training. Nothing is downloaded.",
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, form, hint, this.feedback, this.#results);
    if ("seed" in state && complaints.length === 0) this.#linked = from;
  }

  connectedCallback() {
    super.connectedCallback();
    if (this.#linked !== undefined) this.#start(Number(this.#box.value), this.#linked);
    this.#linked = undefined;
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    this.#clear();
    try {
      this.#start(checkSetting("seed", this.#box.value), 0);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#box.setAttribute("aria-invalid", "true");
      this.show("error", error.message);
    }
  }

  /** The box holds another seed now: what was drawn does not belong to it. */
  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.show("idle", "The seed has changed. Press Draw to start its stream.");
  }

  #clear() {
    this.#box.removeAttribute("aria-invalid");
    this.#results.hidden = true;
    this.#results.replaceChildren();
    this.#more.hidden = true;
  }

  /** @param {number} seed @param {number} from the first candidate to draw */
  #start(seed, from) {
    this.#seed = seed;
    this.#first = from;
    this.#next = from;
    this.#totals = { train: 0, tuning: 0, "held-out": 0 };
    this.#draw();
  }

  /** Draw the next batch of the stream and show it. */
  #draw() {
    const [from, count] = [this.#next, Number(this.#count.value)];
    const drawn = candidates(this.#seed, from, count).map((problem) => {
      const part = splitPart(problem.a, problem.b);
      return { problem, part, side: splitOfPart(part) };
    });
    const batch = { train: 0, tuning: 0, "held-out": 0 };
    for (const { side } of drawn) {
      batch[side] += 1;
      this.#totals[side] += 1;
    }
    this.#next = from + count;
    writeState(this.getAttribute("link"), { seed: this.#seed, from, count });
    this.#results.replaceChildren(
      h("p", { class: "stream-totals" }, this.#totalsLine()),
      this.#table(drawn.map((row, index) => ({ ...row, number: from + index }))),
    );
    this.#results.hidden = false;
    this.#more.hidden = false;
    this.show(
      "ready",
      `Candidates ${grouped(from)} to ${grouped(this.#next - 1)} of seed ${this.#seed}: training takes ${batch.train}, ` +
        `${batch.tuning} for tuning, ${batch["held-out"]} held out.`,
    );
  }

  #totalsLine() {
    const all = this.#next - this.#first;
    const share = (/** @type {number} */ count) => `${grouped(count)} (${((100 * count) / all).toFixed(2)} %)`;
    const { train, tuning, "held-out": heldOut } = this.#totals;
    return `Of all ${grouped(all)} candidates from ${grouped(this.#first)} on: training ${share(train)}, tuning ${share(tuning)}, held out ${share(heldOut)}.`;
  }

  /**
   * @param {{number: number, problem: import("../runtime/problems.mjs").Problem, part: number,
   *   side: import("../runtime/problems.mjs").Split}[]} rows
   */
  #table(rows) {
    return h(
      "div",
      { class: "live-scroll", role: "region", tabindex: "0", "aria-label": "The candidates of this batch, scrollable" },
      h(
        "table",
        { class: "live-table stream-table" },
        h("thead", {}, h("tr", {}, ...COLUMNS.map((title) => h("th", { scope: "col" }, title)))),
        h(
          "tbody",
          {},
          ...rows.map(({ number, problem, part, side }) =>
            h(
              "tr",
              { "data-side": side },
              h("th", { scope: "row" }, grouped(number)),
              h("td", {}, h("code", {}, prompt(problem) + answer(problem))),
              h("td", {}, carries(problem)),
              h("td", {}, part),
              h("td", {}, SIDES[side]),
            ),
          ),
        ),
      ),
    );
  }
}
