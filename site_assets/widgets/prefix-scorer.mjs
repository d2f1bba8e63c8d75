/**
 * `<prefix-scorer model="trained" prefix="12+34=">`: type a prefix, and the model
 * scores all 98 tokens that could come next, on this device.
 *
 * Attributes: `model` is `trained`, `initial` or a checkpoint's name; `prefix` is the
 * text to start with; `link` is the name under which the page's address keeps the prefix.
 */
import { manifest } from "../generated/manifest.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { checkPrefix, unseenOperands } from "../runtime/prompt.mjs";
import { probabilities, topToken } from "../runtime/scores.mjs";
import { displayName, encode } from "../runtime/tokenizer.mjs";
import { PLAIN_TEXT_BOX, grouped, h, ignoreComposingEnter, megabytes, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { ScoreTable, shownProbability } from "./score-table.mjs";
import { tokenLabel } from "./token-label.mjs";

/** "Random weights. Epoch 0. 0.76 MB." or "Trained weights. Step 12,000. …" @param {string} model */
function cardLine(model) {
  const { step, problems_seen: seen, bytes } = manifest.models[model];
  const size = `${megabytes(bytes)} MB`;
  return step === 0
    ? `Random weights. Epoch 0. ${size}.`
    : `Trained weights. Step ${grouped(step)}, after ${grouped(seen)} problems. ${size}.`;
}

/** A prefix from a link, when the model can read it. @param {string} text */
function readable(text) {
  checkPrefix(text);
  return text;
}

export default class PrefixScorer extends LiveElement {
  #table = new ScoreTable();
  #results = h("div", { class: "scorer-results", hidden: true });
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("prefix"),
    name: "prefix",
    oninput: () => this.#changed(),
  });
  #card = h("p", { class: "scorer-card" });

  get #model() {
    return engine.modelKey(this.getAttribute("model") ?? "trained");
  }

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
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Score"),
    );
    const hint = h(
      "p",
      { class: "live-hint", id: hintId },
      `At most ${manifest.prompt.longest_prefix} characters. Every character counts, spaces too. The text stays on this device.`,
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, form, hint, this.feedback, this.#results, this.#card, this.#details());
    this.#card.textContent = cardLine(this.#model);
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
    writeState(this.getAttribute("link"), { prefix: text });
    const model = this.#model;
    const score = () => engine.run(model, [encode(text)], ["logits"]);
    void this.ask(score, (answer) => this.#showScores(text, answer));
  }

  /** The box holds another text now: what was shown does not belong to it. */
  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "The prefix has changed. Press Score to score it.");
  }

  #clear() {
    this.#box.removeAttribute("aria-invalid");
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }

  /** @param {string} text @param {import("../runtime/engine.mjs").RunResult} answer */
  #showScores(text, { outputs: { logits }, milliseconds }) {
    const size = manifest.vocabulary.size;
    const last = logits.data.subarray(logits.data.length - size);
    const shares = probabilities(last);
    const top = topToken(last);
    const length = `${text.length} ${text.length === 1 ? "character" : "characters"}`;
    this.#table.fill(last, shares);
    this.#results.replaceChildren(
      h("p", { class: "scorer-echo" }, "Scored: ", h("code", {}, `"${text}"`), ` (${length}, ${text.length + 1} ${text.length ? "tokens" : "token"} with BOS)`),
      h(
        "p",
        { class: "scorer-top" },
        "Highest score: ",
        tokenLabel(top),
        ` with logit ${last[top].toFixed(4)} and probability ${shownProbability(shares[top])}.`,
      ),
      ...unseenOperands(text).map((warning) => h("p", { class: "live-warning" }, warning)),
      this.#table.element,
    );
    this.#results.hidden = false;
    const time = `${milliseconds.toFixed(1)} ms`;
    this.show("ready", `Scored on this device in ${time}. The highest-scoring token is ${displayName(top)}.`);
  }

  #details() {
    const { config, parameters } = manifest.model;
    const { bytes } = manifest.models[this.#model];
    const facts = [
      "What goes in: BOS and the characters exactly as typed. Nothing is trimmed, padded, cut or replaced.",
      `What comes out: one score (logit) for each of the ${config.vocab_size} tokens. No token is ruled out, PAD, BOS and EOS included. The probability is the softmax of the logits.`,
      `One press of Score is one forward pass. It scores the next token and writes no answer.`,
      `The context holds ${config.context_length} tokens: BOS and ${manifest.prompt.longest_prefix} characters. A longer prefix is refused.`,
      `The model has ${grouped(parameters.total)} parameters: ${grouped(parameters.total * 4)} bytes as float32, stored as float16 in a download of ${megabytes(bytes)} MB.`,
      `The WASM runtime (onnxruntime-web ${manifest.runtime.version}, ${megabytes(manifest.runtime.bytes)} MB) is downloaded when you first press Score. The prefix is never sent anywhere.`,
    ];
    return h(
      "details",
      { class: "scorer-details" },
      h("summary", {}, "What happens when I press Score?"),
      h("ul", {}, ...facts.map((fact) => h("li", {}, fact))),
    );
  }
}
