/** The site's one script: it defines the elements; they start where a page uses them. */
import { PositionWalk } from "./widgets/position-walk.mjs";
import { PrefixScorer } from "./widgets/prefix-scorer.mjs";

customElements.define("position-walk", PositionWalk);
customElements.define("prefix-scorer", PrefixScorer);
