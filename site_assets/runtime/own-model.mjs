/**
 * Whether a model file that a reader brings can stand beside the published one, and
 * the sentence that says why not. The runtime's own words are for programmers; they
 * are quoted only where no sentence of ours fits.
 */
import { manifest } from "../generated/manifest.mjs";
import { CourseError } from "./messages.mjs";

/** @typedef {{name: string, isTensor: boolean, type?: string, shape?: (number | string)[]}} Value what a session says of an input or output */

const { input: INPUT } = manifest.model;
const { largest_bytes: LARGEST_BYTES, opset: OPSET } = manifest.own_model;
const SIZE = manifest.vocabulary.size;
export const LOGITS = manifest.model.outputs[0];
const MEGABYTE = 1e6;

/** What the runtime says when it refuses a file, and what it means. @type {[RegExp, string][]} */
const REFUSALS = [
  [/external data/i, "This file holds the graph alone; its weights lie in another file. Export graph and weights into one file."],
  [
    /IR version|opset versions?\b/i,
    `This file was written for a newer version of ONNX than this page's runtime reads. Export it with opset ${OPSET}, as the course does.`,
  ],
  [
    /is not a registered function|No Op registered|Could not find an implementation/i,
    `This file uses an operation that this page's runtime does not have. Export it with standard operations and opset ${OPSET}.`,
  ],
  [/protobuf|No graph was found/i, "This is not an ONNX model, or it was cut short. Choose the .onnx file that an export wrote."],
];

/** Throw for a file that is too large to open on a phone. @param {number} bytes */
export function checkSize(bytes) {
  if (bytes <= LARGEST_BYTES) return;
  throw new CourseError(
    `This file has ${(bytes / MEGABYTE).toFixed(1)} MB, and this page opens at most ${LARGEST_BYTES / MEGABYTE} MB. Choose a smaller model.`,
  );
}

/** The sentence for a file that the runtime could not open. @param {string} said what the runtime said */
export function refusal(said) {
  const known = REFUSALS.find(([pattern]) => pattern.test(said));
  return known ? known[1] : `The runtime could not open this file. ${quoted(said)}`;
}

/** What the runtime said, without its codes and the place in its source. @param {string} said */
export function quoted(said) {
  const message = said.replace(/^.*ERROR_MESSAGE:\s*/s, "").replace(/\s+/g, " ").trim();
  return `It said: ${message.replace(/[.!]*$/, "")}.`;
}

/**
 * Throw unless the model takes token IDs and gives the logits of every position.
 * @param {Value[]} inputs
 * @param {Value[]} outputs
 */
export function checkShape(inputs, outputs) {
  if (inputs.length !== 1 || inputs[0].name !== INPUT) {
    throw new CourseError(
      `The inputs of this model: ${list(inputs)}. It must have one input, ${INPUT}: the token IDs of a text.`,
    );
  }
  const [ids] = inputs;
  if (ids.type !== "int64" || ids.shape?.length !== 2) {
    throw new CourseError(
      `The input ${INPUT} is ${described(ids)}. It must be int64 of shape [rows, positions], both of any size.`,
    );
  }
  if (ids.shape.some((size) => typeof size === "number")) {
    throw new CourseError(
      `The input ${INPUT} has the fixed shape [${ids.shape.join(", ")}]. Export it with rows and positions of any size.`,
    );
  }
  const logits = outputs.find(({ name }) => name === LOGITS);
  if (!logits) {
    throw new CourseError(`The outputs of this model: ${list(outputs)}. One of them must be ${LOGITS}.`);
  }
  const width = logits.shape?.length === 3 ? logits.shape[2] : 0; // a name where the file leaves it open
  const isRowOfScores = width === SIZE || typeof width === "string";
  if (!["float32", "float64"].includes(logits.type ?? "") || !isRowOfScores) {
    throw new CourseError(
      `The output ${LOGITS} is ${described(logits)}. It must be float32 of shape [rows, positions, ${SIZE}]: one score for each of the ${SIZE} tokens.`,
    );
  }
}

/**
 * Throw unless a run gave one row of logits a position.
 * @param {number[]} dims
 * @param {number} positions
 */
export function checkLogits(dims, positions) {
  if (dims.length === 3 && dims[0] === 1 && dims[1] === positions && dims[2] === SIZE) return;
  throw new CourseError(
    `For ${positions} positions the output ${LOGITS} came out with the shape [${dims.join(", ")}]. It must be [1, ${positions}, ${SIZE}].`,
  );
}

/** @param {Value} value */
function described({ type = "no tensor", shape = [] }) {
  return `${type} of shape [${shape.join(", ")}]`;
}

/** @param {Value[]} values */
function list(values) {
  return values.length > 0 ? values.map(({ name }) => name).join(", ") : "none";
}
