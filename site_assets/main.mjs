/**
 * The site's one script. A live part is a custom element whose module is loaded when a page
 * contains it: `widgets/NAME.mjs`, its class the default export.
 */
const ELEMENTS = [
  "answer-writer",
  "attention-maps",
  "chapter-progress",
  "course-exercise",
  "course-gate",
  "course-progress",
  "course-question",
  "device-report",
  "draw-counter",
  "error-map",
  "leak-counter",
  "line-loss",
  "logit-lens",
  "mask-check",
  "own-model",
  "position-walk",
  "prefix-scorer",
  "problem-stream",
  "sampled-writer",
  "score-shaper",
  "split-finder",
  "switch-board",
  "time-line",
  "token-chips",
];

/** @type {Set<string>} */
const started = new Set();

/** The page's text stays, with a sentence under it. @param {Element} element */
function sayMissing(element) {
  if (element.querySelector("[role=alert]")) return;
  const sentence = document.createElement("p");
  sentence.setAttribute("role", "alert");
  sentence.textContent =
    "This live part did not arrive: the connection to this site failed. Check the network, then reload the page.";
  element.append(sentence);
}

/** Load what the page needs and does not have yet. */
function start() {
  for (const name of ELEMENTS) {
    if (started.has(name) || !document.querySelector(name)) continue;
    started.add(name);
    import(`./widgets/${name}.mjs`).then(
      (module) => customElements.define(name, module.default),
      () => {
        started.delete(name); // the next page tries again
        for (const element of document.querySelectorAll(name)) sayMissing(element);
      },
    );
  }
}

start();
// Instant navigation replaces the page's content and keeps the document.
new MutationObserver(start).observe(document.body, { childList: true, subtree: true });
