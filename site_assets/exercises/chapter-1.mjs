/** Exercises of chapter 1. */
import { CourseError } from "../runtime/messages.mjs";
import { probabilities, topToken } from "../runtime/scores.mjs";
import { VOCABULARY_SIZE, displayName, encode } from "../runtime/tokenizer.mjs";
import { write } from "../runtime/writing.mjs";
import { percent } from "../widgets/percent.mjs";

const EQUALS = encode("=")[1];

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-1/equals-likeliest",
    fields: [{ name: "prefix", label: "Prefix", type: "prefix" }],
    async check({ prefix }, engine) {
      const { outputs } = await engine.run(engine.modelKey("trained"), [encode(prefix)], ["logits"]);
      const logits = outputs.logits.data.subarray(-VOCABULARY_SIZE);
      const shares = probabilities(logits);
      const top = topToken(logits);
      const passed = top === EQUALS;
      return {
        passed,
        measured: passed
          ? `= is the likeliest token, with ${percent(shares[EQUALS])}.`
          : `= has ${percent(shares[EQUALS])}; the likeliest is ${displayName(top)} with ${percent(shares[top])}.`,
      };
    },
  },
  {
    name: "chapter-1/right-by-accident",
    fields: [{ name: "product", label: "Product", type: "prefix" }],
    async check({ product }, engine) {
      const match = /^(\d{1,3})\*(\d{1,3})=$/.exec(product);
      if (!match) {
        throw new CourseError("This is no product of two whole numbers. Type one such as 2*3=, with = at its end.");
      }
      const [a, b] = [Number(match[1]), Number(match[2])];
      const { written, end } = await write(engine, engine.modelKey("trained"), product);
      const passed = end === "EOS" && written === String(a * b);
      const what = written === "" ? "no character" : written;
      return { passed, measured: `The model wrote ${what}. The product is ${a * b}, the sum is ${a + b}.` };
    },
  },
];
