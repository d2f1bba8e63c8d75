/** The site's one script: it defines the elements; they start where a page uses them. */
import ChapterProgress from "./widgets/chapter-progress.mjs";
import CourseExercise from "./widgets/course-exercise.mjs";
import CourseGate from "./widgets/course-gate.mjs";
import CourseProgress from "./widgets/course-progress.mjs";
import CourseQuestion from "./widgets/course-question.mjs";
import { PositionWalk } from "./widgets/position-walk.mjs";
import { PrefixScorer } from "./widgets/prefix-scorer.mjs";

customElements.define("chapter-progress", ChapterProgress);
customElements.define("course-exercise", CourseExercise);
customElements.define("course-gate", CourseGate);
customElements.define("course-progress", CourseProgress);
customElements.define("course-question", CourseQuestion);
customElements.define("position-walk", PositionWalk);
customElements.define("prefix-scorer", PrefixScorer);
