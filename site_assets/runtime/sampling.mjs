/** Choosing a token from logits: `choose` of `tiny_gpt/generate.py`, in float64 too. */

/**
 * The `topK` highest logits and their weights, likeliest first; of equals, the lower ID first.
 * The weights are exp((logit - highest) / temperature), so the first is 1.
 * @param {ArrayLike<number>} logits
 * @param {number} temperature 0 leaves the first alone
 * @param {number} topK
 */
function ranked(logits, temperature, topK) {
  const order = Array.from(logits, (_, id) => id)
    .sort((i, j) => logits[j] - logits[i] || i - j)
    .slice(0, temperature === 0 ? 1 : topK);
  const weights = order.map((id) =>
    temperature === 0 ? 1 : Math.exp((logits[id] - logits[order[0]]) / temperature),
  );
  return { order, weights };
}

/**
 * The token ID that a draw in [0, 1) falls on, counted from the likeliest.
 * @param {ArrayLike<number>} logits
 * @param {number} temperature 0 takes the highest logit
 * @param {number} topK
 * @param {number} draw
 */
export function choose(logits, temperature, topK, draw) {
  const { order, weights } = ranked(logits, temperature, topK);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let reached = 0;
  const place = weights.findIndex((weight) => (reached += weight) > draw * total);
  return order.at(place); // -1, where rounding left no place, is the last one
}

/**
 * The probability of each token ID under these settings; 0 for what top-k leaves out.
 * Before temperature and top-k is `distribution(logits, 1, logits.length)`.
 * @param {ArrayLike<number>} logits
 * @param {number} temperature
 * @param {number} topK
 * @returns {number[]}
 */
export function distribution(logits, temperature, topK) {
  const { order, weights } = ranked(logits, temperature, topK);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const shares = Array(logits.length).fill(0);
  order.forEach((id, place) => (shares[id] = weights[place] / total));
  return shares;
}
