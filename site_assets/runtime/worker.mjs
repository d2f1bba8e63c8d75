/**
 * The runtime's own thread: downloads onnxruntime-web and the models, and runs them.
 * The page stays free while it works. `engine.mjs` is its only client.
 *
 * Requests are {id, kind, ...}, one of `handlers` below; answers are {id, result} or
 * {id, error}; downloads report {progress: {file, loaded}}.
 */
import { manifest } from "../generated/manifest.mjs";
import { download, unpack } from "./download.mjs";
import { grade, greedyAnswers } from "./greedy.mjs";
import { CourseError, pageError } from "./messages.mjs";

const COURSE = new URL("../", import.meta.url);
const ASSETS = new URL("../../", import.meta.url);
const RUNTIME_NAME = "the runtime";
const MODEL_NAME = "the model";
const START_LIMIT_MS = 60_000;

/** @typedef {{file: string, bytes: number, raw_bytes: number}} Entry */
/** @typedef {{model: string, graph: string}} Which */

/** @type {Promise<any> | undefined} */
let runtime;
/** @type {Map<string, Promise<any>>} sessions by model and graph */
const sessions = new Map();
/** @type {Map<string, Promise<Uint8Array<ArrayBuffer>>>} files as they were delivered, by name */
const packed = new Map();

/** The unpacked bytes of a file of the manifest, downloaded once. @param {Entry} entry @param {string} what */
async function shipped(entry, what) {
  const known = packed.get(entry.file);
  if (known) return unpack(await known, entry);
  const url = new URL(entry.file, ASSETS).href;
  const loading = download(url, entry, what, (loaded) =>
    self.postMessage({ progress: { file: entry.file, loaded } }),
  );
  packed.set(entry.file, loading.then((file) => file.packed));
  return (await loading).bytes;
}

async function startRuntime() {
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") {
    throw pageError("no-wasm");
  }
  const wasm = await shipped(manifest.runtime.wasm, RUNTIME_NAME);
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

/** Start a model from the bytes of a model file. @param {any} ort @param {Uint8Array} bytes */
async function createSession(ort, bytes) {
  try {
    return await ort.InferenceSession.create(bytes, {
      executionProviders: ["wasm"],
      graphOptimizationLevel: "all",
    });
  } finally {
    ort.env.wasm.wasmBinary = undefined;
  }
}

/** Whether the runtime itself did not start, whatever the model. @param {unknown} cause */
const hasNoBackend = (cause) => String(cause).includes("no available backend");

// --8<-- [start:open_session]
/** A graph and its weights, one after the other, are a model file. @param {Which} which */
async function openSession({ model, graph }) {
  const weights = manifest.models[model];
  runtime ??= startRuntime();
  const [ort, ...pieces] = await Promise.all([
    runtime,
    shipped(manifest.graphs[weights.size][graph], MODEL_NAME),
    shipped(weights, MODEL_NAME),
  ]);
  const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
  try {
    return await createSession(ort, bytes);
  } catch (cause) {
    throw pageError(hasNoBackend(cause) ? "start" : "no-model", { what: MODEL_NAME }, cause);
  }
}

// --8<-- [end:open_session]

/** The rules for a reader's own model, loaded with the first one. */
const ownModelRules = () => import("./own-model.mjs");

/** The model that a reader brought. @type {any} */
let own;

/** Open a reader's own file, which must fit the page's text and tokens. @param {{bytes: Uint8Array}} request */
async function openOwn({ bytes }) {
  runtime ??= startRuntime();
  const [ort, { checkShape, refusal }] = await Promise.all([runtime, ownModelRules()]);
  try {
    own = await createSession(ort, bytes);
  } catch (cause) {
    throw hasNoBackend(cause) ? pageError("start", {}, cause) : new CourseError(refusal(String(cause)), { cause });
  }
  checkShape(own.inputMetadata, own.outputMetadata);
  return { outputs: own.outputNames.length };
}

/** Logits for the token after a row of IDs, by the reader's own model. @param {{ids: number[]}} request */
async function runOwn({ ids }) {
  const [ort, { LOGITS, checkLogits, quoted }] = await Promise.all([runtime, ownModelRules()]);
  const row = new ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]);
  const started = performance.now();
  let logits;
  try {
    ({ [LOGITS]: logits } = await own.run({ [manifest.model.input]: row }, [LOGITS]));
  } catch (cause) {
    throw new CourseError(`This model could not score ${ids.length} positions. ${quoted(String(cause))}`, { cause });
  }
  const milliseconds = performance.now() - started;
  checkLogits([...logits.dims], ids.length);
  return { logits: Array.from(logits.data.subarray(-manifest.vocabulary.size)), milliseconds };
}

