/**
 * The fixed list of held-out problems of chapter 9, answered on this device with parts of the
 * network switched off. The list and the width of an interval come from `export/ablation.py`.
 */
import { ablation } from "../generated/ablation.mjs";
import { manifest } from "../generated/manifest.mjs";
import { answer, prompt, readProblem } from "./problems.mjs";
import { EOS_ID, encode } from "./tokenizer.mjs";

/** @typedef {import("./problems.mjs").Problem} Problem */
/** @typedef {{problem: Problem, written: number[], right: boolean}} Graded token IDs, with EOS where it came */
/** @typedef {{sums: number, differences: number, total: number}} Count how many are right */

/** @type {Problem[]} */
export const PROBLEMS = ablation.problems.map(readProblem);
export const SWITCHES = manifest.model.switches;

/** Few enough that Stop is quick and the bar moves, enough to use the processor well. */
const ROWS_A_BATCH = 20;

/** The graph's input: 0 for each named switch, 1 for the others. @param {Iterable<string>} off */
export function switchValues(off) {
  const names = new Set(off);
  return SWITCHES.map(({ name }) => Number(!names.has(name)));
}

/** Places in the list, those of one prompt length together, in batches. */
function batches() {
  const places = PROBLEMS.map((problem, place) => ({ place, length: prompt(problem).length }));
  const sorted = places.toSorted((one, other) => one.length - other.length).map(({ place }) => place);
  return Array.from({ length: Math.ceil(sorted.length / ROWS_A_BATCH) }, (_, index) =>
    sorted.slice(index * ROWS_A_BATCH, (index + 1) * ROWS_A_BATCH),
  );
}

/** @param {Problem} problem @param {number[]} written */
function isRight(problem, written) {
  const wanted = [...encode(answer(problem)).slice(1), EOS_ID];
  return written.length === wanted.length && written.every((token, place) => token === wanted[place]);
}

/**
 * Let the model answer the whole list by greedy decoding, batch after batch.
 * @param {import("./engine.mjs").engine} engine
 * @param {string} model key in the manifest
 * @param {Iterable<string>} off names of the switches that are off
 * @param {{onProgress?: (done: number) => void, signal?: AbortSignal}} [options]
 * @returns {Promise<Graded[]>} in the list's order; shorter than the list when `signal` was aborted
 */
export async function answerList(engine, model, off, { onProgress, signal } = {}) {
  const switches = switchValues(off);
  /** @type {Graded[]} */
  const graded = [];
  let done = 0;
  for (const places of batches()) {
    const prompts = places.map((place) => encode(prompt(PROBLEMS[place])));
    const answers = await engine.answer(model, prompts, { graph: "inside", switches });
    if (signal?.aborted) break;
    answers.forEach(({ written }, index) => {
      const problem = PROBLEMS[places[index]];
      graded[places[index]] = { problem, written, right: isRight(problem, written) };
    });
    done += places.length;
    onProgress?.(done);
  }
  return done === PROBLEMS.length ? graded : graded.filter(Boolean);
}

/** @param {Graded[]} graded @returns {Count} */
export function count(graded) {
  const right = graded.filter((one) => one.right);
  const sums = right.filter(({ problem }) => problem.operation === "+").length;
  return { sums, differences: right.length - sums, total: right.length };
}

/**
 * The 95 % interval of a share that was measured on `all` problems (Wilson, 1927).
 * @param {number} right
 * @param {number} all
 * @returns {[number, number]}
 */
function interval(right, all) {
  const [share, z2] = [right / all, ablation.normal_95 ** 2];
  const middle = share + z2 / (2 * all);
  const spread = ablation.normal_95 * Math.sqrt((share * (1 - share)) / all + z2 / (4 * all ** 2));
  return [(middle - spread) / (1 + z2 / all), (middle + spread) / (1 + z2 / all)];
}

/** `78.3 to 88.4 %`. @param {number} right @param {number} all */
export const shownInterval = (right, all) =>
  `${interval(right, all).map((end) => (100 * end).toFixed(1)).join(" to ")} %`;

/** `84.0 %`, rounded down: 100.0 % means all. @param {number} right @param {number} all */
export const percent = (right, all) => `${(Math.floor((1000 * right) / all) / 10).toFixed(1)} %`;
