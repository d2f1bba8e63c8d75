/**
 * Questions with fresh numbers for the final test. A template makes a question from a
 * seed: the numbers are drawn and the answer is computed on this device, never stored.
 * The wrong options come from misunderstandings that readers of the chapters have.
 *
 * Texts are plain, with `code` in backticks. Python's answers are compared in
 * tests/js/test_fresh_questions.py.
 */
import { manifest } from "../generated/manifest.mjs";
import { answer, carries, encodeRow, prompt, splitOf } from "./problems.mjs";
import { Seeded } from "./seeded.mjs";
import { EOS_ID, displayName, encode } from "./tokenizer.mjs";

/**
 * @typedef {{text: string, why: string, right?: boolean, value?: string, otherwise?: boolean}} FreshOption
 * @typedef {{id: string, chapter: number, text: string, parameters: Record<string, any>, options: FreshOption[],
 *   compute?: {function: string} & Record<string, any>, computed?: string}} FreshQuestion
 * @typedef {{text: string, parameters: Record<string, any>, options: FreshOption[], compute?: any, computed?: string}} Made
 */

const three = (/** @type {number} */ value) => value.toFixed(3).replace("-", "−");
const whole = (/** @type {number} */ value) => value.toLocaleString("en-US");
const right = (/** @type {string} */ text, /** @type {string} */ why) => ({ text, why, right: true });
const wrong = (/** @type {string} */ text, /** @type {string} */ why) => ({ text, why });

/** Options of different texts: of equal ones the first stays. @param {FreshOption[]} options */
const distinct = (options) => options.filter(({ text }, place) => options.findIndex((other) => other.text === text) === place);

/** @param {Seeded} seeded @returns {import("./problems.mjs").Problem} */
const problem = (seeded) => ({ a: seeded.between(10, 999), operation: seeded.pick(["+", "-"]), b: seeded.between(10, 999) });

/** A token inside a sentence. @param {number} id */
const shownToken = (id) => `\`${displayName(id)}\``;

/** @param {Seeded} seeded @returns {Made} */
function carryCount(seeded) {
  const operands = { a: seeded.between(100, 999), b: seeded.between(100, 999) };
  const count = carries({ ...operands, operation: "+" });
  const { a, b } = operands;
  const digits = (/** @type {number} */ value) => Array.from(String(value), Number).reverse();
  const alone = digits(a).filter((digit, place) => digit + digits(b)[place] > 9).length;
  const columns = `Work from the right and take each carry along: ${a} + ${b} = ${a + b}, with ${count} carr${count === 1 ? "y" : "ies"}.`;
  const options = [0, 1, 2, 3].map((candidate) => {
    if (candidate === count) return right(String(candidate), columns);
    return wrong(
      String(candidate),
      candidate === alone
        ? "That many columns exceed 9 by their own two digits. A carry that arrives can push a further column over."
        : "Count a column when its two digits and the carry that arrives exceed 9.",
    );
  });
  return { text: `How many columns carry in \`${a}+${b}\`?`, parameters: operands, options };
}

/** @param {Seeded} seeded @returns {Made} */
function targetAt(seeded) {
  const { drawn, position, ids } = seeded.until(
    () => {
      const drawn = problem(seeded);
      const ids = encodeRow(drawn);
      return { drawn, ids, position: seeded.between(1, ids.indexOf(EOS_ID) - 2) };
    },
    ({ ids, position }) => new Set(ids.slice(position - 1, position + 3)).size === 4,
  );
  const line = prompt(drawn) + answer(drawn);
  return {
    text: `A training row holds BOS, \`${line}\` and EOS. Which token is the target at position ${position}?`,
    parameters: { ...drawn, position },
    options: seeded.shuffled([
      right(shownToken(ids[position + 1]), `The target is the token after the position. BOS is at position 0, so ${shownToken(ids[position])} is at position ${position} and ${shownToken(ids[position + 1])} comes next.`),
      wrong(shownToken(ids[position]), "That is the token at the position, the input. The target is the one after it."),
      wrong(shownToken(ids[position - 1]), "That is the token before. Targets are shifted the other way."),
      wrong(shownToken(ids[position + 2]), "Positions count from 0 and BOS is at 0. This is one too far."),
    ]),
  };
}

