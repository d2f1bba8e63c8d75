/** The exported models in the npm package's plain WASM runtime: PyTorch's numbers. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { gunzipSync } from "node:zlib";

import { walk as recorded } from "../../site_assets/generated/walk.mjs";
import { topToken } from "../../site_assets/runtime/scores.mjs";
import { encode } from "../../site_assets/runtime/tokenizer.mjs";
import { walkFrom } from "../../site_assets/widgets/walk-data.mjs";
import { assertClose, fileBytes, fileUrl, golden, manifest } from "./golden.mjs";

const TOLERANCE = 1e-5;

let ort;
const sessions = {};

before(async () => {
  ort = await import(fileUrl("node_modules/onnxruntime-web/dist/ort.wasm.min.mjs").href);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmBinary = gunzipSync(fileBytes(`generated/${manifest.runtime.wasm.file}`));
  ort.env.logLevel = "error";
  for (const [name, entry] of Object.entries(manifest.models)) {
    const model = new Uint8Array(gunzipSync(fileBytes(`generated/${entry.file}`)));
    sessions[name] = await ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
  }
});

/** @param {string} name @param {number[][]} rows */
async function run(name, rows) {
  const ids = new ort.Tensor("int64", BigInt64Array.from(rows.flat(), BigInt), [rows.length, rows[0].length]);
  const outputs = await sessions[name].run({ [manifest.model.input]: ids });
  return outputs;
}

test("the package is the version that the manifest names", () => {
  assert.equal(ort.env.versions.web, manifest.runtime.version);
});

test("every checkpoint opens, with the input and outputs that the manifest lists", () => {
  for (const session of Object.values(sessions)) {
    assert.deepEqual([...session.inputNames], [manifest.model.input]);
    assert.deepEqual([...session.outputNames], manifest.model.outputs);
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
