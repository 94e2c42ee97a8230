// Elements are made here and nowhere else: text only ever becomes text nodes, never markup.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined>;

/** An element with attributes (absent where null or false) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    el.setAttribute(key, value === true ? "" : String(value));
  }
  append(el, children);
  return el;
}

/** As `h`, of SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    el.setAttribute(key, value === true ? "" : String(value));
  }
  append(el, children);
  return el;
}

export function append(el: globalThis.Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    el.append(child instanceof Node ? child : String(child));
  }
}

/** A name from outside: its own direction of writing, clipped by CSS, whole in the title. */
export function name(text: string, attributes: Attributes = {}): HTMLElement {
  const long = text.length > 24 ? text : null;
  // A browser lays out ten thousand characters to clip them: spare it that.
  const shown = text.length > 200 ? text.slice(0, 200) + "…" : text;
  return h("bdi", { class: "name", title: long, ...attributes }, shown);
}

/** A button with a click handler. */
export function button(attributes: Attributes, onClick: () => void, ...children: Child[]): HTMLButtonElement {
  const el = h("button", { type: "button", ...attributes }, ...children);
  el.addEventListener("click", onClick);
  return el;
}

/** Replaces what is in `el`. */
export function fill(el: globalThis.Element, ...children: Child[]): void {
  el.replaceChildren();
  append(el, children);
}
