/** What the device report found, as a verdict in words, two tables, and text to copy. */
import { manifest } from "../generated/manifest.mjs";
import { displayName } from "../runtime/tokenizer.mjs";
import { grouped, h, uniqueId } from "./dom.mjs";

/** @typedef {import("./device-report.mjs").Report} Report */
/** @typedef {[string, string]} Line what was measured, and the value */
/** @typedef {{name: string, unpacked: number, packed: number, moved: number | undefined}} File */

/** A small number with two digits: 3.4e-7. @param {number} value */
const small = (value) => value.toExponential(1).replace(".0e", "e");
const FILE_HEADINGS = ["File", "Unpacked", "Packed", "Moved now"];
const ms = (/** @type {number} */ value) => `${value.toFixed(1)} ms`;

export class ReportResults {
  #content = h("div");
  #text = h("textarea", { class: "live-box report-text", readonly: true, rows: "8", id: uniqueId("report") });
  #copied = h("p", { class: "live-hint", role: "status" });
  element = h("div", { class: "report-results", hidden: true });

  clear() {
    this.element.hidden = true;
    this.#copied.textContent = "";
  }

  /** One sentence: passed or failed, the difference, the limit. @param {Report} report */
  verdict({ worst }) {
    const { limit, logits } = manifest.parity;
    const passed = worst.gap <= limit;
    return `${passed ? "Passed" : "Failed"}: the largest of ${grouped(logits)} differences from PyTorch is ${small(worst.gap)}, and the limit is ${small(limit)}.`;
  }

  /** @param {Report} report */
  fill(report) {
    const lines = measured(report);
    const files = downloads(report);
    this.#content.replaceChildren(
      table("Measured on this device just now", ["Measure", "Value"], lines),
      table(
        "Files, in bytes. “Moved now” is what the network carried for this measurement; 0 means that the browser had kept the file.",
        FILE_HEADINGS,
        files,
        "report-files",
      ),
    );
    this.#text.value = [[this.verdict(report)], ...lines, FILE_HEADINGS, ...files, ["Browser", navigator.userAgent]]
      .map((cells) => cells.join("\t"))
      .join("\n");
    const copy = h("button", { type: "button", class: "live-button", onclick: () => void this.#copy() }, "Copy");
    const asText = h(
      "details",
      {},
      h("summary", {}, "The results as text"),
      h("p", {}, h("label", { for: this.#text.id }, "Measure and value, separated by tabs")),
      this.#text,
      copy,
      this.#copied,
    );
    this.element.replaceChildren(this.#content, asText);
    this.element.hidden = false;
  }

  /** Where the page may not write to the clipboard, as on plain http, the text is selected. */
  async #copy() {
    try {
      await navigator.clipboard.writeText(this.#text.value);
      this.#copied.textContent = "Copied.";
    } catch {
      this.#text.focus();
      this.#text.select();
      this.#copied.textContent = "The text is selected. Copy it with the keyboard or the menu of your device.";
    }
  }
}

/** @param {Report} report @returns {Line[]} */
function measured({ worst, startUp, latencies }) {
  const { prefixes, logits, limit } = manifest.parity;
  const inBuild = manifest.models[manifest.trained].largest_difference;
  return [
    ["Compared with PyTorch", `${prefixes} prefixes, ${grouped(logits)} logits`],
    ["Largest difference", small(worst.gap)],
    ["Limit", `${small(limit)} times max(1, |logit|)`],
    ["Where it is largest", `"${worst.prefix}", token ${displayName(worst.id)}: ${worst.here.toFixed(7)} here, ${worst.pytorch.toFixed(7)} in PyTorch`],
    ["Largest difference in the build", small(inBuild)],
    ["Start-up, download included", `${(startUp / 1000).toFixed(2)} s`],
    ...latencies.map(
      ({ positions, runs, median, low, high }) =>
        /** @type {Line} */ ([`One pass, ${positions} positions`, `median of ${runs}: ${ms(median)}; from ${ms(low)} to ${ms(high)}`]),
    ),
  ];
}

/** Rows of name, unpacked, packed and moved bytes, the sum last. @param {Report} report */
function downloads({ moved }) {
  const entry = (/** @type {string} */ end) => moved.find(({ name }) => new URL(name).pathname.endsWith(end));
  const model = manifest.models[manifest.trained];
  /** @type {[string, {file: string, bytes: number, raw_bytes: number}][]} */
  const shipped = [
    ["runtime, WASM", manifest.runtime.wasm],
    ["graph", manifest.graphs[model.size].plain],
    ["weights", model],
  ];
  /** @type {File[]} */
  const files = shipped.map(([name, { file, bytes: packed, raw_bytes: unpacked }]) => ({
    name,
    unpacked,
    packed,
    moved: entry(file)?.transferSize,
  }));
  const modules = moved.filter(({ name }) => name.includes("/vendor/"));
  if (modules.length > 0) {
    const sum = (/** @type {"encodedBodySize" | "transferSize"} */ key) => modules.reduce((total, one) => total + one[key], 0);
    files.splice(1, 0, { name: "runtime, JavaScript", unpacked: sum("encodedBodySize"), packed: sum("encodedBodySize"), moved: sum("transferSize") });
  }
  const total = (/** @type {"unpacked" | "packed"} */ key) => grouped(files.reduce((sum, file) => sum + file[key], 0));
  const isKnown = files.every((file) => file.moved !== undefined);
  return [
    ...files.map((file) => [file.name, grouped(file.unpacked), grouped(file.packed), file.moved === undefined ? "not told" : grouped(file.moved)]),
    ["together", total("unpacked"), total("packed"), isKnown ? grouped(files.reduce((sum, file) => sum + file.moved, 0)) : "not told"],
  ];
}

/** @param {string} caption @param {string[]} headings @param {string[][]} rows @param {string} [style] */
function table(caption, headings, rows, style = "") {
  const [first, ...others] = headings;
  return h(
    "div",
    { class: "report-scroll", role: "region", tabindex: "0", "aria-label": caption },
    h(
      "table",
      { class: `live-table ${style}` },
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, first), ...others.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name), ...cells.map((text) => h("td", {}, text))))),
    ),
  );
}
