/** Text to token IDs and back; sizes and names come from the manifest. */
import { manifest } from "../generated/manifest.mjs";

const { size, first_character, first_character_id, special } = manifest.vocabulary;
const SHIFT = first_character_id - first_character.charCodeAt(0);

/** @param {string} name */
const specialId = (name) => Number(Object.keys(special).find((id) => special[id] === name));
export const PAD_ID = specialId("PAD");
export const BOS_ID = specialId("BOS");
export const EOS_ID = specialId("EOS");
export const VOCABULARY_SIZE = size;

/**
 * BOS, then one ID a character. Call `checkPrefix` first.
 * @param {string} text
 */
export function encode(text) {
  return [BOS_ID, ...Array.from(text, (character) => character.charCodeAt(0) + SHIFT)];
}

/**
 * The character of a token, or PAD, BOS, EOS.
 * @param {number} id
 */
export function tokenName(id) {
  return special[id] ?? String.fromCharCode(id - SHIFT);
}

/**
 * How a token is written on the page: a space by its name, as it would not be seen.
 * @param {number} id
 */
export function displayName(id) {
  const name = tokenName(id);
  return name === " " ? "space" : name;
}

/**
 * Whether `displayName` gives a name and not the character itself.
 * @param {number} id
 */
export function isNamed(id) {
  return id in special || tokenName(id) === " ";
}
