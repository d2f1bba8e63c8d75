/** The questions of the final test as elements: those of the bank, and fresh ones from templates. */
import { TEMPLATES, freshQuestion } from "../runtime/fresh-questions.mjs";
import { shuffleKey } from "../runtime/seeded.mjs";
import { h } from "./dom.mjs";

export const GATE_SIZE = 12;
const FRESH_AT_LEAST = 6;

/**
 * @typedef {{name: string, chapter: number, make: () => HTMLElement}} Drawn
 */

/**
 * Draw the questions of a seed: half of them fresh, more where the bank is small.
 * @param {number} seed
 * @param {HTMLElement[]} bank the static questions of the page
 * @returns {Drawn[]}
 */
export function drawGate(seed, bank) {
  const byKey = (/** @type {Drawn[]} */ all) => all.toSorted((x, y) => shuffleKey(seed, x.name) - shuffleKey(seed, y.name));
  const fixed = byKey(bank.map((source) => ({ name: source.dataset.name, chapter: Number(source.dataset.chapter), make: () => fromBank(source) })));
  const fresh = byKey(
    Object.entries(TEMPLATES).map(([template, { chapter }]) => ({ name: `fresh-${template}`, chapter, make: () => fromTemplate(template, seed) })),
  );
  const chosen = fixed.slice(0, GATE_SIZE - FRESH_AT_LEAST);
  return byKey([...chosen, ...fresh.slice(0, GATE_SIZE - chosen.length)]);
}

/** @param {Record<string, string>} attributes @param {Node[]} content */
function questionElement(attributes, content) {
  const element = document.createElement("course-question");
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.setAttribute("unrecorded", "");
  element.append(...content);
  return element;
}

/** @param {HTMLElement} source */
function fromBank(source) {
  const { name, kind, compute } = source.dataset;
  const content = [...source.cloneNode(true).childNodes];
  return questionElement({ name, kind, ...(compute && { compute }) }, content);
}

/** The content that `readQuestion` reads. @param {string} template @param {number} seed */
function fromTemplate(template, seed) {
  const { id, text, options, compute, computed } = freshQuestion(template, seed);
  const rule = (/** @type {import("../runtime/fresh-questions.mjs").FreshOption} */ option) => ({
    ...(option.right && { "data-right": "true" }),
    ...(option.otherwise && { "data-otherwise": "true" }),
    ...(option.value !== undefined && { "data-value": JSON.stringify(option.value) }),
  });
  return questionElement({ name: id, kind: "check", ...(compute && { compute: JSON.stringify(compute) }) }, [
    h("p", { class: "question-kind" }, "With fresh numbers"),
    h("p", { class: "question-text" }, ...inline(text)),
    h("ul", { class: "question-options" }, ...options.map((option) => h("li", rule(option), ...inline(option.text)))),
    h("p", { class: "question-computed" }, ...inline(computed ?? "")),
    h("ul", {}, ...options.map(({ why }) => h("li", { class: "question-why" }, ...inline(why)))),
  ]);
}

/** Text with `code` in backticks; `{value}` becomes the place for what is computed. @param {string} text @returns {Node[]} */
function inline(text) {
  return text.split(/(`[^`]*`|\{value\})/).map((part) => {
    if (part === "{value}") return h("code", { class: "question-value" });
    return part.startsWith("`") ? h("code", {}, part.slice(1, -1)) : document.createTextNode(part);
  });
}
