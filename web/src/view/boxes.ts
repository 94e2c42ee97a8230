// Box plots over repeats, one box per variant: quartiles, median, and whiskers to minimum and maximum.

import { h, name, svg } from "../dom";
import { t } from "../i18n";
import type { Figures } from "../model";
import { millis, short, ticks } from "../number";
import type { Entry, Runs } from "../state";
import { steps } from "./scale";

const WIDTH = 480;
const ROW = 30;

const KINDS = [
  { key: "goodput", of: (f: Figures) => f.goodput_box, spell: short },
  { key: "rtt", of: (f: Figures) => f.rtt_box, spell: millis },
] as const;

/** Draws a box; `max` is the value at the right end. */
function box([least, lower, median, upper, greatest]: number[], max: number, words: string): SVGSVGElement {
  const x = (v: number) => Number(((v / max) * WIDTH).toFixed(1));
  const middle = ROW / 2;
  const line = (cls: string, x1: number, x2: number, y1: number, y2: number) => svg("line", { class: cls, x1, x2, y1, y2 });
  return svg(
    "svg",
    { viewBox: `-4 0 ${WIDTH + 8} ${ROW}`, role: "img", "aria-label": words, preserveAspectRatio: "none" },
    line("whisker", x(least), x(greatest), middle, middle),
    line("whisker", x(least), x(least), middle - 5, middle + 5),
    line("whisker", x(greatest), x(greatest), middle - 5, middle + 5),
    svg("rect", { x: x(lower), y: middle - 8, width: Math.max(1, x(upper) - x(lower)), height: 16 }),
    line("median", x(median), x(median), middle - 8, middle + 8),
  );
}

function table(entries: Entry[], { key, of, spell }: (typeof KINDS)[number]): HTMLElement | null {
  const rows = entries.flatMap((entry) => {
    const five = of(entry.figures.all);
    return five ? [{ entry, five }] : [];
  });
  if (!rows.length) return null;
  const max = Math.max(1e-9, ...rows.map((r) => r.five[4]));
  const marks = steps(max);
  const axis = h("div", { class: "box-axis", "aria-hidden": "true" }, ...ticks(marks).map((text, i) => {
    const mark = h("span", {}, text);
    mark.style.left = `${((marks[i] / max) * 100).toFixed(2)}%`;
    return mark;
  }));
  const numbers = (five: number[]): string => five.map(spell).join(" / ");
  const row = ({ entry, five }: (typeof rows)[0]) =>
    h("tr", { "data-variant": entry.name.slice(0, 200) },
      h("th", { scope: "row", class: "text" }, name(entry.name), " ", h("span", { class: "dim" }, t(`ui.clock.${entry.variant.clock}`))),
      h("td", { class: "box" }, box(five, max, t("ui.boxes.words", { name: entry.name.slice(0, 80), numbers: numbers(five) }))),
      h("td", { class: "number" }, numbers(five)));
  const head = h("tr", {}, h("th", { scope: "col", class: "text" }, t("ui.col.variant")), h("th", { scope: "col", class: "box" }, h("span", { class: "hidden" }, t(`ui.boxes.${key}`)), axis), h("th", { scope: "col", class: "number" }, t("ui.boxes.numbers")));
  return h("figure", { class: "boxes group", "data-of": key }, h("h3", {}, t(`ui.boxes.${key}`)), h("div", { class: "boxes-scroll", tabindex: 0, role: "region", "aria-label": t(`ui.boxes.${key}`) }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows.map(row)))));
}

/** The section with the box plots; null without repeats. */
export function boxes(state: Runs): HTMLElement | null {
  const figures = KINDS.map((kind) => table(state.entries, kind)).filter((f) => f !== null);
  if (!figures.length) return null;
  return h("section", { class: "repeats", id: "repeats", "aria-labelledby": "repeats-title" }, h("h2", { id: "repeats-title" }, t("ui.boxes")), ...figures);
}
