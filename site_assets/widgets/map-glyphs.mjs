/** How a cell of the map looks: by shape as well as by colour, so that no colour has to be told from another. */
import { CONFIDENTLY_WRONG, RIGHT, UNKNOWN, WRONG } from "../runtime/error-map.mjs";
import { CONFIDENT } from "../runtime/greedy.mjs";
import { h } from "./dom.mjs";

/** @typedef {{empty: string, right: string, wrong: string, confident: string, cross: string}} Colours */

const SMALLEST_SHAPE = 4; // device pixels: below, a cell is one colour
const NAMES = /** @type {const} */ (["empty", "right", "wrong", "confident", "cross"]);

/** What each verdict is called. */
export const VERDICTS = {
  [UNKNOWN]: "not computed",
  [RIGHT]: "right",
  [WRONG]: "wrong",
  [CONFIDENTLY_WRONG]: `wrong with p above ${CONFIDENT}`,
};

/** The colours of the page's palette, as they are now. @param {HTMLElement} element that stands in the page @returns {Colours} */
export function coloursOf(element) {
  const probe = h("span", { class: "map-probe", hidden: true });
  element.append(probe);
  const read = NAMES.map((name) => {
    probe.style.color = `var(--map-${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return /** @type {Colours} */ (Object.fromEntries(read));
}

/**
 * Draw one cell. Right is plain, wrong has a stroke, confidently wrong a cross; what training
 * has not seen is hollow.
 * @param {CanvasRenderingContext2D} context
 * @param {{x: number, y: number, size: number, verdict: number, seen: boolean, colours: Colours}} cell in device pixels
 */
export function drawCell(context, { x, y, size, verdict, seen, colours }) {
  context.fillStyle = colours.empty;
  context.fillRect(x, y, size, size);
  if (verdict === UNKNOWN) return;
  const main = verdict === RIGHT ? colours.right : verdict === WRONG ? colours.wrong : colours.confident;
  const gap = size >= SMALLEST_SHAPE ? 1 : 0;
  const side = size - gap;
  context.fillStyle = main;
  context.fillRect(x, y, side, side);
  if (size < SMALLEST_SHAPE) return;
  const edge = Math.max(1, Math.round(side / 8));
  if (!seen) {
    context.fillStyle = colours.empty;
    context.fillRect(x + edge, y + edge, side - 2 * edge, side - 2 * edge);
  }
  if (verdict === RIGHT) return;
  context.strokeStyle = seen ? colours.cross : main;
  context.lineWidth = Math.max(1, side / 8);
  const [near, far] = [edge + 0.5, side - edge - 0.5];
  context.beginPath();
  context.moveTo(x + near, y + far);
  context.lineTo(x + far, y + near);
  if (verdict === CONFIDENTLY_WRONG) {
    context.moveTo(x + near, y + near);
    context.lineTo(x + far, y + far);
  }
  context.stroke();
}

/** A canvas of one cell for the legend. @param {number} verdict @param {boolean} seen @param {Colours} colours */
function sample(verdict, seen, colours) {
  const size = 24;
  const canvas = h("canvas", { class: "map-sample", width: size, height: size, "aria-hidden": "true" });
  drawCell(canvas.getContext("2d"), { x: 0, y: 0, size, verdict, seen, colours });
  return canvas;
}

/** The legend, in the colours of now. @param {Colours} colours */
export function legend(colours) {
  /** @type {[number, boolean, string][]} */
  const entries = [
    [RIGHT, true, "right: plain"],
    [WRONG, true, "wrong: a stroke"],
    [CONFIDENTLY_WRONG, true, `${VERDICTS[CONFIDENTLY_WRONG]}: a cross`],
    [RIGHT, false, "not in training: hollow"],
  ];
  return entries.map(([verdict, seen, text]) => h("li", {}, sample(verdict, seen, colours), " ", text));
}
