/**
 * `<time-line prefix="358+467=">`: pick a kept step of training on a slider, and the weights of
 * that step score the prefix and write on from it, on this device. What is recorded of the step
 * stands apart and is labelled so.
 *
 * Attributes: `prefix` is the text to start with; `step` the step of training to start at; `link`
 * is the name under which the page's address keeps prefix and step.
 */
import { manifest } from "../generated/manifest.mjs";
import { timeline } from "../generated/timeline.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { answer, readProblem } from "../runtime/problems.mjs";
import { checkPrefix, unseenOperands } from "../runtime/prompt.mjs";
import { probabilities } from "../runtime/scores.mjs";
import { EOS_ID, VOCABULARY_SIZE, encode, tokenName } from "../runtime/tokenizer.mjs";
import { STEPS, checkpointLabel } from "./checkpoint-picker.mjs";
import { PLAIN_TEXT_BOX, grouped, h, ignoreComposingEnter, megabytes, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { shownProbability } from "./score-table.mjs";
import { tokenLabel } from "./token-label.mjs";

const SHOWN_TOKENS = 5;

/** @typedef {{text: string, ended: boolean, tokens: number, verdict: "right" | "wrong" | "not judged"}} Written */
/** @typedef {{key: string, logits: ArrayLike<number>, written: Written, probability: number}} Scored */

/** @param {string} text */
function readable(text) {
  checkPrefix(text);
  return text;
}

/** Place on the slider of a kept step, by its number; throws when there is none. @param {string} text */
function placeOf(text) {
  const place = STEPS.findIndex((key) => String(manifest.models[key].step) === text);
  if (place === -1) throw new RangeError(`no step ${text}`);
  return place;
}

/** What greedy decoding wrote, as text, and whether it is the problem's answer. @param {string} prefix @param {number[]} ids @returns {Written} */
function readWritten(prefix, ids) {
  const ended = ids.at(-1) === EOS_ID;
  const text = (ended ? ids.slice(0, -1) : ids).map(tokenName).join("");
  const problem = prefix.endsWith("=") ? readProblem(prefix) : undefined;
  const tokens = ids.length;
  if (!problem) return { text, ended, tokens, verdict: "not judged" };
  return { text, ended, tokens, verdict: ended && text === answer(problem) ? "right" : "wrong" };
}

/** @param {string} key @param {string} prefix @returns {Promise<Scored>} */
async function scoreAt(key, prefix) {
  const ids = encode(prefix);
  const { outputs } = await engine.run(key, [ids], ["logits"]);
  const [{ written, probability }] = await engine.answer(key, [ids]);
  const logits = outputs.logits.data.subarray(-VOCABULARY_SIZE);
  return { key, logits, written: readWritten(prefix, written), probability };
}

export default class TimeLine extends LiveElement {
  #place = STEPS.length - 1;
  #prefix = "";
  /** The question that is being answered; a newer one takes its place. */
  #turn = {};
  /** @type {Map<string, Scored>} what the steps said of this prefix, by checkpoint */
  #seen = new Map();
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("prefix"),
    name: "prefix",
    oninput: () => this.#changed(),
  });
  #slider = h("input", {
    type: "range",
    class: "line-slider",
    id: uniqueId("step"),
    min: 0,
    max: STEPS.length - 1,
    step: 1,
    oninput: () => this.#slide(),
    onchange: () => this.#keep(),
  });
  #step = h("output", { class: "line-step", for: this.#slider.id });
  #record = h("p", { class: "live-hint line-record" });
  #results = h("div", { class: "line-results", hidden: true });

  get #key() {
    return STEPS[this.#place];
  }

  build() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    const usual = placeOf(this.getAttribute("step") ?? String(manifest.models[manifest.trained].step));
    this.#box.value = stateValue(state, "prefix", readable, this.getAttribute("prefix") ?? "", complaints);
    this.#place = stateValue(state, "step", placeOf, usual, complaints);
    this.#slider.value = String(this.#place);
    this.#box.setAttribute("aria-describedby", this.errorId);
    ignoreComposingEnter(this.#box);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      h("label", { for: this.#box.id }, "Prefix"),
      this.#box,
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Score"),
    );
    const slide = h(
      "div",
      { class: "line-slide" },
      h("label", { for: this.#slider.id }, "Step of training"),
      this.#step,
      this.#slider,
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, form, slide, this.#record, this.feedback, this.#results);
    this.#showStep();
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
    this.#prefix = text;
    this.#seen.clear();
    this.#keep();
    this.#score();
  }

  /** Another step: its label at once; its scores too, once the reader has asked for scores. */
  #slide() {
    this.#place = Number(this.#slider.value);
    this.#showStep();
    const { state } = this.dataset;
    if (state === "idle" || this.#box.hasAttribute("aria-invalid")) return;
    this.#results.toggleAttribute("data-stale", true);
    if (state !== "loading") this.#score();
  }

  /** The address follows once the slider is let go. */
  #keep() {
    if (this.dataset.state === "idle" && this.#seen.size === 0 && !this.#prefix) return;
    writeState(this.getAttribute("link"), { prefix: this.#prefix, step: manifest.models[this.#key].step });
  }

  /**
   * Score at the step the slider stands on. One step at a time: while one is being computed, the
   * slider may pass others, and only the one where it rests then is computed next.
   */
  #score() {
    const prefix = this.#prefix;
    const turn = {};
    this.#turn = turn;
    const ask = async () => {
      let scored;
      do {
        scored = this.#seen.get(this.#key) ?? (await scoreAt(this.#key, prefix));
        if (turn === this.#turn) this.#seen.set(scored.key, scored);
      } while (scored.key !== this.#key && turn === this.#turn);
      return scored;
    };
    void this.ask(ask, (scored) => this.#show(scored));
  }

  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "The prefix has changed. Press Score to score it.");
  }

  #clear() {
    this.#turn = {};
    this.#box.removeAttribute("aria-invalid");
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }

  /** The slider's label, and what the record says of the step. */
  #showStep() {
    const { problems_seen: problems, bytes } = manifest.models[this.#key];
    const { loss, right } = timeline[this.#key];
    const label = checkpointLabel(this.#key);
    this.#step.textContent = `${label}, after ${grouped(problems)} problems`;
    this.#slider.setAttribute("aria-valuetext", label);
    const percent = (/** @type {string} */ cell) => `${(Math.floor((1000 * right[cell][0]) / right[cell][1]) / 10).toFixed(1)} %`;
    const cells = Object.keys(right).map((cell) => `${cell[0].replace("-", "−")} with ${cell[1]} digits ${percent(cell)}`);
    this.#record.textContent =
      `Recorded of this step: held-out loss ${loss.toFixed(3)}; right answers: ${cells.join(", ")}. ` +
      `Its weights are ${megabytes(bytes)} MB, downloaded when it is scored first.`;
  }

  /** @param {Scored} scored */
  #show({ key, logits, written, probability }) {
    const shares = probabilities(logits);
    const top = shares.map((_, id) => id).toSorted((a, b) => logits[b] - logits[a] || a - b);
    this.#results.replaceChildren(
      h("p", { class: "line-echo" }, "Scored: ", h("code", {}, `"${this.#prefix}"`), `. Weights: ${checkpointLabel(key)}.`),
      ...unseenOperands(this.#prefix).map((warning) => h("p", { class: "live-warning" }, warning)),
      topTable(top.slice(0, SHOWN_TOKENS), shares),
      h("p", { class: "line-answer" }, "It writes ", h("code", {}, written.text || " "), ` ${written.ended ? "and then EOS" : `and no EOS within ${written.tokens} tokens`}: ${verdictText(written)}.`),
      seenTable(STEPS.flatMap((step) => this.#seen.get(step) ?? []), key),
    );
    this.#results.hidden = false;
    this.#results.toggleAttribute("data-stale", false);
    const said = written.text ? `It writes ${written.text}` : "It writes nothing";
    this.show("ready", `${checkpointLabel(key)[0].toUpperCase()}${checkpointLabel(key).slice(1)}: ${said}${written.verdict === "not judged" ? "" : `, which is ${written.verdict}`} (probability ${shownProbability(probability)}).`);
  }
}

/** @param {Written} written */
function verdictText({ verdict }) {
  if (verdict === "not judged") return "the course has no such problem, so nothing is right or wrong";
  return verdict === "right" ? "✓ right" : "✗ wrong";
}

/** @param {number[]} ids @param {number[]} shares */
function topTable(ids, shares) {
  const rows = ids.map((id) => {
    const bar = h("span", { class: "score-bar", "aria-hidden": "true" });
    bar.style.inlineSize = `${100 * shares[id]}%`;
    return h("tr", {}, h("th", { scope: "row" }, tokenLabel(id)), h("td", {}, bar, shownProbability(shares[id])));
  });
  return h(
    "table",
    { class: "live-table line-top" },
    h("caption", {}, `The ${ids.length} likeliest of the ${VOCABULARY_SIZE} next tokens, computed on this device.`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Token"), h("th", { scope: "col" }, "Probability"))),
    h("tbody", {}, ...rows),
  );
}

/** The steps visited so far, in their order. @param {Scored[]} seen @param {string} current */
function seenTable(seen, current) {
  const titles = ["Step", "Writes", "Probability", "Verdict"];
  const rows = seen.map(({ key, written, probability }) =>
    h(
      "tr",
      key === current ? { "aria-current": "true" } : {},
      h("th", { scope: "row" }, grouped(manifest.models[key].step)),
      h("td", {}, h("code", {}, written.text || " "), written.ended ? "" : "…"),
      h("td", {}, shownProbability(probability)),
      h("td", {}, { right: "✓ right", wrong: "✗ wrong", "not judged": "–" }[written.verdict]),
    ),
  );
  return h(
    "table",
    { class: "live-table line-seen" },
    h("caption", {}, "The steps that this device has scored for this prefix: what greedy decoding writes, and the probability of all of it."),
    h("thead", {}, h("tr", {}, ...titles.map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, ...rows),
  );
}
