/**
 * The one owner of the runtime. Every widget asks here; the first question starts
 * the worker, downloads the runtime and the model once, and later ones use them.
 *
 * A failure ends the worker, so that the next try starts from nothing and can not
 * meet what an earlier one left behind.
 */
import { manifest } from "../generated/manifest.mjs";
import { WorkerLink } from "./worker-link.mjs";

/** @typedef {{data: Float32Array, dims: number[]}} Output */
/** @typedef {{outputs: Record<string, Output>, milliseconds: number}} RunResult */
/** @typedef {{loaded: number, total: number}} Progress */
/** @typedef {"plain" | "inside" | "fast"} Graph */
/** @typedef {import("./greedy.mjs").Answer} Answer */
/** @typedef {{graph?: Graph, switches?: number[]}} How `switches` is for the graph `inside`: 1 on, 0 off */
/** @typedef {{prompt: number[], answer: number[]}} KnownProblem token IDs; the answer ends in EOS */

/** More workers than this would crowd a phone's memory. */
const MOST_WORKERS = 4;

class Engine extends EventTarget {
  /** @type {WorkerLink | undefined} */
  #link;
  /** @type {Map<string, number>} bytes that arrived, by file */
  #loaded = new Map();
  /** @type {Map<string, number>} compressed size of every file asked for */
  #wanted = new Map();

  /**
   * Key in the manifest of a model's name on the page: `trained`, `initial`, or the key itself.
   * @param {string} name
   */
  modelKey(name) {
    return manifest[name] ?? name;
  }

  /** Bytes that arrived of all that was asked for. @returns {Progress} */
  get progress() {
    const sum = (/** @type {Map<string, number>} */ map) =>
      [...map.values()].reduce((total, value) => total + value, 0);
    return { loaded: sum(this.#loaded), total: sum(this.#wanted) };
  }

  /**
   * Download and open a model; does nothing when it is open already.
   * @param {string} model key in the manifest
   * @param {Graph} [graph]
   * @returns {Promise<void>}
   */
  open(model, graph = "plain") {
    return this.#ask([graph], { kind: "open", model, graph });
  }

  /**
   * Run rows of token IDs, all of one length.
   * @param {string} model key in the manifest
   * @param {number[][]} rows
   * @param {string[]} outputs names of the graph's outputs
   * @param {How} [how]
   * @returns {Promise<RunResult>}
   */
  run(model, rows, outputs, { graph = "plain", switches } = {}) {
    return this.#ask([graph], { kind: "run", model, graph, rows, outputs, switches });
  }

  /**
   * Let the model write after prompts of any lengths, by greedy decoding.
   * @param {string} model key in the manifest
   * @param {number[][]} prompts token IDs
   * @param {How} [how]
   * @returns {Promise<Answer[]>}
   */
  answer(model, prompts, { graph = "plain", switches } = {}) {
    return this.#ask([graph], { kind: "answer", model, graph, prompts, switches });
  }

  /**
   * Grade many problems by greedy decoding, batch after batch, in several workers where the
   * device has the cores. Ends at once, without an error, when `signal` is aborted; what comes
   * in later is dropped.
   * @param {string} model key in the manifest
   * @param {(() => KnownProblem[])[]} batches each makes its problems when its turn comes
   * @param {(batch: number, graded: (Answer & {right: boolean})[]) => void} onBatch
   * @param {AbortSignal} signal
   */
  async grade(model, batches, onBatch, signal) {
    if (signal.aborted) return;
    const stopped = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    /** @type {{end: () => void}[]} */
    const helpers = [];
    try {
      await Promise.race([stopped, this.#gradeAll(model, batches, onBatch, signal, helpers)]);
    } finally {
      for (const { end } of helpers) end();
    }
  }

  /**
   * @param {string} model
   * @param {(() => KnownProblem[])[]} batches
   * @param {(batch: number, graded: (Answer & {right: boolean})[]) => void} onBatch
   * @param {AbortSignal} signal
   * @param {{end: () => void}[]} helpers further workers are added here as they are hired
   */
  async #gradeAll(model, batches, onBatch, signal, helpers) {
    const waiting = batches.map((_, index) => index);
    let left = batches.length;
    /** @type {() => void} */
    let allGraded;
    const complete = new Promise((resolve) => (allGraded = () => resolve(undefined)));
    const request = (/** @type {number} */ batch) => ({ kind: "grade", model, problems: batches[batch]() });
    await this.open(model, "fast");
    if (signal.aborted) return;
    const work = async (/** @type {(batch: number) => Promise<any>} */ ask) => {
      while (waiting.length > 0 && !signal.aborted) {
        const batch = waiting.shift();
        try {
          const graded = await ask(batch);
          if (signal.aborted) return;
          onBatch(batch, graded);
          left -= 1;
          if (left === 0) allGraded();
        } catch (error) {
          waiting.unshift(batch);
          throw error;
        }
      }
    };
    const ask = (/** @type {number} */ batch) => this.#ask(["fast", "plain"], request(batch));
    const cores = Math.min(navigator.hardwareConcurrency ?? 1, MOST_WORKERS, batches.length);
    const helped = Array.from({ length: cores - 1 }, async () => {
      const hired = this.#hire();
      helpers.push(hired);
      const link = await hired.ready;
      await work((batch) => link.ask(request(batch)));
    });
    const everyone = Promise.allSettled([work(ask), ...helped]).then(([first]) => {
      if (first.status === "rejected") throw first.reason;
      return work(ask); // what a helper that failed left behind
    });
    await Promise.race([complete, everyone]); // a helper that has not even started is not waited for
  }

  /**
   * A further worker, apart from the one that the live parts share: for work that may fail, or
   * whose start is timed. It has nothing at first; `lend` gives it files. Its owner ends it.
   * @param {(file: string, loaded: number) => void} [onProgress]
   */
  startWorker(onProgress = () => {}) {
    return new WorkerLink(onProgress, () => {});
  }

  /**
   * Give a further worker copies of the files that the shared one has downloaded.
   * @param {WorkerLink} link
   */
  async lend(link) {
    if (!this.#link) return;
    await link.ask({ kind: "take", files: await this.#link.ask({ kind: "lend" }) });
  }

  /** A further worker for `grade`, with everything that the first one downloaded. */
  #hire() {
    const link = this.startWorker();
    return { ready: this.lend(link).then(() => link), end: () => link.end() };
  }

  /**
   * @param {Graph[]} graphs
   * @param {{kind: string, model: string} & Record<string, unknown>} request
   */
  #ask(graphs, request) {
    const weights = manifest.models[request.model];
    if (!weights) throw new Error(`there is no model ${request.model} in the manifest`);
    const forms = graphs.map((graph) => manifest.graphs[weights.size][graph]);
    for (const { file, bytes } of [manifest.runtime.wasm, weights, ...forms]) this.#wanted.set(file, bytes);
    this.#link ??= new WorkerLink(
      (file, loaded) => {
        this.#loaded.set(file, Math.min(loaded, this.#wanted.get(file) ?? loaded));
        this.dispatchEvent(new Event("progress"));
      },
      () => {
        this.#link = undefined;
        this.#loaded.clear();
        this.#wanted.clear();
      },
    );
    return this.#link.ask(request);
  }
}

export const engine = new Engine();
