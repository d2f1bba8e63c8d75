/**
 * `<mask-check line="12+34=46">`: does what stands after `=` reach the model's logits at `=`?
 * The line, its start alone, and the line with other endings and another start run on this
 * device, with the causal mask and without it.
 *
 * Attributes: `line` is the text to start with; `link` is the name under which the page's
 * address keeps it.
 */
import { manifest } from "../generated/manifest.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { checkPrefix } from "../runtime/prompt.mjs";
import { topToken } from "../runtime/scores.mjs";
import { VOCABULARY_SIZE, encode } from "../runtime/tokenizer.mjs";
import { PLAIN_TEXT_BOX, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { tokenLabel } from "./token-label.mjs";

/** @typedef {{text: string, what: string}} Variant */

const ALL_ON = manifest.model.switches.map(() => 1);
const WITHOUT_MASK = manifest.model.switches.map(({ name }) => Number(name !== "mask"));

/** Another character in each place: 9 - d for a digit d, 0 for anything else. @param {string} text */
const changed = (text) => text.replace(/./g, (c) => (/\d/.test(c) ? String(9 - Number(c)) : "0"));

/**
 * The line's start up to `=`, the line, and two lines to compare with.
 * Throws a CourseError for a line that can not be taken apart.
 * @param {string} text
 * @returns {Variant[]}
 */
function variants(text) {
  checkPrefix(text);
  const end = text.indexOf("=") + 1;
  if (end < 2 || end === text.length) {
    throw new CourseError(
      "The line needs an = with something before and after it, such as 12+34=46. Add what is missing.",
    );
  }
  const [start, ending] = [text.slice(0, end), text.slice(end)];
  const otherStart = `${start.slice(0, -2)}${changed(start.at(-2))}=`;
  return [
    { text: start, what: "nothing follows" },
    { text, what: "your ending" },
    { text: start + changed(ending), what: "another ending" },
    { text: otherStart + ending, what: "another start" },
  ];
}

/** 0, or three decimals, or a power of ten where those would show nothing. @param {number} gap */
const shownGap = (gap) => (gap === 0 ? "0" : gap >= 0.001 ? gap.toFixed(3) : gap.toExponential(1));

/** @param {number[]} one @param {number[]} other */
const largestGap = (one, other) => Math.max(...one.map((value, id) => Math.abs(value - other[id])));

export default class MaskCheck extends LiveElement {
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("line"),
    name: "line",
    oninput: () => this.#changed(),
  });
  #results = h("div", { class: "mask-results", hidden: true });

  build() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    const usable = (/** @type {string} */ text) => (variants(text), text);
    this.#box.value = stateValue(state, "line", usable, this.getAttribute("line") ?? "", complaints);
    this.#box.setAttribute("aria-describedby", this.errorId);
    ignoreComposingEnter(this.#box);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      h("label", { for: this.#box.id }, "Line with its answer"),
      this.#box,
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Compare"),
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, form, this.feedback, this.#results);
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    this.#clear();
    this.drop();
    const text = this.#box.value;
    let lines;
    try {
      lines = variants(text);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#box.setAttribute("aria-invalid", "true");
      this.show("error", error.message);
      return;
    }
    writeState(this.getAttribute("link"), { line: text });
    void this.ask(() => this.#compute(lines), (rows) => this.#show(lines, rows));
  }

  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "The line has changed. Press Compare to run the model on it.");
  }

  #clear() {
    this.#box.removeAttribute("aria-invalid");
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }

  /**
   * The logits at `=` of each line: with the mask, and with the mask switched off.
   * @param {Variant[]} lines
   */
  async #compute(lines) {
    const model = engine.modelKey("trained");
    const position = lines[0].text.length; // of `=`, since BOS is at 0
    const atEquals = async (/** @type {string[]} */ texts, /** @type {number[]} */ switches) => {
      const rows = texts.map(encode);
      const { outputs } = await engine.run(model, rows, ["logits"], { graph: "inside", switches });
      const { data } = outputs.logits;
      return rows.map((row, index) => {
        const from = (index * row.length + position) * VOCABULARY_SIZE;
        return [...data.subarray(from, from + VOCABULARY_SIZE)];
      });
    };
    const [alone, ...longer] = lines.map(({ text }) => text);
    const both = async (/** @type {number[]} */ switches) => [
      ...(await atEquals([alone], switches)),
      ...(await atEquals(longer, switches)),
    ];
    return { masked: await both(ALL_ON), open: await both(WITHOUT_MASK) };
  }

  /** @param {Variant[]} lines @param {{masked: number[][], open: number[][]}} logits one row a line */
  #show(lines, { masked, open }) {
    const columns = ["Line", "What differs", "Top token at =", "Largest change", "Without the mask"];
    const gaps = masked.map((row) => largestGap(row, masked[0]));
    const openGaps = open.map((row) => largestGap(row, open[0]));
    const cells = (/** @type {number} */ index) => [
      h("td", {}, lines[index].what),
      h("td", {}, tokenLabel(topToken(masked[index]))),
      h("td", {}, index === 0 ? "–" : shownGap(gaps[index])),
      h("td", {}, index === 0 ? "–" : shownGap(openGaps[index])),
    ];
    this.#results.replaceChildren(
      h(
        "div",
        { class: "live-scroll" },
        h(
          "table",
          { class: "live-table" },
          h("caption", {}, `Largest change of the ${VOCABULARY_SIZE} logits at =, against the first line.`),
          h("thead", {}, h("tr", {}, ...columns.map((title) => h("th", { scope: "col" }, title)))),
          h(
            "tbody",
            {},
            ...lines.map(({ text }, index) =>
              h("tr", {}, h("th", { scope: "row" }, h("code", {}, text)), ...cells(index)),
            ),
          ),
        ),
      ),
    );
    this.#results.hidden = false;
    const most = Math.max(gaps[1], gaps[2]);
    this.show(
      "ready",
      `Largest change at = by what follows it: ${shownGap(most)}. By what stands before it: ${shownGap(gaps[3])}.`,
    );
  }
}
