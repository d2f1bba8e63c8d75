/** The exported models in the npm package's plain WASM runtime: PyTorch's numbers. */
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { walk as recorded } from "../../site_assets/generated/walk.mjs";
import { topToken } from "../../site_assets/runtime/scores.mjs";
import { encode } from "../../site_assets/runtime/tokenizer.mjs";
import { walkFrom } from "../../site_assets/widgets/walk-data.mjs";
import { assertClose, golden, manifest } from "./golden.mjs";
import * as sessionsOfNode from "./sessions.mjs";

const TOLERANCE = 1e-5;

let ort;
const sessions = {};

before(async () => {
  ort = await sessionsOfNode.startRuntime();
  for (const name of Object.keys(manifest.models)) sessions[name] = await open(name, "plain");
});

/** @param {string} name @param {string} graph */
const open = (name, graph) => sessionsOfNode.open(ort, name, graph);

/** @param {number[]} values @param {number[]} dims */
const int64 = (values, dims) => sessionsOfNode.int64(ort, values, dims);

/** @param {number[][]} rows */
const idsOf = (rows) => ({ [manifest.model.input]: int64(rows.flat(), [rows.length, rows[0].length]) });

/** @param {string} name @param {number[][]} rows */
const run = (name, rows) => sessions[name].run(idsOf(rows));

test("the package is the version that the manifest names", () => {
  assert.equal(ort.env.versions.web, manifest.runtime.version);
});

test("every checkpoint opens, with the input and outputs that the manifest lists", () => {
  for (const [name, session] of Object.entries(sessions)) {
    assert.deepEqual([...session.inputNames], [manifest.model.input]);
    const ofSecondBlock = manifest.models[name].size === "small" ? /^block_2/ : /^$/; // which the smaller model lacks
    assert.deepEqual([...session.outputNames], manifest.model.outputs.filter((output) => !ofSecondBlock.test(output)));
  }
});

test("logits are PyTorch's for every golden prefix, and so is the top token", async () => {
  const lengths = new Set();
  for (const { prefix, ids, logits } of golden.cases) {
    lengths.add(ids.length);
    for (const [name, expected] of Object.entries(logits)) {
      const { logits: output } = await run(name, [ids]);
      assert.deepEqual([...output.dims], [1, ids.length, manifest.vocabulary.size]);
      const last = [...output.data.slice(-manifest.vocabulary.size)];
      assertClose(last, expected, TOLERANCE, `${name}, ${JSON.stringify(prefix)}`);
      const [first, second] = expected.toSorted((a, b) => b - a);
      const clear = first - second > 2 * TOLERANCE * Math.max(1, Math.abs(first));
      if (clear) assert.equal(topToken(last), topToken(expected), prefix);
    }
  }
  assert.equal(lengths.size, manifest.model.config.context_length);
});

test("every checkpoint computes finite numbers, the same in a batch as alone", async () => {
  const rows = ["1+1=", "9-9=", "x = "].map(encode);
  const size = rows[0].length * manifest.vocabulary.size;
  for (const name of Object.keys(sessions)) {
    const together = [...(await run(name, rows)).logits.data];
    assert.ok(together.every(Number.isFinite));
    for (const [index, row] of rows.entries()) {
      const alone = [...(await run(name, [row])).logits.data];
      assertClose(together.slice(index * size, (index + 1) * size), alone, TOLERANCE, name);
    }
  }
});

test("with all switches on, the inside graph gives the plain graph's numbers, bit for bit", async () => {
  const { switches, switches_input: input, inside_outputs: names } = manifest.model;
  const inside = await open(manifest.trained, "inside");
  const on = new ort.Tensor("float32", new Float32Array(switches.length).fill(1), [switches.length]);
  for (const text of ["", "1+1=", "12+34=46", "~".repeat(31)]) {
    const rows = [encode(text)];
    const plain = await run(manifest.trained, rows);
    const mine = await inside.run({ ...idsOf(rows), [input]: on });
    assert.deepEqual(Object.keys(mine), names);
    for (const name of names.filter((name) => name in plain)) {
      assert.deepEqual(mine[name].data, plain[name].data, name);
    }
  }
});

test("the fast graph gives the wanted positions, closer than the margin at which they are computed again", async () => {
  const fast = await open(manifest.trained, "fast");
  const size = manifest.vocabulary.size;
  const rows = ["123+456=579", "999-999=0  "].map(encode);
  const wanted = [8, 9, 11];
  const plain = (await run(manifest.trained, rows)).logits.data;
  const input = { ...idsOf(rows), [manifest.model.wanted_input]: int64(wanted, [wanted.length]) };
  const { logits } = await fast.run(input);
  assert.deepEqual([...logits.dims], [rows.length, wanted.length, size]);
  rows.forEach((ids, row) =>
    wanted.forEach((position, place) => {
      const from = (row * ids.length + position) * size;
      const mine = [...logits.data.subarray((row * wanted.length + place) * size).slice(0, size)];
      assertClose(mine, [...plain.subarray(from, from + size)], manifest.model.fast_margin / 10, `row ${row}`);
    }),
  );
});

test("five runs of one prefix give identical numbers", async () => {
  const once = [...(await run(manifest.trained, [encode("12+34=")])).logits.data];
  for (let i = 0; i < 4; i += 1) {
    assert.deepEqual([...(await run(manifest.trained, [encode("12+34=")])).logits.data], once);
  }
});

test("the live walk has the recorded walk's structure and numbers", async () => {
  const ids = encode(recorded.text);
  const outputs = await run(manifest.initial, [ids]);
  const live = walkFrom(recorded.text, ids, outputs, manifest.model.config.n_layers);
  compare(live, recorded, "walk");
});

/** Equal, numbers but for rounding. */
function compare(mine, expected, path) {
  if (typeof expected === "number" && !Number.isInteger(expected)) {
    assertClose([mine], [expected], TOLERANCE, path);
  } else if (typeof expected === "object") {
    assert.deepEqual(Object.keys(mine), Object.keys(expected), path);
    for (const key of Object.keys(expected)) compare(mine[key], expected[key], `${path}.${key}`);
  } else if (Number.isInteger(expected)) {
    assert.ok(Math.abs(mine - expected) <= TOLERANCE, path); // a weight of 1 was recorded as the whole number
  } else {
    assert.equal(mine, expected, path);
  }
}
