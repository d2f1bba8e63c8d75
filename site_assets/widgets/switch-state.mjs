/**
 * Which switches of the page are off. `switch-board` sets them; the parts that show attention and
 * the logit lens follow.
 */
import { SWITCHES } from "../runtime/ablation.mjs";

class SwitchState extends EventTarget {
  /** @type {Set<string>} */
  #off = new Set();

  /** Names of the switches that are off, in the manifest's order. @returns {string[]} */
  get off() {
    return SWITCHES.map(({ name }) => name).filter((name) => this.#off.has(name));
  }

  /** @param {Iterable<string>} names */
  set off(names) {
    const before = this.off.join();
    this.#off = new Set(names);
    if (this.off.join() !== before) this.dispatchEvent(new Event("change"));
  }
}

export const switchState = new SwitchState();
