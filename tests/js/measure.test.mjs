import assert from "node:assert/strict";
import test from "node:test";

import { largestGap, relativeGap, spread } from "../../site_assets/runtime/measure.mjs";

test("differences count relative to the value, and absolutely below 1", () => {
  assert.equal(relativeGap(11, 10), 0.1);
  assert.equal(relativeGap(-9, -10), 0.1);
  assert.equal(relativeGap(0.25, 0.5), 0.25);
  assert.equal(relativeGap(0, 0), 0);
});

test("the largest gap of a case is found with its place", () => {
  const expected = { prefix: "1+1=", logits: [0, 10, -4] };
  assert.deepEqual(largestGap(expected, [0, 10, -4]), { gap: 0, prefix: "1+1=", id: 0, here: 0, pytorch: 0 });
  assert.deepEqual(largestGap(expected, [0.125, 11, -5]), { gap: 0.25, prefix: "1+1=", id: 2, here: -5, pytorch: -4 });
});

test("what is no number never passes for close", () => {
  assert.equal(largestGap({ prefix: "", logits: [1, 2] }, [1, NaN]).gap, Infinity);
  assert.equal(largestGap({ prefix: "", logits: [1, 2] }, [1]).gap, Infinity);
});

test("median, smallest and largest", () => {
  assert.deepEqual(spread([3, 1, 2]), { median: 2, low: 1, high: 3 });
  assert.deepEqual(spread([4, 1, 3, 2]), { median: 2.5, low: 1, high: 4 });
  assert.deepEqual(spread([10, 9, 100]), { median: 10, low: 9, high: 100 });
});