/** @param {Seeded} seeded @returns {Made} */
function idOfCharacter(seeded) {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const [known, asked] = seeded.until(
    () => [seeded.pick([...letters]), seeded.pick([...letters])],
    (pair) => pair[1].charCodeAt(0) - pair[0].charCodeAt(0) > 1,
  );
  const id = (/** @type {string} */ character) => encode(character)[1];
  const distance = asked.charCodeAt(0) - known.charCodeAt(0);
  return {
    text: `\`${known}\` has ID ${id(known)}. What is the ID of \`${asked}\`?`,
    parameters: { known, asked },
    options: seeded.shuffled([
      right(String(id(asked)), `IDs follow the order of ASCII. \`${asked}\` comes ${distance} after \`${known}\`: ${id(known)} + ${distance}.`),
      wrong(String(id(asked) - 1), "Count the steps, not the letters between."),
      wrong(String(asked.charCodeAt(0)), "That is the ASCII code. IDs are smaller by 29: the space has code 32 and ID 3, after PAD, BOS and EOS."),
      wrong(String(letters.indexOf(asked) + 1), "That is the letter's place in the alphabet. The vocabulary starts with three special tokens, the space, signs and digits."),
    ]),
  };
}

/** @param {Seeded} seeded @returns {Made} */
function lossOf(seeded) {
  const percent = seeded.pick([1, 2, 5, 10, 20, 30, 40, 60, 70, 80, 90]);
  const p = percent / 100;
  return {
    text: `The network gives the target a probability of ${percent} %. What does this position cost, in nats?`,
    parameters: { percent },
    options: seeded.shuffled(
      distinct([
        right(three(-Math.log(p)), `The loss is −ln p = −ln ${p}.`),
        wrong(three(-Math.log2(p)), "That is −log₂ p, the same loss in bits. Nats use the natural logarithm."),
        wrong(three(1 - p), "That is 1 − p. It would never exceed 1, however sure the network is of something false."),
        wrong(three(Math.log(p)), "The logarithm of a number below 1 is negative. The loss is minus that."),
      ]),
    ),
  };
}

/** @param {Seeded} seeded @returns {Made} */
function temperatureRatio(seeded) {
  const root = seeded.between(3, 9);
  const ratio = root * root;
  const temperature = seeded.pick([0.5, 2]);
  const options = [
    right(whole(ratio ** (1 / temperature)), `Logits are divided by the temperature, and softmax makes ratios of their differences. So the ratio becomes ${ratio} to the power of 1 / ${temperature}.`),
    wrong(whole(ratio / temperature), "That divides the ratio. The temperature divides the logits, which are logarithms."),
    wrong(whole(ratio * temperature), "That multiplies the ratio. The temperature divides the logits, which are logarithms."),
    wrong(whole(ratio), "The order stays, the ratio does not. It stays at temperature 1 alone."),
  ];
  return {
    text: `At temperature 1 one token is ${ratio} times as likely as another. How many times as likely is it at temperature ${temperature}?`,
    parameters: { ratio, temperature },
    options: seeded.shuffled(options),
  };
}

/** @param {Seeded} seeded @returns {Made} */
function sideOfSplit(seeded) {
  const wanted = seeded.pick(["held-out", "train"]);
  const { a, b } = seeded.until(
    () => ({ a: seeded.between(0, 999), b: seeded.between(0, 999) }),
    (pair) => pair.a !== pair.b && splitOf(pair.a, pair.b) === wanted,
  );
  const name = { "held-out": "held-out", train: "training" };
  const other = wanted === "train" ? "held-out" : "train";
  return {
    text: `\`${a}+${b}=\` is a ${name[wanted]} problem. What is \`${b}-${a}=\`?`,
    parameters: { a, b },
    options: seeded.shuffled([
      right(`a ${name[wanted]} problem`, "The split is decided for the unordered pair of operands. All four problems of a pair share a side, so that none gives another away."),
      wrong(`a ${name[other]} problem`, "That would put two problems of one pair on different sides. The model could learn one from the other."),
      wrong("either: each problem is drawn anew", "Nothing is drawn here. A hash of the two operands decides, the same one each time."),
      wrong("neither: the split is for sums alone", "Differences are split too, by the same pair of operands."),
    ]),
  };
}

/** @param {Seeded} seeded @returns {Made} */
function linearParameters(seeded) {
  const [input, output] = seeded.until(
    () => [8 * seeded.between(2, 40), 8 * seeded.between(2, 40)],
    (sizes) => sizes[0] !== sizes[1],
  );
  return {
    text: `How many parameters has a \`Linear\` layer that maps ${input} numbers to ${output}, with bias?`,
    parameters: { input, output },
    options: seeded.shuffled([
      right(whole(input * output + output), `A matrix of ${input} × ${output} weights and ${output} biases, one for each number that comes out.`),
      wrong(whole(input * output), "That is the matrix alone. The bias adds a number for each output."),
      wrong(whole(input * output + input), "The bias is added to what comes out, so there is one for each output, not for each input."),
      wrong(whole(input + output), "Each output reads every input by a weight of its own, so the sizes multiply."),
    ]),
  };
}

