/**
 * The picture of a map: a canvas of 100 x 100 cells with a second one that magnifies the
 * surroundings of the current cell, and over them a grid of one Tab stop that arrow keys,
 * a click or a tap move. Assistive technology meets a grid of 100 rows and columns of which
 * the current cell stands in the page, with what is known of it as its text.
 */
import { SIDE, cellOf } from "../runtime/error-map.mjs";
import { h, uniqueId } from "./dom.mjs";
import { coloursOf, drawCell, legend } from "./map-glyphs.mjs";

/** @typedef {import("../runtime/error-map.mjs").ErrorMap} ErrorMap */

const LARGEST_CSS_SIDE = 600; // pixels of the whole map on a wide page
const LENS_CELLS = 9; // a side of the magnified square
const LENS_CELL = 32; // CSS pixels: large enough for a finger
const PAGE = 10; // rows that Page Up and Page Down move

export class MapGrid {
  /** @type {ErrorMap} */
  #map;
  #cell = 0;
  #cellPixels = 5; // device pixels a cell
  /** @type {import("./map-glyphs.mjs").Colours} as the palette is now */
  #colours;
  #describe;
  #onChoose;
  #canvas = h("canvas", { class: "map-canvas", "aria-hidden": "true" });
  #mark = h("div", { class: "map-mark", "aria-hidden": "true" });
  #row = h("div", { role: "row" });
  #grid = h(
    "div",
    {
      class: "map-grid",
      role: "grid",
      tabindex: "0",
      "aria-rowcount": SIDE,
      "aria-colcount": SIDE,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#onKey(event),
      onclick: (/** @type {MouseEvent} */ event) => this.#onClick(event),
    },
    this.#canvas,
    this.#mark,
    this.#row,
  );
  /** The surroundings of the current cell, enlarged. */
  lens = h("canvas", {
    class: "map-lens",
    "aria-hidden": "true",
    onclick: (/** @type {MouseEvent} */ event) => this.#onLensClick(event),
  });
  #legend = h("ul", { class: "map-legend" });
  #frame = h("div", { class: "map-frame" }, this.#grid);
  element = h("div", { class: "map-picture" }, this.#legend, this.#frame);
  #resized = new ResizeObserver(() => this.#fit());
  #recoloured = new MutationObserver(() => this.redraw());
  #forced = matchMedia("(forced-colors: active)");

  /**
   * @param {ErrorMap} map
   * @param {(cell: number) => string} describe a cell in a few words
   * @param {(cell: number, settled: boolean) => void} onChoose `settled` is false while arrow keys pass over cells
   */
  constructor(map, describe, onChoose) {
    this.#map = map;
    this.#describe = describe;
    this.#onChoose = onChoose;
  }

  /** Follow the page's width and palette; the element stands in the page. */
  connect() {
    this.#resized.observe(this.#frame);
    this.#recoloured.observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
    this.#forced.addEventListener("change", this.redraw);
    this.#fit();
  }

  disconnect() {
    this.#resized.disconnect();
    this.#recoloured.disconnect();
    this.#forced.removeEventListener("change", this.redraw);
  }

  get cell() {
    return this.#cell;
  }

  /** Another map, or the same one with other answers. @param {ErrorMap} map */
  show(map) {
    this.#map = map;
    this.#grid.setAttribute(
      "aria-label",
      `Map of all ${map.operation === "+" ? "sums a+b" : "differences a−b"}: rows are a, columns are b, 0 to ${SIDE - 1}`,
    );
    this.redraw();
  }

  /** Move to a cell without telling the owner. @param {number} cell */
  moveTo(cell) {
    this.#cell = cell;
    this.#place();
  }

  redraw = () => {
    if (!this.element.isConnected) return;
    this.#colours = coloursOf(this.element);
    this.#legend.replaceChildren(...legend(this.#colours));
    this.drawCells(Array.from({ length: SIDE * SIDE }, (_, cell) => cell));
  };

  /** Draw some cells anew. @param {number[]} cells */
  drawCells(cells) {
    const context = this.#canvas.getContext("2d");
    for (const cell of cells) this.#draw(context, cell);
    this.#place();
  }

  /** @param {CanvasRenderingContext2D} context @param {number} cell */
  #draw(context, cell, size = this.#cellPixels, x = (cell % SIDE) * size, y = Math.floor(cell / SIDE) * size) {
    const [verdict, seen] = [this.#map.verdicts[cell], this.#map.sides[cell] === "train"];
    drawCell(context, { x, y, size, verdict, seen, colours: this.#colours });
  }

  /** Whole device pixels a cell, as many as the width allows. */
  #fit() {
    const width = Math.min(this.#frame.clientWidth, LARGEST_CSS_SIDE);
    if (width === 0) return;
    const scale = devicePixelRatio || 1;
    this.#cellPixels = Math.max(1, Math.floor((width * scale) / SIDE));
    const side = this.#cellPixels * SIDE;
    if (this.#canvas.width !== side) [this.#canvas.width, this.#canvas.height] = [side, side];
    this.#grid.style.inlineSize = this.#grid.style.blockSize = `${side / scale}px`;
    const lens = Math.min(LENS_CELLS * LENS_CELL, this.#frame.clientWidth);
    this.lens.style.inlineSize = this.lens.style.blockSize = `${lens}px`;
    this.lens.width = this.lens.height = Math.floor((lens * scale) / LENS_CELLS) * LENS_CELLS;
    this.redraw();
  }

  /** Put mark, lens and the grid's one cell where the current cell is. */
  #place() {
    const [row, column] = [Math.floor(this.#cell / SIDE), this.#cell % SIDE];
    this.#mark.style.insetInlineStart = `${(100 * column) / SIDE}%`;
    this.#mark.style.insetBlockStart = `${(100 * row) / SIDE}%`;
    const text = this.#describe(this.#cell);
    if (this.#row.textContent !== text) {
      const id = uniqueId("cell"); // a new element: a changed one would not be read again
      this.#row.setAttribute("aria-rowindex", String(row + 1));
      this.#row.replaceChildren(
        h("span", { role: "gridcell", class: "unseen", id, "aria-colindex": column + 1, "aria-selected": "true" }, text),
      );
      this.#grid.setAttribute("aria-activedescendant", id);
    }
    this.#drawLens();
  }

  /** First row and column under the lens. */
  get #lensCorner() {
    const start = (/** @type {number} */ at) => Math.min(Math.max(at - (LENS_CELLS - 1) / 2, 0), SIDE - LENS_CELLS);
    return [start(Math.floor(this.#cell / SIDE)), start(this.#cell % SIDE)];
  }

  #drawLens() {
    if (!this.#colours) return;
    const context = this.lens.getContext("2d");
    const size = this.lens.width / LENS_CELLS;
    const [top, left] = this.#lensCorner;
    for (let row = 0; row < LENS_CELLS; row += 1) {
      for (let column = 0; column < LENS_CELLS; column += 1) {
        this.#draw(context, cellOf(top + row, left + column), size, column * size, row * size);
      }
    }
    const [row, column] = [Math.floor(this.#cell / SIDE) - top, (this.#cell % SIDE) - left];
    const line = Math.max(2, size / 12);
    context.lineWidth = line;
    [this.#colours.confident, this.#colours.empty].forEach((colour, ring) => {
      // two rings, dark and light: one of them stands out on any cell
      const inset = line * (ring + 0.5);
      context.strokeStyle = colour;
      context.strokeRect(column * size + inset, row * size + inset, size - 2 * inset, size - 2 * inset);
    });
  }

  /** @param {number} row @param {number} column @param {boolean} settled */
  #choose(row, column, settled) {
    const clamp = (/** @type {number} */ value) => Math.min(Math.max(value, 0), SIDE - 1);
    this.#cell = cellOf(clamp(row), clamp(column));
    this.#place();
    this.#onChoose(this.#cell, settled);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const [row, column] = [Math.floor(this.#cell / SIDE), this.#cell % SIDE];
    const last = SIDE - 1;
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: event.ctrlKey ? [0, 0] : [row, 0],
      End: event.ctrlKey ? [last, last] : [row, last],
      PageUp: [row - PAGE, column],
      PageDown: [row + PAGE, column],
      Enter: [row, column],
      " ": [row, column],
    };
    const move = moves[event.key];
    if (!move || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.#choose(...move, event.key === "Enter" || event.key === " ");
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const box = this.#grid.getBoundingClientRect();
    const place = (/** @type {number} */ offset, /** @type {number} */ size) => Math.floor((SIDE * offset) / size);
    this.#choose(place(event.clientY - box.top, box.height), place(event.clientX - box.left, box.width), true);
  }

  /** @param {MouseEvent} event */
  #onLensClick(event) {
    const box = this.lens.getBoundingClientRect();
    const [top, left] = this.#lensCorner;
    const place = (/** @type {number} */ offset, /** @type {number} */ size) =>
      Math.min(Math.max(Math.floor((LENS_CELLS * offset) / size), 0), LENS_CELLS - 1);
    const [row, column] = [place(event.clientY - box.top, box.height), place(event.clientX - box.left, box.width)];
    this.#choose(top + row, left + column, true);
  }
}
