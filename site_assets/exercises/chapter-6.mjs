/** Exercises of chapter 6. */
import { CourseError } from "../runtime/messages.mjs";
import { answer, prompt, readProblem } from "../runtime/problems.mjs";
import { EOS_ID, encode, tokenName } from "../runtime/tokenizer.mjs";

const EARLY = "step-000250";
const LATER = "step-001000";

/** @param {string} text */
function read(text) {
  const problem = readProblem(text);
  if (!problem) throw new CourseError("Type a problem such as 12+34= with operands from 0 to 999, without spaces.");
  return problem;
}

/**
 * What a step writes, and whether it is right.
 * @param {import("../runtime/computations.mjs").Engine} engine @param {string} key
 * @param {import("../runtime/problems.mjs").Problem} problem
 */
async function solve(engine, key, problem) {
  const [{ written }] = await engine.answer(key, [encode(prompt(problem))]);
  const ended = written.at(-1) === EOS_ID;
  const text = (ended ? written.slice(0, -1) : written).map(tokenName).join("");
  return { text, right: ended && text === answer(problem) };
}

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-6/unlearned",
    fields: [{ name: "problem", label: "Problem", type: "prefix" }],
    async check({ problem: typed }, engine) {
      const problem = read(typed);
      const [early, later] = [await solve(engine, EARLY, problem), await solve(engine, LATER, problem)];
      const said = (/** @type {{text: string, right: boolean}} */ { text, right }) => `${text} (${right ? "right" : "wrong"})`;
      return {
        passed: early.right && !later.right,
        measured: `Step 250 writes ${said(early)}, step 1,000 writes ${said(later)}.`,
      };
    },
  },
];
