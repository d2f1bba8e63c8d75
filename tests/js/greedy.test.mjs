/** Greedy decoding and grading in JavaScript: what Python writes, and the verdicts of `tiny_gpt.evaluate`. */
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { CONFIDENT, grade, greedyAnswers } from "../../site_assets/runtime/greedy.mjs";
import { EOS_ID, PAD_ID, VOCABULARY_SIZE, encode } from "../../site_assets/runtime/tokenizer.mjs";
import { golden, manifest } from "./golden.mjs";
import { int64, open, startRuntime } from "./sessions.mjs";

const { prompts, answers, models } = golden.greedy;
const PROBLEMS = prompts.map((prompt, index) => known(prompt, answers[index]));
const FAST_TOLERANCE = manifest.model.fast_margin; // of probabilities from float32
const EXACT_TOLERANCE = 1e-5;
const [ONE, TWO] = [encode("1")[1], encode("2")[1]];

/** @type {any} */
let ort;
/** @type {Record<string, Record<string, any>>} sessions by model, then graph */
const sessions = {};

before(async () => {
  ort = await startRuntime();
  for (const name of Object.keys(models)) {
    sessions[name] = { fast: await open(ort, name, "fast"), plain: await open(ort, name, "plain") };
  }
});

/** @param {string} prompt @param {string} answer */
function known(prompt, answer) {
  return { prompt: encode(prompt), answer: [...encode(answer).slice(1), EOS_ID] };
}

/** A Score that runs a graph, and counts its rows. @param {string} model @param {"fast" | "plain"} graph */
function scorer(model, graph) {
  const score = async (rows, positions) => {
    score.rows += rows.length;
    const { input, wanted_input: wanted } = manifest.model;
    const length = rows[0].length;
    const feeds = { [input]: int64(ort, rows.flat(), [rows.length, length]) };
    if (graph === "fast") feeds[wanted] = int64(ort, positions, [positions.length]);
    const { data } = (await sessions[model][graph].run(feeds, ["logits"])).logits;
    if (graph === "fast") return data;
    const picked = rows.flatMap((_, row) =>
      positions.map((position) => data.subarray((row * length + position) * VOCABULARY_SIZE).slice(0, VOCABULARY_SIZE)),
    );
    return Float32Array.from(picked.flatMap((logits) => [...logits]));
  };
  score.rows = 0;
  return score;
}

/** Python's row of a fixed length, without the PAD after EOS. @param {number[]} row */
const withoutPad = (row) => (row.includes(EOS_ID) ? row.slice(0, row.indexOf(EOS_ID) + 1) : row);

/** Where two tokens lie closer than the margin, float32 may choose the other. @param {{margin: number}} answer */
const isClear = ({ margin }) => margin >= manifest.model.fast_margin;

test("there are many prompts, both operations, and models that are often wrong", () => {
  assert.ok(prompts.length > 500);
  for (const sign of ["+", "-"]) assert.ok(prompts.filter((text) => text.slice(1).includes(sign)).length > 200);
  const shares = Object.values(models).map(({ right }) => right.filter(Boolean).length / right.length);
  assert.ok(shares.some((share) => share === 1));
  assert.ok(shares.some((share) => share > 0.5 && share < 0.95));
  assert.ok(shares.some((share) => share === 0));
  assert.equal(CONFIDENT, manifest.answers.confident);
});

for (const name of Object.keys(models)) {
  const { written, probability, right } = models[name];

  for (const graph of ["plain", "fast"]) {
    test(`${name}, ${graph} graph: the tokens and probabilities of greedy_answers`, async () => {
      const mine = await greedyAnswers(scorer(name, graph), prompts.map(encode));
      const tolerance = graph === "fast" ? FAST_TOLERANCE : EXACT_TOLERANCE;
      let compared = 0;
      mine.forEach((answer, index) => {
        if (graph === "fast" && !isClear(answer)) return;
        compared += 1;
        assert.deepEqual(answer.written, withoutPad(written[index]), prompts[index]);
        const gap = Math.abs(answer.probability - probability[index]);
        assert.ok(gap <= tolerance, `${prompts[index]}: ${answer.probability}, Python has ${probability[index]}`);
      });
      assert.ok(compared > 0.97 * prompts.length);
    });
  }

  test(`${name}: grade gives the verdicts, the counts and what was written`, async () => {
    const [fast, exact] = [scorer(name, "fast"), scorer(name, "plain")];
    const graded = await grade(fast, exact, PROBLEMS);
    graded.forEach((answer, index) => {
      assert.equal(answer.right, right[index], prompts[index]);
      assert.deepEqual(answer.written, withoutPad(written[index]), prompts[index]);
      assert.ok(Math.abs(answer.probability - probability[index]) <= FAST_TOLERANCE, prompts[index]);
    });
    const confident = (answer, share) => !answer && share > CONFIDENT;
    assert.equal(
      graded.filter((answer) => confident(answer.right, answer.probability)).length,
      right.filter((ok, index) => confident(ok, probability[index])).length,
    );
    if (right.every(Boolean)) assert.ok(fast.rows === PROBLEMS.length && exact.rows < PROBLEMS.length / 10);
  });
}

