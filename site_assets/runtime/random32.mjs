/**
 * The generator of `tiny_gpt/random32.py`, number by number: draw `i` of a seed is a
 * pure function of both, so a stream is resumed by remembering one integer. The
 * mixing step is "lowbias32" by Chris Wellons (hash-prospector, public domain).
 */

const GOLDEN_RATIO_32 = 0x9e3779b9;

/**
 * Scramble a uint32; every input bit moves every output bit.
 * @param {number} x read modulo 2**32
 */
export function mix32(x) {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/**
 * Draws `start` to `start + count - 1` of `seed`; both wrap at 2**32.
 * @param {number} seed
 * @param {number} start
 * @param {number} count
 */
export function draws(seed, start, count) {
  const key = mix32(seed);
  return Uint32Array.from({ length: count }, (_, i) => mix32(Math.imul(start + i, GOLDEN_RATIO_32) + key));
}

/**
 * Map a draw to a number from 0 up to, not including, 1.
 * @param {number} draw
 */
export function unitInterval(draw) {
  return draw / 2 ** 32;
}
