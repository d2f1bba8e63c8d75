/**
 * Greedy decoding of many rows at once, and grading it against known answers.
 * Pure: what scores a batch is handed in, so that Node and the worker run the same code.
 */
import { manifest } from "../generated/manifest.mjs";
import { topToken } from "./scores.mjs";
import { EOS_ID, VOCABULARY_SIZE } from "./tokenizer.mjs";

const LONGEST_ANSWER = manifest.answers.longest;
const CONTEXT = manifest.model.config.context_length;
const FAST_MARGIN = manifest.model.fast_margin;
const ROWS_A_RUN = 250;
/** Wrong answers with more than this probability count as confident. */
export const CONFIDENT = manifest.answers.confident;

/**
 * Logits of some positions of rows that all have one length: [rows, positions, 98].
 * @typedef {(rows: number[][], positions: number[]) => Promise<Float32Array>} Score
 */

/**
 * What greedy decoding wrote after a prompt: token IDs with EOS, where it came; the product of their
 * probabilities; and the smallest lead of a chosen token over the next one, in logits.
 * @typedef {{written: number[], probability: number, margin: number}} Answer
 */

/** The token with the highest logit, its lead and its probability. @param {Float32Array} logits */
function best(logits) {
  const top = topToken(logits);
  let second = -Infinity;
  let sum = 0;
  for (let id = 0; id < logits.length; id += 1) {
    if (id !== top && logits[id] > second) second = logits[id];
    sum += Math.exp(logits[id] - logits[top]);
  }
  return { token: top, lead: logits[top] - second, probability: 1 / sum };
}

/** Rows of one length together, at most ROWS_A_RUN in a group. @template {{ids: number[]}} Row @param {Row[]} rows */
function groups(rows) {
  const byLength = Map.groupBy(rows, ({ ids }) => ids.length);
  return [...byLength.values()].flatMap((members) =>
    Array.from({ length: Math.ceil(members.length / ROWS_A_RUN) }, (_, index) =>
      members.slice(index * ROWS_A_RUN, (index + 1) * ROWS_A_RUN),
    ),
  );
}

/**
 * Write after each prompt until EOS, the longest answer, or a full context.
 * @param {Score} score
 * @param {number[][]} prompts token IDs, of any lengths
 * @returns {Promise<Answer[]>}
 */
export async function greedyAnswers(score, prompts) {
  const rows = prompts.map((ids) => ({ ids: [...ids], written: [], probability: 1, margin: Infinity }));
  await goOn(score, rows);
  return rows.map(({ written, probability, margin }) => ({ written, probability, margin }));
}

/** @param {Score} score @param {(Answer & {ids: number[]})[]} rows extended in place */
async function goOn(score, rows) {
  const isOpen = (/** @type {Answer & {ids: number[]}} */ { ids, written }) =>
    written.at(-1) !== EOS_ID && written.length < LONGEST_ANSWER && ids.length <= CONTEXT;
  for (let open = rows.filter(isOpen); open.length > 0; open = open.filter(isOpen)) {
    for (const group of groups(open)) {
      const last = group[0].ids.length - 1;
      const logits = await score(group.map(({ ids }) => ids), [last]);
      group.forEach((row, index) => {
        write(row, best(logits.subarray(index * VOCABULARY_SIZE, (index + 1) * VOCABULARY_SIZE)));
      });
    }
  }
}

/** @param {Answer & {ids: number[]}} row @param {ReturnType<typeof best>} choice */
function write(row, { token, lead, probability }) {
  row.ids.push(token);
  row.written.push(token);
  row.probability *= probability;
  row.margin = Math.min(row.margin, lead);
}

/**
 * Grade problems whose answers are known: the verdict of real greedy decoding.
 *
 * One pass in float32 with the right answer in the row settles a problem whose every token leads
 * clearly. Where the top token is another, decoding goes on from there. Where two scores lie so
 * close that float32 could mistake them, the problem is decoded again in float64.
 * @param {Score} fast
 * @param {Score} exact
 * @param {{prompt: number[], answer: number[]}[]} problems token IDs; an answer ends in EOS
 * @returns {Promise<(Answer & {right: boolean})[]>}
 */
export async function grade(fast, exact, problems) {
  const rows = problems.map(({ prompt, answer }) => ({
    ids: [...prompt],
    /** @type {number[]} */ written: [],
    probability: 1,
    margin: Infinity,
    prompt,
    answer,
    key: prompt.length * CONTEXT + answer.length,
  }));
  for (const members of Map.groupBy(rows, ({ key }) => key).values()) await followAnswers(fast, members);
  await goOn(fast, rows);
  const close = rows.filter(
    ({ margin, probability }) => margin < FAST_MARGIN || Math.abs(probability - CONFIDENT) < FAST_MARGIN,
  );
  const again = await greedyAnswers(exact, close.map(({ prompt }) => prompt));
  close.forEach((row, index) => Object.assign(row, again[index]));
  return rows.map(({ written, probability, margin, answer }) => ({
    written,
    probability,
    margin,
    right: written.length === answer.length && written.every((token, place) => token === answer[place]),
  }));
}

/**
 * Write as long as the top token is the answer's, and the first one that is not, in one pass.
 * @param {Score} fast
 * @param {(Answer & {ids: number[], prompt: number[], answer: number[]})[]} rows of one shape
 */
async function followAnswers(fast, rows) {
  for (let start = 0; start < rows.length; start += ROWS_A_RUN) {
    const group = rows.slice(start, start + ROWS_A_RUN);
    const { prompt, answer } = group[0];
    const places = answer.map((_, place) => prompt.length - 1 + place);
    const lines = group.map((row) => [...row.prompt, ...row.answer.slice(0, -1)]);
    const logits = await fast(lines, places);
    group.forEach((row, index) => {
      for (let place = 0; place < answer.length; place += 1) {
        const offset = (index * answer.length + place) * VOCABULARY_SIZE;
        write(row, best(logits.subarray(offset, offset + VOCABULARY_SIZE)));
        if (row.written[place] !== row.answer[place]) break;
      }
    });
  }
}
