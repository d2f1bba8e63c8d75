/** One step of writing as a card: what was fed in, the top scores of what comes next, what was chosen. */
import { distribution } from "../runtime/sampling.mjs";
import { probabilities } from "../runtime/scores.mjs";
import { VOCABULARY_SIZE } from "../runtime/tokenizer.mjs";
import { h } from "./dom.mjs";
import { percent } from "./percent.mjs";
import { tokenLabel } from "./token-label.mjs";

const TOP = 5;

/** @typedef {import("../runtime/writing.mjs").Step} Step */
/** @typedef {import("../runtime/writing.mjs").Settings} Settings */

/**
 * The token IDs that a card lists: the top scores, and the chosen token if it is none of them.
 * @param {Step} step
 */
function listed({ logits, token }) {
  const order = Array.from(logits, (_, id) => id).sort((a, b) => logits[b] - logits[a] || a - b);
  const top = order.slice(0, TOP);
  return top.includes(token) ? top : [...top, token];
}

/** @param {string} title */
const column = (title) => h("th", { scope: "col" }, title);

/**
 * A list item for a step of greedy writing, or of sampling when `settings` has a temperature.
 * @param {number} number of the step, from 1
 * @param {Step} step
 * @param {Settings} settings
 */
export function stepCard(number, step, { temperature, topK }) {
  const { fed, logits, draw, token, end } = step;
  const isSampled = temperature > 0;
  const before = probabilities(logits);
  const after = distribution(logits, temperature, topK);
  const ids = listed(step);
  const titles = isSampled ? ["Token", "Before", "After"] : ["Token", "Logit", "Probability"];
  const values = (/** @type {number} */ id) =>
    isSampled ? [percent(before[id]), percent(after[id])] : [logits[id].toFixed(2), percent(before[id])];
  const others = (/** @type {number[]} */ shares) => 1 - ids.reduce((sum, id) => sum + shares[id], 0);
  const rest = isSampled ? [percent(Math.max(0, others(before))), percent(Math.max(0, others(after)))] : ["", percent(Math.max(0, others(before)))];
  return h(
    "li",
    { class: "step-card", "data-step": number },
    h("p", { class: "step-title" }, `Step ${number}`),
    h("p", { class: "step-fed" }, "Fed in: ", ...fed.flatMap((id) => [tokenLabel(id), " "])),
    h(
      "table",
      { class: "live-table" },
      h("thead", {}, h("tr", {}, ...titles.map(column))),
      h(
        "tbody",
        {},
        ...ids.map((id) => line(id, values(id), isSampled ? after[id] : before[id], id === token)),
        h("tr", { class: "step-rest" }, h("th", { scope: "row" }, `${VOCABULARY_SIZE - ids.length} others`), ...rest.map((text) => h("td", {}, text))),
      ),
    ),
    h(
      "p",
      { class: "step-chosen" },
      isSampled ? `Draw ${draw.toFixed(4)} takes ` : "Chosen: ",
      tokenLabel(token),
      end ? `. ${ENDS[end]}` : ".",
    ),
  );
}

const ENDS = {
  EOS: "The text is complete.",
  "PAD or BOS": "It has no character, so the writing stops.",
  "context full": "The context is full, so the writing stops.",
};

/** @param {number} id @param {string[]} values @param {number} share @param {boolean} isChosen */
function line(id, values, share, isChosen) {
  const bar = h("span", { class: "score-bar", "aria-hidden": "true" });
  bar.style.inlineSize = `${100 * share}%`;
  const [first, second] = values;
  const mark = isChosen ? h("span", { class: "step-mark" }, " chosen") : null;
  return h(
    "tr",
    { "data-id": id, class: isChosen ? "step-row step-row--chosen" : "step-row" },
    h("th", { scope: "row" }, tokenLabel(id), mark),
    h("td", {}, first),
    h("td", {}, bar, second),
  );
}
