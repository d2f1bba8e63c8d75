/** From the graph's named outputs to what the walk shows: the structure of `export/walk.py`. */
import { rank, topToken } from "../runtime/scores.mjs";
import { EOS_ID } from "../runtime/tokenizer.mjs";

/**
 * @typedef {{before: number[], after_attention: number[], output: number[], attention: number[][]}} BlockValues
 * @typedef {{token_id: number, token_row: number[], position_row: number[], sum: number[],
 *   blocks: BlockValues[], top: {token_id: number, logit: number},
 *   target: {token_id: number, logit: number, rank: number}}} PositionValues
 * @typedef {{text: string, positions: PositionValues[]}} Walk
 */

export const SHOWN_NUMBERS = 4;

/**
 * @param {string} text
 * @param {number[]} ids
 * @param {Record<string, import("../runtime/engine.mjs").Output>} outputs of one row
 * @param {number} blockCount
 * @returns {Walk}
 */
export function walkFrom(text, ids, outputs, blockCount) {
  const vector = (/** @type {string} */ name, /** @type {number} */ position) => {
    const { data, dims } = outputs[name];
    const width = dims[dims.length - 1];
    return data.subarray(position * width, (position + 1) * width);
  };
  const first = (/** @type {string} */ name, /** @type {number} */ position) =>
    Array.from(vector(name, position).subarray(0, SHOWN_NUMBERS));
  const attention = (/** @type {string} */ name, /** @type {number} */ position) => {
    const { data, dims } = outputs[name];
    const [, heads, length] = dims;
    return Array.from({ length: heads }, (_, head) => {
      const start = (head * length + position) * length;
      return Array.from(data.subarray(start, start + length));
    });
  };
  const positions = ids.map((token_id, position) => {
    const logits = vector("logits", position);
    const top = topToken(logits);
    const target = ids[position + 1] ?? EOS_ID;
    return {
      token_id,
      token_row: first("token_rows", position),
      position_row: first("position_rows", position),
      sum: first("embeddings", position),
      blocks: Array.from({ length: blockCount }, (_, index) => ({
        before: first(index === 0 ? "embeddings" : `block_${index}_output`, position),
        after_attention: first(`block_${index + 1}_after_attention`, position),
        output: first(`block_${index + 1}_output`, position),
        attention: attention(`block_${index + 1}_attention_weights`, position),
      })),
      top: { token_id: top, logit: logits[top] },
      target: { token_id: target, logit: logits[target], rank: rank(logits, target) },
    };
  });
  return { text, positions };
}
