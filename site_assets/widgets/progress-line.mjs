/** What the reader has done in a chapter, in words and numbers. */
import { progress } from "../runtime/progress.mjs";

/**
 * @typedef {{predict: string[], check: string[], exercises: string[]}} ChapterParts names of what a chapter asks
 */

/** @param {HTMLElement} element with the attributes that `export/questions/page.py` writes @returns {ChapterParts} */
export function readParts({ dataset }) {
  const list = (/** @type {string | undefined} */ names) => (names ?? "").split(" ").filter(Boolean);
  return { predict: list(dataset.predict), check: list(dataset.check), exercises: list(dataset.exercises) };
}

/** `1 of 2 predictions made, 3 of 5 questions right at first try, 0 of 1 exercises solved` @param {ChapterParts} parts */
export function progressLine({ predict, check, exercises }) {
  const made = predict.filter((id) => progress.firstAnswer(id)).length;
  const right = check.filter((id) => progress.firstAnswer(id)?.right).length;
  const solved = exercises.filter((name) => progress.isSolved(name)).length;
  const parts = [
    [made, predict.length, "prediction", "made"],
    [right, check.length, "question", "right at first try"],
    [solved, exercises.length, "exercise", "solved"],
  ];
  return parts
    .filter(([, total]) => Number(total) > 0)
    .map(([count, total, name, what]) => `${count} of ${total} ${name}${total === 1 ? "" : "s"} ${what}`)
    .join(", ");
}

/** Whether everything of a chapter was tried or solved. @param {ChapterParts} parts */
export function isDone({ predict, check, exercises }) {
  return [...predict, ...check].every((id) => progress.firstAnswer(id)) && exercises.every((name) => progress.isSolved(name));
}

/** `best 11 of 12 on 2026-01-31, 3 dozens finished` */
export function gateLine() {
  const results = progress.gateResults;
  if (results.length === 0) return "not finished yet";
  const best = results.reduce((better, result) => (result.right / result.of > better.right / better.of ? result : better));
  return `best ${best.right} of ${best.of} on ${best.date}, ${results.length} dozen${results.length === 1 ? "" : "s"} finished`;
}
