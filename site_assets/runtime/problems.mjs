/**
 * Problems, the split that decides which may be trained on, and rows of token IDs:
 * the same answers as `tiny_gpt/data.py`, from constants that Python exports.
 */
import { manifest } from "../generated/manifest.mjs";
import { mix32 } from "./random32.mjs";
import { EOS_ID, PAD_ID, encode } from "./tokenizer.mjs";

/** @typedef {"+" | "-"} Operation */
/** @typedef {{a: number, operation: Operation, b: number}} Problem operands are whole numbers 0 to LARGEST_OPERAND */
/** @typedef {"train" | "tuning" | "held-out"} Split */

const { split, row_length: ROW_LENGTH } = manifest.data;
export const LARGEST_OPERAND = manifest.prompt.largest_operand;
export const SPLIT_SALT = split.salt;
export const SPLIT_PARTS = split.parts;
export const HELD_OUT_PARTS = split.held_out_parts;
export const TUNING_PARTS = split.tuning_parts;

/**
 * One number for an unordered pair of operands, 0 to 999,999: the smaller, then the larger.
 * @param {number} a
 * @param {number} b
 */
export const pairNumber = (a, b) => Math.min(a, b) * (LARGEST_OPERAND + 1) + Math.max(a, b);

/**
 * The part, 0 to SPLIT_PARTS - 1, of an unordered pair of operands: a+b, b+a, a-b and b-a share it.
 * @param {number} a
 * @param {number} b
 */
export const splitPart = (a, b) => mix32(SPLIT_SALT + pairNumber(a, b)) % SPLIT_PARTS;

/**
 * The first parts are held out, the next are for tuning, the rest is trained on.
 * @param {number} part
 * @returns {Split}
 */
export function splitOfPart(part) {
  if (part < HELD_OUT_PARTS) return "held-out";
  return part < HELD_OUT_PARTS + TUNING_PARTS ? "tuning" : "train";
}

/** @param {number} a @param {number} b */
export const splitOf = (a, b) => splitOfPart(splitPart(a, b));

/** The text the model is asked to continue: `7-12=`. @param {Problem} problem */
export const prompt = ({ a, operation, b }) => `${a}${operation}${b}=`;

/** The number that is right. @param {Problem} problem */
export const result = ({ a, operation, b }) => (operation === "+" ? a + b : a - b);

/** The text that is right after the prompt: `-5`. @param {Problem} problem */
export const answer = (problem) => String(result(problem));

/** Digits of the longer operand: 1, 2 or 3. @param {Problem} problem */
export const longerOperandDigits = ({ a, b }) => String(Math.max(a, b)).length;

/**
 * How many columns carry (for +) or borrow (for -, from the larger operand).
 * @param {Problem} problem
 */
export function carries({ a, operation, b }) {
  let [top, bottom, pending, count] = [Math.max(a, b), Math.min(a, b), 0, 0];
  while (top > 0) {
    const [x, y] = [top % 10, (bottom % 10) + pending];
    pending = Number(operation === "+" ? x + y > 9 : x < y);
    count += pending;
    [top, bottom] = [(top - (top % 10)) / 10, (bottom - (bottom % 10)) / 10];
  }
  return count;
}

/**
 * BOS, problem, answer, EOS, then PAD up to the length of the longest row.
 * @param {Problem} problem
 */
export const encodeRow = (problem) => padRow([...encode(prompt(problem) + answer(problem)), EOS_ID]);

/**
 * Fill a row up with PAD; a row of that length or more stays as it is.
 * @param {number[]} ids
 */
export const padRow = (ids) => [...ids, ...Array(Math.max(0, ROW_LENGTH - ids.length)).fill(PAD_ID)];

/**
 * Shift by one: the target of each position is the token after it.
 * @template T
 * @param {T[]} row
 * @returns {{inputs: T[], targets: T[]}}
 */
export const inputsAndTargets = (row) => ({ inputs: row.slice(0, -1), targets: row.slice(1) });

/**
 * Read `7-12` or `7-12=` as a problem: plain whole numbers in range, no leading zero.
 * @param {string} text
 * @returns {Problem | undefined} undefined for anything else
 */
export function readProblem(text) {
  const match = /^(0|[1-9]\d*)([+-])(0|[1-9]\d*)=?$/.exec(text);
  if (!match) return undefined;
  const [a, b] = [Number(match[1]), Number(match[3])];
  if (a > LARGEST_OPERAND || b > LARGEST_OPERAND) return undefined;
  return { a, operation: /** @type {Operation} */ (match[2]), b };
}
