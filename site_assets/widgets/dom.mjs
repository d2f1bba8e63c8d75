/** Building elements in few words; every text becomes a text node, never markup. */

/**
 * `h("button", { type: "button", onclick: f }, "Score")`. Keys that start with `on` are
 * listeners, booleans set or leave out an attribute, the rest are attributes.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | number | null)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {any} */ (value));
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

let lastId = 0;

/** An id that no other element of the page has. @param {string} name */
export function uniqueId(name) {
  lastId += 1;
  return `course-${name}-${lastId}`;
}

/** Attributes that keep phones from rewriting what is typed into a text box. */
export const PLAIN_TEXT_BOX = {
  type: "text",
  autocapitalize: "off",
  autocomplete: "off",
  autocorrect: "off",
  spellcheck: "false",
  enterkeyhint: "go",
};

/** Keep the Enter that ends an input-method composition from submitting the form. @param {HTMLInputElement} box */
export function ignoreComposingEnter(box) {
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.isComposing || event.keyCode === 229)) event.preventDefault();
  });
}

/** Bytes as MB (10**6) with two digits after the point. @param {number} bytes */
export const megabytes = (bytes) => (bytes / 1e6).toFixed(2);

/** A whole number with thousands separators. @param {number} value */
export const grouped = (value) => value.toLocaleString("en-US");
