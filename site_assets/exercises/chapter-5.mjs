/** Exercises of chapter 5. */
import { COMPUTATIONS } from "../runtime/computations.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { answer, readProblem } from "../runtime/problems.mjs";
import { VOCABULARY_SIZE } from "../runtime/tokenizer.mjs";

const SHORTEST = 5;
const CHEAP = 0.9;
/** The chapter tells what this line costs. */
const GIVEN_AWAY = "999+999=1998";
const BLIND_GUESS = Math.log(VOCABULARY_SIZE);

/** @param {import("../runtime/computations.mjs").Engine} engine @param {string} line */
async function trainedLoss(engine, line) {
  return Number(await COMPUTATIONS.loss.compute(engine, { model: "trained", line }));
}

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-5/dearer-than-blind",
    fields: [{ name: "line", label: "Line", type: "line" }],
    async check({ line }, engine) {
      if (line.length < SHORTEST || !/^[0-9+=-]*$/.test(line)) {
        throw new CourseError(`Type at least ${SHORTEST} characters, only digits, +, - and =.`);
      }
      const loss = await trainedLoss(engine, line);
      return {
        passed: loss > BLIND_GUESS,
        measured: `The mean loss of the line is ${loss.toFixed(3)}. A blind guess costs ${BLIND_GUESS.toFixed(3)}.`,
      };
    },
  },
  {
    name: "chapter-5/cheap-line",
    fields: [{ name: "line", label: "Problem with its answer", type: "line" }],
    async check({ line }, engine) {
      const end = line.indexOf("=") + 1;
      const problem = readProblem(line.slice(0, end));
      if (!problem || line.slice(end) !== answer(problem)) {
        throw new CourseError("Type a problem with its right answer, such as 12+34=46. Operands go from 0 to 999.");
      }
      if (line === GIVEN_AWAY) throw new CourseError(`The chapter tells what ${GIVEN_AWAY} costs. Find another problem.`);
      const loss = await trainedLoss(engine, line);
      return {
        passed: loss < CHEAP,
        measured: `The mean loss of the line is ${loss.toFixed(3)}. It has to be below ${CHEAP}.`,
      };
    },
  },
];
