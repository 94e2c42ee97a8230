// A capture's UDP flows: their table and plots.

import { h, name } from "../dom";
import { lang, t } from "../i18n";
import { bytes, count, millis, percent, short } from "../number";
import { numbers } from "../plot/csv";
import { empty } from "../plot/kinds";
import { Plots, type Gallery } from "../plot/section";
import type { CsvColumn, Plot, Samples } from "../plot/track";
import { State, type Subject } from "../state";
import { faint, flowColor, palette } from "../theme";
import { choose, clickable, keys, mark, type Line } from "../view/pick";
import type { DiagnosisPage, UdpFlow } from "./model";

export interface UdpEntry extends Subject {
  flow: UdpFlow;
  data: null;
}

const KINDS = ["udp-rate", "udp-lost", "udp-late"] as const;
type Kind = (typeof KINDS)[number];

function entry(flow: UdpFlow, index: number, of: string): UdpEntry {
  const parts = flow.over_time;
  const last = parts[parts.length - 1];
  const span = { from: Math.min(flow.start_s, parts[0]?.from_s ?? Infinity), to: Math.max(flow.start_s + flow.duration_s, last ? last.from_s + last.width_s : 0) };
  return { index, name: `${flow.protocol.toUpperCase()} ${flow.from} → ${flow.to}`, of, span, flow, data: null };
}

interface Column {
  id: string;
  label: string;
  text?: boolean;
  cell: (f: UdpFlow) => Node | string | null;
}

const jitter = (f: UdpFlow): string | null => {
  const ms = f.between_ends?.jitter_ms ?? f.rtp?.jitter_ms;
  return ms === undefined ? null : short(ms);
};

const columns = (): Column[] => [
  { id: "from", label: t("diag.page.from"), text: true, cell: (f) => name(f.from) },
  { id: "to", label: t("diag.page.to"), text: true, cell: (f) => name(f.to) },
  { id: "protocol", label: t("diag.page.udp.protocol"), text: true, cell: (f) => name(f.protocol_text[lang()]) },
  { id: "rate", label: t("diag.page.rate"), cell: (f) => short(f.rate_mbps) },
  { id: "most", label: t("diag.page.udp.most"), cell: (f) => (f.max_rate_mbps === undefined ? null : short(f.max_rate_mbps)) },
  { id: "packets", label: t("diag.page.packets"), cell: (f) => count(f.packets) },
  { id: "bytes", label: t("diag.page.bytes"), cell: (f) => bytes(f.payload_bytes) },
  { id: "lost", label: t("diag.page.lost"), cell: (f) => (f.lost === undefined ? t("diag.page.udp.not-visible") : percent(f.lost)) },
  { id: "rtt", label: t("diag.page.rtt"), cell: (f) => rtt(f) },
  { id: "jitter", label: t("diag.page.udp.jitter"), cell: jitter },
  { id: "late", label: t("diag.page.udp.late"), cell: (f) => (f.between_ends ? millis(f.between_ends.delay_variation_ms.p95) : null) },
  { id: "limiter", label: t("diag.page.limiter"), text: true, cell: (f) => (f.limiter ? `${t(`diag.kind.${f.limiter.kind}`)} ${short(f.limiter.rate_mbps)}` : null) },
];

function rtt(f: UdpFlow): string | null {
  if (f.spin_rtt_ms) return `${millis(f.spin_rtt_ms.p50)} / ${millis(f.spin_rtt_ms.p95)}`;
  const handshake = f.quic?.handshake_rtt_ms;
  return handshake === undefined ? null : millis(handshake);
}

function line(state: State<UdpEntry>, one: UdpEntry, list: Column[]): Line<UdpEntry> {
  const buttons = state.entries.length > 1 ? [choose(state, one, "a"), choose(state, one, "b")] : [];
  const cell = (c: Column) =>
    h("td", { role: "gridcell", class: c.text ? "text" : "number", "data-col": c.id, "data-label": c.label }, c.cell(one.flow) ?? "–");
  const tr = h(
    "tr",
    { role: "row", class: "variant", tabindex: -1, "data-udp": one.flow.id },
    h("td", { role: "gridcell", class: "pick" }, h("span", { class: "picks" }, ...buttons)),
    ...list.map(cell),
  );
  const made = { entry: one, tr, buttons };
  if (buttons.length) clickable(state, made);
  return made;
}

