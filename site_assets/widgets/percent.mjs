/** Shares as a reader likes them. */

/** "99.97 %", cut and not rounded, since 100 % would mean certain; "< 0.01 %" for less. @param {number} share */
export function percent(share) {
  if (share === 0) return "0 %";
  if (share < 0.0001) return "< 0.01 %";
  return `${(Math.floor(10_000 * share) / 100).toFixed(2)} %`;
}
