/**
 * `<position-walk>`: one position's way through the network in four operations.
 *
 * It starts with the recorded numbers of `1+1=2` on the untrained weights, and
 * computes the reader's own line on this device, with the same weights, when asked.
 */
import { manifest } from "../generated/manifest.mjs";
import { walk as recorded } from "../generated/walk.mjs";
import { engine } from "../runtime/engine.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { checkPrefix } from "../runtime/prompt.mjs";
import { encode } from "../runtime/tokenizer.mjs";
import { PLAIN_TEXT_BOX, h, ignoreComposingEnter, uniqueId } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { tokenLabel } from "./token-label.mjs";
import { SHOWN_NUMBERS, walkFrom } from "./walk-data.mjs";

const OPERATIONS = [
  "Turn the token ID into a vector",
  "Let earlier positions contribute",
  "Transform the position",
  `Score the ${manifest.model.config.vocab_size} next tokens`,
];

const WEIGHTS = "the untrained seed-42 weights";

/** @param {number} value */
const three = (value) => value.toFixed(3).replace("-", "−");

/** @param {string} text */
const lowerFirst = (text) => text[0].toLowerCase() + text.slice(1);

/**
 * Rows of the first numbers of some vectors.
 * @param {[string, number[]][]} rows
 */
function vectorTable(rows) {
  const { width } = manifest.model.config;
  const numbers = Array.from({ length: SHOWN_NUMBERS }, (_, i) => h("th", { scope: "col" }, i + 1));
  return h(
    "div",
    { class: "walk-scroll" },
    h(
      "table",
      { class: "live-table" },
      h("caption", {}, `The first ${SHOWN_NUMBERS} of ${width} numbers.`),
      h("thead", {}, h("tr", {}, h("td"), ...numbers)),
      h(
        "tbody",
        {},
        ...rows.map(([name, values]) =>
          h("tr", {}, h("th", { scope: "row" }, name), ...values.map((value) => h("td", {}, three(value)))),
        ),
      ),
    ),
  );
}

/**
 * A group of radio buttons that look like chips: one Tab stop, arrow keys inside.
 * @param {string} legend
 * @param {(Node | string)[][]} labels
 * @param {number} chosen
 * @param {(index: number) => void} choose
 */
function chips(legend, labels, chosen, choose) {
  const name = uniqueId("chips");
  return h(
    "fieldset",
    { class: "walk-chips" },
    h("legend", {}, legend),
    ...labels.map((label, index) =>
      h(
        "label",
        { class: "walk-chip" },
        h("input", { type: "radio", name, value: index, checked: index === chosen, onchange: () => choose(index) }),
        h("span", {}, ...label),
      ),
    ),
  );
}

/**
 * A labelled choice of 1 to `count`.
 * @param {string} label
 * @param {number} count
 * @param {number} chosen
 * @param {(index: number) => void} choose
 */
function picker(label, count, chosen, choose) {
  const id = uniqueId("picker");
  const select = h(
    "select",
    { id, onchange: () => choose(select.selectedIndex) },
    ...Array.from({ length: count }, (_, i) => h("option", { value: i, selected: i === chosen }, i + 1)),
  );
  return h("span", { class: "live-picker" }, h("label", { for: id }, label), select);
}

