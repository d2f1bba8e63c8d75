/**
 * Sentences for what can go wrong. Rules about typed text come from Python by way
 * of the manifest; what only a browser can meet is written here.
 */
import { manifest } from "../generated/manifest.mjs";

const PAGE_MESSAGES = {
  offline:
    "This device is offline, so {what} could not be downloaded. Connect to the network, then press Retry.",
  network: "{what} did not arrive: the connection to this site failed. Check the network, then press Retry.",
  missing:
    "{what} did not arrive: the server answered {status}. Press Retry; if that fails too, reload the page to get its newest version.",
  damaged:
    "{what} arrived damaged or is another file. Press Retry; if that fails too, reload the page to get its newest version.",
  "no-model":
    "{what} is not a model that this runtime can open. Reload the page to get its newest version, then press Retry.",
  "no-wasm":
    "This browser can not run WebAssembly or unpack the download, so the live parts stay off. The text is complete without them; a current Chrome, Firefox or Safari runs them.",
  start:
    "The runtime could not start on this device. Close other tabs to free memory, then press Retry.",
  run: "The model could not score this input on this device. Press Retry; nothing you typed is lost.",
};

/** An error whose message a reader can act on. `retry` says whether trying again can help. */
export class CourseError extends Error {
  /**
   * @param {string} sentence
   * @param {{retry?: boolean, cause?: unknown}} [options]
   */
  constructor(sentence, { retry = false, cause } = {}) {
    super(sentence, { cause });
    this.name = "CourseError";
    this.retry = retry;
  }
}

/**
 * Put values in place of `{name}`.
 * @param {string} template
 * @param {Record<string, string | number>} values
 */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

/**
 * A sentence that Python wrote, filled in.
 * @param {string} name
 * @param {Record<string, string | number>} [values]
 */
export function ruleMessage(name, values = {}) {
  return fill(manifest.prompt.messages[name], values);
}

/**
 * An error from PAGE_MESSAGES.
 * @param {keyof typeof PAGE_MESSAGES} name
 * @param {Record<string, string | number>} [values]
 * @param {unknown} [cause]
 */
export function pageError(name, values = {}, cause = undefined) {
  const sentence = fill(PAGE_MESSAGES[name], values);
  return new CourseError(sentence[0].toUpperCase() + sentence.slice(1), {
    retry: name !== "no-wasm",
    cause,
  });
}
