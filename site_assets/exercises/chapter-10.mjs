/** Exercises of chapter 10. */
import { probabilities, topToken } from "../runtime/scores.mjs";
import { VOCABULARY_SIZE, displayName, encode } from "../runtime/tokenizer.mjs";
import { percent } from "../widgets/percent.mjs";

const SURE = 0.9;

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-10/two-models-agree",
    fields: [{ name: "prefix", label: "Prefix", type: "prefix" }],
    async check({ prefix }, engine) {
      const best = async (/** @type {string} */ name) => {
        const { outputs } = await engine.run(engine.modelKey(name), [encode(prefix)], ["logits"]);
        const shares = probabilities(outputs.logits.data.subarray(-VOCABULARY_SIZE));
        const token = topToken(shares);
        return { token, share: shares[token], text: `${displayName(token)} on top with ${percent(shares[token])}` };
      };
      const untrained = await best("initial");
      const published = await best("trained");
      return {
        passed: untrained.token === published.token && published.share > SURE,
        measured: `The untrained network puts ${untrained.text}, the published one ${published.text}.`,
      };
    },
  },
];
