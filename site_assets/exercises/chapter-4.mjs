/** Exercises of chapter 4. */
import { CourseError } from "../runtime/messages.mjs";
import { topToken } from "../runtime/scores.mjs";
import { VOCABULARY_SIZE, displayName, encode } from "../runtime/tokenizer.mjs";

const SHORTEST = 3;

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-4/not-the-last-one",
    fields: [{ name: "prefix", label: "Prefix", type: "prefix" }],
    async check({ prefix }, engine) {
      if (prefix.length < SHORTEST) {
        throw new CourseError(`The prefix has ${prefix.length} of at least ${SHORTEST} characters. Type more of them.`);
      }
      const ids = encode(prefix);
      const { outputs } = await engine.run(engine.modelKey("initial"), [ids], ["logits"]);
      const logits = Array.from(outputs.logits.data.subarray(-VOCABULARY_SIZE));
      const last = ids.at(-1);
      const others = logits.with(last, -Infinity);
      const rival = topToken(others);
      const lead = logits[last] - logits[rival];
      const name = displayName(last);
      return {
        passed: topToken(logits) !== last,
        measured:
          lead >= 0
            ? `On top is the last character, “${name}”, with logit ${logits[last].toFixed(3)}. It leads the next, “${displayName(rival)}”, by ${lead.toFixed(3)}.`
            : `On top is “${displayName(rival)}”, with logit ${logits[rival].toFixed(3)}. The last character, “${name}”, is ${(-lead).toFixed(3)} below it.`,
      };
    },
  },
];