/** A Score whose logits are 0 but for what `lift(row, position)` puts on top. */
function invented(lift) {
  const score = async (rows, positions) => {
    score.calls.push(rows.length);
    const logits = new Float32Array(rows.length * positions.length * VOCABULARY_SIZE);
    rows.forEach((ids, row) =>
      positions.forEach((position, place) => {
        for (const [token, value] of lift(ids, position)) {
          logits[(row * positions.length + place) * VOCABULARY_SIZE + token] = value;
        }
      }),
    );
    return logits;
  };
  score.calls = /** @type {number[]} */ ([]);
  return score;
}

test("writing ends at the longest answer, and at a full context", async () => {
  const endless = invented(() => [[ONE, 20]]);
  const [short, long] = await greedyAnswers(endless, [encode("1+1="), encode("1".repeat(30))]);
  assert.deepEqual(short.written, Array(manifest.answers.longest).fill(ONE));
  assert.deepEqual(long.written, Array(manifest.model.config.context_length - 30).fill(ONE));
});

test("PAD and BOS are written like any token, as in Python", async () => {
  const [answer] = await greedyAnswers(invented(() => [[PAD_ID, 9]]), [encode("1+1=")]);
  assert.deepEqual(answer.written, Array(manifest.answers.longest).fill(PAD_ID));
});

test("after a wrong token the model goes on from its own, not from the answer", async () => {
  const score = invented((ids, position) => [[ids[position] === TWO ? EOS_ID : TWO, 20]]);
  const [answer] = await grade(score, score, [known("1+9=", "10")]);
  assert.deepEqual(answer.written, [TWO, EOS_ID]);
  assert.equal(answer.right, false);
});

test("an answer that begins right and is too long or too short is wrong", async () => {
  const tooLong = invented(() => [[ONE, 20]]);
  const tooShort = invented((ids, position) => [[ids[position] === ONE ? EOS_ID : ONE, 20]]);
  const problem = known("5+6=", "11");
  assert.equal((await grade(tooLong, tooLong, [problem]))[0].right, false);
  const [short] = await grade(tooShort, tooShort, [problem]);
  assert.deepEqual([short.written, short.right], [[ONE, EOS_ID], false]);
});

test("a close race is decided by the exact graph, a clear one never asks it", async () => {
  const ends = (ids, position) => ids[position] === TWO || ids[position] === ONE;
  const race = (ahead, lead) => (ids, position) =>
    ends(ids, position) && position > 4 ? [[EOS_ID, 20]] : [[ONE, 20 + ahead * lead], [TWO, 20 - ahead * lead]];
  const [closeFast, exact] = [invented(race(1, 1e-5)), invented(race(-1, 1e-5))];
  const [close] = await grade(closeFast, exact, [known("1+1=", "2")]);
  assert.deepEqual([close.written, close.right], [[TWO, EOS_ID], true]);
  const unused = invented(race(-1, 5));
  const [clear] = await grade(invented(race(1, 5)), unused, [known("1+1=", "2")]);
  assert.deepEqual([clear.written, clear.right], [[ONE, EOS_ID], false]);
  assert.deepEqual(unused.calls, []);
});

test("a probability close to the limit of confidence is computed again too", async () => {
  const share = (p) => Math.log((p * (VOCABULARY_SIZE - 1)) / (1 - p));
  const answering = (p) => invented((ids, position) => (position > 4 ? [[EOS_ID, 60]] : [[ONE, share(p)]]));
  const exact = answering(CONFIDENT - 1e-5);
  const [answer] = await grade(answering(CONFIDENT + 1e-5), exact, [known("1+1=", "2")]);
  assert.ok(answer.probability < CONFIDENT && exact.calls.length > 0);
});
