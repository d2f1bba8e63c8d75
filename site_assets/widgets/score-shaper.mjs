/**
 * `<score-shaper prefix="12+34=" temperature="1" top-k="98" model="step-001000" link="shape">`: the
 * probabilities of all tokens after a prefix, before and after temperature and top-k. The model scores
 * the prefix once on this device; the two sliders then reshape its scores.
 *
 * Attributes: the values to start with; `link` is the name under which the page's address keeps them.
 */
import { manifest } from "../generated/manifest.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { checkSetting, checkTemperature } from "../runtime/prompt.mjs";
import { distribution } from "../runtime/sampling.mjs";
import { VOCABULARY_SIZE, displayName, encode } from "../runtime/tokenizer.mjs";
import { h, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { percent } from "./percent.mjs";
import { SamplingForm } from "./sampling-form.mjs";
import { tokenLabel } from "./token-label.mjs";

const [COLDEST, HOTTEST] = manifest.prompt.limits.temperature;

/** A probability as a bar with its number. @param {HTMLElement} cell @param {number} share */
function showShare(cell, share) {
  const bar = h("span", { class: "score-bar", "aria-hidden": "true" });
  bar.style.inlineSize = `${100 * share}%`;
  cell.replaceChildren(bar, percent(share));
}

export default class ScoreShaper extends LiveElement {
  /** @type {SamplingForm} */
  #form;
  /** @type {import("./sampling-form.mjs").Asked | undefined} what is scored */
  #asked;
  /** @type {Float32Array} */
  #logits = new Float32Array(0);
  /** @type {{id: number, row: HTMLElement, after: HTMLElement}[]} likeliest first */
  #rows = [];
  #temperature = this.#slider("Temperature", "temperature", 0, HOTTEST, COLDEST);
  #topK = this.#slider("Top-k", "top-k", 1, VOCABULARY_SIZE, 1);
  #summary = ""; // of the last column, for the status line
  #body = h("tbody");
  #table = h(
    "div",
    { class: "score-table", role: "region", tabindex: "0", "aria-label": `Probabilities of all ${VOCABULARY_SIZE} tokens, scrollable` },
    h(
      "table",
      { class: "live-table" },
      h("caption", {}, `All ${VOCABULARY_SIZE} tokens, highest logit first: their probabilities before and after temperature and top-k.`),
      h("thead", {}, h("tr", {}, ...["Token", "Logit", "Before", "After"].map((title) => h("th", { scope: "col" }, title)))),
      this.#body,
    ),
  );
  #results = h(
    "div",
    { class: "shape-results", hidden: true },
    h("div", { class: "shape-sliders" }, this.#temperature.element, this.#topK.element),
    this.#table,
  );

  build() {
    this.#form = new SamplingForm(this, {
      names: ["prefix"],
      onchange: () => this.#changed(),
      onsubmit: () => this.#score(),
      buttons: [h("button", { type: "submit", class: "live-button live-button--primary" }, "Score")],
    });
    const { complaints } = this.#form;
    const state = readState(this.getAttribute("link"));
    const usual = (/** @type {string} */ name, /** @type {string} */ value) => this.getAttribute(name) ?? value;
    const temperature = stateValue(state, "temperature", checkTemperature, Number(usual("temperature", "1")), complaints);
    const topK = stateValue(state, "top-k", (text) => checkSetting("top-k", text), Number(usual("top-k", String(VOCABULARY_SIZE))), complaints);
    this.#temperature.input.value = String(temperature);
    this.#topK.input.value = String(topK);
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, this.#form.element, this.feedback, this.#results);
  }

  /** @param {string} label @param {string} name @param {number} low @param {number} high @param {number} step */
  #slider(label, name, low, high, step) {
    const id = uniqueId(name);
    const input = h("input", {
      type: "range",
      id,
      name,
      min: low,
      max: high,
      step,
      oninput: () => this.#shape(),
      onchange: () => this.#settle(),
    });
    const output = h("output", { for: id });
    return { input, output, element: h("p", { class: "shape-slider" }, h("label", { for: id }, label), input, output) };
  }

  #score() {
    this.#clear();
    this.drop();
    let asked;
    try {
      asked = this.#form.read();
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.show("error", error.message);
      return;
    }
    const score = () => engine.run(asked.model, [encode(asked.prefix)], ["logits"]);
    void this.ask(score, ({ outputs }) => {
      this.#asked = asked;
      this.#logits = outputs.logits.data.slice(-VOCABULARY_SIZE);
      this.#fill();
      this.#results.hidden = false;
      this.#settle();
    });
  }

  /** The form holds another prefix or other weights now: the scores do not belong to it. */
  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "The prefix or the weights have changed. Press Score to score again.");
  }

  #clear() {
    this.#form.accept();
    this.#asked = undefined;
    this.#results.hidden = true;
    this.#body.replaceChildren();
  }

  /** A row for each token of the scores at hand. */
  #fill() {
    const logits = this.#logits;
    const before = distribution(logits, 1, VOCABULARY_SIZE);
    const order = Array.from(logits, (_, id) => id).sort((a, b) => logits[b] - logits[a] || a - b);
    this.#rows = order.map((id) => {
      const [first, after] = [h("td"), h("td")];
      showShare(first, before[id]);
      const row = h("tr", { "data-id": id }, h("th", { scope: "row" }, tokenLabel(id)), h("td", {}, logits[id].toFixed(4)), first, after);
      return { id, row, after };
    });
    this.#body.replaceChildren(...this.#rows.map(({ row }) => row));
    this.#table.scrollTop = 0;
    this.#shape();
  }

  get #settings() {
    return { temperature: Number(this.#temperature.input.value), topK: Number(this.#topK.input.value) };
  }

  /** Draw the last column under the sliders' settings. */
  #shape() {
    const { temperature, topK } = this.#settings;
    const named = temperature === 0 ? "0, greedy" : String(temperature);
    this.#temperature.output.textContent = named;
    this.#temperature.input.setAttribute("aria-valuetext", named);
    this.#topK.output.textContent = `${topK} of ${VOCABULARY_SIZE}`;
    const after = distribution(this.#logits, temperature, topK);
    for (const { id, row, after: cell } of this.#rows) {
      showShare(cell, after[id]);
      row.classList.toggle("shape-out", after[id] === 0);
    }
    const [top] = this.#rows;
    const kept = after.filter((share) => share > 0).length;
    this.#summary =
      `${kept} ${kept === 1 ? "token" : "tokens"} can be drawn. The likeliest, ${displayName(top.id)}, gets ${percent(after[top.id])}; ` +
      `some other one is drawn with ${percent(1 - after[top.id])}.`;
  }

  /** The sliders rest: announce the result, and keep it in the page's address. */
  #settle() {
    const { temperature, topK } = this.#settings;
    const { prefix, model } = this.#asked;
    writeState(this.getAttribute("link"), { prefix, model, temperature, "top-k": topK });
    this.show("ready", `Temperature ${this.#temperature.output.textContent}, top-k ${topK}: ${this.#summary}`);
  }
}
