/** The map in numbers and as text: counts by side of the split, and the list of the wrong ones. */
import { CELLS, CONFIDENTLY_WRONG, problemAt } from "../runtime/error-map.mjs";
import { shown } from "../runtime/computations.mjs";
import { CONFIDENT } from "../runtime/greedy.mjs";
import { answer, prompt } from "../runtime/problems.mjs";
import { grouped, h } from "./dom.mjs";
import { writtenText } from "./map-detail.mjs";
import { SIDES } from "./split-label.mjs";

/** @typedef {import("../runtime/error-map.mjs").ErrorMap} ErrorMap */

const COLUMNS = ["Side", "Problems", "Right", "Wrong", `Wrong, p > ${CONFIDENT}`];
const AT_ONCE = 50; // entries of the list that one press shows

/** @param {ErrorMap} map */
export function countsTable(map) {
  const counts = map.counts();
  const row = (/** @type {keyof typeof counts} */ side, /** @type {string} */ name) => {
    const { problems, computed, right, wrong, confident } = counts[side];
    const part = computed < problems ? `${grouped(computed)} of ` : "";
    const cells = [right, wrong, confident].map((count) => h("td", {}, grouped(count)));
    return h("tr", { "data-count": side }, h("th", { scope: "row" }, name), h("td", {}, part + grouped(problems)), ...cells);
  };
  const sides = /** @type {(keyof typeof SIDES)[]} */ (Object.keys(SIDES));
  return h(
    "table",
    { class: "live-table" },
    h("caption", {}, `The map in numbers${counts.all.computed < CELLS ? ", as far as it was computed" : ""}`),
    h("thead", {}, h("tr", {}, ...COLUMNS.map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, ...sides.map((side) => row(side, SIDES[side])), row("all", "all")),
  );
}

/** The wrong cells as text, in a box that is closed at first and grows on request. */
export class WrongList {
  /** @type {ErrorMap} */
  #map;
  /** @type {number[]} */
  #cells = [];
  #shown = 0;
  #onChoose;
  #summary = h("summary");
  #list = h("ol", { class: "map-list" });
  #more = h("button", { type: "button", class: "live-button", onclick: () => this.#showMore() }, "Show more");
  element = h("details", { class: "map-wrong" }, this.#summary, this.#list, this.#more);

  /** @param {(cell: number) => void} onChoose */
  constructor(onChoose) {
    this.#onChoose = onChoose;
  }

  /** @param {ErrorMap} map */
  show(map) {
    this.#map = map;
    this.#cells = map.wrongCells();
    this.#shown = 0;
    this.#list.replaceChildren();
    const confident = this.#cells.filter((cell) => map.verdicts[cell] === CONFIDENTLY_WRONG).length;
    this.#summary.textContent = `The wrong ones as text: ${grouped(this.#cells.length)}, of them ${grouped(confident)} with p above ${CONFIDENT}`;
    this.#showMore();
  }

  #showMore() {
    const next = this.#cells.slice(this.#shown, this.#shown + AT_ONCE);
    const first = this.#shown;
    this.#list.append(...next.map((cell) => this.#entry(cell)));
    this.#shown += next.length;
    this.#more.hidden = this.#shown === this.#cells.length;
    this.#more.textContent = `Show more (${grouped(this.#cells.length - this.#shown)} left)`;
    if (first > 0) /** @type {HTMLElement} */ (this.#list.children[first]?.firstElementChild)?.focus();
  }

  /** @param {number} cell */
  #entry(cell) {
    const problem = problemAt(this.#map.operation, cell);
    const isConfident = this.#map.verdicts[cell] === CONFIDENTLY_WRONG;
    const text =
      `${prompt(problem)} ${writtenText(this.#map, cell)}, not ${answer(problem)}; ` +
      `p ${shown("percent", this.#map.probabilities[cell])}${isConfident ? ", confident" : ""}; ${SIDES[this.#map.sides[cell]]}`;
    return h("li", {}, h("button", { type: "button", class: "map-entry", onclick: () => this.#onChoose(cell) }, text));
  }
}
