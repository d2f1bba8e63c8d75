/**
 * `<course-exercise name="chapter-4/not-the-last-one">`: a task that is checked by
 * running the model. The task's text is the element's own content; what to type and the
 * check come from `site_assets/exercises/chapter-4.mjs`, which exports a list of
 * definitions `{name, fields, check}`. `check` gets the typed values by the fields'
 * names and the engine, and says `{passed, measured}`: a sentence with numbers, in
 * both cases. For input that it can not judge it throws a CourseError.
 */
import { engine } from "../runtime/engine.mjs";
import { CourseError, pageError } from "../runtime/messages.mjs";
import { progress } from "../runtime/progress.mjs";
import { h } from "./dom.mjs";
import { buildField } from "./exercise-fields.mjs";
import { LiveElement } from "./live-element.mjs";

/**
 * @typedef {{passed: boolean, measured: string}} Outcome
 * @typedef {{name: string, fields: import("./exercise-fields.mjs").Field[],
 *   check: (values: Record<string, any>, engine: import("../runtime/engine.mjs").engine) => Promise<Outcome>}} Exercise
 */

/** @param {string} name @returns {Promise<Exercise>} */
async function load(name) {
  const [chapter, exercise] = name.split("/");
  let definitions;
  try {
    ({ default: definitions } = await import(new URL(`../exercises/${chapter}.mjs`, import.meta.url).href));
  } catch (cause) {
    throw pageError(navigator.onLine ? "network" : "offline", { what: "the exercise" }, cause);
  }
  const found = definitions.find((/** @type {Exercise} */ one) => one.name === `${chapter}/${exercise}`);
  if (!found) throw new Error(`exercises/${chapter}.mjs has no exercise ${name}`);
  return found;
}

export default class CourseExercise extends LiveElement {
  /** @type {Exercise} */
  #exercise;
  /** @type {import("./exercise-fields.mjs").BuiltField[]} */
  #fields = [];
  #task = h("div", { class: "exercise-task" });
  #place = h("div");
  #solved = h("p", { class: "exercise-solved", hidden: true }, "✓ Solved on this device.");

  get #name() {
    return this.getAttribute("name");
  }

  build() {
    this.#task.replaceChildren(...this.childNodes);
    const title = h("p", { class: "question-kind" }, "Exercise");
    this.replaceChildren(title, this.#task, this.#place, this.feedback, this.#solved);
  }

  connectedCallback() {
    super.connectedCallback();
    progress.addEventListener("change", this.#showSolved);
    this.#showSolved();
    if (!this.#exercise) void this.#load();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    progress.removeEventListener("change", this.#showSolved);
  }

  /** The definition is a small module of this site; nothing is said while it arrives. */
  async #load() {
    let exercise;
    try {
      exercise = await load(this.#name);
    } catch (cause) {
      const { message } = cause instanceof CourseError ? cause : pageError("run", {}, cause);
      this.show("error", message, () => void this.#load());
      return;
    }
    if (!this.#exercise) this.#show(exercise);
  }

  /** @param {Exercise} exercise */
  #show(exercise) {
    this.#exercise = exercise;
    this.#fields = exercise.fields.map((field) => buildField(field, () => this.#changed(), this.errorId));
    const form = h(
      "form",
      { class: "exercise-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      ...this.#fields.map(({ element }) => element),
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Check"),
    );
    this.#place.replaceChildren(form);
    this.show("idle");
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    this.#clear();
    this.drop();
    const values = this.#read();
    if (values) void this.ask(() => this.#exercise.check(values, engine), (outcome) => this.#judge(outcome));
  }

  /** The typed values by name; undefined after an error was shown. */
  #read() {
    const values = {};
    for (const { control, read } of this.#fields) {
      try {
        values[control.name] = read();
      } catch (error) {
        if (!(error instanceof CourseError)) throw error;
        control.setAttribute("aria-invalid", "true");
        this.show("error", error.message);
        return undefined;
      }
    }
    return values;
  }

  /** @param {Outcome} outcome */
  #judge({ passed, measured }) {
    if (passed) progress.solved(this.#name);
    this.dataset.passed = String(passed);
    const notice = passed ? progress.storageNotice() : "";
    this.show("ready", [passed ? "✓ Solved." : "Not solved yet.", measured, notice].filter(Boolean).join(" "));
  }

  /** The input is another one now: what was measured does not belong to it. */
  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "The input has changed. Press Check to check it.");
  }

  #clear() {
    for (const { control } of this.#fields) control.removeAttribute("aria-invalid");
    delete this.dataset.passed;
  }

  #showSolved = () => {
    this.#solved.hidden = !progress.isSolved(this.#name);
  };
}
