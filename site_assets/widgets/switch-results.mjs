/** What `switch-board` shows: the table of before and after, and examples of what changed. */
import { PROBLEMS, count, percent, shownInterval } from "../runtime/ablation.mjs";
import { answer, prompt } from "../runtime/problems.mjs";
import { listInWords } from "../runtime/switch-names.mjs";
import { EOS_ID, displayName, isNamed } from "../runtime/tokenizer.mjs";
import { h } from "./dom.mjs";

/** @typedef {import("../runtime/ablation.mjs").Graded} Graded */
/** @typedef {import("../runtime/ablation.mjs").Count} Count */

const ALL = PROBLEMS.length;
const SUMS = PROBLEMS.filter(({ operation }) => operation === "+").length;
const EXAMPLES = 6;

/** `200 of 200 (100.0 %)`. @param {number} right */
const ofAll = (right) => `${right} of ${ALL} (${percent(right, ALL)})`;

/**
 * The result in a sentence or two, for the status line.
 * @param {Count} before @param {Count} after @param {string[]} off
 */
export function outcomeLine(before, after, off) {
  if (off.length === 0) return `With all switches on, ${ofAll(before.total)} are right.`;
  return `Off: ${listInWords(off)}. Right before: ${ofAll(before.total)}. Right after: ${ofAll(after.total)}.`;
}

/** The lines of the comparison: what is counted, and its text for a count. @type {[string, (counted: Count) => string | number][]} */
const MEASURES = [
  [`a+b, of ${SUMS}`, ({ sums }) => sums],
  [`a−b, of ${ALL - SUMS}`, ({ differences }) => differences],
  [`Right, of ${ALL}`, ({ total }) => total],
  ["Share", ({ total }) => percent(total, ALL)],
  ["95 % interval", ({ total }) => shownInterval(total, ALL)],
];

/**
 * Counts before and after, with the interval of each share.
 * @param {Graded[]} before @param {Graded[]} after @param {string[]} off
 */
export function comparisonTable(before, after, off) {
  const columns = [{ title: "Before: all on", counted: count(before) }];
  if (off.length > 0) columns.push({ title: `After: ${off.length} off`, counted: count(after) });
  const line = (/** @type {(typeof MEASURES)[number]} */ [name, text]) =>
    h("tr", {}, h("th", { scope: "row" }, name), ...columns.map(({ counted }) => h("td", {}, text(counted))));
  return h(
    "div",
    { class: "live-scroll" },
    h(
      "table",
      { class: "live-table board-table" },
      h("caption", {}, `Answers to the same ${ALL} held-out problems, by greedy decoding.`),
      h("thead", {}, h("tr", {}, h("td"), ...columns.map(({ title }) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, ...MEASURES.map(line)),
    ),
  );
}

/** What was written, as text; a sign without a character by its name. @param {number[]} written */
export function writtenText(written) {
  const ended = written.at(-1) === EOS_ID;
  const tokens = ended ? written.slice(0, -1) : written;
  const text = tokens.map((id) => (isNamed(id) ? `[${displayName(id)}]` : displayName(id))).join("");
  if (!ended) return `${text} (no EOS)`;
  return text === "" ? "nothing, EOS at once" : text;
}

/**
 * How many verdicts changed, and the first few of them.
 * @param {Graded[]} before @param {Graded[]} after @param {string[]} off
 */
export function changesView(before, after, off) {
  if (off.length === 0) return [];
  const lost = after.filter((one, place) => before[place].right && !one.right);
  const won = after.filter((one, place) => !before[place].right && one.right);
  const says = `${lost.length} went from right to wrong, ${won.length} from wrong to right.`;
  const shown = spread([...lost, ...won], EXAMPLES);
  if (shown.length === 0) return [h("p", { class: "board-changes" }, says)];
  const columns = ["Problem", "Answer", "Written", "Verdict"];
  const line = (/** @type {Graded} */ { problem, written, right }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("code", {}, prompt(problem))),
      h("td", {}, h("code", {}, answer(problem))),
      h("td", {}, h("code", {}, writtenText(written))),
      h("td", {}, right ? "right" : "wrong"),
    );
  return [
    h("p", { class: "board-changes" }, says),
    h(
      "div",
      { class: "live-scroll" },
      h(
        "table",
        { class: "live-table board-examples" },
        h("caption", {}, `${shown.length} of the ${lost.length + won.length} that changed.`),
        h("thead", {}, h("tr", {}, ...columns.map((title) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, ...shown.map(line)),
      ),
    ),
  ];
}

/** At most `most` of the items, evenly spread over them. @template Item @param {Item[]} items @param {number} most */
function spread(items, most) {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, index) => items[Math.floor((index * items.length) / most)]);
}
