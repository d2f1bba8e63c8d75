/**
 * What the parts share that run the graph `inside` on the reader's own line, with the switches of the
 * page's board: the text box, the rules for it, the run, and a new run when a switch was flipped.
 */
import { manifest } from "../generated/manifest.mjs";
import { switchValues } from "../runtime/ablation.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { checkPrefix } from "../runtime/prompt.mjs";
import { listInWords } from "../runtime/switch-names.mjs";
import { encode } from "../runtime/tokenizer.mjs";
import { PLAIN_TEXT_BOX, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { switchState } from "./switch-state.mjs";

/** @typedef {Record<string, import("../runtime/engine.mjs").Output>} Outputs */

/** Names of all outputs of the graph. @type {string[]} */
const OUTPUTS = manifest.model.inside_outputs;

export class LineElement extends LiveElement {
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("line"),
    name: "line",
    oninput: () => this.#changed(),
  });
  #results = h("div", { class: "inside-results", hidden: true });
  #line = "";

  build() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    const readable = (/** @type {string} */ text) => (checkPrefix(text), text);
    this.#box.value = stateValue(state, "line", readable, this.getAttribute("line") ?? "", complaints);
    this.restore(state, complaints);
    this.#box.setAttribute("aria-describedby", this.errorId);
    ignoreComposingEnter(this.#box);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      h("label", { for: this.#box.id }, "Line"),
      this.#box,
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Look"),
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, form, this.feedback, this.#results);
  }

  connectedCallback() {
    super.connectedCallback();
    switchState.addEventListener("change", this.#switched);
  }

  disconnectedCallback() {
    switchState.removeEventListener("change", this.#switched);
    super.disconnectedCallback();
  }

  /**
   * Take from a link what the element keeps there besides the line.
   * @param {Record<string, string>} state
   * @param {string[]} complaints
   */
  restore(state, complaints) {}

  /** What the element keeps in a link besides the line. @returns {Record<string, string | number>} */
  kept() {
    return {};
  }

  /**
   * The content for a line's outputs, and the sentence for the status line.
   * @param {number[]} ids
   * @param {Outputs} outputs
   * @returns {{content: Node[], says: string}}
   */
  display(ids, outputs) {
    throw new Error(`${this.localName} has no display()`);
  }

  /** Keep the shown line and the element's own state in the address. */
  keep() {
    writeState(this.getAttribute("link"), { line: this.#line, ...this.kept() });
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    this.#clear();
    this.drop();
    try {
      checkPrefix(this.#box.value);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#box.setAttribute("aria-invalid", "true");
      this.show("error", error.message);
      return;
    }
    this.#line = this.#box.value;
    this.keep();
    this.#run();
  }

  #run() {
    const ids = encode(this.#line);
    const off = switchState.off;
    const model = engine.modelKey("trained");
    const run = () => engine.run(model, [ids], OUTPUTS, { graph: "inside", switches: switchValues(off) });
    void this.ask(run, ({ outputs }) => {
      const { content, says } = this.display(ids, outputs);
      const head = h(
        "p",
        { class: "inside-echo" },
        "Computed on this device for ",
        h("code", {}, `"${this.#line}"`),
        off.length > 0 ? `, with these switches off: ${listInWords(off)}.` : ", with all switches on.",
      );
      this.#results.replaceChildren(head, ...content);
      this.#results.hidden = false;
      this.show("ready", says);
    });
  }

  /** A switch was flipped: what is shown, or asked for, is computed again. */
  #switched = () => {
    if (this.dataset.state === "ready" || this.dataset.state === "loading") this.#run();
  };

  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "The line has changed. Press Look to run the model on it.");
  }

  #clear() {
    this.#box.removeAttribute("aria-invalid");
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }
}
