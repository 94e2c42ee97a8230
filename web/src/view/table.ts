// The table of variants: a grid whose rows choose what is shown below.

import { button, h, name } from "../dom";
import { known, t } from "../i18n";
import type { Figures } from "../model";
import { alike, count, millis, percent, range, short } from "../number";
import type { Entry, Runs } from "../state";
import { details } from "./details";
import { choose, clickable, keys, mark, type Line } from "./pick";

interface Column {
  key: string;
  /** A name or a number. */
  text?: boolean;
  cell: (row: Row) => Node | string | null;
}

interface Row {
  entry: Entry;
  s: Figures;
}

/** Longest bars: the most of all rows. */
interface Scale {
  goodput: number;
  rtt: number;
}

/** A bar behind a number; `part` 0 to 1, a lighter one behind it up to `more`. */
export function bar(part: number, more = 0): HTMLElement {
  const el = h("span", { class: "bar-track", "aria-hidden": "true" });
  const piece = (cls: string, share: number) => {
    const fill = h("span", { class: cls });
    fill.style.width = `${Math.min(100, share * 100).toFixed(2)}%`;
    el.append(fill);
  };
  if (more > 0) piece("bar-more", more);
  piece("bar-fill", part);
  return el;
}

/** What is known in words; null for what is absent. */
const words = <T>(x: T | undefined, f: (x: T) => string): string | null => (x === undefined ? null : f(x));

export function goodputText(s: Figures): string {
  if (s.goodput_mbps === undefined) return "–";
  const mean = short(s.goodput_mbps);
  return s.ci95_mbps === undefined ? mean : `${mean} ±${alike(s.ci95_mbps, mean)}`;
}

export const rttText = (s: Figures): string | null =>
  s.rtt_p50_ms === undefined || s.rtt_p95_ms === undefined ? null : `${millis(s.rtt_p50_ms)} / ${millis(s.rtt_p95_ms)}`;

export const shareText = (s: Figures): string | null => words(s.share, (x) => (x * 100).toFixed(0));

export const lostText = (s: Figures): string | null => words(s.lost, percent);

function columns(rows: Row[], scale: Scale, several: boolean): Column[] {
  const withBar = (text: string, b: HTMLElement | null) => h("span", { class: "barred" }, text, b);
  const all: (Column | false)[] = [
    several && { key: "result", text: true, cell: (r) => name(r.entry.result.label) },
    { key: "variant", text: true, cell: (r) => name(r.entry.variant.name) },
    new Set(rows.map((r) => r.entry.variant.clock)).size > 1 && {
      key: "clock",
      text: true,
      cell: (r) => t(`ui.clock.${r.entry.variant.clock}`),
    },
    { key: "cc", text: true, cell: (r) => name(r.s.cc) },
    {
      key: "goodput",
      cell: ({ s }) => withBar(goodputText(s), s.goodput_mbps === undefined ? null : bar(s.goodput_mbps / scale.goodput)),
    },
    { key: "share", cell: ({ s }) => shareText(s) },
    { key: "each", cell: ({ s }) => (s.each_mbps && s.flows > 1 ? range(...s.each_mbps) : null) },
    { key: "jain", cell: ({ s }) => words(s.jain_index, (x) => x.toFixed(3)) },
    { key: "lost", cell: ({ s }) => lostText(s) },
    { key: "resent", cell: ({ s }) => count(s.resent) },
    { key: "rto", cell: ({ s }) => h("span", { class: s.timeouts > 0 ? "bad" : "" }, count(s.timeouts)) },
    {
      key: "rtt",
      cell: ({ s }) => {
        const text = rttText(s);
        return text && withBar(text, bar((s.rtt_p50_ms ?? 0) / scale.rtt, (s.rtt_p95_ms ?? 0) / scale.rtt));
      },
    },
    { key: "drops", cell: ({ s }) => words(s.dropped, count) },
    { key: "queue", cell: ({ s }) => words(s.max_queue, count) },
  ];
  // A column in which nothing is known says nothing.
  return all.filter((c): c is Column => c !== false && rows.some((r) => ![null, "–", ""].includes(c.cell(r) as string | null)));
}

