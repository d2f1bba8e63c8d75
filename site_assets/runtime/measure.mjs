/** What the device report computes: how far two rows of logits lie apart, how long runs take. */

/** @typedef {{prefix: string, logits: number[]}} Case a prefix and PyTorch's logits for the token after it */
/** @typedef {{gap: number, prefix: string, id: number, here: number, pytorch: number}} Gap */

/**
 * How far two numbers differ, relative to max(1, |reference|).
 * @param {number} value
 * @param {number} reference
 */
export function relativeGap(value, reference) {
  return Math.abs(value - reference) / Math.max(1, Math.abs(reference));
}

/**
 * The logit of a case that lies furthest from PyTorch's; a value that is no number is infinitely far.
 * @param {Case} expected
 * @param {ArrayLike<number>} logits
 * @returns {Gap}
 */
export function largestGap({ prefix, logits: reference }, logits) {
  let largest = { gap: -1, prefix, id: 0, here: logits[0], pytorch: reference[0] };
  reference.forEach((pytorch, id) => {
    const found = relativeGap(logits[id], pytorch);
    const gap = Number.isNaN(found) ? Infinity : found;
    if (gap > largest.gap) largest = { gap, prefix, id, here: logits[id], pytorch };
  });
  return largest;
}

/**
 * Median, smallest and largest of some times.
 * @param {number[]} times
 */
export function spread(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
  return { median, low: sorted[0], high: sorted[sorted.length - 1] };
}
