/**
 * `<sampled-writer prefix="12+34=" temperature="1" top-k="98" seed="0" model="trained" link="sample">`:
 * the model writes by chance under these settings, on this device; each step shows the scores before
 * and after temperature and top-k, the draw, and the token that it falls on.
 *
 * Attributes: the values to start with; `link` is the name under which the page's address keeps them.
 */
import { manifest } from "../generated/manifest.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { unseenOperands } from "../runtime/prompt.mjs";
import { write } from "../runtime/writing.mjs";
import { h } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { SamplingForm } from "./sampling-form.mjs";
import { stepCard } from "./step-card.mjs";
import { verdict } from "./verdict.mjs";

/** @typedef {import("./sampling-form.mjs").Asked} Asked */

const LARGEST_SEED = manifest.prompt.limits.seed[1];

/** The command that writes the same text. @param {Asked} asked */
function command({ prefix, temperature, topK, seed, model }) {
  const quoted = `'${prefix.replaceAll("'", `'\\''`)}'`;
  const weights = model === manifest.trained ? "" : ` --checkpoint model_src/checkpoints/${model}.safetensors`;
  return `python -m tiny_gpt.generate ${quoted} --temperature ${temperature} --top-k ${topK} --seed ${seed}${weights}`;
}

export default class SampledWriter extends LiveElement {
  /** @type {SamplingForm} */
  #form;
  #results = h("div", { class: "writer-results", hidden: true });

  build() {
    this.#form = new SamplingForm(this, {
      names: ["prefix", "temperature", "top-k", "seed"],
      onchange: () => this.#changed(),
      onsubmit: () => this.#write(),
      buttons: [
        h("button", { type: "submit", class: "live-button live-button--primary" }, "Write"),
        h("button", { type: "button", class: "live-button", onclick: () => this.#next() }, "Next seed"),
      ],
    });
    const hint = h("p", { class: "live-hint" }, "Temperature 0 is greedy: it needs no draws. Next seed adds 1 and writes again.");
    const warnings = this.#form.complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, this.#form.element, hint, this.feedback, this.#results);
  }

  #next() {
    const seed = this.#form.text("seed").trim();
    if (/^\d+$/.test(seed) && Number(seed) <= LARGEST_SEED) {
      this.#form.fill("seed", String(Number(seed) === LARGEST_SEED ? 0 : Number(seed) + 1));
    }
    this.#write();
  }

  #write() {
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
    void this.ask(
      () => write(engine, asked.model, asked.prefix, asked),
      (answer) => this.#show(asked, answer),
    );
  }

  /** The form holds other settings now: what was written does not belong to them. */
  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "The settings have changed. Press Write to let the model write under them.");
  }

  #clear() {
    this.#form.accept();
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }

  /** @param {Asked} asked @param {Awaited<ReturnType<typeof write>>} answer */
  #show(asked, { steps, written, end }) {
    this.#results.replaceChildren(
      h("p", { class: "writer-text" }, h("code", {}, asked.prefix, h("mark", {}, written))),
      ...unseenOperands(asked.prefix).map((warning) => h("p", { class: "live-warning" }, warning)),
      h("p", { class: "live-hint" }, "The same in Python: ", h("code", {}, command(asked))),
      h("ol", { class: "step-cards", "aria-label": "Steps of the answer" }, ...steps.map((step, index) => stepCard(index + 1, step, asked))),
    );
    this.#results.hidden = false;
    const chance = asked.temperature === 0 ? "Greedy" : `Seed ${asked.seed}`;
    const what = written === "" ? "no character" : `“${written}”`;
    const judged = verdict(asked.prefix, written, end);
    const stop = end === "context full" ? "a full context" : end;
    this.show("ready", `${chance}: the model wrote ${what} and ended with ${stop}.${judged ? ` That is ${judged}.` : ""}`);
  }
}