export default class PositionWalk extends LiveElement {
  /** @type {import("./walk-data.mjs").Walk} */
  #walk = recorded;
  #chosen = recorded.text.indexOf("=") + 1;
  #position = this.#chosen;
  #operation = 0;
  #block = 0;
  #head = 0;
  #source = h("p", { class: "walk-source" });
  #positions = h("div");
  #operations = h("div");
  #panel = h("div", { class: "walk-panel", "aria-live": "polite" });
  #stage = h("div", { class: "walk-stage" }, this.#source, this.#positions, this.#operations, this.#panel);
  #box = h("input", {
    ...PLAIN_TEXT_BOX,
    class: "live-box",
    id: uniqueId("line"),
    name: "line",
    oninput: () => this.#changed(),
  });

  build() {
    this.#box.value = recorded.text;
    this.#box.setAttribute("aria-describedby", this.errorId);
    ignoreComposingEnter(this.#box);
    const form = h(
      "form",
      { class: "live-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      h("label", { for: this.#box.id }, "Line"),
      this.#box,
      h("button", { type: "submit", class: "live-button live-button--primary" }, "Walk"),
    );
    const hint = h(
      "p",
      { class: "live-hint" },
      `Your own line, of at most ${manifest.prompt.longest_prefix} characters, computed on this device with ${WEIGHTS}. The first press downloads the runtime. The numbers above change with it.`,
    );
    this.replaceChildren(this.#stage, form, hint, this.feedback);
    this.#draw();
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    const text = this.#box.value;
    this.drop();
    this.#box.removeAttribute("aria-invalid");
    try {
      checkPrefix(text);
    } catch (error) {
      if (!(error instanceof CourseError)) throw error;
      this.#box.setAttribute("aria-invalid", "true");
      this.#stage.hidden = true;
      this.show("error", error.message);
      return;
    }
    const ids = encode(text);
    const { outputs, config } = manifest.model;
    const compute = () => engine.run(manifest.initial, [ids], outputs);
    void this.ask(compute, (answer) => {
      this.#use(walkFrom(text, ids, answer.outputs, config.n_layers));
      this.show("ready", `Computed on this device in ${answer.milliseconds.toFixed(1)} ms.`);
    });
  }

  #changed() {
    this.drop();
    this.#box.removeAttribute("aria-invalid");
    if (this.#box.value === recorded.text) {
      this.#use(recorded);
      this.show("idle");
    } else {
      this.#stage.hidden = true;
      this.show("idle", "The line has changed. Press Walk to compute it on this device.");
    }
  }

  /** @param {import("./walk-data.mjs").Walk} walk */
  #use(walk) {
    this.#walk = walk;
    this.#position = Math.min(this.#chosen, walk.positions.length - 1);
    this.#stage.hidden = false;
    this.#draw();
  }

  #draw() {
    const { text, positions } = this.#walk;
    this.#source.replaceChildren(
      this.#walk === recorded ? "Recorded numbers of " : "Computed on this device: ",
      h("code", {}, `"${text}"`),
      this.#walk === recorded
        ? `, from ${WEIGHTS}, written when this site was built.`
        : `, with ${WEIGHTS}.`,
    );
    this.#positions.replaceChildren(
      chips(
        "Position",
        positions.map(({ token_id: id }, index) => [`${index} `, tokenLabel(id)]),
        this.#position,
        (index) => {
          this.#chosen = index;
          this.#position = index;
          this.#drawPanel();
        },
      ),
    );
    this.#operations.replaceChildren(
      chips("Operation", OPERATIONS.map((name, index) => [`${index + 1}. ${name}`]), this.#operation, (index) => {
        this.#operation = index;
        this.#drawPanel();
      }),
    );
    this.#drawPanel();
  }

  #drawPanel() {
    const views = [this.#viewVector, this.#viewAttention, this.#viewFeedForward, this.#viewScores];
    const title = h("p", { class: "walk-title" }, `Position ${this.#position}, `, this.#token(this.#position), `: ${lowerFirst(OPERATIONS[this.#operation])}`);
    this.#panel.replaceChildren(title, ...views[this.#operation].call(this, this.#walk.positions[this.#position]));
  }

  /** @param {number} position */
  #token(position) {
    return tokenLabel(this.#walk.positions[position].token_id);
  }

  /** @param {import("./walk-data.mjs").PositionValues} values */
  #viewVector({ token_id: id, token_row, position_row, sum }) {
    return [
      h(
        "p",
        {},
        `Token ID ${id} picks row ${id} of the token embedding; position ${this.#position} picks row ${this.#position} of the position embedding. Their sum goes into block 1.`,
      ),
      vectorTable([
        ["token row", token_row],
        ["position row", position_row],
        ["sum", sum],
      ]),
    ];
  }

  /** @param {import("./walk-data.mjs").PositionValues} values */
  #viewAttention({ blocks }) {
    const { before, after_attention, attention } = blocks[this.#block];
    const explanation = h("p", { class: "walk-explanation", role: "status" });
    const weights = attention[this.#head];
    const rows = weights.map((weight, from) => this.#weightRow(weight, from, explanation));
    return [
      h("p", {}, this.#blockPicker(), " ", picker("Head", attention.length, this.#head, (index) => {
        this.#head = index;
        this.#drawPanel();
        this.#refocus("Head");
      })),
      h("p", {}, `Head ${this.#head + 1} of block ${this.#block + 1} adds up the values of these positions, each times its weight. The weights sum to 1. What all ${attention.length} heads bring is added to the numbers below.`),
      h(
        "div",
        { class: "walk-scroll" },
        h(
          "table",
          { class: "live-table walk-weights" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "From position"), h("th", { scope: "col" }, "Weight"))),
          h("tbody", {}, ...rows),
        ),
      ),
      explanation,
      vectorTable([
        ["before", before],
        ["after", after_attention],
      ]),
    ];
  }

  /** @param {number} weight @param {number} from @param {HTMLElement} explanation */
  #weightRow(weight, from, explanation) {
    const heading = h("th", { scope: "row" }, `${from} `, this.#token(from));
    if (from <= this.#position) {
      const bar = h("span", { class: "score-bar", "aria-hidden": "true" });
      bar.style.inlineSize = `${100 * weight}%`;
      return h("tr", {}, heading, h("td", {}, bar, three(weight)));
    }
    const explain = () => {
      explanation.textContent =
        `Position ${from} comes after position ${this.#position}, so it is hidden: the mask sets its score to −∞ before the softmax, ` +
        `and its weight is exactly ${weight}. Position ${this.#position} is asked to predict what comes next; reading position ${from} would give the answer away.`;
    };
    const why = h(
      "button",
      { type: "button", class: "live-button", onclick: explain, "aria-label": `Position ${from} is hidden. Why?` },
      "hidden, why?",
    );
    return h("tr", { class: "walk-hidden" }, heading, h("td", {}, why));
  }

  /** @param {import("./walk-data.mjs").PositionValues} values */
  #viewFeedForward({ blocks }) {
    const { after_attention, output } = blocks[this.#block];
    const { width, feed_forward_width } = manifest.model.config;
    const added = output.map((value, index) => value - after_attention[index]);
    return [
      h("p", {}, this.#blockPicker()),
      h(
        "p",
        {},
        `The feed-forward part of block ${this.#block + 1} reads this position alone: ${width} numbers become ${feed_forward_width}, pass through GELU and become ${width} again. The result is added.`,
      ),
      vectorTable([
        ["before", after_attention],
        ["added", added],
        ["after", output],
      ]),
    ];
  }

  /** @param {import("./walk-data.mjs").PositionValues} values */
  #viewScores({ top, target }) {
    const isLast = this.#position === this.#walk.positions.length - 1;
    const { vocab_size } = manifest.model.config;
    const line = (/** @type {string} */ name, /** @type {number} */ id, /** @type {number} */ logit, /** @type {number} */ place) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, tokenLabel(id)), h("td", {}, three(logit)), h("td", {}, `${place} of ${vocab_size}`));
    const column = (/** @type {string} */ title) => h("th", { scope: "col" }, title);
    return [
      h("p", {}, `The final vector, normalised, is compared with all ${vocab_size} token rows. Each comparison is one score, a logit.`),
      h(
        "div",
        { class: "walk-scroll" },
        h(
          "table",
          { class: "live-table" },
          h("thead", {}, h("tr", {}, h("td"), column("Token"), column("Logit"), column("Rank"))),
          h(
            "tbody",
            {},
            line("highest score", top.token_id, top.logit, 1),
            line("training target", target.token_id, target.logit, target.rank),
          ),
        ),
      ),
      h(
        "p",
        {},
        isLast
          ? "The target is EOS: this is the last position, and after it the line ends."
          : `The target is the token at position ${this.#position + 1}. Training pushes its score up.`,
      ),
    ];
  }

  #blockPicker() {
    return picker("Block", manifest.model.config.n_layers, this.#block, (index) => {
      this.#block = index;
      this.#drawPanel();
      this.#refocus("Block");
    });
  }

  /** The panel was drawn anew: give the focus back to the choice that was just made. @param {string} label */
  #refocus(label) {
    for (const { textContent, htmlFor } of this.#panel.querySelectorAll("label")) {
      if (textContent === label) document.getElementById(htmlFor)?.focus();
    }
  }
}
