/**
 * What a question can ask the model, computed on this device. Each function has a twin
 * of the same name in `export/questions/computations.py`, which writes the sentences.
 */
import { manifest } from "../generated/manifest.mjs";
import { answer, carries, readProblem, splitOf } from "./problems.mjs";
import { probabilities, rank, tokenLoss, topToken } from "./scores.mjs";
import { EOS_ID, VOCABULARY_SIZE, displayName, encode } from "./tokenizer.mjs";

/**
 * @typedef {string | boolean | number} Value
 * @typedef {import("./engine.mjs").engine} Engine
 * @typedef {{kind: string, compute: (engine: Engine, parameters: any) => Promise<Value>}} Computation
 */

/** The rules of writing, loaded by the questions that let the model write. */
const writing = () => import("./writing.mjs");

/** ID of a token by the name that the page shows. @param {string} token */
function tokenId(token) {
  const id = Array.from({ length: VOCABULARY_SIZE }, (_, candidate) => candidate).find(
    (candidate) => displayName(candidate) === token,
  );
  if (id === undefined) throw new Error(`there is no token ${token}`);
  return id;
}

/**
 * Logits of every position: one row of the vocabulary's size each.
 * @param {Engine} engine @param {string} model @param {number[]} ids
 */
async function logitRows(engine, model, ids) {
  const { outputs } = await engine.run(engine.modelKey(model), [ids], ["logits"]);
  return ids.map((_, position) =>
    outputs.logits.data.subarray(position * VOCABULARY_SIZE, (position + 1) * VOCABULARY_SIZE),
  );
}

/** @param {Engine} engine @param {string} model @param {string} prefix */
async function nextTokenLogits(engine, model, prefix) {
  return (await logitRows(engine, model, encode(prefix))).at(-1);
}

/** @param {Engine} engine @param {{model: string, prefix: string, token: string}} parameters */
async function probability(engine, { model, prefix, token }) {
  return probabilities(await nextTokenLogits(engine, model, prefix))[tokenId(token)];
}

/** Mean of -ln p over all targets of a line, EOS included. @param {Engine} engine @param {string} model @param {string} line */
async function meanLoss(engine, model, line) {
  const ids = encode(line);
  const targets = [...ids.slice(1), EOS_ID];
  const rows = await logitRows(engine, model, ids);
  const losses = rows.map((row, position) => tokenLoss(row, targets[position]));
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

/** How many problems of chapter 9's list are right with one part off. @param {Engine} engine @param {string} name */
async function rightWithout(engine, name) {
  const { answerList, count } = await import("./ablation.mjs"); // with its list, on the pages that ask
  return count(await answerList(engine, engine.modelKey("trained"), [name])).total;
}

/** @type {Record<string, Computation>} */
export const COMPUTATIONS = {
  top_token: {
    kind: "token",
    compute: async (engine, { model, prefix }) => displayName(topToken(await nextTokenLogits(engine, model, prefix))),
  },
  answer: {
    kind: "token",
    compute: async (engine, { model, prompt }) => (await (await writing()).write(engine, engine.modelKey(model), prompt)).written,
  },
  answer_probability: {
    kind: "percent",
    compute: async (engine, { model, prompt }) => {
      const [{ probability: product }] = await engine.answer(engine.modelKey(model), [encode(prompt)]);
      return product;
    },
  },
  is_right: {
    kind: "verdict",
    compute: async (engine, { model, prompt }) => {
      const { write } = await writing();
      const { written, end } = await write(engine, engine.modelKey(model), prompt);
      return end === "EOS" && written === answer(readProblem(prompt));
    },
  },
  logit: {
    kind: "decimal",
    compute: async (engine, { model, prefix, token }) => (await nextTokenLogits(engine, model, prefix))[tokenId(token)],
  },
  probability: { kind: "percent", compute: probability },
  rank: {
    kind: "whole",
    compute: async (engine, { model, prefix, token }) => rank(await nextTokenLogits(engine, model, prefix), tokenId(token)),
  },
  token_loss: {
    kind: "decimal",
    compute: async (engine, { model, prefix, token }) => tokenLoss(await nextTokenLogits(engine, model, prefix), tokenId(token)),
  },
  loss: { kind: "decimal", compute: (engine, { model, line }) => meanLoss(engine, model, line) },
  cheapest_line: {
    kind: "token",
    compute: async (engine, { model, lines }) => {
      const losses = [];
      for (const line of lines) losses.push(await meanLoss(engine, model, line));
      return lines[losses.indexOf(Math.min(...losses))];
    },
  },
  attention_weight: {
    kind: "percent",
    compute: async (engine, { model, line, block, head, position, source }) => {
      const name = `block_${block}_attention_weights`;
      const { outputs } = await engine.run(engine.modelKey(model), [encode(line)], [name]);
      const { data, dims } = outputs[name];
      const length = dims[dims.length - 1];
      return data[((head - 1) * length + position) * length + source];
    },
  },
  right_without: { kind: "whole", compute: (engine, { switch: name }) => rightWithout(engine, name) },
  costliest_switch: {
    kind: "token",
    compute: async (engine, { names }) => {
      const { inWords } = await import("./switch-names.mjs");
      const left = [];
      for (const name of names) left.push(await rightWithout(engine, name));
      return inWords(names[left.indexOf(Math.min(...left))]);
    },
  },
  lens_token: {
    kind: "token",
    compute: async (engine, { model, prefix, block }) => {
      const name = `lens_${block}_logits`;
      const switches = manifest.model.switches.map(() => 1);
      const { outputs } = await engine.run(engine.modelKey(model), [encode(prefix)], [name], { graph: "inside", switches });
      return displayName(topToken(outputs[name].data.slice(-VOCABULARY_SIZE)));
    },
  },
  sampled_errors: {
    kind: "whole",
    compute: async (engine, { model, prompt, temperature, top_k: topK, count }) => {
      const { writeMany } = await writing();
      const settings = { temperature, topK, seed: 0 };
      const drawn = await writeMany(engine, engine.modelKey(model), prompt, settings, count, () => {});
      const right = answer(readProblem(prompt));
      return drawn.filter(({ written, end }) => end !== "EOS" || written !== right).length;
    },
  },
  split: { kind: "token", compute: async (_engine, { a, b }) => splitOf(a, b) },
  carries: { kind: "whole", compute: async (_engine, problem) => carries(problem) },
};

/** A value as the page writes it: `shown` of computations.py. @param {string} kind @param {Value} value */
export function shown(kind, value) {
  if (kind === "verdict") return value ? "right" : "wrong";
  if (typeof value !== "number") return String(value);
  if (kind === "whole") return value.toLocaleString("en-US");
  if (kind === "percent") {
    if (value < 0.0001) return "less than 0.01 %";
    return `${(Math.floor(10_000 * value) / 100).toFixed(2)} %`;
  }
  return value.toFixed(3).replace("-", "−");
}
