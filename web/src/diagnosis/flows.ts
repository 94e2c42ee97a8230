// The table of a capture's flows: sortable by column, filtered by cause; selecting a row shows the flow
// below.

import { button, h, name } from "../dom";
import { known, state as causeName, t } from "../i18n";
import { bytes, count, millis, percent, seconds, short } from "../number";
import { sorted, markSorted } from "../sort";
import type { State } from "../state";
import { stateColor } from "../theme";
import { choose, clickable, keys, mark, type Line } from "../view/pick";
import type { DiagnosisPage, FlowEntry, Limiter } from "./model";

interface Column {
  id: string;
  text?: boolean;
  /** The sort key; the largest number or the first letter comes first. */
  by: (e: FlowEntry) => number | string | undefined;
  cell: (e: FlowEntry) => Node | string | null;
}

const m = (e: FlowEntry) => e.flow.measures;

const COLUMNS: Column[] = [
  { id: "number", by: (e) => -e.flow.id, cell: (e) => String(e.flow.id) },
  { id: "from", text: true, by: (e) => e.flow.from, cell: (e) => name(e.flow.from) },
  { id: "to", text: true, by: (e) => e.flow.to, cell: (e) => name(e.flow.to) },
  { id: "rate", by: (e) => m(e).goodput_mbps, cell: (e) => short(m(e).goodput_mbps) },
  { id: "bytes", by: (e) => m(e).bytes, cell: (e) => bytes(m(e).bytes) },
  { id: "rtt", by: (e) => m(e).rtt_ms.p50, cell: (e) => (m(e).rtt_ms.max > 0 ? `${millis(m(e).rtt_ms.p50)} / ${millis(m(e).rtt_ms.p95)}` : null) },
  { id: "lost", by: (e) => e.flow.figures.lost, cell: ({ flow: { figures } }) => (figures.lost === undefined ? null : percent(figures.lost)) },
  { id: "resent", by: (e) => m(e).retransmitted_packets, cell: (e) => count(m(e).retransmitted_packets) },
  { id: "cause", text: true, by: (e) => causeName(e.flow.cause), cell: (e) => cause(e.flow.cause) },
  { id: "share", by: (e) => e.flow.figures.cause_share, cell: (e) => (e.flow.figures.cause_share * 100).toFixed(0) },
  { id: "limiter", text: true, by: (e) => e.limiter?.rate_mbps, cell: (e) => (e.limiter ? `${t(`diag.kind.${e.limiter.kind}`)} ${limiterRate(e.limiter)}` : null) },
  { id: "cc", text: true, by: (e) => e.flow.cc.name, cell: ({ flow: { cc } }) => (cc.confidence > 0 ? name(cc.name) : null) },
  { id: "start", by: (e) => e.flow.start_s, cell: (e) => seconds(Number(e.flow.start_s.toFixed(2))) },
  { id: "duration", by: (e) => e.flow.duration_s, cell: (e) => seconds(Number(e.flow.duration_s.toFixed(2))) },
];

/** Formats a limiter's rate in Mbit/s, as a range if the losses do not determine it. */
function limiterRate(limiter: Limiter): string {
  const range = limiter.rate_range_mbps;
  return range ? range.map(short).join("–") : short(limiter.rate_mbps);
}

/** Shows a cause as a coloured dot and its name. */
export function cause(id: string): HTMLElement {
  const dot = h("i", { "aria-hidden": "true", "data-state": id });
  dot.style.background = stateColor(id);
  return h("span", { class: "states cause" }, dot, causeName(id));
}

function line(state: State<FlowEntry>, entry: FlowEntry): Line<FlowEntry> {
  const buttons = state.entries.length > 1 ? [choose(state, entry, "a"), choose(state, entry, "b")] : [];
  const cell = (c: Column) =>
    h("td", { role: "gridcell", class: c.text ? "text" : "number", "data-col": c.id, "data-label": t(`diag.page.${c.id}`) }, c.cell(entry) ?? "–");
  const tr = h(
    "tr",
    { role: "row", class: "variant", tabindex: -1, "data-row": entry.index, "data-flow": entry.flow.id },
    h("td", { role: "gridcell", class: "pick" }, h("span", { class: "picks" }, ...buttons)),
    ...COLUMNS.map(cell),
  );
  const made = { entry, tr, buttons };
  if (buttons.length) clickable(state, made);
  return made;
}

/** A select for the cause; null if there is only one. */
function filter(state: State<FlowEntry>, pick: (cause: string) => void): HTMLElement | null {
  const counts = new Map<string, number>();
  for (const { flow } of state.entries) counts.set(flow.cause, (counts.get(flow.cause) ?? 0) + 1);
  if (counts.size < 2) return null;
  const list = [...counts].sort((a, b) => b[1] - a[1]);
  const select = h(
    "select",
    { id: "cause-filter" },
    h("option", { value: "" }, t("diag.page.all", { n: state.entries.length })),
    ...list.map(([id, n]) => h("option", { value: id }, t("diag.page.one", { cause: causeName(id), n }))),
  );
  select.addEventListener("change", () => pick(select.value));
  return h("label", { class: "filter" }, `${t("diag.page.filter")} `, select);
}

export function table(state: State<FlowEntry>, page: DiagnosisPage): HTMLElement {
  const lines = new Map(state.entries.map((e) => [e, line(state, e)]));
  let [by, reversed, only] = ["", false, ""];
  let shown: Line<FlowEntry>[] = [...lines.values()];
  const body = h("tbody", { role: "rowgroup" }, ...shown.map((l) => l.tr));
  const arrange = (): void => {
    const column = COLUMNS.find((c) => c.id === by);
    const entries = column ? sorted(state.entries, column.by, reversed) : state.entries;
    shown = entries.filter((e) => !only || e.flow.cause === only).map((e) => lines.get(e)!);
    body.replaceChildren(...shown.map((l) => l.tr));
    if (!shown.some((l) => l.tr.tabIndex === 0) && shown.length) shown[0].tr.tabIndex = 0;
    markSorted(head, by, reversed);
  };
  const sort = (id: string): void => {
    [by, reversed] = [id, by === id && !reversed];
    arrange();
  };
  const head = COLUMNS.map((c) => {
    const label = t(`diag.page.${c.id}`);
    const press = button({ class: "sort", "aria-label": t("diag.page.sort", { column: label }) }, () => sort(c.id), label);
    return h("th", { role: "columnheader", scope: "col", class: c.text ? "text" : "number", title: known(`diag.page.note.${c.id}`), "data-by": c.id }, press);
  });
  const grid = h(
    "table",
    { role: "grid", id: "flows", "aria-multiselectable": "true", "aria-labelledby": "table-title" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col", class: "pick" }, h("span", { class: "hidden" }, t("ui.shown"))), ...head)),
    body,
  );
  keys(state, () => shown, grid);
  const marked = () => mark(state, [...lines.values()]);
  marked();
  state.on("pick", marked);
  const more = page.more > 0 && t("diag.page.more", { n: page.flows.length, more: page.more });
  return h(
    "section",
    { class: "table", "aria-labelledby": "table-title" },
    h("div", { class: "section-head" }, h("h2", { id: "table-title" }, t("diag.page.flows")), filter(state, (cause) => { only = cause; arrange(); })),
    h("div", { class: "table-scroll", tabindex: 0, role: "group", "aria-labelledby": "table-title", "data-many": state.entries.length > 12 }, grid),
    h("p", { class: "hint" }, state.entries.length > 1 && t("diag.page.flows.hint"), more && " ", more),
  );
}
