/**
 * What a live part shows, kept in the page's address, so that a link brings it back:
 * `?write.prefix=12%2B34%3D&write.model=step-001000`. Each part writes under its own scope.
 *
 * The address changes when something was computed, not while it is typed, and no entry is
 * added to the browser's history.
 */

/**
 * The values that the address holds for a scope.
 * @param {string | null} scope null: the part keeps no state
 * @returns {Record<string, string>}
 */
export function readState(scope) {
  if (!scope) return {};
  const start = `${scope}.`;
  const entries = [...new URLSearchParams(location.search)].filter(([key]) => key.startsWith(start));
  return Object.fromEntries(entries.map(([key, value]) => [key.slice(start.length), value]));
}

/**
 * Put values in place of those that the address holds for a scope.
 * @param {string | null} scope
 * @param {Record<string, string | number>} values
 */
export function writeState(scope, values) {
  if (!scope) return;
  const url = new URL(location.href);
  for (const key of [...url.searchParams.keys()]) {
    if (key.startsWith(`${scope}.`)) url.searchParams.delete(key);
  }
  for (const [key, value] of Object.entries(values)) url.searchParams.set(`${scope}.${key}`, String(value));
  history.replaceState(history.state, "", url);
}

/**
 * Read one value of a link; what does not fit is told apart from what is not there.
 * @template Value
 * @param {Record<string, string>} state from `readState`
 * @param {string} key
 * @param {(text: string) => Value} parse throws when the text does not fit
 * @param {Value} fallback
 * @param {string[]} complaints a sentence is added here for a value that does not fit
 * @returns {Value}
 */
export function stateValue(state, key, parse, fallback, complaints) {
  if (!(key in state)) return fallback;
  try {
    return parse(state[key]);
  } catch {
    complaints.push(`The link's ${key} “${shortened(state[key])}” does not fit this page, so it starts with the usual one.`);
    return fallback;
  }
}

/** @param {string} text */
const shortened = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
