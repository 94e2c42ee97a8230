// The table of variants; selecting a row shows the variant below.

import { button, h, name } from "../dom";
import { groupChoice, groupsOf } from "./groups";
import { known, t } from "../i18n";
import type { Figures } from "../model";
import { count, millis, percent, range, short, withInterval } from "../number";
import { sorted, markSorted } from "../sort";
import type { Entry, Runs } from "../state";
import { details } from "./details";
import { choose, clickable, keys, mark, type Line } from "./pick";

interface Column {
  key: string;
  /** Whether the column contains text instead of numbers. */
  text?: boolean;
  /** The sort key. */
  by: (row: Row) => number | string | null | undefined;
  cell: (row: Row) => Node | string | null;
}

interface Row {
  index: number;
  entry: Entry;
  s: Figures;
  /** The group of flows; absent for the row of the whole variant. */
  group?: { name: string; flows: number };
}

/** The values of full bars: the maxima over all rows. */
interface Scale {
  goodput: number;
  rtt: number;
}

/** A bar behind a number of length `part`, 0 to 1, with a lighter one behind it up to `more`. */
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

/** Formats a value; null if it is absent. */
const words = <T>(x: T | undefined, f: (x: T) => string): string | null => (x === undefined ? null : f(x));

export function goodputText(s: Figures): string {
  if (s.goodput_mbps === undefined) return "–";
  return s.ci95_mbps === undefined ? short(s.goodput_mbps) : withInterval(s.goodput_mbps, s.ci95_mbps).join(" ±");
}

/** Formats two quantiles as one cell. */
const pair = (p50: number | undefined, p95: number | undefined, spell: (x: number) => string): string | null =>
  p50 === undefined || p95 === undefined ? null : `${spell(p50)} / ${spell(p95)}`;

export const rttText = (s: Figures): string | null => pair(s.rtt_p50_ms, s.rtt_p95_ms, millis);

export const delayText = (s: Figures): string | null => pair(s.delay_p50_ms, s.delay_p95_ms, millis);

export const secondsText = (p50: number | undefined, p95: number | undefined): string | null => pair(p50, p95, short);

export const shareText = (s: Figures): string | null => words(s.share, (x) => (x * 100).toFixed(0));

export const lostText = (s: Figures): string | null => words(s.lost, percent);

/** Makes a column of plain numbers. */
const plain = (key: string, of: (s: Figures) => number | undefined, spell: (x: number) => string): Column => ({
  key, by: ({ s }) => of(s), cell: ({ s }) => words(of(s), spell),
});

const quantiles = (key: string, p50: (s: Figures) => number | undefined, p95: (s: Figures) => number | undefined, spell: (x: number) => string): Column => ({
  key, by: ({ s }) => p50(s), cell: ({ s }) => pair(p50(s), p95(s), spell),
});

function columns(rows: Row[], scale: Scale, several: boolean): Column[] {
  const withBar = (text: string, b: HTMLElement | null) => h("span", { class: "barred" }, text, b);
  const variant = (r: Row) => (r.group ? h("span", { class: "group-name" }, `${r.group.flows} × `, name(r.group.name)) : name(r.entry.variant.name));
  const all: (Column | false)[] = [
    several && { key: "result", text: true, by: (r) => r.entry.result.label, cell: (r) => (r.group ? "" : name(r.entry.result.label)) },
    { key: "variant", text: true, by: (r) => r.entry.variant.name, cell: variant },
    new Set(rows.map((r) => r.entry.variant.clock)).size > 1 && {
      key: "clock",
      text: true,
      by: (r) => t(`ui.clock.${r.entry.variant.clock}`),
      cell: (r) => (r.group ? "" : t(`ui.clock.${r.entry.variant.clock}`)),
    },
    { key: "cc", text: true, by: (r) => r.s.cc, cell: (r) => name(r.s.cc) },
    {
      key: "goodput",
      by: ({ s }) => s.goodput_mbps,
      cell: ({ s }) => withBar(goodputText(s), s.goodput_mbps === undefined ? null : bar(s.goodput_mbps / scale.goodput)),
    },
    plain("tcp", (s) => s.tcp_mbps, short),
    plain("udp", (s) => s.udp_mbps, short),
    { key: "share", by: ({ s }) => s.share, cell: ({ s }) => shareText(s) },
    { key: "each", by: ({ s }) => (s.flows > 1 ? s.each_mbps?.[0] : null), cell: ({ s }) => (s.each_mbps && s.flows > 1 ? range(...s.each_mbps) : null) },
    plain("jain", (s) => s.jain_index, (x) => x.toFixed(3)),
    plain("mos", (s) => s.mos, (x) => x.toFixed(1)),
    quantiles("page", (s) => s.page_p50_s, (s) => s.page_p95_s, short),
    quantiles("response", (s) => s.response_p50_s, (s) => s.response_p95_s, short),
    quantiles("completion", (s) => s.completion_p50_s, (s) => s.completion_p95_s, short),
    { key: "unfinished", by: ({ s }) => s.unfinished, cell: ({ s }) => (s.unfinished > 0 ? h("span", { class: "bad" }, count(s.unfinished)) : null) },
    { key: "lost", by: ({ s }) => s.lost, cell: ({ s }) => lostText(s) },
    plain("resent", (s) => s.resent, count),
    { key: "rto", by: ({ s }) => s.timeouts, cell: ({ s }) => h("span", { class: s.timeouts > 0 ? "bad" : "" }, count(s.timeouts)) },
    {
      key: "rtt",
      by: ({ s }) => s.rtt_p50_ms,
      cell: ({ s }) => {
        const text = rttText(s);
        return text && withBar(text, bar((s.rtt_p50_ms ?? 0) / scale.rtt, (s.rtt_p95_ms ?? 0) / scale.rtt));
      },
    },
    quantiles("delay", (s) => s.delay_p50_ms, (s) => s.delay_p95_ms, millis),
    plain("jitter", (s) => s.jitter_ms, millis),
    plain("udplost", (s) => s.datagrams_lost, percent),
    plain("drops", (s) => s.dropped, count),
    plain("queue", (s) => s.max_queue, count),
  ];
  // Leave out columns without any known value.
  return all.filter((c): c is Column => c !== false && rows.some((r) => ![null, "–", ""].includes(c.cell(r) as string | null)));
}

