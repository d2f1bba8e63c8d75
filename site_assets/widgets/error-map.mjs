/**
 * `<error-map model="step-001000" link="map">`: all 10,000 sums or differences of operands
 * 0 to 99, answered by the chosen weights on this device when the reader presses Run.
 *
 * Attributes: `model` are the weights chosen at the start, `trained` or a checkpoint's name;
 * `link` is the name under which the page's address keeps operation, weights and cell.
 */
import { manifest } from "../generated/manifest.mjs";
import { engine } from "../runtime/engine.mjs";
import { CELLS, ErrorMap, SIDE, cellOf, computeMap, lookupTable, problemAt } from "../runtime/error-map.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { prompt, readProblem } from "../runtime/problems.mjs";
import { STEPS, checkpointKey, checkpointLabel } from "./checkpoint-picker.mjs";
import { PLAIN_TEXT_BOX, grouped, h, ignoreComposingEnter, megabytes, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { WrongList, countsTable } from "./map-counts.mjs";
import { MapDetail, cellText } from "./map-detail.mjs";
import { MapGrid } from "./map-grid.mjs";

/** @typedef {import("../runtime/problems.mjs").Operation} Operation */

const NUMBERS_EVERY_MS = 200; // while a map is computed; the picture follows at once
const TABLE = "table"; // chosen in place of weights
const SMALLER = Object.keys(manifest.models).filter((key) => !STEPS.includes(key));
/** @type {Record<Operation, string>} */
const OPERATIONS = { "+": "sums a+b", "-": "differences a−b" };

/** @param {string} text */
function operationOf(text) {
  if (!Object.hasOwn(OPERATIONS, text)) throw new RangeError("no operation");
  return /** @type {Operation} */ (text);
}

/** The cell of a problem such as 12+34; throws a CourseError for anything else. @param {string} text @param {Operation} operation */
function cellOfText(text, operation) {
  const problem = readProblem(text);
  if (!problem || problem.operation !== operation || Math.max(problem.a, problem.b) >= SIDE) {
    throw new CourseError(
      `This map has no cell “${text}”. Type two whole numbers from 0 to ${SIDE - 1} with ${operation} between them, such as 12${operation}34.`,
    );
  }
  return cellOf(problem.a, problem.b);
}

export default class ErrorMapElement extends LiveElement {
  /** @type {AbortController | undefined} of the run that goes on */
  #run;
  #map = new ErrorMap("+");
  #numbersAt = 0; // when the numbers were last brought up to date
  #operation = h(
    "select",
    { id: uniqueId("operation"), onchange: () => this.#changed() },
    ...Object.entries(OPERATIONS).map(([value, name]) => h("option", { value }, name)),
  );
  #weights = h(
    "select",
    { id: uniqueId("weights"), onchange: () => this.#changed() },
    ...[...STEPS, ...SMALLER].map((key) => h("option", { value: key }, checkpointLabel(key))),
    h("option", { value: TABLE }, "no model: a lookup table"),
  );
  #start = h("button", { type: "submit", class: "live-button live-button--primary" }, "Run the map");
  #stop = h("button", { type: "button", class: "live-button", hidden: true, onclick: () => this.#stopped() }, "Stop");
  #bar = h("progress", { class: "live-progress", "aria-label": "Problems computed", max: CELLS, hidden: true });
  #progress = h("p", { class: "map-progress", hidden: true });
  #counts = h("div", { class: "map-counts live-scroll" });
  #box = h("input", { ...PLAIN_TEXT_BOX, class: "live-box", id: uniqueId("cell"), name: "cell" });
  #complaint = h("p", { class: "live-error", role: "alert", id: uniqueId("error"), hidden: true });
  #grid = new MapGrid(this.#map, (cell) => cellText(this.#map, cell), (cell, settled) => this.#chosen(cell, settled));
  #list = new WrongList((cell) => this.#chosen(cell, true));
  /** @type {MapDetail} */
  #detail;

  /** Key of the chosen weights; a lookup table has none. */
  get #model() {
    return this.#weights.value === TABLE ? undefined : this.#weights.value;
  }

  build() {
    if (!customElements.get("map-detail")) customElements.define("map-detail", MapDetail);
    this.#detail = /** @type {MapDetail} */ (document.createElement("map-detail"));
    const complaints = this.#readLink();
    const picker = (/** @type {string} */ name, /** @type {HTMLSelectElement} */ select) =>
      h("span", { class: "live-picker" }, h("label", { for: select.id }, name), select);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      picker("Problems", this.#operation),
      picker("Answered by", this.#weights),
      this.#start,
      this.#stop,
    );
    const hint = h(
      "p",
      { class: "live-hint" },
      `Run answers ${grouped(CELLS)} problems on this device: seconds on a laptop, up to a minute on an old phone. If this visit has not ` +
        `used them yet, it first downloads the runtime (${megabytes(manifest.runtime.bytes)} MB) and the weights ` +
        `(${megabytes(manifest.models[manifest.trained].bytes)} MB). A lookup table needs no download.`,
    );
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(
      ...warnings,
      form,
      hint,
      this.feedback,
      this.#bar,
      this.#progress,
      this.#counts,
      this.#grid.element,
      h("div", { class: "map-focus" }, this.#grid.lens, h("div", { class: "map-cell" }, this.#finder(), this.#detail)),
      this.#list.element,
    );
  }

  /** Choices from the page's address; sentences about what does not fit. */
  #readLink() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    const operation = stateValue(state, "operation", operationOf, "+", complaints);
    const usual = checkpointKey(this.getAttribute("model") ?? "trained");
    const known = (/** @type {string} */ text) => (text === TABLE ? text : checkpointKey(text));
    this.#operation.value = operation;
    this.#weights.value = stateValue(state, "weights", known, usual, complaints);
    this.#map = new ErrorMap(operation);
    this.#grid.moveTo(stateValue(state, "cell", (text) => cellOfText(text, operation), cellOf(12, 34), complaints));
    return complaints;
  }

  /** The box that goes to a cell by its problem. */
  #finder() {
    this.#box.setAttribute("aria-describedby", this.#complaint.id);
    ignoreComposingEnter(this.#box);
    const go = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#goTo(this.#box.value);
    };
    return h(
      "form",
      { class: "live-form map-finder", novalidate: true, onsubmit: go },
      h("label", { for: this.#box.id }, "Cell"),
      this.#box,
      h("button", { type: "submit", class: "live-button" }, "Go to it"),
      h("p", { class: "live-hint" }, "Rows are a, from 0 at the top; columns are b, from 0 at the left. Click or tap a cell, then a neighbour in the enlarged square, or use the arrow keys on the map."),
      this.#complaint,
    );
  }

  connectedCallback() {
    super.connectedCallback();
    this.#grid.connect();
    this.#showMap(this.#map);
  }

  disconnectedCallback() {
    this.#run?.abort();
    this.#grid.disconnect();
    super.disconnectedCallback();
    this.#running(false);
  }

  /** @param {string} text */
  #goTo(text) {
    let cell;
    try {
      cell = cellOfText(text, this.#map.operation);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#complain(error.message);
      return;
    }
    this.#complain("");
    this.#grid.moveTo(cell);
    this.#chosen(cell, true);
  }

  /** @param {string} sentence "" when all is well */
  #complain(sentence) {
    this.#complaint.textContent = sentence;
    this.#complaint.hidden = !sentence;
    if (sentence) this.#box.setAttribute("aria-invalid", "true");
    else this.#box.removeAttribute("aria-invalid");
  }

  /** @param {number} cell @param {boolean} settled a press, not an arrow key that passes by */
  #chosen(cell, settled) {
    if (cell !== this.#grid.cell) this.#grid.moveTo(cell);
    this.#box.value = prompt(problemAt(this.#map.operation, cell)).replace("=", "");
    this.#complain("");
    this.#detail.load(this.#map, cell, this.#model);
    if (settled) this.#keep();
  }

  #keep() {
    writeState(this.getAttribute("link"), {
      operation: this.#map.operation,
      weights: this.#weights.value,
      cell: prompt(problemAt(this.#map.operation, this.#grid.cell)).replace("=", ""),
    });
  }

  /** Other problems or weights: what was computed does not belong to them. */
  #changed() {
    this.#run?.abort();
    this.drop();
    this.#running(false);
    this.#showMap(new ErrorMap(operationOf(this.#operation.value)));
    this.show("idle", "The choice has changed. Press Run the map to compute it.");
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    if (this.#run) return;
    this.#keep();
    const model = this.#model;
    if (model) this.#compute(model);
    else {
      this.#showMap(lookupTable(this.#map.operation));
      this.show("ready", `A table of all training lines. ${this.#summary()}`);
    }
  }

  /** @param {string} model */
  #compute(model) {
    const compute = async () => {
      const run = new AbortController();
      this.#run = run;
      this.#running(true);
      const started = performance.now();
      this.#showMap(new ErrorMap(this.#map.operation));
      try {
        await computeMap(engine, model, this.#map.operation, (map, cells) => this.#settled(map, cells), run.signal);
      } finally {
        if (this.#run === run) {
          this.#running(false);
          this.#counts.replaceChildren(countsTable(this.#map));
          this.#list.show(this.#map); // what came in before a stop or a failure stays
        }
      }
      return performance.now() - started;
    };
    void this.ask(compute, (milliseconds) => {
      const { computed } = this.#map.counts().all;
      const time = `${(milliseconds / 1000).toFixed(1)} s`;
      const how = computed < CELLS ? `Stopped after ${time}; the map is partial.` : `Computed on this device in ${time}.`;
      this.show("ready", `${how} ${this.#summary()}`);
    });
  }

  /** A batch has come in. @param {ErrorMap} map @param {number[]} cells */
  #settled(map, cells) {
    if (this.#map !== map) {
      this.#map = map;
      this.#grid.show(map);
      this.show("loading", "Computing the map…");
    } else this.#grid.drawCells(cells);
    if (cells.includes(this.#grid.cell)) this.#detail.load(map, this.#grid.cell, this.#model);
    const now = performance.now();
    if (now - this.#numbersAt < NUMBERS_EVERY_MS) return;
    this.#numbersAt = now;
    const { computed } = map.counts().all;
    this.#bar.value = computed;
    this.#progress.textContent = `${grouped(computed)} of ${grouped(CELLS)} problems`;
    this.#counts.replaceChildren(countsTable(map));
  }

  #stopped() {
    this.#run?.abort();
  }

  /** @param {boolean} isRunning */
  #running(isRunning) {
    if (!isRunning) this.#run = undefined;
    const hadFocus = document.activeElement === this.#stop;
    this.#stop.hidden = this.#bar.hidden = this.#progress.hidden = !isRunning;
    this.#start.disabled = isRunning;
    if (hadFocus && !isRunning) this.#start.focus();
    this.#bar.value = 0;
    this.#progress.textContent = "";
  }

  /** Show a map as it is: picture, numbers, list and the current cell. @param {ErrorMap} map */
  #showMap(map) {
    this.#map = map;
    this.#grid.show(map);
    this.#counts.replaceChildren(countsTable(map));
    this.#list.show(map);
    this.#chosen(this.#grid.cell, false);
  }

  #summary() {
    const { computed, right, wrong, confident } = this.#map.counts().all;
    return (
      `Of ${grouped(computed)} problems ${grouped(right)} are right and ${grouped(wrong)} wrong, ` +
      `${grouped(confident)} of these with p above ${manifest.answers.confident}.`
    );
  }
}
