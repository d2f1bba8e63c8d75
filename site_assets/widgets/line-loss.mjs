/**
 * `<line-loss line="12+34=46">`: what each target of a line costs the model, computed on this
 * device, beside the price of a blind guess.
 *
 * Attributes: `line` is the text to start with; `model` is `trained`, `initial`, a checkpoint's
 * name or `even`; `link` is the name under which the page's address keeps line and weights.
 */
import { manifest } from "../generated/manifest.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { checkPrefix } from "../runtime/prompt.mjs";
import { tokenLoss } from "../runtime/scores.mjs";
import { EOS_ID, VOCABULARY_SIZE, encode } from "../runtime/tokenizer.mjs";
import { checkpointKey, checkpointLabel, checkpointPicker } from "./checkpoint-picker.mjs";
import { PLAIN_TEXT_BOX, grouped, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { shownProbability } from "./score-table.mjs";
import { tokenLabel } from "./token-label.mjs";

/** The choice that is no model: every token has the same logit, 0. */
const EVEN = { value: "even", label: "no model: all logits equal" };
const BLIND_GUESS = Math.log(VOCABULARY_SIZE);
/** A mean of equal numbers differs from them by less than this. */
const ROUNDING = 1e-12;
const EQUALS_ID = encode("=")[1];

/** @param {string} key */
const weightsName = (key) => (key === EVEN.value ? "all logits equal" : checkpointLabel(key));

/** A choice of weights as a link names it; throws when there is none. @param {string} text */
const weightsKey = (text) => (text === EVEN.value ? text : checkpointKey(text));

/** @param {number[]} numbers */
const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** @param {number} value */
const shownPerplexity = (value) => (value < 1000 ? value.toFixed(2) : grouped(Math.round(value)));

/** @param {string} text */
function readable(text) {
  checkPrefix(text);
  return text;
}

/**
 * The logits of every position of a row of IDs: 98 each, one position after the other.
 * @param {string} key @param {number[]} ids
 */
async function logitsOf(key, ids) {
  if (key === EVEN.value) return new Float32Array(ids.length * VOCABULARY_SIZE);
  const { outputs } = await engine.run(key, [ids], ["logits"]);
  return outputs.logits.data;
}

export default class LineLoss extends LiveElement {
  #key = manifest.trained;
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("line"),
    name: "line",
    oninput: () => this.#changed("line has"),
  });
  #results = h("div", { class: "loss-results", hidden: true });

  build() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    this.#box.value = stateValue(state, "line", readable, this.getAttribute("line") ?? "", complaints);
    const usual = weightsKey(this.getAttribute("model") ?? "trained");
    this.#key = stateValue(state, "weights", weightsKey, usual, complaints);
    this.#box.setAttribute("aria-describedby", this.errorId);
    ignoreComposingEnter(this.#box);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      h("label", { for: this.#box.id }, "Line"),
      this.#box,
      checkpointPicker({
        chosen: this.#key,
        others: [EVEN],
        onchange: (key) => {
          this.#key = key;
          this.#changed("weights have");
        },
      }),
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Measure"),
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, form, this.feedback, this.#results);
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    this.#clear();
    this.drop();
    const [line, key] = [this.#box.value, this.#key];
    try {
      checkPrefix(line);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#box.setAttribute("aria-invalid", "true");
      this.show("error", error.message);
      return;
    }
    writeState(this.getAttribute("link"), { line, weights: key });
    const ids = encode(line);
    void this.ask(() => logitsOf(key, ids), (logits) => this.#show(line, key, ids, logits));
  }

  /** What was shown belongs to another line or other weights. @param {string} what */
  #changed(what) {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", `The ${what} changed. Press Measure to compute the loss.`);
  }

  #clear() {
    this.#box.removeAttribute("aria-invalid");
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }

  /** @param {string} line @param {string} key @param {number[]} ids @param {ArrayLike<number> & {subarray: Function}} logits */
  #show(line, key, ids, logits) {
    const targets = [...ids.slice(1), EOS_ID];
    const losses = targets.map((id, position) =>
      tokenLoss(logits.subarray(position * VOCABULARY_SIZE, (position + 1) * VOCABULARY_SIZE), id),
    );
    const average = mean(losses);
    this.#results.replaceChildren(
      h("p", { class: "loss-summary" }, "Measured: ", h("code", {}, `"${line}"`), `. Weights: ${weightsName(key)}.`),
      lossTable(targets, losses),
      h(
        "p",
        { class: "live-hint" },
        `The upright mark in each bar is ln ${VOCABULARY_SIZE} = ${BLIND_GUESS.toFixed(3)}, the price of a blind guess. ` +
          `Perplexity, e to the power of the mean: ${shownPerplexity(Math.exp(average))}.`,
      ),
      ...halves(ids, losses),
      ...padding(ids),
    );
    this.#results.hidden = false;
    const gap = average - BLIND_GUESS;
    const many = `${losses.length} ${losses.length === 1 ? "target" : "targets"}`;
    const against = Math.abs(gap) < ROUNDING ? "exactly" : `${Math.abs(gap).toFixed(3)} ${gap < 0 ? "below" : "above"}`;
    this.show("ready", `Mean loss ${average.toFixed(3)} over ${many}: ${against} the price of a blind guess.`);
  }
}

/** Target, probability and loss with its bar, and the mean. @param {number[]} targets @param {number[]} losses */
function lossTable(targets, losses) {
  const scale = Math.max(...losses, 1.2 * BLIND_GUESS);
  const cell = (/** @type {number} */ loss) => {
    const bar = h("span", { class: "loss-bar" });
    bar.style.inlineSize = `${(100 * loss) / scale}%`;
    const mark = h("span", { class: "loss-mark" });
    mark.style.insetInlineStart = `${(100 * BLIND_GUESS) / scale}%`;
    const track = h("span", { class: "loss-track", "aria-hidden": "true" }, bar, mark);
    return h("td", {}, h("span", { class: "loss-cell" }, h("span", {}, loss.toFixed(3)), track));
  };
  const rows = targets.map((id, position) =>
    h("tr", {}, h("th", { scope: "row" }, tokenLabel(id)), h("td", {}, shownProbability(Math.exp(-losses[position]))), cell(losses[position])),
  );
  return h(
    "table",
    { class: "live-table loss-table" },
    h("caption", {}, "Each target with the probability p that the model gave it, and its price −ln p in nats."),
    h("thead", {}, h("tr", {}, ...["Target", "p", "Price"].map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, ...rows),
    h("tfoot", {}, h("tr", {}, h("th", { scope: "row", colspan: "2" }, "mean"), cell(mean(losses)))),
  );
}

/** The mean of the targets up to `=` and of those after it, where the line has both. @param {number[]} ids @param {number[]} losses */
function halves(ids, losses) {
  const start = ids.indexOf(EQUALS_ID);
  if (start === -1) return [];
  const [problem, answer] = [losses.slice(0, start), losses.slice(start)];
  return [
    h(
      "p",
      { class: "loss-halves" },
      `Mean of the targets up to and including =: ${mean(problem).toFixed(3)}. Of those after it, EOS included: ${mean(answer).toFixed(3)}.`,
    ),
  ];
}

/** Says which positions of a training row would not count. @param {number[]} ids */
function padding(ids) {
  const positions = manifest.data.row_length - 1;
  if (ids.length >= positions) return [];
  const unused = positions - ids.length;
  return [
    h(
      "p",
      { class: "live-hint" },
      `A training row has ${positions} targets. The other ${unused} would be PAD; ${unused === 1 ? "it does" : "they do"} not count.`,
    ),
  ];
}
