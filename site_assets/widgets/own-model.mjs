/**
 * `<own-model prefix="12+34=">`: the reader brings an exported `.onnx` file. It is opened
 * in a worker of its own, so that what goes wrong there leaves the other live parts
 * alone, and scores a prefix beside the published model. The file never leaves the device.
 *
 * Attributes: `prefix` is the text in the box at the start.
 */
import { manifest } from "../generated/manifest.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { checkSize } from "../runtime/own-model.mjs";
import { checkPrefix } from "../runtime/prompt.mjs";
import { probabilities, topToken } from "../runtime/scores.mjs";
import { displayName, encode } from "../runtime/tokenizer.mjs";
import { PLAIN_TEXT_BOX, grouped, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { shownProbability } from "./score-table.mjs";
import { tokenLabel } from "./token-label.mjs";

const LARGEST_MB = manifest.own_model.largest_bytes / 1e6;
const LOGITS = [manifest.model.outputs[0]];

export default class OwnModel extends LiveElement {
  /** @type {import("../runtime/worker-link.mjs").WorkerLink | undefined} */
  #worker;
  /** @type {{name: string, bytes: Uint8Array} | undefined} the file that was opened */
  #file;
  #picker = h("input", { type: "file", class: "own-file", id: uniqueId("file"), accept: ".onnx", onchange: () => this.#picked() });
  #zone = h(
    "div",
    {
      class: "own-zone",
      ondragover: (/** @type {DragEvent} */ event) => this.#over(event),
      ondragleave: () => this.#zone.classList.remove("own-zone--over"),
      ondrop: (/** @type {DragEvent} */ event) => this.#dropped(event),
    },
    h("label", { for: this.#picker.id }, "Your .onnx file"),
    this.#picker,
    h("p", { class: "live-hint" }, `Choose a file or drop one here, at most ${LARGEST_MB} MB. It stays on this device.`),
  );
  #card = h("p", { class: "own-card", hidden: true });
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("prefix"),
    name: "prefix",
    "aria-describedby": this.errorId,
    oninput: () => this.#changed(),
  });
  #form = h(
    "form",
    { class: "live-form", novalidate: true, hidden: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
    h("label", { for: this.#box.id }, "Prefix"),
    this.#box,
    h("button", { type: "submit", class: "live-button live-button--primary" }, "Score with both"),
  );
  #results = h("div", { class: "own-results", hidden: true });

  build() {
    this.#box.value = this.getAttribute("prefix") ?? "";
    ignoreComposingEnter(this.#box);
    this.replaceChildren(this.#zone, this.#card, this.#form, this.feedback, this.#results);
  }

  disconnectedCallback() {
    this.#end();
    super.disconnectedCallback();
  }

  #end() {
    this.#worker?.end();
    this.#worker = undefined;
  }

  #picked() {
    const [file] = this.#picker.files;
    if (file) this.#take(file);
  }

  /** @param {DragEvent} event */
  #over(event) {
    event.preventDefault();
    this.#zone.classList.add("own-zone--over");
  }

  /** @param {DragEvent} event */
  #dropped(event) {
    event.preventDefault();
    this.#zone.classList.remove("own-zone--over");
    const [file] = event.dataTransfer?.files ?? [];
    if (file) this.#take(file);
  }

  /** @param {File} file */
  #take(file) {
    this.#end();
    this.drop();
    this.#file = undefined;
    this.#card.hidden = this.#form.hidden = true;
    this.#clear();
    try {
      checkSize(file.size);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.show("error", `${file.name}: ${error.message}`);
      return;
    }
    void this.ask(
      () => this.#open(file),
      ({ opened, outputs }) => {
        this.#file = opened;
        this.#showCard(opened, outputs);
      },
    );
  }

  /** @param {File} file */
  async #open(file) {
    const opened = { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
    await engine.open(manifest.trained);
    try {
      const { outputs } = await this.#start(opened.bytes);
      return { opened, outputs };
    } catch (cause) {
      this.#end();
      if (!(cause instanceof CourseError)) throw cause;
      throw new CourseError(`${file.name}: ${cause.message}`, { retry: cause.retry, cause: cause.cause });
    }
  }

  /** A new worker with the file open. @param {Uint8Array} bytes */
  async #start(bytes) {
    this.#end();
    const worker = engine.startWorker();
    this.#worker = worker;
    await engine.lend(worker);
    return worker.ask({ kind: "openOwn", bytes });
  }

  /** @param {{name: string, bytes: Uint8Array}} opened @param {number} outputs */
  #showCard({ name, bytes }, outputs) {
    const others = outputs > 1 ? ` and ${outputs - 1} other ${outputs === 2 ? "value" : "values"}` : "";
    this.#card.replaceChildren("Open: ", h("code", {}, name), `, ${grouped(bytes.length)} bytes. It takes `, h("code", {}, manifest.model.input), " and gives ", h("code", {}, LOGITS[0]), `${others}.`);
    this.#card.hidden = this.#form.hidden = false;
    this.show("ready", `${name} is open on this device. Score a prefix with it.`);
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    const text = this.#box.value;
    this.#clear();
    this.drop();
    try {
      checkPrefix(text);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#box.setAttribute("aria-invalid", "true");
      this.show("error", error.message);
      return;
    }
    void this.ask(
      () => this.#score(encode(text)),
      ({ own, published }) => this.#showScores(text, own, published),
    );
  }

  /** A worker that failed has ended; the file is still here, so it is opened again. @param {number[]} ids */
  async #score(ids) {
    if (!this.#worker) await this.#start(this.#file.bytes);
    try {
      const { logits: own } = await this.#worker.ask({ kind: "runOwn", ids });
      const { outputs } = await engine.run(manifest.trained, [ids], LOGITS);
      const { logits } = outputs;
      return { own, published: Array.from(logits.data.subarray(-manifest.vocabulary.size)) };
    } catch (cause) {
      this.#end();
      throw cause;
    }
  }

  /** The box holds another text now: what was shown does not belong to it. */
  #changed() {
    if (!this.#file || this.#results.hidden) return;
    this.#clear();
    this.drop();
    this.show("idle", "The prefix has changed. Press Score with both.");
  }

  #clear() {
    this.#box.removeAttribute("aria-invalid");
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }

  /** @param {string} text @param {number[]} own logits @param {number[]} published logits */
  #showScores(text, own, published) {
    const shares = { own: probabilities(own), published: probabilities(published) };
    const tops = { own: topToken(own), published: topToken(published) };
    const order = shares.published.map((_, id) => id).toSorted((a, b) => own[b] - own[a] || a - b);
    const agree = tops.own === tops.published;
    const verdict = agree
      ? `Both put ${displayName(tops.own)} on top.`
      : `Yours puts ${displayName(tops.own)} on top, the published one ${displayName(tops.published)}.`;
    this.#results.replaceChildren(
      h("p", { class: "scorer-echo" }, "Scored: ", h("code", {}, `"${text}"`)),
      h(
        "div",
        { class: "score-table", role: "region", tabindex: "0", "aria-label": "Scores of both models, scrollable" },
        h(
          "table",
          { class: "live-table" },
          h("caption", {}, "All tokens, your model's highest score first."),
          h("thead", {}, h("tr", {}, ...["Token", "Yours", "Published"].map((title) => h("th", { scope: "col" }, title)))),
          h(
            "tbody",
            {},
            ...order.map((id) =>
              h(
                "tr",
                { "data-id": id },
                h("th", { scope: "row" }, tokenLabel(id)),
                h("td", {}, shownProbability(shares.own[id])),
                h("td", {}, shownProbability(shares.published[id])),
              ),
            ),
          ),
        ),
      ),
    );
    this.#results.hidden = false;
    this.show("ready", verdict);
  }
}
