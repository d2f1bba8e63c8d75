/** Choices that a seed and a name decide, the same on every device. */
import { draws, mix32 } from "./random32.mjs";

/** A name folded into 32 bits. @param {string} name */
const folded = (name) => Array.from(name).reduce((sum, character) => mix32(sum + character.codePointAt(0)), 0);

/** The key that `name` gets under `seed`: sorting by it shuffles. @param {number} seed @param {string} name */
export const shuffleKey = (seed, name) => mix32(seed ^ folded(name));

/** A row of draws that belongs to a seed and a name. */
export class Seeded {
  #seed;
  #next = 0;

  /** @param {number} seed @param {string} name */
  constructor(seed, name) {
    this.#seed = shuffleKey(seed, name);
  }

  /** A whole number from 0 up to, not including, `limit`. @param {number} limit */
  below(limit) {
    this.#next += 1;
    return draws(this.#seed, this.#next - 1, 1)[0] % limit;
  }

  /** A whole number from `low` to `high`. @param {number} low @param {number} high */
  between(low, high) {
    return low + this.below(high - low + 1);
  }

  /** @template Item @param {readonly Item[]} items @returns {Item} */
  pick(items) {
    return items[this.below(items.length)];
  }

  /** A shuffled copy. @template Item @param {readonly Item[]} items @returns {Item[]} */
  shuffled(items) {
    const rest = [...items];
    return items.map(() => rest.splice(this.below(rest.length), 1)[0]);
  }

  /** The first of the made things that is wanted. @template Thing @param {() => Thing} make @param {(thing: Thing) => boolean} isWanted */
  until(make, isWanted) {
    for (;;) {
      const thing = make();
      if (isWanted(thing)) return thing;
    }
  }
}
