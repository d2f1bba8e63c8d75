/** A question as its static HTML says it: the structure that `export/questions/page.py` writes. */

/** @typedef {import("../runtime/computations.mjs").Value} Value */

/**
 * @typedef {{content: Node[], why: Node[], isRight: (value: Value) => boolean, otherwise: boolean}} Option
 * @typedef {{answer: number | null, tolerance: number, unit: string, right: Node[], wrong: Node[]}} NumberAnswer
 * @typedef {{id: string, kind: string, title: string, text: Node[], options: Option[], number: NumberAnswer | null,
 *   compute: ({function: string} & Record<string, any>) | null, computed: Node[], solution: Node[]}} Question
 */

/** Copies of an element's content. @param {Element | null} element @returns {Node[]} */
export const copied = (element) => [...(element?.cloneNode(true).childNodes ?? [])];

/** @param {HTMLElement} root @returns {Question} */
export function readQuestion(root) {
  const find = (/** @type {string} */ name) => /** @type {HTMLElement | null} */ (root.querySelector(`.question-${name}`));
  const compute = root.getAttribute("compute");
  const whys = [...root.querySelectorAll(".question-why")];
  const number = find("number");
  return {
    id: root.getAttribute("name"),
    kind: root.getAttribute("kind"),
    title: find("kind").textContent,
    text: copied(find("text")),
    options: [...root.querySelectorAll(".question-options > li")].map((item, index) => ({
      content: copied(item),
      why: copied(whys[index]),
      ...readRule(/** @type {HTMLElement} */ (item).dataset),
    })),
    number: number && {
      answer: number.dataset.answer === undefined ? null : Number(number.dataset.answer),
      tolerance: Number(number.dataset.tolerance),
      unit: number.dataset.unit,
      right: copied(find("why-right")),
      wrong: copied(find("why-wrong")),
    },
    compute: compute && JSON.parse(compute),
    computed: copied(find("computed")),
    solution: copied(find("solution")),
  };
}

/** When an option is right. @param {DOMStringMap} data @returns {Pick<Option, "isRight" | "otherwise">} */
function readRule({ right, value, from = "-Infinity", below = "Infinity", otherwise }) {
  const rule = (/** @type {(computed: Value) => boolean} */ isRight) => ({ isRight, otherwise: otherwise !== undefined });
  if (otherwise !== undefined) return rule(() => false);
  if (value !== undefined) return rule((computed) => computed === JSON.parse(value));
  if (from !== "-Infinity" || below !== "Infinity") {
    return rule((computed) => typeof computed === "number" && Number(from) <= computed && computed < Number(below));
  }
  return rule(() => right !== undefined);
}

/** The option that is right; `value` is what was computed, if anything was. @param {Option[]} options @param {Value} value */
export function rightOption(options, value) {
  const fitting = options.findIndex(({ isRight }) => isRight(value));
  return fitting >= 0 ? fitting : options.findIndex(({ otherwise }) => otherwise);
}

/** Put a value into the places of copied content that wait for one. @param {Node[]} content @param {string} shownValue @returns {Node[]} */
export function withValue(content, shownValue) {
  for (const node of content) {
    if (!(node instanceof Element)) continue;
    const places = [node, ...node.querySelectorAll("*")].filter((element) => element.classList.contains("question-value"));
    for (const place of places) place.textContent = shownValue;
  }
  return content;
}
