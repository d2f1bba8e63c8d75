/**
 * What a split lets through: held-out problems whose twin, the same operands in the other
 * order, may be trained on. `export/facts/data.py` counts the same.
 */
import { LARGEST_OPERAND, SPLIT_PARTS, SPLIT_SALT, splitOfPart, splitPart } from "./problems.mjs";
import { mix32 } from "./random32.mjs";

/** @typedef {import("./problems.mjs").Operation} Operation */
/** @typedef {(a: number, operation: Operation, b: number) => number} PartOf */
/** @typedef {{operation: Operation, heldOut: number, twins: number}} Leak */

const OPERANDS = LARGEST_OPERAND + 1;
const SLICE_MS = 30; // then the page gets its turn

/** The part of a problem by its pair of operands: the course's rule. @type {PartOf} */
export const byPair = (a, _, b) => splitPart(a, b);

/** The part of a problem as it is written: the careless rule. @type {PartOf} */
export function byProblem(a, operation, b) {
  const number = (Number(operation === "-") * OPERANDS + a) * OPERANDS + b;
  return mix32(SPLIT_SALT + number) % SPLIT_PARTS;
}

/**
 * Count, over all sums and all differences, the held-out problems and those with a twin in training.
 * @param {PartOf} partOf
 * @returns {Promise<Leak[]>}
 */
export async function countLeaks(partOf) {
  /** @type {Leak[]} */
  const leaks = [
    { operation: "+", heldOut: 0, twins: 0 },
    { operation: "-", heldOut: 0, twins: 0 },
  ];
  let sliceEnd = performance.now() + SLICE_MS;
  for (let a = 0; a < OPERANDS; a += 1) {
    for (const leak of leaks) countRow(partOf, a, leak);
    if (performance.now() > sliceEnd) {
      await new Promise((resolve) => setTimeout(resolve));
      sliceEnd = performance.now() + SLICE_MS;
    }
  }
  return leaks;
}

/** Add the problems whose first operand is `a`. @param {PartOf} partOf @param {number} a @param {Leak} leak */
function countRow(partOf, a, leak) {
  for (let b = 0; b < OPERANDS; b += 1) {
    if (splitOfPart(partOf(a, leak.operation, b)) !== "held-out") continue;
    leak.heldOut += 1;
    if (splitOfPart(partOf(b, leak.operation, a)) === "train") leak.twins += 1;
  }
}
