/** The exported models in the npm package's plain WASM runtime, under Node. */
import { gunzipSync } from "node:zlib";

import { fileBytes, fileUrl, manifest } from "./golden.mjs";

/** onnxruntime-web with one thread, from the packed file that the site delivers. */
export async function startRuntime() {
  const ort = await import(fileUrl("node_modules/onnxruntime-web/dist/ort.wasm.min.mjs").href);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmBinary = gunzipSync(fileBytes(`generated/${manifest.runtime.wasm.file}`));
  ort.env.logLevel = "error";
  return ort;
}

/** A model file is a graph and the weights, one after the other. @param {any} ort @param {string} name @param {string} graph */
export function open(ort, name, graph) {
  const weights = manifest.models[name];
  const pieces = [manifest.graphs[weights.size][graph], weights].map(({ file }) =>
    gunzipSync(fileBytes(`generated/${file}`)),
  );
  return ort.InferenceSession.create(new Uint8Array(Buffer.concat(pieces)), { executionProviders: ["wasm"] });
}

/** @param {any} ort @param {number[]} values @param {number[]} dims */
export const int64 = (ort, values, dims) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), dims);
