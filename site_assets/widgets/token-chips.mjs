/**
 * `<token-chips line="7-12=-5">`: a line as training reads it, while it is typed: tokens with
 * their IDs, the same row shifted by one as targets, and which targets count in the loss.
 * It needs no model and downloads nothing.
 *
 * Attributes: `line` is the text to start with; `link` is the name under which the page's
 * address keeps it.
 */
import { manifest } from "../generated/manifest.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { inputsAndTargets, padRow } from "../runtime/problems.mjs";
import { checkPrefix } from "../runtime/prompt.mjs";
import { EOS_ID, PAD_ID, encode } from "../runtime/tokenizer.mjs";
import { PLAIN_TEXT_BOX, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { tokenLabel } from "./token-label.mjs";

const ROW_LENGTH = manifest.data.row_length;

/** The text itself when the model can read it. @param {string} text */
function readable(text) {
  checkPrefix(text);
  return text;
}

/** @param {number} count @param {string} name */
const many = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;

export default class TokenChips extends LiveElement {
  #sentence = ""; // the error that is shown
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("line"),
    name: "line",
    oninput: () => this.#draw(),
    onchange: () => this.#keep(),
  });
  #summary = h("p", { class: "chips-summary" });
  #chips = h("ol", { class: "chips", "aria-label": "Positions of the row" });
  #results = h("div", { class: "chips-results" }, this.#summary, this.#chips);

  build() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    this.#box.value = stateValue(state, "line", readable, this.getAttribute("line") ?? "", complaints);
    const hintId = uniqueId("hint");
    this.#box.setAttribute("aria-describedby", `${hintId} ${this.errorId}`);
    ignoreComposingEnter(this.#box);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      h("label", { for: this.#box.id }, "Line"),
      this.#box,
    );
    const hint = h(
      "p",
      { class: "live-hint", id: hintId },
      "The row follows as you type. Each box has its position, the token that the model reads with its ID, and below the arrow what it is to predict there.",
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, form, hint, this.feedback, this.#results);
  }

  connectedCallback() {
    super.connectedCallback();
    this.#draw();
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    this.#keep();
  }

  /** The line is finished: say what became of it, and keep it in the page's address. */
  #keep() {
    if (this.dataset.state === "error") return;
    writeState(this.getAttribute("link"), { line: this.#box.value });
    this.show("ready", this.#summary.textContent);
  }

  #draw() {
    const text = this.#box.value;
    try {
      checkPrefix(text);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#refuse(error.message);
      return;
    }
    this.#sentence = "";
    this.#box.removeAttribute("aria-invalid");
    this.#results.hidden = false;
    this.#showRow(padRow([...encode(text), EOS_ID]));
    this.show("ready");
  }

  /** @param {string} sentence */
  #refuse(sentence) {
    this.#box.setAttribute("aria-invalid", "true");
    this.#results.hidden = true;
    if (sentence !== this.#sentence) this.show("error", sentence); // the same one is announced once
    this.#sentence = sentence;
  }

  /** @param {number[]} row */
  #showRow(row) {
    const { inputs, targets } = inputsAndTargets(row);
    const counted = targets.filter((id) => id !== PAD_ID).length;
    const length = row.length > ROW_LENGTH ? `, more than the ${ROW_LENGTH} of training's rows` : "";
    this.#summary.textContent =
      `A row of ${row.length} tokens${length}: ${many(inputs.length, "position")}, ` +
      `${many(counted, "target")} in the loss, ${targets.length - counted} PAD.`;
    this.#chips.replaceChildren(...inputs.map((id, position) => chip(position, id, targets[position])));
  }
}

/** One position: its token above, its target below. @param {number} position @param {number} id @param {number} target */
function chip(position, id, target) {
  const counts = target !== PAD_ID;
  return h(
    "li",
    { class: counts ? "chip" : "chip chip--pad" },
    h("span", { class: "chip-position" }, h("span", { class: "unseen" }, "Position "), position),
    token(id),
    h("span", { class: "chip-arrow", "aria-hidden": "true" }, "↓"),
    h("span", { class: "unseen" }, "target "),
    token(target),
    h("span", { class: "chip-counts" }, counts ? "in loss" : "ignored"),
  );
}

/** @param {number} id */
const token = (id) => h("span", { class: "chip-token", "data-id": id }, tokenLabel(id), " ", h("span", { class: "chip-id" }, id));
