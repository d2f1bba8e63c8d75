/**
 * The runtime's own thread: downloads onnxruntime-web and the models, and runs them.
 * The page stays free while it works. `engine.mjs` is its only client.
 *
 * Requests are {id, kind: "open", model} and {id, kind: "run", model, rows, outputs};
 * answers are {id, result} or {id, error}; downloads report {progress: {file, loaded}}.
 */
import { manifest } from "../generated/manifest.mjs";
import { download } from "./download.mjs";
import { CourseError, pageError } from "./messages.mjs";

const COURSE = new URL("../", import.meta.url);
const ASSETS = new URL("../../", import.meta.url);
const RUNTIME_NAME = "the runtime";
const MODEL_NAME = "the model";
const START_LIMIT_MS = 60_000;

/** @type {Promise<any> | undefined} */
let runtime;
/** @type {Map<string, Promise<any>>} */
const sessions = new Map();

/** @param {{file: string, bytes: number, raw_bytes: number}} entry @param {string} what */
function fetchShipped(entry, what) {
  return download(new URL(entry.file, ASSETS).href, entry, what, (loaded) =>
    self.postMessage({ progress: { file: entry.file, loaded } }),
  );
}

async function startRuntime() {
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") {
    throw pageError("no-wasm");
  }
  const wasm = await fetchShipped(manifest.runtime.wasm, RUNTIME_NAME);
  let ort;
  try {
    ort = await import(new URL("vendor/ort.wasm.min.mjs", COURSE).href);
  } catch (cause) {
    throw pageError(navigator.onLine ? "network" : "offline", { what: RUNTIME_NAME }, cause);
  }
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.proxy = false;
  ort.env.wasm.initTimeout = START_LIMIT_MS;
  ort.env.wasm.wasmBinary = wasm.buffer;
  ort.env.wasm.wasmPaths = { mjs: new URL("vendor/ort-wasm-simd-threaded.mjs", COURSE).href };
  ort.env.logLevel = "error";
  return ort;
}

/** @param {string} model */
async function openSession(model) {
  const entry = manifest.models[model];
  runtime ??= startRuntime();
  const [ort, bytes] = await Promise.all([runtime, fetchShipped(entry, MODEL_NAME)]);
  try {
    return await ort.InferenceSession.create(bytes, {
      executionProviders: ["wasm"],
      graphOptimizationLevel: "all",
    });
  } catch (cause) {
    const runtimeFailed = String(cause).includes("no available backend");
    throw pageError(runtimeFailed ? "start" : "no-model", { what: MODEL_NAME }, cause);
  } finally {
    ort.env.wasm.wasmBinary = undefined;
  }
}

/** @param {string} model */
function session(model) {
  let opened = sessions.get(model);
  if (!opened) {
    opened = openSession(model);
    sessions.set(model, opened);
  }
  return opened;
}

/** @param {{model: string, rows: number[][], outputs: string[]}} request */
async function run({ model, rows, outputs }) {
  const opened = await session(model);
  const ort = await runtime;
  const dims = [rows.length, rows[0].length];
  const ids = new ort.Tensor("int64", BigInt64Array.from(rows.flat(), BigInt), dims);
  const started = performance.now();
  let values;
  try {
    values = await opened.run({ [manifest.model.input]: ids }, outputs);
  } catch (cause) {
    throw pageError("run", {}, cause);
  }
  const milliseconds = performance.now() - started;
  const named = Object.fromEntries(
    outputs.map((name) => [name, { data: values[name].data, dims: [...values[name].dims] }]),
  );
  return { outputs: named, milliseconds };
}

const handlers = {
  /** @param {{model: string}} request */
  open: async ({ model }) => {
    await session(model);
  },
  run,
};

/** Requests run one after another. */
let queue = Promise.resolve();

self.addEventListener("message", ({ data }) => {
  queue = queue.then(async () => {
    try {
      self.postMessage({ id: data.id, result: await handlers[data.kind](data) });
    } catch (error) {
      const { message, retry, cause } =
        error instanceof CourseError ? error : pageError("run", {}, error);
      self.postMessage({ id: data.id, error: { message, retry, detail: String(cause ?? "") } });
    }
  });
});
