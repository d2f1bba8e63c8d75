/** What one computes from a row of logits. */

/**
 * Softmax in float64, shifted by the largest logit so that nothing overflows.
 * @param {ArrayLike<number>} logits
 */
export function probabilities(logits) {
  const largest = Math.max(...Array.from(logits));
  const weights = Array.from(logits, (logit) => Math.exp(logit - largest));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/**
 * The token with the highest logit; of equals, the lowest ID.
 * @param {ArrayLike<number>} logits
 */
export function topToken(logits) {
  let top = 0;
  for (let id = 1; id < logits.length; id += 1) if (logits[id] > logits[top]) top = id;
  return top;
}

/**
 * 1 for the highest logit; equals share the better rank.
 * @param {ArrayLike<number>} logits
 * @param {number} id
 */
export function rank(logits, id) {
  return 1 + Array.from(logits).filter((logit) => logit > logits[id]).length;
}

/**
 * What a target costs: -ln of its softmax probability, in nats, by ln(sum of e^logit) minus its logit.
 * @param {ArrayLike<number>} logits
 * @param {number} id
 */
export function tokenLoss(logits, id) {
  const largest = Math.max(...Array.from(logits));
  const sum = Array.from(logits, (logit) => Math.exp(logit - largest)).reduce((total, weight) => total + weight, 0);
  return Math.log(sum) - (logits[id] - largest);
}
