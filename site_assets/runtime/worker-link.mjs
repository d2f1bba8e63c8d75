/** One worker and the questions that wait for its answers. `engine.mjs` holds one or more. */
import { CourseError, pageError } from "./messages.mjs";

export class WorkerLink {
  #worker = new Worker(new URL("./worker.mjs", import.meta.url), { type: "module" });
  #nextId = 0;
  /** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void}>} */
  #waiting = new Map();
  #onProgress;
  #onFailure;

  /**
   * @param {(file: string, loaded: number) => void} onProgress
   * @param {() => void} onFailure the worker has ended; everybody who waited was told
   */
  constructor(onProgress, onFailure) {
    this.#onProgress = onProgress;
    this.#onFailure = onFailure;
    this.#worker.addEventListener("message", ({ data }) => this.#receive(data));
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      const name = navigator.onLine ? "network" : "offline";
      this.#fail(pageError(name, { what: "the runtime" }, event.message));
    });
  }

  /**
   * @param {{kind: string} & Record<string, unknown>} request
   * @returns {Promise<any>}
   */
  ask(request) {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...request, id });
    });
  }

  /** @param {any} answer */
  #receive(answer) {
    if (answer.progress) {
      this.#onProgress(answer.progress.file, answer.progress.loaded);
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
    this.#worker.terminate();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#onFailure();
    for (const { reject } of waiting) reject(error);
  }

  /** End the worker; nobody waits for it. */
  end() {
    this.#worker.terminate();
  }
}
