/** Training problems in the order that training draws them: `tiny_gpt/data.py`, candidate by candidate. */
import { manifest } from "../generated/manifest.mjs";
import { LARGEST_OPERAND, splitOf } from "./problems.mjs";
import { draws } from "./random32.mjs";

/** @typedef {import("./problems.mjs").Problem} Problem */

/**
 * How problems are drawn; shares are whole per cents. See `Mix` in data.py.
 * @typedef {{minus: number, near: number, nines: number, ranges: number[], near_distance: number}} Mix
 */

/** The mix that training used. @type {Mix} */
export const MIX = manifest.data.mix;
const DRAWS_PER_CANDIDATE = manifest.data.draws_per_candidate;

/** @param {number} value @param {number} low @param {number} high */
const clip = (value, low, high) => Math.min(Math.max(value, low), high);

/** @param {Uint32Array} drawn DRAWS_PER_CANDIDATE draws @param {Mix} mix @returns {Problem} */
function candidate([first, scaleA, scaleB, valueA, valueB], mix) {
  const operation = first % 100 < mix.minus ? "-" : "+";
  const kind = Math.floor(first / 100) % 100;
  const rangeA = mix.ranges[scaleA % mix.ranges.length];
  const rangeB = mix.ranges[scaleB % mix.ranges.length];
  const a = valueA % rangeA;
  if (kind < mix.near) {
    const distance = (valueB % (2 * mix.near_distance + 1)) - mix.near_distance;
    return { a, operation, b: clip(a + distance, 0, LARGEST_OPERAND) };
  }
  if (kind < mix.near + mix.nines) {
    return { a, operation, b: clip(rangeA - 1 - a + (valueB % 3) - 1, 0, rangeA - 1) };
  }
  return { a, operation, b: valueB % rangeB };
}

/**
 * Candidates `start` to `start + count - 1` of a seed, of any split.
 * @param {number} seed
 * @param {number} start
 * @param {number} count
 * @param {Mix} [mix]
 * @returns {Problem[]}
 */
export function candidates(seed, start, count, mix = MIX) {
  const size = DRAWS_PER_CANDIDATE;
  const drawn = draws(seed, start * size, count * size);
  return Array.from({ length: count }, (_, i) => candidate(drawn.subarray(i * size, (i + 1) * size), mix));
}

/** The candidates that the split allows, in order. Its whole state is `nextCandidate`. */
export class ProblemStream {
  /**
   * @param {number} seed
   * @param {Mix} [mix]
   * @param {number} [nextCandidate]
   */
  constructor(seed, mix = MIX, nextCandidate = 0) {
    this.seed = seed;
    this.mix = mix;
    this.nextCandidate = nextCandidate;
  }

  /** The next `count` training problems. @param {number} count */
  take(count) {
    /** @type {Problem[]} */
    const taken = [];
    while (taken.length < count) {
      const [problem] = candidates(this.seed, this.nextCandidate, 1, this.mix);
      this.nextCandidate += 1;
      if (splitOf(problem.a, problem.b) === "train") taken.push(problem);
    }
    return taken;
  }
}
