/** Exercises of chapter 8. */
import { manifest } from "../generated/manifest.mjs";
import { shown } from "../runtime/computations.mjs";
import { CONFIDENT } from "../runtime/greedy.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { LARGEST_OPERAND, answer, prompt, readProblem, splitOf } from "../runtime/problems.mjs";
import { EOS_ID, encode, tokenName } from "../runtime/tokenizer.mjs";
import { checkpointLabel } from "../widgets/checkpoint-picker.mjs";
import { SIDES } from "../widgets/split-label.mjs";

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-8/wrong-and-sure",
    fields: [
      { name: "sum", label: "Sum", type: "prefix" },
      { name: "model", label: "Weights", type: "checkpoint", value: manifest.early },
    ],
    async check({ sum: text, model }, engine) {
      const problem = readProblem(text);
      if (problem?.operation !== "+") {
        throw new CourseError(
          `“${text}” is not a sum of the course. Type two whole numbers from 0 to ${LARGEST_OPERAND} with + between them, such as 12+34.`,
        );
      }
      const [{ written, probability }] = await engine.answer(model, [encode(prompt(problem))]);
      const finished = written.at(-1) === EOS_ID;
      const said = (finished ? written.slice(0, -1) : written).map(tokenName).join("");
      const right = finished && said === answer(problem);
      const verdict = right ? "right" : `wrong: it is ${answer(problem)}${finished ? "" : ", and no EOS came"}`;
      return {
        passed: !right && probability > CONFIDENT,
        measured:
          `With the weights ${checkpointLabel(model)}, the model wrote ${said} after ${prompt(problem)}, which is ${verdict}. ` +
          `Its probability is ${shown("percent", probability)}; above ${shown("percent", CONFIDENT)} counts as sure. ` +
          `This sum's side: ${SIDES[splitOf(problem.a, problem.b)]}.`,
      };
    },
  },
];
