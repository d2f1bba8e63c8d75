/**
 * `<switch-board model="trained" link="board">`: a switch for each part of the network. When one is
 * flipped, the fixed list of held-out problems is answered again on this device, by greedy decoding,
 * and compared with what the whole network answers, which is computed here as well.
 *
 * Attributes: `model` is `trained` or a checkpoint's name; `link` is the name under which the page's
 * address keeps the switches that are off and the weights.
 */
import { manifest } from "../generated/manifest.mjs";
import { PROBLEMS, SWITCHES, answerList, count } from "../runtime/ablation.mjs";
import { engine } from "../runtime/engine.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { label } from "../runtime/switch-names.mjs";
import { checkpointKey, checkpointPicker } from "./checkpoint-picker.mjs";
import { h, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { changesView, comparisonTable, outcomeLine } from "./switch-results.mjs";
import { switchState } from "./switch-state.mjs";

/** @typedef {import("../runtime/ablation.mjs").Graded} Graded */

const ALL = PROBLEMS.length;

/** The switches that a link names; throws when it names another thing. @param {string} text */
function switchNames(text) {
  const names = text.split(",").filter(Boolean);
  const unknown = names.find((name) => !SWITCHES.some((one) => one.name === name));
  if (unknown) throw new RangeError(`no switch ${unknown}`);
  return names;
}

/** Answers of whole networks, by the model's key; computed here, once while the page's code lives. @type {Map<string, Graded[]>} */
const baselines = new Map();

export default class SwitchBoard extends LiveElement {
  #model = "";
  /** @type {AbortController | undefined} */
  #running;
  /** @type {HTMLInputElement[]} */
  #boxes = [];
  #results = h("div", { class: "board-results", hidden: true });
  #work = h("p", { class: "board-work" });
  #bar = h("progress", { class: "live-progress", "aria-label": "Problems answered", hidden: true });
  #start = h(
    "button",
    { type: "button", class: "live-button live-button--primary", onclick: () => this.#measure() },
    "Measure",
  );
  #stop = h("button", { type: "button", class: "live-button", onclick: () => this.#halt(), hidden: true }, "Stop");
  #picker = h("span", { class: "board-weights" });

  build() {
    /** @type {string[]} */
    const complaints = [];
    const state = readState(this.getAttribute("link"));
    const usual = engine.modelKey(this.getAttribute("model") ?? "trained");
    this.#model = stateValue(state, "model", checkpointKey, usual, complaints);
    switchState.off = stateValue(state, "off", switchNames, [], complaints);
    const warnings = complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    const button = (/** @type {string} */ text, /** @type {() => void} */ onclick) =>
      h("button", { type: "button", class: "live-button", onclick }, text);
    const groups = [null, ...Array.from({ length: manifest.model.config.n_layers }, (_, index) => index + 1)];
    this.replaceChildren(
      ...warnings,
      ...groups.map((block) => this.#group(block)),
      h(
        "div",
        { class: "board-buttons" },
        this.#start,
        button("All on", () => this.#set([])),
        button("Reset", () => this.#reset()),
        this.#picker,
      ),
      this.feedback,
      this.#work,
      this.#bar,
      this.#stop,
      this.#results,
    );
    this.#drawPicker();
    this.#drawBoxes();
  }

  disconnectedCallback() {
    this.#end();
    super.disconnectedCallback();
    switchState.off = [];
  }

  connectedCallback() {
    super.connectedCallback();
    switchState.off = this.#boxes.filter((box) => !box.checked).map((box) => box.name);
  }

  /** The switches of a block, or of the whole network for null. @param {number | null} block */
  #group(block) {
    const members = SWITCHES.filter((one) => one.block === block);
    return h(
      "fieldset",
      { class: "board-group" },
      h("legend", {}, block === null ? "Whole network" : `Block ${block}`),
      ...members.map((one) => this.#switch(one)),
    );
  }

  /** @param {import("../runtime/switch-names.mjs").Switch} one */
  #switch(one) {
    const box = h("input", {
      type: "checkbox",
      role: "switch",
      id: uniqueId("switch"),
      name: one.name,
      onchange: () => this.#flipped(),
    });
    this.#boxes.push(box);
    const side = h("span", { class: "board-side", "aria-hidden": "true" });
    return h("label", { class: "board-switch", for: box.id }, box, h("span", {}, label(one)), side);
  }

  #drawBoxes() {
    const off = new Set(switchState.off);
    for (const box of this.#boxes) {
      box.checked = !off.has(box.name);
      box.closest("label").querySelector(".board-side").textContent = box.checked ? "on" : "off";
    }
  }

  #drawPicker() {
    const onchange = (/** @type {string} */ key) => {
      this.#model = key;
      this.#end();
      this.drop();
      this.#clear();
      this.show("idle", "The weights have changed. Press Measure to answer the list with them.");
    };
    this.#picker.replaceChildren(checkpointPicker({ chosen: this.#model, onchange }));
  }

  #flipped() {
    this.#set(this.#boxes.filter((box) => !box.checked).map((box) => box.name));
  }

  /** @param {string[]} off */
  #set(off) {
    switchState.off = off;
    this.#drawBoxes();
    this.#measure();
  }

  #reset() {
    this.#end();
    this.drop();
    this.#clear();
    switchState.off = [];
    this.#model = engine.modelKey(this.getAttribute("model") ?? "trained");
    this.#drawPicker();
    this.#drawBoxes();
    writeState(this.getAttribute("link"), {});
    this.show("idle", "All switches are on, and no result is shown.");
  }

  #clear() {
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }

  #measure() {
    this.#end();
    this.#clear();
    const off = switchState.off;
    const model = this.#model;
    writeState(this.getAttribute("link"), { off: off.join(","), model });
    void this.ask(
      () => this.#compare(model, off),
      (both) => this.#answered(both, off),
    );
  }

  /**
   * What the whole network answers, and what is answered with parts off.
   * @param {string} model
   * @param {string[]} off
   * @returns {Promise<{before: Graded[], after: Graded[], milliseconds: number}>}
   */
  async #compare(model, off) {
    const running = new AbortController();
    const { signal } = running;
    this.#running = running;
    try {
      await engine.open(model, "inside");
      const started = performance.now();
      const known = off.length > 0 ? baselines.get(model) : undefined;
      const rounds = known || off.length === 0 ? 1 : 2;
      let past = 0;
      const answers = async (/** @type {string[]} */ names) => {
        const onProgress = (/** @type {number} */ done) => signal.aborted || this.#progress(past + done, rounds * ALL);
        onProgress(0);
        const graded = await answerList(engine, model, names, { signal, onProgress });
        past += ALL;
        return graded;
      };
      if (!signal.aborted) this.show("loading", `Answering ${ALL} problems…`);
      const before = known ?? (await answers([]));
      if (before.length === ALL) baselines.set(model, before);
      const after = off.length > 0 && !signal.aborted ? await answers(off) : before;
      return { before, after, milliseconds: performance.now() - started };
    } finally {
      if (this.#running === running) this.#end();
    }
  }

  /** @param {number} done @param {number} total */
  #progress(done, total) {
    this.#bar.hidden = false;
    this.#stop.hidden = false;
    this.#bar.max = total;
    this.#bar.value = done;
    this.#work.textContent = `${done} of ${total} answers written.`;
  }

  /** Nothing runs any more. */
  #end() {
    if (document.activeElement === this.#stop) this.#start.focus();
    this.#running?.abort();
    this.#running = undefined;
    this.#bar.hidden = true;
    this.#stop.hidden = true;
    this.#work.textContent = "";
  }

  #halt() {
    const { value } = this.#bar;
    this.#end();
    this.drop();
    this.show("idle", `Stopped after ${value} answers. Press Measure to start again.`);
  }

  /** @param {{before: Graded[], after: Graded[], milliseconds: number}} both @param {string[]} off */
  #answered({ before, after, milliseconds }, off) {
    this.#results.replaceChildren(comparisonTable(before, after, off), ...changesView(before, after, off));
    this.#results.hidden = false;
    const time = `Computed on this device in ${(milliseconds / 1000).toFixed(1)} s.`;
    this.show("ready", `${outcomeLine(count(before), count(after), off)} ${time}`);
  }
}
