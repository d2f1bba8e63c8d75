/**
 * `<device-report>`: on press, what this device makes of the model. A worker of its own
 * starts from nothing, repeats the prefixes whose logits PyTorch computed in the build,
 * and times single passes. Everything shown was measured after the press.
 */
import { manifest } from "../generated/manifest.mjs";
import { download } from "../runtime/download.mjs";
import { engine } from "../runtime/engine.mjs";
import { largestGap, spread } from "../runtime/measure.mjs";
import { encode } from "../runtime/tokenizer.mjs";
import { h, grouped } from "./dom.mjs";
import { LiveElement } from "./live-element.mjs";
import { ReportResults } from "./report-results.mjs";

/** @typedef {import("../runtime/measure.mjs").Gap} Gap */
/** @typedef {{positions: number, runs: number, median: number, low: number, high: number}} Latency milliseconds */
/** @typedef {{name: string, transferSize: number, encodedBodySize: number}} Moved */
/** @typedef {{startUp: number, worst: Gap, latencies: Latency[], moved: Moved[]}} Report */

const ASSETS = new URL("../../", import.meta.url);
const POSITIONS = [5, manifest.model.config.context_length];
const WARM_UP = 5;
const RUNS = 30;
const LOGITS = [manifest.model.outputs[0]];

export default class DeviceReport extends LiveElement {
  /** @type {import("../runtime/worker-link.mjs").WorkerLink | undefined} the worker of a running measurement */
  #worker;
  #start = h(
    "button",
    { type: "button", class: "live-button live-button--primary", onclick: () => this.#measure() },
    "Measure on this device",
  );
  #stop = h("button", { type: "button", class: "live-button", hidden: true, onclick: () => this.#cancel() }, "Stop");
  #bar = h("progress", { class: "live-progress", "aria-label": "Measurement", hidden: true });
  #step = h("p", { class: "live-hint", hidden: true });
  #results = new ReportResults();

  build() {
    const { prefixes, bytes } = manifest.parity;
    const hint = `Compares ${prefixes} prefixes with PyTorch (${grouped(Math.round(bytes / 1000))} kB more to download), then times ${RUNS} passes at ${POSITIONS.join(" and at ")} positions. It takes some seconds. Nothing is sent anywhere.`;
    this.replaceChildren(
      h("div", { class: "live-form" }, this.#start, this.#stop),
      h("p", { class: "live-hint" }, hint),
      this.feedback,
      this.#bar,
      this.#step,
      this.#results.element,
    );
  }

  disconnectedCallback() {
    this.#worker?.end();
    super.disconnectedCallback();
  }

  #measure() {
    this.#results.clear();
    void this.ask(
      () => this.#report(),
      (report) => {
        this.#results.fill(report);
        this.show("ready", this.#results.verdict(report));
      },
    );
  }

  #cancel() {
    this.#worker?.end();
    this.drop();
    this.#running(false);
    this.show("idle", "Stopped. Nothing was measured to its end.");
  }

  /** One of the two buttons works at a time; the keyboard's focus moves along. @param {boolean} isRunning */
  #running(isRunning) {
    const [leaving, coming] = isRunning ? [this.#start, this.#stop] : [this.#stop, this.#start];
    const hadFocus = document.activeElement === leaving;
    this.#stop.hidden = !isRunning;
    this.#start.disabled = isRunning;
    if (hadFocus) coming.focus();
    if (!isRunning) this.#bar.hidden = this.#step.hidden = true;
  }

  /**
   * One step of many, for the eye; the status line speaks of whole stages only.
   * @param {number} done
   * @param {number} total
   * @param {string} text
   */
  #progress(done, total, text) {
    this.#bar.hidden = this.#step.hidden = false;
    this.#bar.max = total;
    this.#bar.value = done;
    this.#step.textContent = text;
  }

  /** A failed worker is of no more use, so each try has its own. @returns {Promise<Report>} */
  async #report() {
    this.#worker?.end();
    const worker = engine.startWorker();
    this.#worker = worker;
    this.#running(true);
    try {
      return await this.#measured(worker);
    } finally {
      worker.end();
      if (this.#worker === worker) this.#running(false);
    }
  }

  /** @param {import("../runtime/worker-link.mjs").WorkerLink} worker @returns {Promise<Report>} */
  async #measured(worker) {
    const { trained: model, parity } = manifest;
    this.show("loading", "Starting the runtime from nothing…");
    const pressed = performance.now();
    await worker.ask({ kind: "open", model, graph: "plain" });
    const startUp = performance.now() - pressed;

    /** @param {number[]} ids @returns {Promise<import("../runtime/engine.mjs").RunResult>} */
    const run = (ids) => worker.ask({ kind: "run", model, graph: "plain", rows: [ids], outputs: LOGITS });
    this.show("loading", `Comparing ${parity.prefixes} prefixes with PyTorch…`);
    const url = new URL(parity.file, ASSETS).href;
    const { bytes } = await download(url, parity, "PyTorch's list of logits", () => {});
    /** @type {import("../runtime/measure.mjs").Case[]} */
    const cases = JSON.parse(new TextDecoder().decode(bytes));
    /** @type {Gap | undefined} */
    let worst;
    for (const [index, expected] of cases.entries()) {
      this.#progress(index, cases.length, `Prefix ${index + 1} of ${cases.length}`);
      const { outputs } = await run(encode(expected.prefix));
      const gap = largestGap(expected, outputs.logits.data.subarray(-expected.logits.length));
      if (!worst || gap.gap > worst.gap) worst = gap;
    }

    this.show("loading", "Timing single passes…");
    const latencies = [];
    for (const positions of POSITIONS) {
      const ids = encode("1".repeat(positions - 1));
      const times = [];
      for (let pass = -WARM_UP; pass < RUNS; pass += 1) {
        this.#progress(pass + WARM_UP, RUNS + WARM_UP, `${positions} positions, pass ${pass + WARM_UP + 1} of ${RUNS + WARM_UP}`);
        const { milliseconds } = await run(ids);
        if (pass >= 0) times.push(milliseconds);
      }
      latencies.push({ positions, runs: times.length, ...spread(times) });
    }
    return { startUp, worst, latencies, moved: await worker.ask({ kind: "moved" }) };
  }
}
