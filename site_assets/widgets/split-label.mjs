/** How the page names the three sides of the split. */

/** @type {Record<import("../runtime/problems.mjs").Split, string>} */
export const SIDES = { train: "training", tuning: "tuning", "held-out": "held out" };
