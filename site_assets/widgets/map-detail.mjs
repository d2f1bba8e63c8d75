/** One cell of the map: what is known of it, and on request its answer token by token. */
import { UNKNOWN, problemAt } from "../runtime/error-map.mjs";
import { CONFIDENT } from "../runtime/greedy.mjs";
import { shown } from "../runtime/computations.mjs";
import { engine } from "../runtime/engine.mjs";
import { answer, carries, prompt } from "../runtime/problems.mjs";
import { probabilities, topToken } from "../runtime/scores.mjs";
import { VOCABULARY_SIZE, encode } from "../runtime/tokenizer.mjs";
import { h } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { VERDICTS } from "./map-glyphs.mjs";
import { shownProbability } from "./score-table.mjs";
import { SIDES } from "./split-label.mjs";
import { tokenLabel } from "./token-label.mjs";

/** @typedef {import("../runtime/error-map.mjs").ErrorMap} ErrorMap */

/** What a cell's answer looks like in a sentence: `46`, or `46… without EOS`. @param {ErrorMap} map @param {number} cell */
export function writtenText(map, cell) {
  const text = map.written[cell] === "" ? "nothing" : String(map.written[cell]);
  return map.finished[cell] ? text : `${text}… without EOS`;
}

/** A cell in a few words: `12+34=46, right, 99.98 %, training`. @param {ErrorMap} map @param {number} cell */
export function cellText(map, cell) {
  const problem = problemAt(map.operation, cell);
  const verdict = map.verdicts[cell];
  const side = SIDES[map.sides[cell]];
  if (verdict === UNKNOWN) return `${prompt(problem)} not computed, ${side}`;
  const share = shown("percent", map.probabilities[cell]);
  return `${prompt(problem)}${writtenText(map, cell)}, ${VERDICTS[verdict]}, ${share}, ${side}`;
}

/** `2 carries`, `1 borrow`. @param {import("../runtime/problems.mjs").Problem} problem */
function carriesText(problem) {
  const [count, kind] = [carries(problem), problem.operation === "+" ? ["carry", "carries"] : ["borrow", "borrows"]];
  return `${count} ${count === 1 ? kind[0] : kind[1]}`;
}

export class MapDetail extends LiveElement {
  /** @type {ErrorMap} */
  #map;
  #cell = 0;
  /** @type {string | undefined} key of the model; a lookup table has none */
  #model;
  #facts = h("p", { class: "map-facts" });
  #button = h(
    "button",
    { type: "button", class: "live-button", onclick: () => this.#score() },
    "Score it, token by token",
  );
  #results = h("div", { class: "map-steps", hidden: true });

  build() {
    this.replaceChildren(this.#facts, this.#button, this.feedback, this.#results);
  }

  /** @param {ErrorMap} map @param {number} cell @param {string | undefined} model */
  load(map, cell, model) {
    const isOther = map !== this.#map || cell !== this.#cell || model !== this.#model;
    [this.#map, this.#cell, this.#model] = [map, cell, model];
    const problem = problemAt(map.operation, cell);
    const verdict = map.verdicts[cell];
    const side = `Side of the split: ${SIDES[map.sides[cell]]}. ${carriesText(problem)}.`;
    const known =
      verdict === UNKNOWN
        ? ["not computed yet. "]
        : [
            h("code", {}, writtenText(map, cell)),
            ` is ${VERDICTS[verdict]}${verdict > 1 ? `; ${answer(problem)} is right` : ""}. `,
            `Probability of what was written: ${shown("percent", map.probabilities[cell])}. `,
          ];
    this.#facts.replaceChildren(h("code", {}, prompt(problem)), " ", ...known, side);
    this.#button.hidden = model === undefined;
    if (isOther && this.dataset.state !== "idle") {
      this.drop();
      this.show("idle");
      this.#results.hidden = true;
    }
  }

  /** Let the model write, then look at the scores of each token it wrote. */
  #score() {
    const [model, problem] = [/** @type {string} */ (this.#model), problemAt(this.#map.operation, this.#cell)];
    this.#results.hidden = true;
    const score = async () => {
      const ids = encode(prompt(problem));
      const [{ written, probability }] = await engine.answer(model, [ids]);
      const { outputs } = await engine.run(model, [[...ids, ...written.slice(0, -1)]], ["logits"]);
      const steps = written.map((token, place) => {
        const at = (ids.length - 1 + place) * VOCABULARY_SIZE;
        return { token, logits: outputs.logits.data.slice(at, at + VOCABULARY_SIZE) };
      });
      return { steps, probability };
    };
    void this.ask(score, ({ steps, probability }) => {
      this.#results.replaceChildren(stepTable(steps));
      this.#results.hidden = false;
      const judged = probability > CONFIDENT ? "above" : "not above";
      this.show("ready", `The product of the ${steps.length} probabilities is ${probability.toFixed(6)}, ${judged} ${CONFIDENT}.`);
    });
  }
}

/** @param {{token: number, logits: Float32Array}[]} steps */
function stepTable(steps) {
  const column = (/** @type {string} */ title) => h("th", { scope: "col" }, title);
  return h(
    "div",
    { class: "live-scroll" },
    h(
      "table",
      { class: "live-table" },
      h("thead", {}, h("tr", {}, ...["Step", "Written", "Probability", "Next best", "Probability"].map(column))),
      h("tbody", {}, ...steps.map((step, index) => stepRow(step, index + 1))),
    ),
  );
}

/** @param {{token: number, logits: Float32Array}} step @param {number} number */
function stepRow({ token, logits }, number) {
  const shares = probabilities(logits);
  const others = logits.slice();
  others[token] = -Infinity;
  const second = topToken(others);
  const cells = [tokenLabel(token), shownProbability(shares[token]), tokenLabel(second), shownProbability(shares[second])];
  return h("tr", {}, h("th", { scope: "row" }, number), ...cells.map((cell) => h("td", {}, cell)));
}

