/** Exercises of chapter 3. */
import { CourseError } from "../runtime/messages.mjs";
import { answer, readProblem } from "../runtime/problems.mjs";
import { probabilities, topToken } from "../runtime/scores.mjs";
import { EOS_ID, VOCABULARY_SIZE, displayName, encode, tokenName } from "../runtime/tokenizer.mjs";
import { percent } from "../widgets/percent.mjs";

const PUZZLE = [1, 23, 19, 16, 26, 32]; // the page asks for the text of these IDs
const SHORTEST = 5;

/** Whether a line is a problem with its right answer. @param {string} line */
function isTrue(line) {
  const end = line.indexOf("=") + 1;
  const problem = readProblem(line.slice(0, end));
  return problem !== undefined && line.slice(end) === answer(problem);
}

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-3/text-of-ids",
    fields: [{ name: "text", label: "Text", type: "prefix" }],
    async check({ text }, engine) {
      const ids = encode(text);
      if (String(ids) !== String(PUZZLE)) {
        return { passed: false, measured: `Your text has the IDs ${ids.join(", ")}. Wanted are ${PUZZLE.join(", ")}.` };
      }
      const [{ written }] = await engine.answer(engine.modelKey("trained"), [ids]);
      const names = written.map(displayName).join(" ");
      return { passed: true, measured: `These are its IDs. The model goes on with ${names}: the IDs ${written.join(", ")}.` };
    },
  },
  {
    name: "chapter-3/end-without-truth",
    fields: [{ name: "line", label: "Line", type: "line" }],
    async check({ line }, engine) {
      if (line.length < SHORTEST) {
        throw new CourseError(`The line has ${line.length} of at least ${SHORTEST} characters. Type more of them.`);
      }
      const { outputs } = await engine.run(engine.modelKey("trained"), [encode(line)], ["logits"]);
      const logits = outputs.logits.data.subarray(-VOCABULARY_SIZE);
      const shares = probabilities(logits);
      const top = topToken(logits);
      const eos = `${tokenName(EOS_ID)} has ${percent(shares[EOS_ID])}`;
      const scores = top === EOS_ID ? `${eos} and is the likeliest` : `${eos}; the likeliest is ${displayName(top)} with ${percent(shares[top])}`;
      return {
        passed: top === EOS_ID && !isTrue(line),
        measured: `${scores}. The line is ${isTrue(line) ? "a problem with its right answer" : "no problem with its right answer"}.`,
      };
    },
  },
];
