/** Draws, split, problems, rows and the stream: the same answers as Python, for every problem. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { byPair, byProblem, countLeaks } from "../../site_assets/runtime/leak.mjs";
import { ProblemStream, candidates } from "../../site_assets/runtime/problem-stream.mjs";
import * as problems from "../../site_assets/runtime/problems.mjs";
import { draws, mix32, unitInterval } from "../../site_assets/runtime/random32.mjs";
import { golden, manifest } from "./golden.mjs";

const LARGEST = manifest.prompt.largest_operand;

/** @param {NodeJS.ArrayBufferView | string} content */
const sha256 = (content) => createHash("sha256").update(content).digest("hex");

/** Sums first, in order of a, then b, as Python's `all_problems`. */
function* allProblems() {
  for (const operation of ["+", "-"]) {
    for (let a = 0; a <= LARGEST; a += 1) for (let b = 0; b <= LARGEST; b += 1) yield { a, operation, b };
  }
}
const COUNT = 2 * (LARGEST + 1) ** 2;

/** @template {{[i: number]: number}} T @param {T} array @param {(problem: problems.Problem) => number} value */
function filled(array, value) {
  let i = 0;
  for (const problem of allProblems()) array[i++] = value(problem);
  return array;
}

test("draws are Python's, also where seed, start or both wrap", () => {
  assert.ok(golden.draws.length > 5);
  for (const { seed, start, values } of golden.draws) {
    assert.deepEqual([...draws(seed, start, values.length)], values, `seed ${seed}, start ${start}`);
    values.forEach((value, i) => assert.equal(draws(seed, start + i, 1)[0], value));
  }
  assert.equal(mix32(0), 0);
  assert.equal(unitInterval(2 ** 31), 0.5);
});

test("every pair of operands has Python's part", () => {
  const parts = new Uint16Array((LARGEST + 1) ** 2);
  let i = 0;
  for (const { a, operation, b } of allProblems()) if (operation === "+") parts[i++] = problems.splitPart(a, b);
  assert.equal(i, 1_000_000);
  assert.equal(sha256(parts), golden.split.sha256);
});

test("parts have Python's side", () => {
  assert.deepEqual(new Set(golden.split.sides.map(({ split }) => split)), new Set(["train", "tuning", "held-out"]));
  for (const { a, b, split } of golden.split.sides) {
    assert.equal(problems.splitOf(a, b), split, `${a}, ${b}`);
    assert.equal(problems.splitOf(b, a), split);
  }
});

test("every problem has Python's digits, carries, answer and row", () => {
  assert.equal(sha256(filled(new Uint8Array(COUNT), problems.longerOperandDigits)), golden.problems.digits);
  assert.equal(sha256(filled(new Uint8Array(COUNT), problems.carries)), golden.problems.carries);
  assert.equal(sha256(filled(new Int16Array(COUNT), problems.result)), golden.problems.answers);
  const size = manifest.data.row_length;
  const rows = new Uint8Array(COUNT * size);
  let i = 0;
  for (const problem of allProblems()) rows.set(problems.encodeRow(problem), size * i++);
  assert.equal(sha256(rows), golden.problems.rows);
});

test("leaks of both rules are Python's", async () => {
  for (const [rule, partOf] of [["by_pair", byPair], ["by_problem", byProblem]]) {
    const counted = await countLeaks(partOf);
    assert.deepEqual(counted.map(({ operation }) => operation), ["+", "-"]);
    assert.deepEqual(counted.map(({ heldOut, twins }) => [heldOut, twins]), golden.leaks[rule]);
  }
});

test("a row gives inputs and, shifted by one, targets", () => {
  assert.deepEqual(problems.inputsAndTargets([1, 20, 2, 0]), { inputs: [1, 20, 2], targets: [20, 2, 0] });
});

test("candidates of every mix are Python's", () => {
  for (const { seed, start, mix, prompts, answers } of golden.candidates) {
    const mine = candidates(seed, start, prompts.length, mix);
    assert.deepEqual(mine.map(problems.prompt), prompts);
    assert.deepEqual(mine.map(problems.answer), answers);
  }
  assert.deepEqual(golden.candidates[0].mix, manifest.data.mix);
});

test("streams are Python's, take by take, and end at the same candidate", () => {
  for (const { seed, start, takes, long_take: long } of golden.streams) {
    const stream = new ProblemStream(seed, undefined, start);
    for (const { count, prompts, next } of takes) {
      assert.deepEqual(stream.take(count).map(problems.prompt), prompts, `seed ${seed}`);
      assert.equal(stream.nextCandidate, next);
    }
    const resumed = new ProblemStream(seed, manifest.data.mix, stream.nextCandidate);
    assert.equal(sha256(resumed.take(long.count).map(problems.prompt).join("")), long.sha256);
    assert.equal(resumed.nextCandidate, long.next);
  }
});

test("typed problems are read, anything else is not", () => {
  assert.deepEqual(problems.readProblem("7-12="), { a: 7, operation: "-", b: 12 });
  assert.deepEqual(problems.readProblem("0+999"), { a: 0, operation: "+", b: 999 });
  for (const text of ["", "7", "7-", "+7", "07+1", "1+1000", "1 + 1", "1+1=2", "1*2", "1+1+1", "-1+2", "1.5+2"]) {
    assert.equal(problems.readProblem(text), undefined, text);
  }
});
