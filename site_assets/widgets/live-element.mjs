/**
 * What the widgets share: the states idle, loading, ready and error in `data-state`,
 * a line that says what goes on, the download's progress, the error with Retry, and
 * the rule that an answer to an old question is dropped.
 */
import { engine } from "../runtime/engine.mjs";
import { CourseError, pageError } from "../runtime/messages.mjs";
import { h, megabytes, uniqueId } from "./dom.mjs";

/** @typedef {"idle" | "loading" | "ready" | "error"} State */

export class LiveElement extends HTMLElement {
  #question = 0;
  #built = false;
  /** @type {(() => void) | undefined} what Retry does */
  #again;
  errorId = uniqueId("error");
  #status = h("p", { class: "live-status", role: "status" });
  #bar = h("progress", { class: "live-progress", "aria-label": "Download" });
  #error = h("p", { class: "live-error", role: "alert", id: this.errorId });
  #retry = h("button", { type: "button", class: "live-button", onclick: () => this.#again?.() }, "Retry");
  /** The status line, progress bar, error and Retry, for the element to place. */
  feedback = h("div", { class: "live-feedback" }, this.#status, this.#bar, this.#error, this.#retry);

  connectedCallback() {
    if (!this.#built) {
      this.#built = true;
      this.build();
      this.show("idle");
    }
    engine.addEventListener("progress", this.#onProgress);
  }

  disconnectedCallback() {
    engine.removeEventListener("progress", this.#onProgress);
    this.drop();
  }

  /** Make the element's content; called once, when it first stands in a page. */
  build() {
    throw new Error(`${this.localName} has no build()`);
  }

  /** Forget a question that is still being answered. */
  drop() {
    this.#question += 1;
    if (this.dataset.state === "loading") this.show("idle");
  }

  /**
   * Show a state. `text` is the status line; for `error` it is the error sentence.
   * @param {State} state
   * @param {string} [text]
   * @param {() => void} [again] what Retry does, where trying again can help
   */
  show(state, text = "", again = undefined) {
    this.dataset.state = state;
    this.setAttribute("aria-busy", String(state === "loading"));
    const failed = state === "error";
    this.#status.textContent = failed ? "" : text;
    this.#error.textContent = failed ? text : "";
    this.#error.hidden = !failed;
    this.#again = again;
    this.#retry.hidden = !again;
    if (state !== "loading") this.#bar.hidden = true;
  }

  /**
   * Ask, and show the answer unless a newer question was asked or the element has left the page.
   * @template Answer
   * @param {() => Promise<Answer>} ask
   * @param {(answer: Answer) => void} answered shows the answer and the state `ready`
   */
  async ask(ask, answered) {
    this.#question += 1;
    const question = this.#question;
    const again = () => void this.ask(ask, answered);
    this.show("loading", "Starting…");
    try {
      const answer = await ask();
      if (question === this.#question) answered(answer);
    } catch (cause) {
      if (question !== this.#question) return;
      const error = cause instanceof CourseError ? cause : pageError("run", {}, cause);
      this.show("error", error.message, error.retry ? again : undefined);
    }
  }

  #onProgress = () => {
    if (this.dataset.state !== "loading") return;
    const { loaded, total } = engine.progress;
    const isDownloading = loaded < total;
    this.#bar.hidden = !isDownloading;
    this.#bar.max = total;
    this.#bar.value = loaded;
    this.#status.textContent = isDownloading
      ? `Downloading the runtime and the model: ${megabytes(loaded)} of ${megabytes(total)} MB`
      : "Starting the runtime…";
  };
}
