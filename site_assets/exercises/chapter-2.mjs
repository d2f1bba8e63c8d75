/** Exercises of chapter 2. */
import { CourseError } from "../runtime/messages.mjs";
import { LARGEST_OPERAND, answer, carries, prompt, readProblem, splitOf, splitPart } from "../runtime/problems.mjs";
import { EOS_ID, encode, tokenName } from "../runtime/tokenizer.mjs";
import { SIDES } from "../widgets/split-label.mjs";

const CARRIES = 2;

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-2/held-out-and-right",
    fields: [{ name: "problem", label: "Problem", type: "prefix" }],
    async check({ problem: text }, engine) {
      const problem = readProblem(text);
      if (!problem) {
        throw new CourseError(
          `The course has no problem “${text}”. Type two whole numbers from 0 to ${LARGEST_OPERAND} with + or - between them, such as 12+34.`,
        );
      }
      const side = splitOf(problem.a, problem.b);
      const columns = carries(problem);
      const [{ written }] = await engine.answer(engine.modelKey("trained"), [encode(prompt(problem))]);
      const finished = written.at(-1) === EOS_ID;
      const said = (finished ? written.slice(0, -1) : written).map(tokenName).join("");
      const right = finished && said === answer(problem);
      const kind = problem.operation === "+" ? "carries" : "borrows";
      return {
        passed: side === "held-out" && columns === CARRIES && right,
        measured:
          `${prompt(problem)} is in part ${splitPart(problem.a, problem.b)} (${SIDES[side]}), has ${columns} of ${CARRIES} ${kind}, ` +
          `and the model wrote ${said}, which is ${right ? "right" : `wrong: it is ${answer(problem)}`}.`,
      };
    },
  },
];
