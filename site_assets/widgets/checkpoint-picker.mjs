/** The choice among the published weights: every kept step of training, and the smaller model. */
import { manifest } from "../generated/manifest.mjs";
import { grouped, h, uniqueId } from "./dom.mjs";

/** Keys of the published steps, from untrained to trained. */
export const STEPS = Object.keys(manifest.models).filter((key) => manifest.models[key].size === "full");

/** "step 1,000", "untrained (step 0)", "trained (step 14,000)", "smaller model". @param {string} key */
export function checkpointLabel(key) {
  const { step, size } = manifest.models[key];
  if (size !== "full") return "smaller model";
  if (key === manifest.initial) return "untrained (step 0)";
  return key === manifest.trained ? `trained (step ${grouped(step)})` : `step ${grouped(step)}`;
}

/** A checkpoint's key as a link names it; throws when there is none of that name. @param {string} text */
export function checkpointKey(text) {
  const key = manifest[text] ?? text;
  if (!Object.hasOwn(manifest.models, key)) throw new RangeError(`no checkpoint ${text}`);
  return key;
}

/**
 * A labelled select of checkpoints; `others` are choices of the caller's own, in front of them.
 * @param {{chosen: string, onchange: (key: string) => void, label?: string, keys?: string[],
 *   others?: {value: string, label: string}[]}} options
 */
export function checkpointPicker({ chosen, onchange, label = "Weights", keys = STEPS, others = [] }) {
  const id = uniqueId("checkpoint");
  const select = h(
    "select",
    { id, onchange: () => onchange(select.value) },
    ...[...others, ...keys.map((key) => ({ value: key, label: checkpointLabel(key) }))].map((choice) =>
      h("option", { value: choice.value, selected: choice.value === chosen }, choice.label),
    ),
  );
  return h("span", { class: "live-picker" }, h("label", { for: id }, label), select);
}
