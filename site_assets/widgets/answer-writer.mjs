/**
 * `<answer-writer prefix="12+34=" link="write">`: the trained model writes an answer by greedy
 * decoding, token by token, on this device; each step shows what was fed in, the top scores and
 * what was chosen.
 *
 * Attributes: `prefix` is the text to start with; `link` is the name under which the page's
 * address keeps it; `model` is `trained`, `initial` or a checkpoint's name.
 */
import { manifest } from "../generated/manifest.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { checkPrefix, unseenOperands } from "../runtime/prompt.mjs";
import { displayName, encode } from "../runtime/tokenizer.mjs";
import { GREEDY, write, writeToken, writtenText } from "../runtime/writing.mjs";
import { PLAIN_TEXT_BOX, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { stepCard } from "./step-card.mjs";

/** @typedef {import("../runtime/writing.mjs").Step} Step */

/** A prefix from a link, when the model can read it. @param {string} text */
function readable(text) {
  checkPrefix(text);
  return text;
}

export default class AnswerWriter extends LiveElement {
  #prefix = ""; // that the steps belong to
  /** @type {Step[]} */
  #steps = [];
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("prefix"),
    name: "prefix",
    oninput: () => this.#changed(),
  });
  #text = h("p", { class: "writer-text" });
  #warnings = h("div");
  #cards = h("ol", { class: "step-cards", "aria-label": "Steps of the answer" });
  #results = h("div", { class: "writer-results", hidden: true }, this.#text, this.#warnings, this.#cards);

  build() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    this.#box.value = stateValue(state, "prefix", readable, this.getAttribute("prefix") ?? "", complaints);
    const hintId = uniqueId("hint");
    this.#box.setAttribute("aria-describedby", `${hintId} ${this.errorId}`);
    ignoreComposingEnter(this.#box);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      h("label", { for: this.#box.id }, "Prefix"),
      this.#box,
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Step"),
      h("button", { type: "button", class: "live-button", onclick: () => this.#writeAll() }, "Write all"),
    );
    const hint = h(
      "p",
      { class: "live-hint", id: hintId },
      `Step writes one token, Write all writes the rest. At most ${manifest.prompt.longest_prefix} characters. The text stays on this device.`,
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, form, hint, this.feedback, this.#results);
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    const steps = this.#begin();
    if (!steps) return;
    const fed = [...encode(this.#prefix), ...steps.map(({ token }) => token)];
    const model = this.#model;
    void this.ask(
      () => writeToken(engine, model, fed, steps.length, GREEDY),
      (step) => this.#show([...steps, step]),
    );
  }

  #writeAll() {
    const steps = this.#begin();
    if (!steps) return;
    const [model, prefix] = [this.#model, this.#prefix];
    void this.ask(() => write(engine, model, prefix, GREEDY, [...steps]), (written) => this.#show(written.steps));
  }

  get #model() {
    return engine.modelKey(this.getAttribute("model") ?? "trained");
  }

  /** The steps to go on from, none where an answer is complete; undefined after an error was shown. */
  #begin() {
    this.drop();
    const text = this.#box.value;
    if (text !== this.#prefix || this.#steps.at(-1)?.end !== undefined) this.#clear();
    try {
      checkPrefix(text);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#clear();
      this.#box.setAttribute("aria-invalid", "true");
      this.show("error", error.message);
      return undefined;
    }
    this.#prefix = text;
    writeState(this.getAttribute("link"), { prefix: text });
    return this.#steps;
  }

  /** The box holds another text now: what was written does not belong to it. */
  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "The prefix has changed. Press Step or Write all to let the model go on from it.");
  }

  #clear() {
    this.#box.removeAttribute("aria-invalid");
    this.#steps = [];
    this.#results.hidden = true;
    this.#cards.replaceChildren();
  }

  /** @param {Step[]} steps from the first on; those that stand there already stay */
  #show(steps) {
    const shown = this.#steps.length;
    this.#steps = steps;
    const written = writtenText(steps);
    this.#text.replaceChildren(h("code", {}, this.#prefix, h("mark", {}, written)));
    this.#warnings.replaceChildren(
      ...unseenOperands(this.#prefix).map((warning) => h("p", { class: "live-warning" }, warning)),
    );
    this.#cards.append(...steps.slice(shown).map((step, index) => stepCard(shown + index + 1, step, GREEDY)));
    this.#results.hidden = false;
    const { token, end } = steps.at(-1);
    this.show("ready", end ? finished(written, end, steps.length) : `Step ${steps.length} wrote ${displayName(token)}.`);
  }
}

/** @param {string} written @param {import("../runtime/writing.mjs").End} end @param {number} count of steps */
function finished(written, end, count) {
  const what = written === "" ? "no character" : `“${written}”`;
  const reason = {
    EOS: "then EOS, which ends the text",
    "PAD or BOS": "then a token without a character, which stops it",
    "context full": "and then the context was full",
  };
  return `The model wrote ${what}, ${reason[end]}: ${count} ${count === 1 ? "step" : "steps"}.`;
}