function line(state: Runs, row: Row, cols: Column[], body: HTMLElement): Line<Entry> {
  const { entry } = row;
  const several = state.entries.length > 1;
  const id = `details-${entry.index}`;
  const more = button(
    { class: "expand", "aria-expanded": "false", "aria-controls": id, tabindex: -1, "aria-label": t("ui.flows.of", { name: entry.variant.name.slice(0, 80) }) },
    () => expand(more.getAttribute("aria-expanded") !== "true"),
  );
  const buttons = several ? [choose(state, entry, "a"), choose(state, entry, "b"), more] : [more];
  const tr = h(
    "tr",
    { role: "row", class: "variant", tabindex: -1, "data-row": entry.index, "data-variant": entry.variant.name.slice(0, 200) },
    h("td", { role: "gridcell", class: "pick" }, h("span", { class: "picks" }, ...buttons)),
    ...cols.map((c) =>
      h(
        "td",
        { role: "gridcell", class: c.text ? "text" : "number", "data-col": c.key, "data-label": t(`ui.col.${c.key}`) },
        c.cell(row) ?? "–",
      ),
    ),
  );
  const hidden = h("tr", { role: "row", class: "details", id, hidden: true });
  body.append(tr, hidden);
  const expand = (open: boolean): void => {
    more.setAttribute("aria-expanded", String(open));
    hidden.hidden = !open;
    if (open && !hidden.firstChild) {
      hidden.append(h("td", { role: "gridcell", colspan: cols.length + 1 }, details(entry)));
    }
  };
  // Flows measured alone are what such a variant is about.
  if (entry.variant.one_at_a_time && state.entries.length <= 12) expand(true);
  const made = { entry, tr, buttons };
  if (several) clickable(state, made);
  return made;
}

export function table(state: Runs): HTMLElement {
  const rows: Row[] = state.entries.map((entry) => ({ entry, s: entry.figures.all }));
  const everything = state.entries.flatMap(({ figures }) => [figures.all, ...figures.flows]);
  const scale = {
    goodput: Math.max(1e-9, ...rows.map((r) => r.s.goodput_mbps ?? 0)),
    rtt: everything.reduce((most, s) => Math.max(most, s.rtt_p95_ms ?? 0), 1e-9),
  };
  const cols = columns(rows, scale, state.page.results.length > 1);
  const body = h("tbody", { role: "rowgroup" });
  const lines = rows.map((row) => line(state, row, cols, body));
  const head = cols.map((c) =>
    h("th", { role: "columnheader", scope: "col", class: c.text ? "text" : "number", title: known(`ui.note.${c.key}`) }, t(`ui.col.${c.key}`)),
  );
  const grid = h(
    "table",
    { role: "grid", id: "variants", "aria-multiselectable": "true", "aria-labelledby": "table-title" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col", class: "pick" }, h("span", { class: "hidden" }, t("ui.shown"))), ...head)),
    body,
  );
  keys(state, () => lines, grid);
  mark(state, lines);
  state.on("pick", () => mark(state, lines));
  const repeats = state.entries.flatMap((e) => e.variant.repeats ?? []);
  const [differ, identical] = [repeats.find((r) => !r.identical), repeats.find((r) => r.identical)];
  return h(
    "section",
    { class: "table", "aria-labelledby": "table-title" },
    h("div", { class: "section-head" }, h("h2", { id: "table-title" }, t("ui.table"))),
    h("div", { class: "table-scroll", tabindex: 0, role: "group", "aria-labelledby": "table-title", "data-many": state.entries.length > 14 }, grid),
    h("p", { class: "hint" }, state.entries.length > 1 && t("ui.table.hint"), differ && " ", differ && t("ui.repeats.note", { n: differ.n }), identical && " ", identical && t("ui.repeats.identical", { n: identical.n })),
  );
}
