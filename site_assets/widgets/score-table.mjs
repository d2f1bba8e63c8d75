/** The score of every token as a real table that a reader can sort, with bars to look at. */
import { VOCABULARY_SIZE, tokenName } from "../runtime/tokenizer.mjs";
import { h } from "./dom.mjs";
import { tokenLabel } from "./token-label.mjs";

/** @typedef {{id: number, logit: number, probability: number}} Row */

/** @type {{key: keyof Row, title: string, descending: boolean}[]} */
const COLUMNS = [
  { key: "id", title: "Token", descending: false },
  { key: "logit", title: "Logit", descending: true },
  { key: "probability", title: "Probability", descending: true },
];

/** Six decimals, or powers of ten where six decimals would show nothing. @param {number} p */
export function shownProbability(p) {
  return p >= 0.000001 ? p.toFixed(6) : p.toExponential(2);
}

export class ScoreTable {
  /** @type {Row[]} */
  #rows = [];
  /** @type {keyof Row} */
  #key = "logit";
  #descending = true;
  #body = h("tbody");
  #headings = COLUMNS.map(({ key, title, descending }) =>
    h(
      "th",
      { scope: "col" },
      h("button", { type: "button", class: "score-sort", onclick: () => this.#sortBy(key, descending) }, title),
    ),
  );
  element = h(
    "div",
    { class: "score-table", role: "region", tabindex: "0", "aria-label": `Scores of all ${VOCABULARY_SIZE} tokens, scrollable` },
    h(
      "table",
      { class: "live-table" },
      h("caption", {}, `All ${VOCABULARY_SIZE} tokens. A heading sorts by its column; the token column sorts by ID.`),
      h("thead", {}, h("tr", {}, ...this.#headings)),
      this.#body,
    ),
  );

  /** @param {ArrayLike<number>} logits @param {number[]} shares probabilities by token ID */
  fill(logits, shares) {
    this.#rows = shares.map((probability, id) => ({ id, logit: logits[id], probability }));
    this.#draw();
    this.element.scrollTop = 0;
  }

  /** @param {keyof Row} key @param {boolean} descending the first direction */
  #sortBy(key, descending) {
    this.#descending = this.#key === key ? !this.#descending : descending;
    this.#key = key;
    this.#draw();
  }

  #draw() {
    const sign = this.#descending ? -1 : 1;
    const sorted = this.#rows.toSorted((a, b) => sign * (a[this.#key] - b[this.#key]) || a.id - b.id);
    const largest = Math.max(...this.#rows.map((row) => row.probability));
    this.#body.replaceChildren(...sorted.map((row) => this.#line(row, largest)));
    COLUMNS.forEach(({ key }, index) => {
      const direction = this.#descending ? "descending" : "ascending";
      this.#headings[index].setAttribute("aria-sort", key === this.#key ? direction : "none");
    });
  }

  /** @param {Row} row @param {number} largest */
  #line({ id, logit, probability }, largest) {
    const bar = h("span", { class: "score-bar", "aria-hidden": "true" });
    bar.style.inlineSize = `${(100 * probability) / largest}%`;
    return h(
      "tr",
      { "data-token": tokenName(id), "data-id": id },
      h("th", { scope: "row" }, tokenLabel(id), " ", h("span", { class: "score-id" }, `ID ${id}`)),
      h("td", {}, logit.toFixed(4)),
      h("td", {}, bar, shownProbability(probability)),
    );
  }
}