/** Each file that this worker fetched, with the bytes that the network moved for it. */
async function moved() {
  const entries = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType("resource"));
  return entries.map(({ name, transferSize, encodedBodySize }) => ({ name, transferSize, encodedBodySize }));
}

/** @param {Which} which */
function session({ model, graph }) {
  const key = `${model}/${graph}`;
  let opened = sessions.get(key);
  if (!opened) {
    opened = openSession({ model, graph });
    sessions.set(key, opened);
  }
  return opened;
}

/**
 * Run a session on rows of one length.
 * @param {Which} which
 * @param {number[][]} rows
 * @param {string[]} outputs
 * @param {{switches?: number[], wanted?: number[]}} [more] further inputs of the graph
 */
async function runRows(which, rows, outputs, { switches, wanted } = {}) {
  const opened = await session(which);
  const ort = await runtime;
  const { input, switches_input, wanted_input } = manifest.model;
  const int64 = (/** @type {number[]} */ values, /** @type {number[]} */ dims) =>
    new ort.Tensor("int64", BigInt64Array.from(values, BigInt), dims);
  const feeds = { [input]: int64(rows.flat(), [rows.length, rows[0].length]) };
  if (switches) feeds[switches_input] = new ort.Tensor("float32", Float32Array.from(switches), [switches.length]);
  if (wanted) feeds[wanted_input] = int64(wanted, [wanted.length]);
  const started = performance.now();
  try {
    const values = await opened.run(feeds, outputs);
    return { values, milliseconds: performance.now() - started };
  } catch (cause) {
    throw pageError("run", {}, cause);
  }
}

/**
 * A Score for `greedy.mjs` that runs a graph.
 * @param {Which} which
 * @param {number[]} [switches]
 * @returns {import("./greedy.mjs").Score}
 */
function scorer(which, switches) {
  return async (rows, positions) => {
    const isFast = which.graph === "fast";
    const { values } = await runRows(which, rows, ["logits"], { switches, wanted: isFast ? positions : undefined });
    const { data, dims } = values.logits;
    if (isFast) return data;
    const [, length, size] = dims;
    const picked = new Float32Array(rows.length * positions.length * size);
    rows.forEach((_, row) =>
      positions.forEach((position, place) => {
        const from = (row * length + position) * size;
        picked.set(data.subarray(from, from + size), (row * positions.length + place) * size);
      }),
    );
    return picked;
  };
}

const handlers = {
  /** @param {Which} request */
  open: async ({ model, graph }) => {
    await session({ model, graph });
  },
  /** @param {Which & {rows: number[][], outputs: string[], switches?: number[]}} request */
  run: async ({ rows, outputs, switches, ...which }) => {
    const { values, milliseconds } = await runRows(which, rows, outputs, { switches });
    const named = Object.fromEntries(
      outputs.map((name) => [name, { data: values[name].data, dims: [...values[name].dims] }]),
    );
    return { outputs: named, milliseconds };
  },
  /** @param {Which & {prompts: number[][], switches?: number[]}} request */
  answer: ({ prompts, switches, ...which }) => greedyAnswers(scorer(which, switches), prompts),
  /** @param {{model: string, problems: {prompt: number[], answer: number[]}[]}} request */
  grade: ({ model, problems }) =>
    grade(scorer({ model, graph: "fast" }), scorer({ model, graph: "plain" }), problems),
  openOwn,
  runOwn,
  moved,
  /** Copies of the files downloaded so far, for another worker. */
  lend: async () => new Map(await Promise.all([...packed].map(async ([name, file]) => [name, await file]))),
  /** @param {{files: Map<string, Uint8Array<ArrayBuffer>>}} request */
  take: async ({ files }) => {
    for (const [name, file] of files) packed.set(name, Promise.resolve(file));
  },
};

/** Requests run one after another. */
let queue = Promise.resolve();

self.addEventListener("message", ({ data: { id, kind, ...request } }) => {
  queue = queue.then(async () => {
    try {
      self.postMessage({ id, result: await handlers[kind](request) });
    } catch (error) {
      const { message, retry, cause } =
        error instanceof CourseError ? error : pageError("run", {}, error);
      self.postMessage({ id, error: { message, retry, detail: String(cause ?? "") } });
    }
  });
});
