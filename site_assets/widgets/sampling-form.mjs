/** The form for sampling: prefix, temperature, top-k, seed and weights, with their rules and their place in links. */
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue, writeState } from "../runtime/page-state.mjs";
import { checkPrefix, checkSetting, checkTemperature } from "../runtime/prompt.mjs";
import { engine } from "../runtime/engine.mjs";
import { STEPS, checkpointKey, checkpointPicker } from "./checkpoint-picker.mjs";
import { PLAIN_TEXT_BOX, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";

/** @typedef {{prefix: string, temperature: number, topK: number, seed: number, model: string}} Asked */
/** @typedef {"prefix" | "temperature" | "top-k" | "seed"} Name */

/** @type {Record<Name, (text: string) => string | number>} throw a CourseError for a broken rule */
const READERS = {
  prefix: (text) => (checkPrefix(text), text),
  temperature: checkTemperature,
  "top-k": (text) => checkSetting("top-k", text),
  seed: (text) => checkSetting("seed", text),
};

/** @type {Record<Name, string>} */
const LABELS = { prefix: "Prefix", temperature: "Temperature", "top-k": "Top-k", seed: "Seed" };

/** Weights of the published size, as a link names them. @param {string} text */
function stepKey(text) {
  const key = checkpointKey(text);
  if (!STEPS.includes(key)) throw new RangeError(`${text} is no step of training`);
  return key;
}

export class SamplingForm {
  #owner;
  /** @type {Map<Name, HTMLInputElement>} */
  #boxes = new Map();
  #model = "";
  /** @type {HTMLSelectElement} */
  #picker;
  /** Sentences about a link whose values do not fit. @type {string[]} */
  complaints = [];
  /** @type {HTMLFormElement} */
  element;

  /**
   * @param {HTMLElement & {errorId: string}} owner its attributes `prefix`, `temperature`, `top-k`, `seed` and
   *   `model` give the values to start with, and `link` the name in the page's address
   * @param {{names: Name[], onchange: () => void, onsubmit: () => void, buttons: Node[], seedLabel?: string}} options
   */
  constructor(owner, { names, onchange, onsubmit, buttons, seedLabel = LABELS.seed }) {
    this.#owner = owner;
    const state = readState(owner.getAttribute("link"));
    const fields = names.map((name) => {
      const usual = owner.getAttribute(name) ?? "";
      const box = h("input", {
        ...PLAIN_TEXT_BOX,
        class: name === "prefix" ? "live-box" : "live-box sampling-number",
        id: uniqueId(name),
        name,
        "aria-describedby": owner.errorId,
        oninput: onchange,
      });
      if (name !== "prefix") box.setAttribute("inputmode", name === "temperature" ? "decimal" : "numeric");
      box.value = stateValue(state, name, (text) => (READERS[name](text), text), usual, this.complaints);
      ignoreComposingEnter(box);
      this.#boxes.set(name, box);
      return h("span", { class: "live-picker" }, h("label", { for: box.id }, name === "seed" ? seedLabel : LABELS[name]), box);
    });
    const usualModel = engine.modelKey(owner.getAttribute("model") ?? "trained");
    this.#model = stateValue(state, "model", stepKey, usualModel, this.complaints);
    const picker = checkpointPicker({
      chosen: this.#model,
      onchange: (key) => {
        this.#model = key;
        onchange();
      },
    });
    this.#picker = picker.querySelector("select");
    this.element = h(
      "form",
      {
        class: "live-form sampling-form",
        novalidate: true,
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          onsubmit();
        },
      },
      ...fields,
      picker,
      ...buttons,
    );
  }

  /** Replace what stands in a box, as if it were typed there. @param {Name} name @param {string} text */
  fill(name, text) {
    this.#boxes.get(name).value = text;
  }

  /** What stands in a box. @param {Name} name */
  text(name) {
    return this.#boxes.get(name).value;
  }

  /**
   * What the reader asks for, kept in the page's address. Throws a CourseError, with the box marked,
   * when a rule is broken.
   * @param {Record<string, string | number>} [more] that the address keeps too
   * @returns {Asked}
   */
  read(more = {}) {
    this.accept();
    /** @type {Record<string, string | number>} */
    const values = {};
    for (const [name, box] of this.#boxes) {
      try {
        values[name] = READERS[name](box.value);
      } catch (error) {
        if (error instanceof CourseError) box.setAttribute("aria-invalid", "true");
        throw error;
      }
    }
    writeState(this.#owner.getAttribute("link"), { ...values, model: this.#model, ...more });
    const { "top-k": topK, ...others } = values;
    return /** @type {Asked} */ ({ ...others, topK, model: this.#model });
  }

  /** No box is refused any longer. */
  accept() {
    for (const box of this.#boxes.values()) box.removeAttribute("aria-invalid");
  }
}
