/** How a token looks on the page. */
import { displayName, isNamed } from "../runtime/tokenizer.mjs";
import { h } from "./dom.mjs";

/** `4` as code, or the name of a token that has no visible character: PAD, BOS, EOS, space. @param {number} id */
export function tokenLabel(id) {
  return h("code", { class: isNamed(id) ? "token token--named" : "token" }, displayName(id));
}