function table(state: State<UdpEntry>, page: DiagnosisPage): HTMLElement {
  const list = columns();
  const lines = state.entries.map((one) => line(state, one, list));
  const head = list.map((c) => h("th", { role: "columnheader", scope: "col", class: c.text ? "text" : "number" }, c.label));
  const grid = h(
    "table",
    { role: "grid", id: "udp-flows", "aria-multiselectable": "true", "aria-labelledby": "udp-title" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col", class: "pick" }, h("span", { class: "hidden" }, t("ui.shown"))), ...head)),
    h("tbody", { role: "rowgroup" }, ...lines.map((l) => l.tr)),
  );
  keys(state, () => lines, grid);
  const marked = () => mark(state, lines);
  marked();
  state.on("pick", marked);
  const more = page.more_udp > 0 && t("diag.page.more", { n: page.udp.length, more: page.more_udp });
  return h(
    "section",
    { class: "table", "aria-labelledby": "udp-title" },
    h("div", { class: "section-head" }, h("h2", { id: "udp-title" }, t("diag.page.udp"))),
    h("div", { class: "table-scroll", tabindex: 0, role: "group", "aria-labelledby": "udp-title", "data-many": lines.length > 12 }, grid),
    h("p", { class: "hint" }, state.entries.length > 1 && t("diag.page.flows.hint"), more && " ", more),
  );
}

/** Sums a quantity per part of the time into a cumulative column. */
function growing(parts: { from_s: number; width_s: number }[], of: (i: number) => number): Samples {
  const [time, value] = [[] as number[], [] as number[]];
  // Rounded to microseconds, so that a part ends exactly where the next begins.
  const micro = (s: number): number => Math.round(s * 1e6) / 1e6;
  let sum = 0;
  parts.forEach((p, i) => {
    const from = micro(p.from_s);
    if (!time.length || from > time[time.length - 1]) {
      time.push(from);
      value.push(sum);
    }
    sum += of(i);
    time.push(micro(p.from_s + p.width_s));
    value.push(sum);
  });
  return { time: Float64Array.from(time), value: Float64Array.from(value) };
}

function rate({ flow, span }: UdpEntry): Plot {
  const parts = flow.over_time;
  const s = growing(parts, (i) => parts[i].mbps * parts[i].width_s);
  const from = Float64Array.from(parts, (p) => p.from_s);
  const plot = empty(t("diag.page.axis.mbps"), () => [numbers("rate_mbps", from, Float64Array.from(parts, (p) => p.mbps))]);
  plot.tracks.push({ kind: "binned", id: "rate", label: t("diag.page.title.udp-rate"), color: flowColor(0), width: 1.25, axis: "left", factor: 1, parts: [s], as: "rate", end: span.to });
  if (flow.limiter && flow.limiter.rate_mbps > 0) {
    const label = t("diag.page.limit", { kind: t(`diag.kind.${flow.limiter.kind}`), rate: short(flow.limiter.rate_mbps) });
    plot.levels.push({ label, value: flow.limiter.rate_mbps, color: palette().limit });
  }
  return plot;
}

function lost({ flow, span }: UdpEntry): Plot {
  const parts = flow.over_time;
  const n = Float64Array.from(parts, (p) => p.lost_packets ?? 0);
  const plot = empty(t("diag.page.axis.datagrams"), () => [numbers("lost_packets", Float64Array.from(parts, (p) => p.from_s), n)]);
  plot.tracks.push({ kind: "binned", id: "lost", label: t("diag.page.udp.lost"), color: palette().drop, width: 1.25, axis: "left", filled: true, factor: 1, parts: [growing(parts, (i) => n[i])], as: "count", end: span.to });
  return plot;
}

function late({ flow }: UdpEntry): Plot {
  const parts = flow.between_ends!.over_time.filter((p) => p.arrived > 0);
  const time = Float64Array.from(parts, (p) => p.from_s);
  const plot = empty(t("diag.page.axis.ms"), () => csv);
  const csv: CsvColumn[] = [];
  const curve = (id: "max_ms" | "mean_ms", label: string, color: string, width: number): void => {
    const samples = { time, value: Float64Array.from(parts, (p) => p[id]) };
    plot.tracks.push({ kind: "sampled", id, label, color, width, axis: "left", factor: 1, samples });
    csv.push(numbers(id, time, samples.value));
  };
  curve("max_ms", t("diag.page.udp.most"), faint(flowColor(0)), 1);
  curve("mean_ms", t("diag.page.udp.mean"), flowColor(0), 1.75);
  return plot;
}

function present(kind: Kind, { flow }: UdpEntry): boolean {
  if (kind === "udp-rate") return flow.over_time.length > 0;
  if (kind === "udp-lost") return flow.over_time.some((p) => p.lost_packets !== undefined);
  return (flow.between_ends?.over_time.filter((p) => p.arrived > 0).length ?? 0) > 1;
}

const gallery: Gallery<UdpEntry> = {
  kinds: KINDS,
  title: (kind) => t(`diag.page.title.${kind}`),
  present: (kind, one) => present(kind as Kind, one),
  build: (kind, one) => ({ "udp-rate": rate, "udp-lost": lost, "udp-late": late })[kind as Kind](one),
  missing: (kind) => t(`diag.page.none.${kind}`),
  unsampled: null,
  before: () => null,
  after: ({ flow }) => [h("span", { class: "dim" }, flow.protocol_text[lang()])],
};

/** Makes the state, which is kept when the page is rebuilt in another language; null without UDP flows. */
export function udpState(page: DiagnosisPage): State<UdpEntry> | null {
  const all = page.udp.map((flow, i) => entry(flow, i, page.capture.file));
  return all.length ? new State<UdpEntry>(all, all[0], null) : null;
}

export function udp(state: State<UdpEntry>, page: DiagnosisPage): { parts: HTMLElement[]; plots: Plots<UdpEntry> } {
  state.silence();
  const plots = new Plots(state, gallery, "udp-", t("diag.page.udp.plots"));
  return { parts: [table(state, page), plots.root], plots };
}
