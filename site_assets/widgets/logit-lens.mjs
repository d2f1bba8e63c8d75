/**
 * `<logit-lens line="12+34=" link="lens">`: what the network would predict if it ended after the
 * embeddings, after each block but the last, and at its real end, for every position of the reader's
 * own line. Computed on this device with the switches of the page's board.
 *
 * Attributes: `line` is the text to start with; `link` is the name under which the page's address
 * keeps the line and the position.
 */
import { manifest } from "../generated/manifest.mjs";
import { stateValue } from "../runtime/page-state.mjs";
import { probabilities, topToken } from "../runtime/scores.mjs";
import { VOCABULARY_SIZE, displayName } from "../runtime/tokenizer.mjs";
import { h, uniqueId } from "./dom.mjs";
import { LineElement } from "./line-element.mjs";
import { tokenLabel } from "./token-label.mjs";

const { n_layers: BLOCKS, context_length: CONTEXT } = manifest.model.config;
const SHOWN = 5;

/** The stages, first to last: the output's name and what it is called. */
const STAGES = [
  { output: "lens_0_logits", name: "Embeddings" },
  ...Array.from({ length: BLOCKS - 1 }, (_, index) => ({
    output: `lens_${index + 1}_logits`,
    name: `Block ${index + 1}`,
  })),
  { output: "logits", name: `Block ${BLOCKS}, the end` },
];

/** A position in a link. @param {string} text */
function position(text) {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value >= CONTEXT) throw new RangeError(text);
  return value;
}

/** Per cent with two digits, rounded down: 100.00 % would mean certain. @param {number} share */
const percent = (share) => (share < 0.0001 ? "< 0.01 %" : `${(Math.floor(10_000 * share) / 100).toFixed(2)} %`);

/** A token and its probability. @param {number} id @param {number} share */
const scoreCell = (id, share) => h("td", {}, tokenLabel(id), " ", h("span", { class: "lens-share" }, percent(share)));

export default class LogitLens extends LineElement {
  /** @type {number | undefined} undefined: the last one */
  #position;
  #detail = h("div", { class: "lens-detail" });

  /** @param {Record<string, string>} state @param {string[]} complaints */
  restore(state, complaints) {
    this.#position = stateValue(state, "position", position, undefined, complaints);
  }

  kept() {
    return this.#position === undefined ? {} : { position: this.#position };
  }

  /** @param {number[]} ids @param {import("./line-element.mjs").Outputs} outputs */
  display(ids, outputs) {
    /** Logits by stage and position. */
    const stages = STAGES.map(({ output }) =>
      ids.map((_, place) => outputs[output].data.slice(place * VOCABULARY_SIZE, (place + 1) * VOCABULARY_SIZE)),
    );
    const last = ids.length - 1;
    const chosen = Math.min(this.#position ?? last, last);
    this.#drawDetail(stages, chosen);
    const id = uniqueId("position");
    const select = h(
      "select",
      {
        id,
        onchange: () => {
          this.#position = Number(select.value);
          this.#drawDetail(stages, this.#position);
          this.keep();
        },
      },
      ...ids.map((token, place) => h("option", { value: place, selected: place === chosen }, `${place} ${displayName(token)}`)),
    );
    const picker = h("p", {}, h("span", { class: "live-picker" }, h("label", { for: id }, "Position"), select));
    const tops = stages.map((rows) => displayName(topToken(rows[last])));
    const steps = STAGES.map(({ name }, index) => `${name[0].toLowerCase()}${name.slice(1)}: ${tops[index]}`);
    return {
      content: [picker, this.#detail, overview(ids, stages)],
      says: `On top at the last position after ${steps.join("; after ")}.`,
    };
  }

  /** The highest tokens of one position at each stage. @param {Float32Array[][]} stages @param {number} place */
  #drawDetail(stages, place) {
    const columns = stages.map((rows) => {
      const shares = probabilities(rows[place]);
      const order = shares.map((_, id) => id).toSorted((a, b) => rows[place][b] - rows[place][a] || a - b);
      return order.slice(0, SHOWN).map((id) => scoreCell(id, shares[id]));
    });
    const line = (/** @type {number} */ rank) =>
      h("tr", {}, h("th", { scope: "row" }, rank + 1), ...columns.map((cells) => cells[rank]));
    this.#detail.replaceChildren(
      table(`The ${SHOWN} highest tokens at position ${place}, with their probability`, "Rank", Array.from({ length: SHOWN }, (_, rank) => line(rank))),
    );
  }
}

/** The highest token of every position at each stage. @param {number[]} ids @param {Float32Array[][]} stages */
function overview(ids, stages) {
  const lines = ids.map((id, place) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, `${place} `, tokenLabel(id)),
      ...stages.map((rows) => {
        const top = topToken(rows[place]);
        return scoreCell(top, probabilities(rows[place])[top]);
      }),
    ),
  );
  return table("The highest token of every position", "Position", lines);
}

/** @param {string} caption @param {string} first heading of the first column @param {HTMLElement[]} lines */
function table(caption, first, lines) {
  const column = (/** @type {string} */ title) => h("th", { scope: "col" }, title);
  return h(
    "div",
    { class: "live-scroll", role: "region", tabindex: "0", "aria-label": `${caption}, scrollable` },
    h(
      "table",
      { class: "live-table lens-table" },
      h("caption", {}, `${caption}, read after each stage.`),
      h("thead", {}, h("tr", {}, column(first), ...STAGES.map(({ name }) => column(name)))),
      h("tbody", {}, ...lines),
    ),
  );
}
