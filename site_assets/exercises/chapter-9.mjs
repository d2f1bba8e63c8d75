/** Exercises of chapter 9. */
import { PROBLEMS, SWITCHES, answerList, count, percent, shownInterval } from "../runtime/ablation.mjs";
import { CourseError } from "../runtime/messages.mjs";
import { inWords, listInWords } from "../runtime/switch-names.mjs";

const ONE_HEAD_LEAVES = 0.8; // more than this share must stay right; the page says so
const TWO_HEADS_LEAVE = 0.3;
const ALL = PROBLEMS.length;

const HEADS = SWITCHES.filter(({ kind }) => kind === "head").map(({ name }) => ({ value: name, label: inWords(name) }));

/**
 * Answer the list with heads off, and say what was measured.
 * @param {import("../runtime/engine.mjs").engine} engine
 * @param {string[]} off
 * @param {number} wanted share that must be exceeded
 */
async function judge(engine, off, wanted) {
  const { total } = count(await answerList(engine, engine.modelKey("trained"), off));
  return {
    passed: total / ALL > wanted,
    measured:
      `Without ${listInWords(off)}, ${total} of ${ALL} problems are right: ${percent(total, ALL)}, with a 95 % interval from ` +
      `${shownInterval(total, ALL)}. Wanted is more than ${100 * wanted} % of the list.`,
  };
}

/** @type {import("../widgets/course-exercise.mjs").Exercise[]} */
export default [
  {
    name: "chapter-9/spare-a-head",
    fields: [{ name: "head", label: "Head to switch off", type: "choice", choices: HEADS }],
    check: ({ head }, engine) => judge(engine, [head], ONE_HEAD_LEAVES),
  },
  {
    name: "chapter-9/spare-two-heads",
    fields: [
      { name: "first", label: "First head", type: "choice", choices: HEADS },
      { name: "second", label: "Second head", type: "choice", choices: HEADS },
    ],
    async check({ first, second }, engine) {
      if (first === second) throw new CourseError("Both choices are the same head. Choose two different ones.");
      return judge(engine, [first, second], TWO_HEADS_LEAVE);
    },
  },
];
