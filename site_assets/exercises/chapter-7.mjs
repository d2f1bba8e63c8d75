/** Exercises of chapter 7. */
import { manifest } from "../generated/manifest.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { answer, readProblem } from "../runtime/problems.mjs";
import { GREEDY, write } from "../runtime/writing.mjs";

const { limits } = manifest.prompt;
const EASY = 9; // the largest operand of an easy sum

/** @type {import("../widgets/exercise-fields.mjs").Field[]} */
const SETTINGS = [
  { name: "temperature", label: "Temperature", type: "number", limits: limits.temperature, value: "1" },
  { name: "topK", label: "Top-k", type: "number", limits: limits["top-k"], value: String(limits["top-k"][1]) },
  { name: "seed", label: "Seed", type: "number", limits: limits.seed, value: "0" },
];

/** A typed problem; throws a CourseError for anything else. @param {string} text */
function problemOf(text) {
  const problem = text.endsWith("=") ? readProblem(text) : undefined;
  if (!problem) throw new CourseError(`The course has no problem “${text}”. Type one such as 12+34=, with = at its end.`);
  return problem;
}

/** What was written, in words. @param {Awaited<ReturnType<typeof write>>} answer */
const said = ({ written, end }) => `${written === "" ? "no character" : written}${end === "EOS" ? "" : ` (${end})`}`;

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-7/wrong-easy-sum",
    fields: [{ name: "sum", label: "Sum", type: "prefix" }, ...SETTINGS],
    async check({ sum, ...settings }, engine) {
      const problem = problemOf(sum);
      if (problem.operation !== "+" || Math.max(problem.a, problem.b) > EASY) {
        throw new CourseError(`An easy sum here has two numbers from 0 to ${EASY}, such as 7+5=. Type one of them.`);
      }
      const right = answer(problem);
      const drawn = await write(engine, engine.modelKey("trained"), sum, /** @type {any} */ (settings));
      const greedy = await write(engine, engine.modelKey("trained"), sum);
      return {
        passed: drawn.end !== "EOS" || drawn.written !== right,
        measured: `Under these settings the model wrote ${said(drawn)}. Greedy it writes ${said(greedy)}; right is ${right}.`,
      };
    },
  },
  {
    name: "chapter-7/chance-beats-greedy",
    fields: [
      { name: "problem", label: "Problem", type: "prefix" },
      { name: "model", label: "Weights", type: "checkpoint", value: manifest.early },
      ...SETTINGS,
    ],
    async check({ problem: text, model, ...settings }, engine) {
      const right = answer(problemOf(text));
      const isRight = (/** @type {Awaited<ReturnType<typeof write>>} */ { written, end }) => end === "EOS" && written === right;
      const greedy = await write(engine, model, text, GREEDY);
      const drawn = await write(engine, model, text, /** @type {any} */ (settings));
      return {
        passed: isRight(drawn) && !isRight(greedy),
        measured: `Greedy the model wrote ${said(greedy)}, by chance ${said(drawn)}; right is ${right}.`,
      };
    },
  },
];
