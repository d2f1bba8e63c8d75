/** Progress: the first answer counts, other tabs are heard, and refused or damaged storage does no harm. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Progress, readRecord } from "../../site_assets/runtime/progress.mjs";

const KEY = "build-a-tiny-gpt/progress/v1";

/** A storage that keeps texts, or refuses. */
function storage({ refuses = false } = {}) {
  const texts = new Map();
  return {
    texts,
    getItem: (key) => texts.get(key) ?? null,
    setItem: (key, text) => {
      if (refuses) throw new DOMException("full", "QuotaExceededError");
      texts.set(key, text);
    },
  };
}

test("the first answer is kept", () => {
  const progress = new Progress(() => storage());
  assert.equal(progress.firstAnswer("a"), undefined);
  progress.answered("a", false);
  progress.answered("a", true);
  assert.equal(progress.firstAnswer("a").right, false);
  assert.match(progress.firstAnswer("a").date, /^\d{4}-\d\d-\d\d$/);
  assert.equal(progress.firstAnswer("constructor"), undefined);
});

test("what was recorded is there on the next visit", () => {
  const kept = storage();
  const first = new Progress(() => kept);
  first.answered("a", true);
  first.solved("chapter-4/x");
  first.gateFinished(7, 10, 12);
  const second = new Progress(() => kept);
  assert.ok(second.firstAnswer("a").right);
  assert.ok(second.isSolved("chapter-4/x"));
  assert.equal(second.gateResults[0].right, 10);
  assert.ok(second.isKept);
  assert.deepEqual([...kept.texts.keys()], [KEY]);
  second.clear();
  assert.equal(new Progress(() => kept).firstAnswer("a"), undefined);
});

test("a change adds to what another tab has stored", () => {
  const kept = storage();
  const [mine, other] = [new Progress(() => kept), new Progress(() => kept)];
  other.answered("a", true);
  mine.answered("b", true);
  assert.ok(new Progress(() => kept).firstAnswer("a"));
  assert.ok(new Progress(() => kept).firstAnswer("b"));
});

test("changes are announced, from here and from other tabs", () => {
  const progress = new Progress(() => storage());
  let changes = 0;
  progress.addEventListener("change", () => (changes += 1));
  progress.answered("a", true);
  assert.equal(changes, 1);
  progress.onStorage({ key: "something else", newValue: "{}" });
  assert.equal(changes, 1);
  progress.onStorage({ key: KEY, newValue: JSON.stringify({ questions: { b: { right: true, date: "" } } }) });
  assert.equal(changes, 2);
  assert.ok(progress.firstAnswer("b"));
  progress.onStorage({ key: null, newValue: null }); // everything was cleared
  assert.equal(progress.firstAnswer("b"), undefined);
});

for (const [what, open] of [
  ["refuses to open", () => { throw new DOMException("no", "SecurityError"); }],
  ["is not there", () => undefined],
  ["refuses to write", () => storage({ refuses: true })],
]) {
  test(`a storage that ${what}: progress lives in memory and says so once`, () => {
    const progress = new Progress(open);
    progress.answered("a", true);
    progress.solved("x");
    assert.ok(progress.firstAnswer("a"));
    assert.ok(progress.isSolved("x"));
    assert.ok(!progress.isKept);
    assert.match(progress.storageNotice(), /^This browser keeps no data/);
    assert.equal(progress.storageNotice(), "");
  });
}

test("a working storage gives no notice", () => {
  assert.equal(new Progress(() => storage()).storageNotice(), "");
});

test("damaged texts count as nothing, and what is valid in them is kept", () => {
  const empty = { questions: {}, exercises: {}, gate: [] };
  for (const text of [null, "", "{", "[]", "3", '"x"', "{}", '{"questions":[],"exercises":1,"gate":{}}']) {
    assert.deepEqual(readRecord(text), empty, String(text));
  }
  const mixed = { questions: { a: { right: true }, b: 1 }, exercises: { x: "2026-01-01", y: 1 }, gate: [{ seed: 1, right: 2, of: 12 }, null] };
  const read = readRecord(JSON.stringify(mixed));
  assert.deepEqual(Object.keys(read.questions), ["a"]);
  assert.deepEqual(Object.keys(read.exercises), ["x"]);
  assert.equal(read.gate.length, 1);
});

test("the first result of a seed is kept", () => {
  const progress = new Progress(() => storage());
  progress.gateFinished(5, 3, 12);
  progress.gateFinished(5, 12, 12);
  assert.deepEqual(progress.gateResults.map(({ right }) => right), [3]);
});

test("results of the final test do not grow without end", () => {
  const progress = new Progress(() => storage());
  for (let seed = 0; seed < 60; seed += 1) progress.gateFinished(seed, 1, 12);
  assert.equal(progress.gateResults.length, 50);
  assert.equal(progress.gateResults.at(-1).seed, 59);
});
