/**
 * The one owner of the runtime. Every widget asks here; the first question starts
 * the worker, downloads the runtime and the model once, and later ones use them.
 *
 * A failure ends the worker, so that the next try starts from nothing and can not
 * meet what an earlier one left behind.
 */
import { manifest } from "../generated/manifest.mjs";
import { CourseError, pageError } from "./messages.mjs";

/** @typedef {{data: Float32Array, dims: number[]}} Output */
/** @typedef {{outputs: Record<string, Output>, milliseconds: number}} RunResult */
/** @typedef {{loaded: number, total: number}} Progress */

class Engine extends EventTarget {
  /** @type {Worker | undefined} */
  #worker;
  #nextId = 0;
  /** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void}>} */
  #waiting = new Map();
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
   * @returns {Promise<void>}
   */
  open(model) {
    return this.#ask({ kind: "open", model });
  }

  /**
   * Run rows of token IDs, all of one length.
   * @param {string} model key in the manifest
   * @param {number[][]} rows
   * @param {string[]} outputs names of the graph's outputs
   * @returns {Promise<RunResult>}
   */
  run(model, rows, outputs) {
    return this.#ask({ kind: "run", model, rows, outputs });
  }

  /** @param {{kind: string, model: string} & Record<string, unknown>} request */
  #ask(request) {
    const entry = manifest.models[request.model];
    if (!entry) throw new Error(`there is no model ${request.model} in the manifest`);
    this.#wanted.set(manifest.runtime.wasm.file, manifest.runtime.wasm.bytes);
    this.#wanted.set(entry.file, entry.bytes);
    const worker = (this.#worker ??= this.#start());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ ...request, id });
    });
  }

  #start() {
    const worker = new Worker(new URL("./worker.mjs", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }) => this.#receive(data));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      const name = navigator.onLine ? "network" : "offline";
      this.#fail(pageError(name, { what: "the runtime" }, event.message));
    });
    return worker;
  }

  /** @param {any} answer */
  #receive(answer) {
    if (answer.progress) {
      const { file, loaded } = answer.progress;
      this.#loaded.set(file, Math.min(loaded, this.#wanted.get(file) ?? loaded));
      this.dispatchEvent(new Event("progress"));
    } else if (answer.error) {
      const { message, retry, detail } = answer.error;
      this.#fail(new CourseError(message, { retry, cause: detail }));
    } else {
      this.#waiting.get(answer.id)?.resolve(answer.result);
      this.#waiting.delete(answer.id);
    }
  }

  /** End the worker and tell everybody who waits. @param {Error} error */
  #fail(error) {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#loaded.clear();
    this.#wanted.clear();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}

export const engine = new Engine();
