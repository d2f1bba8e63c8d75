/**
 * The theme asks for the search index with every page, used or not. This holds that
 * request until a reader turns to the search. It runs before the theme's own script.
 */
(() => {
  const INDEX = /\/search\/search_index\.json$/;
  const { open, send } = XMLHttpRequest.prototype;
  /** @type {WeakSet<XMLHttpRequest>} */
  const asksForIndex = new WeakSet();
  /** @type {(() => void)[]} */
  const held = [];
  let isWanted = new URLSearchParams(location.search).has("q"); // a link with a query opens the search

  /** @this {XMLHttpRequest} @param {string} method @param {string | URL} address @param {any[]} rest */
  XMLHttpRequest.prototype.open = function (method, address, ...rest) {
    if (INDEX.test(new URL(address, location.href).pathname)) asksForIndex.add(this);
    return open.call(this, method, address, ...rest);
  };

  /** @this {XMLHttpRequest} @param {any} body */
  XMLHttpRequest.prototype.send = function (body) {
    if (isWanted || !asksForIndex.has(this)) send.call(this, body);
    else held.push(() => send.call(this, body));
  };

  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element) || !target.closest("[role=search]")) return;
    isWanted = true;
    for (const ask of held.splice(0)) ask();
  });
})();
