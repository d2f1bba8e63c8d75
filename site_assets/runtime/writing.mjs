/**
 * Let a model write, token by token: `write` of `tiny_gpt/generate.py`, and many draws of it at once.
 */
import { manifest } from "../generated/manifest.mjs";
import { draws, unitInterval } from "./random32.mjs";
import { choose } from "./sampling.mjs";
import { EOS_ID, VOCABULARY_SIZE, encode, tokenName } from "./tokenizer.mjs";

const CONTEXT = manifest.model.config.context_length;
/** Rows that one run scores; it bounds the time until Stop is heard. */
const ROWS_A_RUN = 50;

/**
 * @typedef {import("./engine.mjs").engine} Engine
 * @typedef {{temperature: number, topK: number, seed: number}} Settings temperature 0 is greedy
 * @typedef {"EOS" | "PAD or BOS" | "context full"} End why the writing stopped
 * @typedef {{fed: number[], logits: Float32Array, draw: number, token: number, end: End | undefined}} Step
 *   what was fed in, the scores of what comes next, the draw and the token it chose; `end` on the last step
 */

/** @type {Settings} */
export const GREEDY = { temperature: 0, topK: VOCABULARY_SIZE, seed: 0 };

/** The draw in [0, 1) that chooses the token at a place of the answer. @param {number} seed @param {number} place */
const drawAt = (seed, place) => unitInterval(draws(seed, place, 1)[0]);

/** Why the writing ends with this token, if it does. @param {number[]} fed @param {number} token @returns {End | undefined} */
function endAfter(fed, token) {
  if (token === EOS_ID) return "EOS";
  if (token in manifest.vocabulary.special) return "PAD or BOS";
  return fed.length === CONTEXT ? "context full" : undefined;
}

/**
 * Logits after rows of one length.
 * @param {Engine} engine @param {string} model key in the manifest @param {number[][]} rows
 */
async function scores(engine, model, rows) {
  const { outputs } = await engine.run(model, rows, ["logits"]);
  const { data } = outputs.logits;
  const size = data.length / rows.length;
  return rows.map((_, row) => data.slice((row + 1) * size - VOCABULARY_SIZE, (row + 1) * size));
}

/**
 * Write one token: score what stands there, choose.
 * @param {Engine} engine @param {string} model key in the manifest
 * @param {number[]} fed token IDs, from BOS on
 * @param {number} place how many tokens were written before
 * @param {Settings} settings
 * @returns {Promise<Step>}
 */
export async function writeToken(engine, model, fed, place, { temperature, topK, seed } = GREEDY) {
  const [logits] = await scores(engine, model, [fed]);
  const draw = drawAt(seed, place);
  const token = choose(logits, temperature, topK, draw);
  return { fed, logits, draw, token, end: endAfter(fed, token) };
}

/** The text that these steps wrote: EOS, PAD and BOS are no characters. @param {Pick<Step, "token">[]} steps */
export const writtenText = (steps) =>
  steps.map(({ token }) => (token in manifest.vocabulary.special ? "" : tokenName(token))).join("");

/**
 * Write until EOS or until the context is full.
 * @param {Engine} engine @param {string} model key in the manifest
 * @param {string} prefix that passed `checkPrefix`
 * @param {Settings} [settings]
 * @param {Step[]} [steps] taken already; further ones are added
 */
export async function write(engine, model, prefix, settings = GREEDY, steps = []) {
  while (steps.at(-1)?.end === undefined) {
    const fed = [...encode(prefix), ...steps.map(({ token }) => token)];
    steps.push(await writeToken(engine, model, fed, steps.length, settings));
  }
  return { steps, written: writtenText(steps), end: steps.at(-1).end };
}

/** Give way to the page: a batch whose texts are all known waits for nothing else. */
const pause = () => new Promise((resolve) => void setTimeout(resolve));

/** @typedef {{seed: number, written: string, end: End}} Drawn */

/**
 * What `write` gives for `count` seeds in a row, batch after batch. Each text on the way is scored
 * once, since most draws share it. Ends early, without an error, when `signal` is aborted.
 * @param {Engine} engine @param {string} model key in the manifest @param {string} prefix
 * @param {Settings} settings `seed` is the first one
 * @param {number} count
 * @param {(drawn: Drawn[]) => void} onBatch gets all draws so far
 * @param {AbortSignal} [signal]
 */
export async function writeMany(engine, model, prefix, settings, count, onBatch, signal) {
  /** @type {Map<string, Float32Array>} logits by token IDs */
  const known = new Map();
  const score = async (/** @type {number[][]} */ rows) => {
    const fresh = [...new Map(rows.map((ids) => [String(ids), ids])).values()].filter((ids) => !known.has(String(ids)));
    if (fresh.length === 0) return;
    const logits = await scores(engine, model, fresh);
    fresh.forEach((ids, index) => known.set(String(ids), logits[index]));
  };
  /** @type {Drawn[]} */
  const drawn = [];
  while (drawn.length < count && !signal?.aborted) {
    const seeds = Array.from(
      { length: Math.min(ROWS_A_RUN, count - drawn.length) },
      (_, index) => (settings.seed + drawn.length + index) >>> 0,
    );
    const batch = await writeBatch(score, known, prefix, settings, seeds, signal);
    if (signal?.aborted) break; // its answers may be cut short
    drawn.push(...batch);
    onBatch(drawn);
    await pause();
  }
  return drawn;
}

/**
 * @param {(rows: number[][]) => Promise<void>} score puts the logits of each row into `known`
 * @param {Map<string, Float32Array>} known
 * @param {string} prefix
 * @param {Settings} settings
 * @param {number[]} seeds
 * @param {AbortSignal} [signal]
 * @returns {Promise<Drawn[]>}
 */
async function writeBatch(score, known, prefix, { temperature, topK }, seeds, signal) {
  const start = encode(prefix);
  const rows = seeds.map((seed) => ({ seed, ids: [...start], end: /** @type {End | undefined} */ (undefined) }));
  const open = () => rows.filter(({ end }) => end === undefined);
  for (let place = 0; open().length > 0 && !signal?.aborted; place += 1) {
    await score(open().map(({ ids }) => ids));
    for (const row of open()) {
      const token = choose(known.get(String(row.ids)), temperature, topK, drawAt(row.seed, place));
      row.end = endAfter(row.ids, token);
      row.ids = [...row.ids, token];
    }
  }
  return rows.map(({ seed, ids, end }) => ({
    seed,
    written: writtenText(ids.slice(start.length).map((token) => ({ token }))),
    end,
  }));
}

/**
 * The answers among draws, most frequent first; of equals, the one drawn first.
 * @param {Drawn[]} drawn
 * @returns {(Drawn & {count: number})[]} `seed` is the first that wrote it
 */
export function tally(drawn) {
  /** @type {Map<string, Drawn & {count: number}>} */
  const answers = new Map();
  for (const one of drawn) {
    const key = `${one.end} ${one.written}`;
    const answer = answers.get(key) ?? { ...one, count: 0 };
    answer.count += 1;
    answers.set(key, answer);
  }
  return [...answers.values()].toSorted((a, b) => b.count - a.count);
}
