// The only place where elements are made. Text becomes text nodes, never markup.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined>;

/** Makes an element; an attribute that is null, undefined or false is omitted. */
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

/** Makes an SVG element; an attribute that is null, undefined or false is omitted. */
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

/** Shows a name from the data: with its own writing direction, clipped by CSS, complete in the tooltip. */
export function name(text: string, attributes: Attributes = {}): HTMLElement {
  const long = text.length > 24 ? text : null;
  // A browser lays out all characters before it clips them, which is slow for very long names.
  const shown = text.length > 200 ? text.slice(0, 200) + "…" : text;
  return h("bdi", { class: "name", title: long, ...attributes }, shown);
}

export function button(attributes: Attributes, onClick: () => void, ...children: Child[]): HTMLButtonElement {
  const el = h("button", { type: "button", ...attributes }, ...children);
  el.addEventListener("click", onClick);
  return el;
}

/** Replaces the children of `el`. */
export function fill(el: globalThis.Element, ...children: Child[]): void {
  el.replaceChildren();
  append(el, children);
}
