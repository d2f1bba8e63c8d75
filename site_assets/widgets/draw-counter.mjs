/**
 * `<draw-counter prefix="12+34=" temperature="2" top-k="98" seed="0" model="trained" link="count">`:
 * lets the model write many answers to one prefix, with seeds in a row, on this device, and counts
 * which answers come how often and how many are wrong.
 *
 * Attributes: the values to start with; `link` is the name under which the page's address keeps them.
 */
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { readState, stateValue } from "../runtime/page-state.mjs";
import { answer, readProblem } from "../runtime/problems.mjs";
import { tally, writeMany } from "../runtime/writing.mjs";
import { grouped, h, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { percent } from "./percent.mjs";
import { SamplingForm } from "./sampling-form.mjs";
import { verdict } from "./verdict.mjs";

/** @typedef {import("./sampling-form.mjs").Asked} Asked */
/** @typedef {import("../runtime/writing.mjs").Drawn} Drawn */

const COUNTS = [50, 200, 1000];
const USUAL_COUNT = 200;
/** Answers with a row of their own. More would hold the page up while it draws. */
const MOST_ROWS = 50;

/** A number of draws as a link names it. @param {string} text */
function drawCount(text) {
  if (!COUNTS.map(String).includes(text)) throw new RangeError("not one of the counts");
  return Number(text);
}

export default class DrawCounter extends LiveElement {
  /** @type {SamplingForm} */
  #form;
  #running = new AbortController();
  #count = h(
    "select",
    { id: uniqueId("count"), name: "count", onchange: () => this.#changed() },
    ...COUNTS.map((count) => h("option", { value: count, selected: count === USUAL_COUNT }, grouped(count))),
  );
  #start = h("button", { type: "submit", class: "live-button live-button--primary" }, "Draw and count");
  #stop = h("button", { type: "button", class: "live-button", hidden: true, onclick: () => this.#running.abort() }, "Stop");
  #done = h("progress", { class: "live-progress", "aria-label": "Drawn so far", hidden: true });
  #results = h("div", {
    class: "draws-results",
    role: "region",
    tabindex: "0",
    "aria-label": "The answers, scrollable",
    hidden: true,
  });

  build() {
    this.#form = new SamplingForm(this, {
      names: ["prefix", "temperature", "top-k", "seed"],
      seedLabel: "First seed",
      onchange: () => this.#changed(),
      onsubmit: () => this.#draw(),
      buttons: [
        h("span", { class: "live-picker" }, h("label", { for: this.#count.id }, "Draws"), this.#count),
        this.#start,
        this.#stop,
      ],
    });
    const link = this.getAttribute("link");
    this.#count.value = String(stateValue(readState(link), "count", drawCount, USUAL_COUNT, this.#form.complaints));
    const hint = h(
      "p",
      { class: "live-hint" },
      "Each draw is a whole answer with a seed of its own: the first seed, the next one, and so on. High temperatures take longest.",
    );
    const warnings = this.#form.complaints.map((sentence) => h("p", { class: "live-warning" }, sentence));
    this.replaceChildren(...warnings, this.#form.element, hint, this.#done, this.feedback, this.#results);
  }

  disconnectedCallback() {
    this.#end();
    super.disconnectedCallback();
  }

  #draw() {
    this.#clear();
    this.drop();
    const count = Number(this.#count.value);
    let asked;
    try {
      asked = this.#form.read({ count });
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.show("error", error.message);
      return;
    }
    const draw = () => this.#work(asked, count);
    void this.ask(draw, (drawn) => this.#finish(asked, drawn, count));
  }

  /** @param {Asked} asked @param {number} count */
  async #work(asked, count) {
    const running = new AbortController();
    this.#running = running;
    this.#done.max = count;
    this.#done.value = 0;
    this.#done.hidden = false;
    this.#stop.hidden = false;
    try {
      return await writeMany(
        engine,
        asked.model,
        asked.prefix,
        asked,
        count,
        (drawn) => {
          this.#done.value = drawn.length;
          this.#table(asked, drawn);
        },
        running.signal,
      );
    } finally {
      if (this.#running === running) this.#idleControls();
    }
  }

  #idleControls() {
    const hadFocus = document.activeElement === this.#stop;
    this.#stop.hidden = true;
    this.#done.hidden = true;
    if (hadFocus) this.#start.focus();
  }

  /** End what is running; its late batches are not shown. */
  #end() {
    this.#running.abort();
    this.#running = new AbortController();
    this.#idleControls();
  }

  /** The form holds other settings now: what was counted does not belong to them. */
  #changed() {
    if (this.dataset.state === "idle") return;
    this.#clear();
    this.drop();
    this.show("idle", "The settings have changed. Press Draw and count to draw under them.");
  }

  #clear() {
    this.#end();
    this.#form.accept();
    this.#results.hidden = true;
    this.#results.replaceChildren();
  }

  /** @param {Asked} asked @param {Drawn[]} drawn @param {number} count that was wanted */
  #finish(asked, drawn, count) {
    if (drawn.length > 0) this.#table(asked, drawn);
    const wrong = drawn.filter(({ written, end }) => verdict(asked.prefix, written, end) === "wrong").length;
    const answers = tally(drawn).length;
    const stopped = drawn.length < count ? `Stopped after ${grouped(drawn.length)} of ${grouped(count)} draws. ` : "";
    const different = `${grouped(answers)} different ${answers === 1 ? "answer" : "answers"}`;
    const isJudged = isProblem(asked.prefix);
    const outcome = isJudged ? `Wrong: ${grouped(wrong)} of ${grouped(drawn.length)}.` : `${grouped(drawn.length)} draws.`;
    this.show("ready", `${stopped}${outcome} ${different}.`);
  }

  /** @param {Asked} asked @param {Drawn[]} drawn so far */
  #table(asked, drawn) {
    const columns = ["Answer", "Times", "Share", "First seed", "Verdict"];
    const answers = tally(drawn);
    const rows = answers.slice(0, MOST_ROWS).map(({ written, end, count, seed }) => {
      const share = count / drawn.length;
      const bar = h("span", { class: "score-bar", "aria-hidden": "true" });
      bar.style.inlineSize = `${100 * share}%`;
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, h("code", {}, written), end === "EOS" ? null : ` ${end}`),
        h("td", {}, grouped(count)),
        h("td", {}, bar, percent(share)),
        h("td", {}, seed),
        h("td", {}, verdict(asked.prefix, written, end) || "–"),
      );
    });
    const others = answers.slice(MOST_ROWS);
    if (others.length > 0) {
      const times = others.reduce((sum, { count }) => sum + count, 0);
      const name = h("th", { scope: "row" }, `${grouped(others.length)} other ${others.length === 1 ? "answer" : "answers"}`);
      rows.push(h("tr", {}, name, h("td", {}, grouped(times)), h("td", {}, percent(times / drawn.length)), h("td"), h("td")));
    }
    const right = isProblem(asked.prefix) ? ` Right is ${answer(readProblem(asked.prefix))}, then EOS.` : "";
    this.#results.replaceChildren(
      h(
        "table",
        { class: "live-table" },
        h("caption", {}, `${grouped(drawn.length)} draws, the most frequent answer first.${right}`),
        h("thead", {}, h("tr", {}, ...columns.map((title) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, ...rows),
      ),
    );
    this.#results.hidden = false;
  }
}

/** Whether the course knows the right answer. @param {string} prefix */
const isProblem = (prefix) => verdict(prefix, "", "EOS") !== "";