/** @param {Seeded} seeded @returns {Made} */
function countedTargets(seeded) {
  const drawn = problem(seeded);
  const line = prompt(drawn) + answer(drawn);
  const count = line.length + 1;
  return {
    text: `The row of \`${line}\` is filled up with PAD to ${manifest.data.row_length} tokens. How many of its targets count in the loss?`,
    parameters: { ...drawn },
    options: seeded.shuffled(
      distinct([
        right(String(count), `Each of the ${line.length} characters is a target, and so is EOS. Only targets that are PAD do not count.`),
        wrong(String(answer(drawn).length + 1), "That counts the answer and EOS alone. Here every position counts, those of the question too."),
        wrong(String(line.length), "EOS is a target too: the model must learn where an answer ends."),
        wrong(String(line.length + 2), "BOS is never a target: nothing stands before it."),
      ]),
    ),
  };
}

/** @param {Seeded} seeded @returns {Made} */
function topDigit(seeded) {
  const drawn = seeded.until(
    () => ({ a: seeded.between(100, 499), operation: /** @type {const} */ ("+"), b: seeded.between(100, 499) }),
    (sum) => new Set([...answer(sum)]).size === 3,
  );
  const digits = answer(drawn);
  const prefix = prompt(drawn) + digits[0];
  const option = (/** @type {string} */ value, /** @type {string} */ why) => ({ text: `\`${value}\``, value, why });
  return {
    text: `The trained model has read \`${prefix}\`. Which token does it put on top?`,
    parameters: { ...drawn, prefix },
    compute: { function: "top_token", model: "trained", prefix },
    computed: `The highest-scoring token after \`${prefix}\` (trained weights): {value}.`,
    options: [
      ...seeded.shuffled([
        option(digits[1], `The answer is ${digits}, and its first digit is written already. The next token is its second digit.`),
        option(digits[0], "That digit stands there already. The model scores what comes after the whole prefix."),
        option(digits[2], "That is the last digit of the answer. The model writes from left to right, one token at a time."),
        option("EOS", "EOS ends a complete answer. Two digits are missing here."),
      ]),
      { text: "another token", otherwise: true, why: "The model can be wrong about a sum. Then another digit is on top." },
    ],
  };
}

/** @param {Seeded} seeded @returns {Made} */
function cheapestLine(seeded) {
  const digit = String(seeded.between(0, 9));
  const sum = { a: seeded.between(10, 99), operation: /** @type {const} */ ("+"), b: seeded.between(10, 99) };
  const good = prompt(sum) + answer(sum);
  const bad = prompt(sum) + String(Number(answer(sum)) + seeded.between(1, 9));
  const same = digit.repeat(good.length);
  const options = [
    { text: `\`${same}\``, value: same, why: "With random weights the token just read is on top. In this line it is the target too, at nearly every position." },
    { text: `\`${good}\``, value: good, why: "The sum is right, and the untrained model can not know." },
    { text: `\`${bad}\``, value: bad, why: "The sum is wrong, and the untrained model can not know. Few of its targets repeat the token before." },
  ];
  return {
    text: "Which of these lines costs the untrained model the least, on average over its targets?",
    parameters: { lines: options.map(({ value }) => value) },
    compute: { function: "cheapest_line", model: "initial", lines: options.map(({ value }) => value) },
    computed: "The line with the smallest mean loss (random weights): {value}.",
    options: seeded.shuffled(options),
  };
}

/** Template by name, with the chapter that a wrong answer leads to. @type {Record<string, {chapter: number, make: (seeded: Seeded) => Made}>} */
export const TEMPLATES = {
  "carry-count": { chapter: 2, make: carryCount },
  "target-at": { chapter: 3, make: targetAt },
  "id-of-character": { chapter: 3, make: idOfCharacter },
  "loss-of": { chapter: 5, make: lossOf },
  "temperature-ratio": { chapter: 7, make: temperatureRatio },
  "side-of-split": { chapter: 2, make: sideOfSplit },
  "linear-parameters": { chapter: 4, make: linearParameters },
  "counted-targets": { chapter: 3, make: countedTargets },
  "top-digit": { chapter: 7, make: topDigit },
  "cheapest-line": { chapter: 5, make: cheapestLine },
};

/** @param {string} template @param {number} seed @returns {FreshQuestion} */
export function freshQuestion(template, seed) {
  const { chapter, make } = TEMPLATES[template];
  return { id: `fresh-${template}`, chapter, ...make(new Seeded(seed, template)) };
}
