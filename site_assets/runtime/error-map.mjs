/**
 * The map of chapter 8: every sum or every difference of operands 0 to 99, what was answered,
 * and whether training had seen it. No element here: the page and the benchmark share it.
 */
import { manifest } from "../generated/manifest.mjs";
import { CONFIDENT } from "./greedy.mjs";
import { answer, prompt, splitOf } from "./problems.mjs";
import { EOS_ID, encode, tokenName } from "./tokenizer.mjs";

/** @typedef {import("./problems.mjs").Operation} Operation */
/** @typedef {import("./problems.mjs").Problem} Problem */
/** @typedef {import("./problems.mjs").Split} Split */

export const SIDE = manifest.answers.map_operands; // operands 0 to SIDE - 1
export const CELLS = SIDE * SIDE;
const ROWS_A_BATCH = 200; // in one worker's request: short enough to show progress, long enough to be quick

/** What is known of a cell. */
export const UNKNOWN = 0;
export const RIGHT = 1;
export const WRONG = 2;
export const CONFIDENTLY_WRONG = 3;

/** Cells count from a = 0, b = 0; b runs first. @param {number} a @param {number} b */
export const cellOf = (a, b) => a * SIDE + b;

/** @param {Operation} operation @param {number} cell @returns {Problem} */
export const problemAt = (operation, cell) => ({ a: Math.floor(cell / SIDE), operation, b: cell % SIDE });

/** The answers to one map's problems, as far as they were computed. */
export class ErrorMap {
  /** @param {Operation} operation */
  constructor(operation) {
    this.operation = operation;
    /** What is known of each cell. */
    this.verdicts = new Uint8Array(CELLS);
    /** Probability of what was written: the product over its tokens. */
    this.probabilities = new Float64Array(CELLS);
    /** @type {(string | undefined)[]} what was written, EOS left out; see `finished` */
    this.written = Array(CELLS);
    /** Whether EOS ended what was written. */
    this.finished = new Uint8Array(CELLS);
    /** @type {Split[]} */
    this.sides = Array.from({ length: CELLS }, (_, cell) => {
      const { a, b } = problemAt(operation, cell);
      return splitOf(a, b);
    });
  }

  /** @param {number} cell @param {import("./greedy.mjs").Answer & {right: boolean}} graded */
  set(cell, { written, probability, right }) {
    const wrong = probability > CONFIDENT ? CONFIDENTLY_WRONG : WRONG;
    this.verdicts[cell] = right ? RIGHT : wrong;
    this.probabilities[cell] = probability;
    this.finished[cell] = Number(written.at(-1) === EOS_ID);
    this.written[cell] = written.filter((token) => token !== EOS_ID).map(tokenName).join("");
  }

  /** The cells that are wrong: the confident ones first, the likelier before the others. */
  wrongCells() {
    const cells = Array.from({ length: CELLS }, (_, cell) => cell).filter((cell) => this.verdicts[cell] >= WRONG);
    return cells.sort(
      (one, other) =>
        this.verdicts[other] - this.verdicts[one] || this.probabilities[other] - this.probabilities[one] || one - other,
    );
  }

  /**
   * Counts by side of the split, and of all.
   * @returns {Record<Split | "all", Counts>}
   */
  counts() {
    const none = () => ({ problems: 0, computed: 0, right: 0, wrong: 0, confident: 0 });
    const counts = { train: none(), tuning: none(), "held-out": none(), all: none() };
    this.sides.forEach((side, cell) => {
      const verdict = this.verdicts[cell];
      for (const row of [counts[side], counts.all]) {
        row.problems += 1;
        row.computed += Number(verdict !== UNKNOWN);
        row.right += Number(verdict === RIGHT);
        row.wrong += Number(verdict >= WRONG);
        row.confident += Number(verdict === CONFIDENTLY_WRONG);
      }
    });
    return counts;
  }
}

/** @typedef {{problems: number, computed: number, right: number, wrong: number, confident: number}} Counts */

/**
 * The map of a table that stores every training line and knows nothing else: right on what it
 * saw, and no answer to the rest, which counts as wrong.
 * @param {Operation} operation
 */
export function lookupTable(operation) {
  const map = new ErrorMap(operation);
  map.sides.forEach((side, cell) => {
    const known = side === "train";
    map.verdicts[cell] = known ? RIGHT : WRONG;
    map.probabilities[cell] = Number(known);
    map.finished[cell] = 1;
    map.written[cell] = known ? answer(problemAt(operation, cell)) : "";
  });
  return map;
}

/**
 * The cells of a map in batches for `engine.grade`: rows of one shape together, so that they run as one.
 * @param {Operation} operation
 * @returns {number[][]}
 */
export function mapBatches(operation) {
  const cells = Array.from({ length: CELLS }, (_, cell) => cell);
  const shapes = Map.groupBy(cells, (cell) => {
    const problem = problemAt(operation, cell);
    return prompt(problem).length * SIDE + answer(problem).length;
  });
  const batches = [...shapes.values()].flatMap((members) =>
    Array.from({ length: Math.ceil(members.length / ROWS_A_BATCH) }, (_, index) =>
      members.slice(index * ROWS_A_BATCH, (index + 1) * ROWS_A_BATCH),
    ),
  );
  return batches.sort((one, other) => other.length - one.length); // the short ones even out the workers' ends
}

/** A cell as `engine.grade` reads it. @param {Operation} operation @param {number} cell */
function knownProblem(operation, cell) {
  const problem = problemAt(operation, cell);
  return { prompt: encode(prompt(problem)), answer: [...encode(answer(problem)).slice(1), EOS_ID] };
}

/**
 * Compute a map on this device, batch after batch.
 * @param {import("./engine.mjs").engine} engine
 * @param {string} model key in the manifest
 * @param {Operation} operation
 * @param {(map: ErrorMap, cells: number[]) => void} onCells called with the cells that a batch settled
 * @param {AbortSignal} signal ends the work, at once and without an error
 */
export async function computeMap(engine, model, operation, onCells, signal) {
  const map = new ErrorMap(operation);
  const batches = mapBatches(operation);
  await engine.grade(
    model,
    batches.map((cells) => () => cells.map((cell) => knownProblem(operation, cell))),
    (batch, graded) => {
      graded.forEach((answered, index) => map.set(batches[batch][index], answered));
      onCells(map, batches[batch]);
    },
    signal,
  );
}
