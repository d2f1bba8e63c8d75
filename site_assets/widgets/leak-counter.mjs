/**
 * `<leak-counter>`: split all problems by two rules on this device, and count how many
 * held-out ones a table could answer by swapping the operands of what it was taught.
 */
import { byPair, byProblem, countLeaks } from "../runtime/leak.mjs";
import { grouped, h } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";

const RULES = [
  { name: "problem", partOf: byProblem },
  { name: "pair (ours)", partOf: byPair },
];
const COLUMNS = ["Split by", "Kind", "Held out", "Twin in training", "Score"];
const SIGNS = { "+": "a+b", "-": "a−b" };

export default class LeakCounter extends LiveElement {
  #results = h("div", { class: "leak-results", hidden: true });

  build() {
    const button = h(
      "button",
      { type: "button", class: "live-button live-button--primary", onclick: () => this.#count() },
      "Count on this device",
    );
    const hint = h("p", { class: "live-hint" }, "Splits all two million problems twice. Nothing is downloaded.");
    this.replaceChildren(button, hint, this.feedback, this.#results);
  }

  #count() {
    const count = async () => {
      const start = performance.now();
      const rows = [];
      for (const { name, partOf } of RULES) {
        for (const leak of await countLeaks(partOf)) rows.push({ name, ...leak });
      }
      return { rows, milliseconds: performance.now() - start };
    };
    void this.ask(count, ({ rows, milliseconds }) => {
      this.#results.replaceChildren(table(rows));
      this.#results.hidden = false;
      this.show("ready", `Counted on this device in ${Math.round(milliseconds)} ms. Table below.`);
    });
  }
}

/** @param {(import("../runtime/leak.mjs").Leak & {name: string})[]} rows */
function table(rows) {
  return h(
    "div",
    { class: "live-scroll" },
    h(
      "table",
      { class: "live-table" },
      h("thead", {}, h("tr", {}, ...COLUMNS.map((title) => h("th", { scope: "col" }, title)))),
      h(
        "tbody",
        {},
        ...rows.map(({ name, operation, heldOut, twins }) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            h("td", {}, SIGNS[operation]),
            h("td", {}, grouped(heldOut)),
            h("td", {}, grouped(twins)),
            h("td", {}, `${((100 * twins) / heldOut).toFixed(2)} %`),
          ),
        ),
      ),
    ),
  );
}
