/** Tokenizer, rules for typed text and scores: the same answers as Python's. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { CourseError, fill, pageError, ruleMessage } from "../../site_assets/runtime/messages.mjs";
import { checkPrefix, unseenOperands } from "../../site_assets/runtime/prompt.mjs";
import { probabilities, rank, topToken } from "../../site_assets/runtime/scores.mjs";
import * as tokenizer from "../../site_assets/runtime/tokenizer.mjs";
import { assertClose, golden, manifest } from "./golden.mjs";

test("prefixes become Python's token IDs", () => {
  assert.ok(golden.cases.length > 70);
  for (const { prefix, ids } of golden.cases) {
    checkPrefix(prefix);
    assert.deepEqual(tokenizer.encode(prefix), ids, prefix);
  }
});

test("tokens have Python's names", () => {
  const ids = golden.token_names.map((_, id) => id);
  assert.deepEqual(ids.map(tokenizer.tokenName), golden.token_names);
  assert.equal(tokenizer.VOCABULARY_SIZE, golden.token_names.length);
  assert.equal(golden.token_names[tokenizer.BOS_ID], "BOS");
  assert.equal(golden.token_names[tokenizer.EOS_ID], "EOS");
});

test("tokens without a visible character are shown by name", () => {
  const named = golden.token_names.map((_, id) => id).filter(tokenizer.isNamed);
  assert.deepEqual(named.map(tokenizer.displayName), ["PAD", "BOS", "EOS", "space"]);
});

test("broken rules are refused in Python's words", () => {
  assert.ok(golden.bad_prefixes.length > 5);
  for (const { prefix, message } of golden.bad_prefixes) {
    assert.throws(
      () => checkPrefix(prefix),
      (error) => error instanceof CourseError && error.message === message && !error.retry,
      `${JSON.stringify(prefix)} should say: ${message}`,
    );
  }
});

test("every replacement that Python knows is advised", () => {
  for (const [character, replacement] of Object.entries(manifest.prompt.typed_for)) {
    assert.throws(() => checkPrefix(`1${character}`), (error) => error.message.endsWith(`Type ${replacement} instead.`));
  }
});

test("a prefix of the greatest length is accepted, one more is not", () => {
  const { longest_prefix } = manifest.prompt;
  checkPrefix("~".repeat(longest_prefix));
  assert.throws(() => checkPrefix(" ".repeat(longest_prefix + 1)), /Shorten it by 1\.$/);
});

test("operands that training never showed are warned about in Python's words", () => {
  assert.ok(golden.unseen_operands.some(({ warnings }) => warnings.length > 1));
  for (const { prefix, warnings } of golden.unseen_operands) {
    assert.deepEqual(unseenOperands(prefix), warnings, prefix);
  }
});

test("messages are filled in as Python fills them", () => {
  for (const { name, values, text } of golden.messages) assert.equal(ruleMessage(name, values), text);
  assert.equal(fill("{a} and {b} and {a}", { a: "$&", b: 2 }), "$& and 2 and $&");
});

test("what only a browser meets has a sentence that says what next", () => {
  const values = { what: "the model", status: 404 };
  for (const name of ["offline", "network", "missing", "damaged", "no-model", "no-wasm", "start", "run"]) {
    const { message, retry } = pageError(name, values);
    assert.match(message, /^[A-Z][^{}]*[.]$/, name);
    assert.ok(!message.includes("undefined"), name);
    assert.equal(/press Retry/i.test(message), retry, name);
  }
});

test("probabilities, top token and ranks are Python's", () => {
  for (const { logits, probabilities: expected, top, ranks } of golden.scores) {
    assertClose(probabilities(logits), expected, 1e-12, "probabilities");
    assert.equal(topToken(logits), top);
    assert.deepEqual(logits.map((_, id) => rank(logits, id)), ranks);
    assert.deepEqual(probabilities(Float64Array.from(logits)), probabilities(logits));
  }
});

test("probabilities of golden logits add up to 1 and keep their order", () => {
  for (const { logits } of golden.cases) {
    for (const row of Object.values(logits)) {
      const shares = probabilities(Float32Array.from(row));
      assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-12);
      assert.equal(topToken(shares), topToken(row));
      assert.equal(rank(row, topToken(row)), 1);
      assert.equal(Math.max(...row.map((_, id) => rank(row, id))) <= row.length, true);
    }
  }
});
