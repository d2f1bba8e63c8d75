/** The rules for typed text and settings: the same ones, from the same place, as `tiny_gpt/prompt.py`. */
import { manifest } from "../generated/manifest.mjs";
import { CourseError, ruleMessage } from "./messages.mjs";

const { longest_prefix: LONGEST_PREFIX, largest_operand: LARGEST_OPERAND } = manifest.prompt;

/** @param {string} character */
function shown(character) {
  const code = `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character) ? `“${character}” (${code})` : code;
}

/**
 * Throw a CourseError unless the model can read `text`.
 * @param {string} text
 */
export function checkPrefix(text) {
  const characters = [...text];
  characters.forEach((character, index) => {
    if (character >= " " && character <= "~") return;
    const replacement = manifest.prompt.typed_for[character];
    const advice = replacement
      ? ruleMessage("advice-replace", { replacement })
      : ruleMessage("advice-remove");
    throw new CourseError(
      ruleMessage("character", { position: index + 1, shown: shown(character), advice }),
    );
  });
  if (characters.length > LONGEST_PREFIX) {
    throw new CourseError(
      ruleMessage("too-long", {
        length: characters.length,
        limit: LONGEST_PREFIX,
        excess: characters.length - LONGEST_PREFIX,
      }),
    );
  }
}

/**
 * Read a setting (`temperature`, `top-k`, `seed`) from what was typed; throws a CourseError when
 * it is out of range.
 * @param {string} name
 * @param {string} text
 */
export const checkSetting = (name, text) => checkNumber(name, manifest.prompt.limits[name], text);

/**
 * Read a typed temperature, where 0 stands for greedy, as on the command line.
 * @param {string} text
 */
export const checkTemperature = (text) =>
  /^[+-]?0+(\.0*)?(e[+-]?\d+)?$/i.test(text.trim()) ? 0 : checkSetting("temperature", text);

/**
 * Read a typed number within limits: lowest, highest, whole numbers only.
 * @param {string} name how the number is called in the error sentence
 * @param {[number, number, boolean]} limits
 * @param {string} text
 */
export function checkNumber(name, [low, high, whole], text) {
  const limits = { name, low, high, shown: `“${text}”` };
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim())) {
    throw new CourseError(ruleMessage("not-a-number", limits));
  }
  const value = Number(text) + 0; // -0 becomes 0
  if (whole && Number.isFinite(value) && !Number.isInteger(value)) {
    throw new CourseError(ruleMessage("not-whole", limits));
  }
  if (!(low <= value && value <= high)) throw new CourseError(ruleMessage("out-of-range", limits));
  return value;
}

/**
 * A warning for each number that training never showed.
 * @param {string} text
 * @returns {string[]}
 */
export function unseenOperands(text) {
  const numbers = text.split("=", 1)[0].match(/\d+/g) ?? [];
  return numbers
    .filter((digits) => Number(digits) > LARGEST_OPERAND)
    .map((operand) => ruleMessage("unseen-operand", { operand }));
}
