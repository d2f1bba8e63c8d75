/** Whether an answer is right, where that is known. */
import { answer, readProblem } from "../runtime/problems.mjs";

/**
 * "right" when the answer to a problem such as `7-12=` is exact and ended by EOS, "wrong" when it is
 * not, and "" for a prefix that is no problem of the course.
 * @param {string} prefix
 * @param {string} written
 * @param {import("../runtime/writing.mjs").End} end
 */
export function verdict(prefix, written, end) {
  const problem = prefix.endsWith("=") ? readProblem(prefix) : undefined;
  if (!problem) return "";
  return end === "EOS" && written === answer(problem) ? "right" : "wrong";
}
