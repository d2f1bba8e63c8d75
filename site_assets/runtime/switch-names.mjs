/** What the switches are called on the page. */
import { manifest } from "../generated/manifest.mjs";

/** @typedef {{name: string, kind: string, block: number | null, head: number | null}} Switch */

/** The divisor of the scores: the square root of a head's width. */
const HEAD_WIDTH = manifest.model.config.width / manifest.model.config.n_heads;

/** @type {Record<string, (one: Switch) => string>} */
const LABELS = {
  positions: () => "Position rows",
  mask: () => "Causal mask",
  scale: () => `Scaling by 1/√${HEAD_WIDTH}`,
  head: ({ head }) => `Head ${head}`,
  attention_add: () => "Residual add of attention",
  feed_forward: () => "Feed-forward",
  feed_forward_add: () => "Residual add of feed-forward",
};

/** @param {Switch} one */
export const label = (one) => LABELS[one.kind](one);

/** `head 3 of block 2`, `causal mask`. @param {string} name */
export function inWords(name) {
  const one = manifest.model.switches.find((/** @type {Switch} */ candidate) => candidate.name === name);
  const text = label(one);
  const lower = text[0].toLowerCase() + text.slice(1);
  return one.block ? `${lower} of block ${one.block}` : lower;
}

/** `head 3 of block 2 and causal mask`; "nothing" for none. @param {string[]} names */
export function listInWords(names) {
  const words = names.map(inWords);
  if (words.length < 2) return words[0] ?? "nothing";
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
