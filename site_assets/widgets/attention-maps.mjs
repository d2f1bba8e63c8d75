/**
 * `<attention-maps line="12+34=46" link="attention">`: the attention weights of every head on the
 * reader's own line, computed on this device with the switches of the page's board. A small picture
 * for each head; one of them is open as a table that the arrow keys walk through.
 *
 * Attributes: `line` is the text to start with; `link` is the name under which the page's address
 * keeps the line and the open head.
 */
import { manifest } from "../generated/manifest.mjs";
import { stateValue } from "../runtime/page-state.mjs";
import { h, uniqueId } from "./dom.mjs";
import { LineElement } from "./line-element.mjs";
import { tokenLabel } from "./token-label.mjs";
import { sharePercent, weightGrid } from "./weight-grid.mjs";

const { n_layers: BLOCKS, n_heads: HEADS } = manifest.model.config;

/** A whole number from 1 to `most` in a link. @param {number} most */
const upTo = (most) => (/** @type {string} */ text) => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > most) throw new RangeError(text);
  return value;
};

/** @typedef {{ids: number[], weights: Float32Array[][]}} Shown weights by block and head: T rows of T */

export default class AttentionMaps extends LineElement {
  #block = 1;
  #head = 1;
  /** @type {Shown | undefined} */
  #shown;
  #detail = h("div", { class: "maps-detail" });

  /** @param {Record<string, string>} state @param {string[]} complaints */
  restore(state, complaints) {
    this.#block = stateValue(state, "block", upTo(BLOCKS), 1, complaints);
    this.#head = stateValue(state, "head", upTo(HEADS), 1, complaints);
  }

  kept() {
    return { block: this.#block, head: this.#head };
  }

  /** @param {number[]} ids @param {import("./line-element.mjs").Outputs} outputs */
  display(ids, outputs) {
    const size = ids.length ** 2;
    const weights = Array.from({ length: BLOCKS }, (_, block) => {
      const { data } = outputs[`block_${block + 1}_attention_weights`];
      return Array.from({ length: HEADS }, (_, head) => data.slice(head * size, (head + 1) * size));
    });
    this.#shown = { ids, weights };
    this.#drawDetail();
    const name = uniqueId("head");
    const groups = weights.map((heads, index) => this.#group(heads, index + 1, name));
    return {
      content: [h("div", { class: "maps-blocks", role: "radiogroup", "aria-label": "Head" }, ...groups), this.#detail],
      says: `${BLOCKS * HEADS} heads on ${ids.length} position${ids.length === 1 ? "" : "s"}. Head ${this.#head} of block ${this.#block} is open.`,
    };
  }

  /** The pictures of a block's heads. @param {Float32Array[]} heads @param {number} block @param {string} name */
  #group(heads, block, name) {
    return h(
      "div",
      { class: "maps-block" },
      h("p", { class: "maps-title" }, `Block ${block}`),
      h("div", { class: "maps-heads" }, ...heads.map((weights, index) => this.#choice(weights, block, index + 1, name))),
    );
  }

  /** @param {Float32Array} weights @param {number} block @param {number} head @param {string} name */
  #choice(weights, block, head, name) {
    const { ids } = this.#shown;
    const last = weights.subarray(weights.length - ids.length);
    const most = last.indexOf(Math.max(...last));
    const summaryId = uniqueId("summary");
    const input = h("input", {
      type: "radio",
      name,
      "aria-describedby": summaryId,
      checked: block === this.#block && head === this.#head,
      "aria-label": `Head ${head} of block ${block}`,
      onchange: () => {
        [this.#block, this.#head] = [block, head];
        this.#drawDetail();
        this.keep();
      },
    });
    const summary = [`last row: ${sharePercent(last[most], 0)} from `, tokenLabel(ids[most]), ` at ${most}`];
    return h(
      "label",
      { class: "maps-choice" },
      input,
      h("span", { class: "maps-card" }, h("span", { class: "maps-name" }, `Head ${head}`), picture(weights, ids.length), h("span", { class: "maps-summary", id: summaryId }, ...summary)),
    );
  }

  #drawDetail() {
    const { ids, weights } = this.#shown;
    const title = `Head ${this.#head} of block ${this.#block}`;
    this.#detail.replaceChildren(
      h("p", { class: "maps-title" }, title),
      ...weightGrid(title, ids, weights[this.#block - 1][this.#head - 1]),
    );
  }
}

/** One pixel a weight, more opaque for more; the style sheet turns it light on dark. @param {Float32Array} weights @param {number} size */
function picture(weights, size) {
  const canvas = h("canvas", { class: "maps-picture", width: size, height: size, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(size, size);
  weights.forEach((weight, index) => {
    image.data[4 * index + 3] = Math.round(255 * weight);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
