/**
 * The weights of one head as a grid: a row for each position that reads, a column for each position
 * that is read. It is one Tab stop; arrow keys, Home and End move inside, and the chosen cell is
 * said in a sentence below.
 */
import { displayName } from "../runtime/tokenizer.mjs";
import { h, uniqueId } from "./dom.mjs";
import { tokenLabel } from "./token-label.mjs";

/** `83 %`. @param {number} share @param {number} digits after the point */
export const sharePercent = (share, digits) => `${(100 * share).toFixed(digits)} %`;

/** Where a key leads from row and column, in a grid of `size` rows. @type {Record<string, (row: number, column: number, size: number) => [number, number]>} */
const MOVES = {
  ArrowUp: (row, column) => [row - 1, column],
  ArrowDown: (row, column) => [row + 1, column],
  ArrowLeft: (row, column) => [row, column - 1],
  ArrowRight: (row, column) => [row, column + 1],
  Home: (row) => [row, 0],
  End: (row, _, size) => [row, size - 1],
};

/**
 * The grid and the sentence about its chosen cell.
 * @param {string} name what the weights belong to
 * @param {number[]} ids tokens of the line
 * @param {Float32Array} weights row by row
 * @returns {Node[]}
 */
export function weightGrid(name, ids, weights) {
  const size = ids.length;
  const hint = h(
    "p",
    { class: "live-hint", id: uniqueId("grid") },
    "Weights in per cent. A row reads, a column is read; each row adds up to about 100. Arrow keys move.",
  );
  const says = h("p", { class: "grid-says" });
  const seesAhead = weights.some((weight, index) => weight > 0 && index % size > Math.floor(index / size));
  /** @type {HTMLTableCellElement[][]} */
  const cells = ids.map((_, row) => ids.map((_, column) => cell(weights[row * size + column], column > row && !seesAhead)));
  let chosen = cells[size - 1][0];

  const choose = (/** @type {number} */ row, /** @type {number} */ column) => {
    chosen.tabIndex = -1;
    chosen.classList.remove("grid-chosen");
    chosen = cells[row][column];
    chosen.tabIndex = 0;
    chosen.classList.add("grid-chosen");
    says.replaceChildren(...sentence(ids, row, column, weights[row * size + column], column > row && !seesAhead));
  };
  const placeOf = (/** @type {EventTarget | null} */ target) => {
    const found = /** @type {HTMLElement} */ (target).closest("td");
    const row = cells.findIndex((line) => line.includes(found));
    return row < 0 ? undefined : [row, cells[row].indexOf(found)];
  };
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    const place = placeOf(event.target);
    if (!place || !(event.key in MOVES) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const [row, column] = MOVES[event.key](place[0], place[1], size);
    if (row < 0 || column < 0 || row >= size || column >= size) return;
    choose(row, column);
    chosen.focus();
  };
  const onclick = (/** @type {Event} */ event) => {
    const place = placeOf(event.target);
    if (!place) return;
    choose(place[0], place[1]);
    chosen.focus();
  };
  const heading = (/** @type {number} */ id, /** @type {number} */ position, /** @type {string} */ scope) =>
    h("th", { scope }, h("span", { class: "grid-position" }, position), " ", tokenLabel(id));
  const table = h(
    "table",
    { class: "live-table grid-table", role: "grid", "aria-label": `Weights of ${name.toLowerCase()}`, "aria-describedby": hint.id, onkeydown, onclick },
    h("thead", {}, h("tr", {}, h("td"), ...ids.map((id, position) => heading(id, position, "col")))),
    h("tbody", {}, ...ids.map((id, position) => h("tr", {}, heading(id, position, "row"), ...cells[position]))),
  );
  const last = weights.subarray(weights.length - size);
  choose(size - 1, last.indexOf(Math.max(...last)));
  return [hint, h("div", { class: "live-scroll" }, table), says];
}

/** @param {number} weight @param {boolean} isHidden behind the mask */
function cell(weight, isHidden) {
  const made = h("td", { tabindex: "-1" }, isHidden ? h("span", { class: "unseen" }, "hidden") : Math.round(100 * weight));
  if (isHidden) made.classList.add("grid-hidden");
  else made.style.setProperty("--share", weight.toFixed(3));
  return made;
}

/** @param {number[]} ids @param {number} row @param {number} column @param {number} weight @param {boolean} isHidden */
function sentence(ids, row, column, weight, isHidden) {
  const reader = [`Position ${row}, `, tokenLabel(ids[row])];
  const source = [`position ${column}, `, tokenLabel(ids[column])];
  if (isHidden) return [...reader, ", can not read ", ...source, ": it comes later, and the mask hides it."];
  return [...reader, `, takes ${sharePercent(weight, 2)} of what this head reads from `, ...source, "."];
}
