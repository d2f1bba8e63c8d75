/** The input fields of an exercise: what a definition asks for, its rules, and the value that was typed. */
import { checkNumber, checkPrefix } from "../runtime/prompt.mjs";
import { STEPS, checkpointLabel } from "./checkpoint-picker.mjs";
import { PLAIN_TEXT_BOX, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";

/**
 * @typedef {{name: string, label: string, value?: string}} Common
 * @typedef {Common & {type: "prefix" | "line"}} TextField at most 31 printable ASCII characters
 * @typedef {Common & {type: "number", limits: [number, number, boolean]}} NumberField lowest, highest, whole numbers only
 * @typedef {Common & {type: "choice", choices: {value: string, label: string}[]}} ChoiceField
 * @typedef {Common & {type: "checkpoint"}} CheckpointField a key of the manifest's models
 * @typedef {TextField | NumberField | ChoiceField | CheckpointField} Field
 * @typedef {{element: HTMLElement, control: HTMLInputElement | HTMLSelectElement, read: () => string | number}} BuiltField
 */

/** @param {Field} field @param {() => void} onChange @param {string} describedBy @returns {BuiltField} */
export function buildField(field, onChange, describedBy) {
  const isChoice = field.type === "choice" || field.type === "checkpoint";
  const control = isChoice ? select(field, onChange) : box(field, onChange, describedBy);
  const element = h("p", { class: "live-row exercise-field" }, h("label", { for: control.id }, field.label), control);
  return { element, control, read: () => READERS[field.type](control.value, field) };
}

/** @type {Record<Field["type"], (text: string, field: any) => string | number>} throw a CourseError for a broken rule */
const READERS = {
  prefix: readText,
  line: readText,
  number: (text, { label, limits }) => checkNumber(label.toLowerCase(), limits, text),
  choice: (value) => value,
  checkpoint: (value) => value,
};

/** @param {string} text */
function readText(text) {
  checkPrefix(text);
  return text;
}

/** @param {TextField | NumberField} field @param {() => void} onChange @param {string} describedBy */
function box(field, onChange, describedBy) {
  const made = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("field"),
    name: field.name,
    value: field.value ?? "",
    "aria-describedby": describedBy,
    oninput: onChange,
  });
  if (field.type === "number") made.setAttribute("inputmode", "decimal");
  ignoreComposingEnter(made);
  return made;
}

/** @param {ChoiceField | CheckpointField} field @param {() => void} onChange */
function select(field, onChange) {
  const choices = field.type === "choice" ? field.choices : checkpoints();
  return h(
    "select",
    { class: "live-box", id: uniqueId("field"), name: field.name, onchange: onChange },
    ...choices.map(({ value, label }) => h("option", { value, selected: value === field.value }, label)),
  );
}

function checkpoints() {
  return STEPS.map((value) => ({ value, label: checkpointLabel(value) }));
}