const gridcell = (c: Column, row: Row): HTMLElement =>
  h("td", { role: "gridcell", class: c.text ? "text" : "number", "data-col": c.key, "data-label": t(`ui.col.${c.key}`) }, c.cell(row) ?? "–");

/**
 * The rows of a variant: its own, those of its groups, and the row of its flows, built when it is expanded.
 */
interface Rows extends Line<Entry> {
  own: Row;
  hidden: HTMLTableRowElement;
}

/** Makes a row for each group of a variant's flows. */
function groupRows(state: Runs, entry: Entry, cols: Column[]): HTMLElement[] {
  return groupsOf(entry, state.group).map((g, index) => {
    const row: Row = { index, entry, s: g.figures, group: { name: g.name, flows: g.members.length } };
    return h("tr", { role: "row", class: "group-row", "data-group": g.name.slice(0, 200) }, h("td", { role: "gridcell", class: "pick" }), ...cols.map((c) => gridcell(c, row)));
  });
}

function line(state: Runs, row: Row, cols: Column[]): Rows {
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
    ...cols.map((c) => gridcell(c, row)),
  );
  const hidden = h("tr", { role: "row", class: "details", id, hidden: true });
  const expand = (open: boolean): void => {
    more.setAttribute("aria-expanded", String(open));
    hidden.hidden = !open;
    if (open && !hidden.firstChild) {
      hidden.append(h("td", { role: "gridcell", colspan: cols.length + 1 }, details(entry)));
    }
  };
  // If flows were measured one at a time, show them.
  if (entry.variant.one_at_a_time && state.entries.length <= 12) expand(true);
  const made = { entry, tr, buttons, own: row, hidden };
  if (several) clickable(state, made);
  return made;
}

/** Makes a column's head: a button that sorts by the column. */
function headOf(state: Runs, c: Column): HTMLElement {
  const label = t(`ui.col.${c.key}`);
  const press = button({ class: "sort", "aria-label": t("ui.sort", { column: label }) }, () => state.sortBy(c.key), label);
  return h("th", { role: "columnheader", scope: "col", class: c.text ? "text" : "number", title: known(`ui.note.${c.key}`), "data-by": c.key }, state.entries.length > 1 ? press : label);
}

export function table(state: Runs): HTMLElement {
  const rows: Row[] = state.entries.map((entry) => ({ index: entry.index, entry, s: entry.figures.all }));
  const everything = state.entries.flatMap(({ figures }) => [figures.all, ...figures.flows]);
  const parts = state.entries.flatMap((entry) => Object.values(entry.figures.groups ?? {}).flat().map((g, i): Row => ({ index: i, entry, s: g.figures })));
  const scale = {
    goodput: Math.max(1e-9, ...rows.map((r) => r.s.goodput_mbps ?? 0)),
    rtt: everything.reduce((max, s) => Math.max(max, s.rtt_p95_ms ?? 0), 1e-9),
  };
  const cols = columns([...rows, ...parts], scale, state.page.results.length > 1);
  const body = h("tbody", { role: "rowgroup" });
  const lines = rows.map((row) => line(state, row, cols));
  const head = cols.map((c) => headOf(state, c));
  // In the present order, for the arrow keys.
  let shown = lines;
  const arrange = (): void => {
    const column = cols.find((c) => c.key === state.sort?.key);
    const reversed = state.sort?.reversed ?? false;
    const order = column ? sorted(rows, column.by, reversed) : rows;
    shown = order.map((row) => lines.find((l) => l.own === row)!);
    body.replaceChildren(...shown.flatMap((l) => [l.tr, ...groupRows(state, l.entry, cols), l.hidden]));
    markSorted(head, column?.key ?? "", reversed);
  };
  arrange();
  state.on("table", arrange);
  const grid = h(
    "table",
    { role: "grid", id: "variants", "aria-multiselectable": "true", "aria-labelledby": "table-title" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col", class: "pick" }, h("span", { class: "hidden" }, t("ui.shown"))), ...head)),
    body,
  );
  keys(state, () => shown, grid);
  mark(state, lines);
  state.on("pick", () => mark(state, lines));
  const repeats = state.entries.flatMap((e) => e.variant.repeats ?? []);
  const [differ, identical] = [repeats.find((r) => !r.identical), repeats.find((r) => r.identical)];
  return h(
    "section",
    { class: "table", "aria-labelledby": "table-title" },
    h("div", { class: "section-head" }, h("h2", { id: "table-title" }, t("ui.table")), groupChoice(state)),
    h("div", { class: "table-scroll", tabindex: 0, role: "group", "aria-labelledby": "table-title", "data-many": state.entries.length > 14 }, grid),
    h("p", { class: "hint" }, state.entries.length > 1 && t("ui.table.hint"), differ && " ", differ && t("ui.repeats.note", { n: differ.n }), identical && " ", identical && t("ui.repeats.identical", { n: identical.n })),
  );
}
