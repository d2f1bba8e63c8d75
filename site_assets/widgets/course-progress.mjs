/**
 * `<course-progress>`: the chapters with what the reader has done in each, and a button
 * that clears it. The list itself is static; the element fills in the numbers.
 */
import { progress } from "../runtime/progress.mjs";
import { h } from "./dom.mjs";
import { gateLine, isDone, progressLine, readParts } from "./progress-line.mjs";

export default class CourseProgress extends HTMLElement {
  #built = false;
  #note = h("p", { class: "live-hint" });
  #status = h("p", { class: "live-status", role: "status" });
  #ask = h("button", { type: "button", class: "live-button", onclick: () => this.#confirm(true) }, "Clear progress");
  #keep = h("button", { type: "button", class: "live-button", onclick: () => this.#confirm(false) }, "Keep it");
  #confirmation = h(
    "p",
    { class: "progress-confirmation", role: "group", "aria-label": "Clear progress?", hidden: true },
    "Clear everything that is kept here? This can not be undone. ",
    this.#keep,
    " ",
    h("button", { type: "button", class: "live-button live-button--primary", onclick: () => this.#clear() }, "Clear"),
  );

  connectedCallback() {
    if (!this.#built) {
      this.#built = true;
      this.append(this.#note, h("p", {}, this.#ask), this.#confirmation, this.#status);
    }
    progress.addEventListener("change", this.#draw);
    this.#draw();
  }

  disconnectedCallback() {
    progress.removeEventListener("change", this.#draw);
  }

  #draw = () => {
    for (const item of /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll(".progress-list > [data-chapter]"))) {
      const parts = readParts(item);
      const line = progressLine(parts) || "nothing to answer yet";
      const done = line.startsWith("nothing") || !isDone(parts) ? "" : " ✓ done";
      item.querySelector(".progress-amounts").textContent = `${line}${done}`;
    }
    this.querySelector("[data-gate] .progress-amounts").textContent = gateLine();
    this.#note.textContent = progress.isKept
      ? "Kept in this browser, on this device, and sent nowhere."
      : "This browser keeps no data for this site, so your progress lasts until you close or reload the page.";
  };

  /** @param {boolean} isAsked */
  #confirm(isAsked) {
    this.#confirmation.hidden = !isAsked;
    this.#ask.hidden = isAsked;
    this.#status.textContent = "";
    (isAsked ? this.#keep : this.#ask).focus();
  }

  #clear() {
    progress.clear();
    this.#confirm(false);
    this.#status.textContent = "Progress cleared.";
  }
}
