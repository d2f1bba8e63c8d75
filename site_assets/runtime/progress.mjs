/**
 * What the reader has done, kept on this device and nowhere else.
 *
 * One JSON text in localStorage, under a name of this course with the version of its
 * structure. Where the browser refuses storage, everything lives as long as the page's
 * document, and `storageNotice` says so once. Questions keep their first answer.
 *
 * Events: `change` after every change, from this tab or another.
 */

const KEY = "build-a-tiny-gpt/progress/v1";
const LONGEST_GATE_RECORD = 50;

/**
 * @typedef {{right: boolean, date: string}} FirstAnswer
 * @typedef {{seed: number, right: number, of: number, date: string}} GateResult
 * @typedef {{questions: Record<string, FirstAnswer>, exercises: Record<string, string>, gate: GateResult[]}} Kept
 */

/** @returns {Kept} */
const nothing = () => ({ questions: {}, exercises: {}, gate: [] });

/** The day on this device, such as 2026-01-31. */
function today() {
  const now = new Date();
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}

/** @param {unknown} value */
const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A stored text as progress; what this version can not read counts as nothing. @param {string | null} text @returns {Kept} */
export function readRecord(text) {
  let value;
  try {
    value = JSON.parse(text ?? "null");
  } catch {
    return nothing();
  }
  if (!isPlain(value)) return nothing();
  const { questions, exercises, gate } = value;
  const entries = (/** @type {unknown} */ part, /** @type {(entry: any) => boolean} */ isValid) =>
    Object.fromEntries(Object.entries(isPlain(part) ? part : {}).filter(([, entry]) => isValid(entry)));
  return {
    questions: entries(questions, (entry) => isPlain(entry) && typeof entry.right === "boolean"),
    exercises: entries(exercises, (entry) => typeof entry === "string"),
    gate: (Array.isArray(gate) ? gate : []).filter(
      (entry) => isPlain(entry) && [entry.seed, entry.right, entry.of].every(Number.isInteger),
    ),
  };
}

export class Progress extends EventTarget {
  /** @type {Kept} */
  #record = nothing();
  /** @type {Storage | undefined} */
  #storage;
  #isRefused = false;
  #wasToldSo = false;

  /** @param {() => Storage} storage asked for once; a browser may refuse by throwing */
  constructor(storage) {
    super();
    try {
      this.#storage = storage();
      this.#record = readRecord(this.#storage.getItem(KEY));
    } catch {
      this.#refuse();
    }
  }

  /** Whether what is recorded outlives the page. */
  get isKept() {
    return !this.#isRefused;
  }

  /** A sentence for the first time that something could not be kept; afterwards empty. */
  storageNotice() {
    if (this.isKept || this.#wasToldSo) return "";
    this.#wasToldSo = true;
    return "This browser keeps no data for this site, so your progress lasts until you close or reload the page.";
  }

  /** The first answer to a question. @param {string} id @returns {FirstAnswer | undefined} */
  firstAnswer(id) {
    return Object.hasOwn(this.#record.questions, id) ? this.#record.questions[id] : undefined;
  }

  /** Keep an answer, if it is the first. @param {string} id @param {boolean} right */
  answered(id, right) {
    this.#change((record) => {
      if (!Object.hasOwn(record.questions, id)) record.questions[id] = { right, date: today() };
    });
  }

  /** @param {string} name */
  isSolved(name) {
    return Object.hasOwn(this.#record.exercises, name);
  }

  /** @param {string} name */
  solved(name) {
    this.#change((record) => {
      record.exercises[name] ??= today();
    });
  }

  /** Results of the final test, oldest first. @returns {GateResult[]} */
  get gateResults() {
    return [...this.#record.gate];
  }

  /** Keep a result of the final test, if it is the seed's first. @param {number} seed @param {number} right @param {number} of */
  gateFinished(seed, right, of) {
    this.#change((record) => {
      if (record.gate.some((result) => result.seed === seed)) return;
      record.gate.push({ seed, right, of, date: today() });
      record.gate.splice(0, record.gate.length - LONGEST_GATE_RECORD);
    });
  }

  clear() {
    this.#change((record) => Object.assign(record, nothing()));
  }

  /** What `window` says when another tab has changed the storage. @param {StorageEvent} event */
  onStorage(event) {
    if (event.key !== KEY && event.key !== null) return;
    this.#record = readRecord(event.newValue);
    this.dispatchEvent(new Event("change"));
  }

  /** Change what is stored now, which another tab may have changed since. @param {(record: Kept) => void} edit */
  #change(edit) {
    if (this.#storage) {
      try {
        this.#record = readRecord(this.#storage.getItem(KEY));
      } catch {
        this.#refuse();
      }
    }
    edit(this.#record);
    try {
      this.#storage?.setItem(KEY, JSON.stringify(this.#record));
    } catch {
      this.#refuse();
    }
    this.dispatchEvent(new Event("change"));
  }

  #refuse() {
    this.#storage = undefined;
    this.#isRefused = true;
  }
}

export const progress = new Progress(() => globalThis.localStorage);
globalThis.window?.addEventListener("storage", (event) => progress.onStorage(event));
