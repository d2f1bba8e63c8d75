/** `<chapter-progress>`: one line at a chapter's end that says what the reader has done in it. */
import { progress } from "../runtime/progress.mjs";
import { h } from "./dom.mjs";
import { progressLine, readParts } from "./progress-line.mjs";

export default class ChapterProgress extends HTMLElement {
  connectedCallback() {
    progress.addEventListener("change", this.#draw);
    this.#draw();
  }

  disconnectedCallback() {
    progress.removeEventListener("change", this.#draw);
  }

  #draw = () => {
    this.replaceChildren(h("p", { class: "progress-amounts" }, `Your progress in this chapter: ${progressLine(readParts(this))}.`));
  };
}
