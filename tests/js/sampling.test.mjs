/** Sampling and its settings: the same tokens, distributions and sentences as Python. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { CourseError } from "../../site_assets/runtime/messages.mjs";
import { checkSetting } from "../../site_assets/runtime/prompt.mjs";
import { choose, distribution } from "../../site_assets/runtime/sampling.mjs";
import { probabilities } from "../../site_assets/runtime/scores.mjs";
import { assertClose, golden } from "./golden.mjs";

test("each draw chooses Python's token, at every temperature and top-k", () => {
  let cases = 0;
  for (const { logits, draws, settings } of golden.sampling) {
    for (const { temperature, top_k: topK, tokens } of settings) {
      const what = `temperature ${temperature}, top-k ${topK}`;
      assert.deepEqual(draws.map((draw) => choose(logits, temperature, topK, draw)), tokens, what);
      assert.deepEqual(draws.map((draw) => choose(Float64Array.from(logits), temperature, topK, draw)), tokens, what);
      cases += tokens.length;
    }
  }
  assert.ok(cases > 3000);
});

test("distributions are Python's and say what choose can take", () => {
  for (const { logits, draws, settings } of golden.sampling) {
    for (const { temperature, top_k: topK, distribution: expected } of settings) {
      const mine = distribution(logits, temperature, topK);
      assertClose(mine, expected, 1e-12, `temperature ${temperature}, top-k ${topK}`);
      for (const draw of draws) assert.ok(mine[choose(logits, temperature, topK, draw)] > 0);
    }
    assertClose(distribution(logits, 1, logits.length), probabilities(logits), 1e-12, "before");
  }
});

test("of equals the lower ID comes first", () => {
  assert.equal(choose([1, 3, 3, 3], 0, 4, 0.9), 1);
  assert.deepEqual([0, 0.49, 0.5, 0.99].map((draw) => choose([1, 3, 3, 3], 1, 2, draw)), [1, 1, 2, 2]);
});

test("settings are read or refused in Python's words", () => {
  const refused = golden.settings.filter(({ message }) => message);
  assert.ok(refused.length > 20 && refused.length < golden.settings.length - 10);
  for (const { name, text, value, message } of golden.settings) {
    if (message === undefined) assert.ok(Object.is(checkSetting(name, text), value), `${name}: ${text}`);
    else {
      assert.throws(
        () => checkSetting(name, text),
        (error) => error instanceof CourseError && error.message === message && !error.retry,
        `${name} ${text} should say: ${message}`,
      );
    }
  }
});
