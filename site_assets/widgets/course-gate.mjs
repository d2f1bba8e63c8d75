/**
 * `<course-gate>`: a dozen questions about the whole part, some of the bank and some
 * with fresh numbers. The seed of a dozen is shown and kept in the address, so that a
 * link brings the same dozen back. Each question counts by its first answer; the score
 * is kept with the reader's progress.
 *
 * The static content lists the questions of the bank and links to the chapters.
 */
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { progress } from "../runtime/progress.mjs";
import { checkSetting } from "../runtime/prompt.mjs";
import { GATE_SIZE, drawGate } from "./gate-questions.mjs";
import { h } from "./dom.mjs";

const SCOPE = "gate";

export default class CourseGate extends HTMLElement {
  /** @type {HTMLElement[]} */
  #bank = [];
  /** @type {Map<number, HTMLAnchorElement>} link to each chapter */
  #chapters = new Map();
  #seed = 0;
  /** @type {import("./gate-questions.mjs").Drawn[]} */
  #drawn = [];
  /** @type {Map<string, boolean>} first answers of this dozen */
  #answers = new Map();
  #built = false;
  #head = h("p", { class: "gate-seed" });
  #note = h("p", { class: "live-hint" });
  #list = h("ol", { class: "gate-list" });
  #score = h("p", { class: "gate-score", role: "status" });
  #result = h("div", { class: "gate-result" });

  connectedCallback() {
    if (this.#built) return;
    this.#built = true;
    this.#bank = [...this.querySelectorAll(".gate-question")].map((one) => /** @type {HTMLElement} */ (one));
    for (const link of this.querySelectorAll(".gate-chapters a")) {
      this.#chapters.set(Number(link.closest("li").dataset.chapter), /** @type {HTMLAnchorElement} */ (link));
    }
    this.addEventListener("question-answered", (event) => this.#answered(/** @type {CustomEvent} */ (event)));
    const another = h("button", { type: "button", class: "live-button", onclick: () => this.#another() }, "Another dozen");
    this.replaceChildren(this.#head, this.#note, this.#list, this.#score, this.#result, h("p", {}, another));
    /** @type {string[]} */
    const complaints = [];
    const seed = stateValue(readState(SCOPE), "seed", (text) => checkSetting("seed", text), freshSeed(), complaints);
    this.#start(seed);
    if (complaints.length > 0) this.#note.textContent = complaints.join(" ");
  }

  /** @param {number} seed */
  #start(seed) {
    this.#seed = seed;
    this.#answers.clear();
    this.#drawn = drawGate(seed, this.#bank);
    this.#list.replaceChildren(...this.#drawn.map(({ name, make }, place) => h("li", { "data-question": name }, h("p", { class: "gate-number" }, `Question ${place + 1} of ${GATE_SIZE}`), make())));
    this.#head.textContent = `Seed of this dozen: ${seed}. The same seed gives the same dozen.`;
    this.#note.textContent = "";
    this.#result.replaceChildren();
    this.#showScore();
  }

  #another() {
    const seed = freshSeed();
    writeState(SCOPE, { seed });
    this.#start(seed);
    this.#list.querySelector("input")?.focus();
  }

  /** @param {CustomEvent<{name: string, right: boolean}>} event */
  #answered({ detail: { name, right } }) {
    if (this.#answers.has(name)) return;
    if (this.#answers.size === 0) writeState(SCOPE, { seed: this.#seed });
    this.#answers.set(name, right);
    const { chapter } = this.#drawn.find((one) => one.name === name);
    const item = [...this.#list.children].find((one) => /** @type {HTMLElement} */ (one).dataset.question === name);
    if (!right) item.append(h("p", { class: "gate-chapter" }, "Explained in ", this.#chapterLink(chapter), "."));
    this.#showScore();
    if (this.#answers.size === GATE_SIZE) this.#finish();
  }

  get #right() {
    return [...this.#answers.values()].filter(Boolean).length;
  }

  #showScore() {
    const { size } = this.#answers;
    this.#score.textContent = size === 0 ? "" : `${size} of ${GATE_SIZE} answered, ${this.#right} right at first try.`;
  }

  #finish() {
    const isFirst = !progress.gateResults.some(({ seed }) => seed === this.#seed);
    progress.gateFinished(this.#seed, this.#right, GATE_SIZE);
    const missed = new Set(this.#drawn.filter(({ name }) => !this.#answers.get(name)).map(({ chapter }) => chapter));
    const chapters = [...missed].sort((a, b) => a - b).map((chapter) => h("li", {}, this.#chapterLink(chapter)));
    this.#result.replaceChildren(
      h("p", { class: "question-verdict" }, `Your score: ${this.#right} of ${GATE_SIZE}.`),
      ...(chapters.length > 0 ? [h("p", {}, "Read again:"), h("ul", {}, ...chapters)] : [h("p", {}, "Nothing was missed.")]),
      h("p", { class: "live-hint" }, isFirst ? `Kept on this device. ${progress.storageNotice()}` : "This dozen was finished before; its first score is the one that is kept."),
    );
  }

  /** @param {number} chapter @returns {Node} */
  #chapterLink(chapter) {
    return this.#chapters.get(chapter)?.cloneNode(true) ?? document.createTextNode(`chapter ${chapter}`);
  }
}

const freshSeed = () => crypto.getRandomValues(new Uint32Array(1))[0];
