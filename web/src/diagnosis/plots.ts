// The plots of a capture's flow: its causes over time, and its packets.

import type { Data, Table } from "../data";
import { h } from "../dom";
import { state as causeName, t } from "../i18n";
import { bytes, short } from "../number";
import { numbers } from "../plot/csv";
import { empty } from "../plot/kinds";
import { known } from "../plot/samples";
import type { Gallery } from "../plot/section";
import { stateAt } from "../plot/states";
import type { CsvColumn, Marks, Plot, Ribbon, Sampled, Samples } from "../plot/track";
import { faint, flowColor, palette, stateColor } from "../theme";
import type { DiagnosisPage, FlowEntry, Packets } from "./model";

export const KINDS = ["causes", "cwnd", "sequence", "flight", "rtt", "throughput"] as const;
type Kind = (typeof KINDS)[number];

/** The flow's colour; a plot has one flow. */
const own = (): string => flowColor(0);

/** Returns a column with its times, without the rows that have no value, so that the curve has no gaps. */
function samples(data: Data<Packets>, of: Table, column: string): Samples | null {
  const time = data.column(of, "time_s");
  const value = data.column(of, column);
  return time && value ? known({ time, value }) : null;
}

interface Look {
  id: string;
  label: string;
  color: string;
  factor: number;
  width?: number;
  dash?: number[];
  loose?: boolean;
}

/** Adds curves of the columns that exist, and returns their CSV. */
function curves(plot: Plot, data: Data<Packets>, list: [keyof Pick<Packets, "sent" | "acked">, string, Look][]): CsvColumn[] {
  const csv: CsvColumn[] = [];
  for (const [table, column, look] of list) {
    const s = samples(data, data.series[table], column);
    if (!s?.time.length) continue;
    plot.tracks.push({ kind: "sampled", axis: "left", width: 1.25, samples: s, ...look } as Sampled);
    csv.push(numbers(column, s.time, s.value));
  }
  return csv;
}

function causes({ flow }: FlowEntry, page: DiagnosisPage): Plot {
  const ribbon: Ribbon = {
    name: `${flow.id}`,
    time: Float64Array.from(flow.ribbon.at),
    state: Float64Array.from(flow.ribbon.cause),
    states: page.causes,
  };
  const plot = empty("", () => [{ name: "cause", time: ribbon.time, cell: (row) => stateAt(ribbon, ribbon.time[row]) }]);
  // The legend lists only causes that occur.
  const seen = [...new Set(flow.ribbon.cause)];
  ribbon.states = seen.map((i) => page.causes[i] ?? "");
  ribbon.state = ribbon.state.map((i) => seen.indexOf(i));
  plot.ribbons = [ribbon];
  return plot;
}

/** Marks of retransmissions and reordered packets, by kind. */
function marks(data: Data<Packets>, page: DiagnosisPage): Marks[] {
  const { again } = data.series;
  const [time, byte, kind] = ["time_s", "byte", "kind"].map((c) => data.column(again, c));
  if (!time || !byte || !kind) return [];
  const of = (name: string, shape: Marks["shape"], color: string): Marks => {
    const number = page.kinds.indexOf(name);
    const keep = (_: number, i: number) => kind[i] === number;
    return { label: t(`diag.page.mark.${name}`), shape, color, time: time.filter(keep), value: byte.filter(keep).map((b) => b * 1e-6) };
  };
  const { drop, mark, muted } = palette();
  const all = [of("reordered", "tick", muted), of("fast", "tick", drop), of("probe", "tick", mark), of("timeout", "cross", stateColor("loss"))];
  return all.filter((m) => m.time.length > 0);
}

function sequence(data: Data<Packets>, page: DiagnosisPage): Plot {
  const plot = empty(t("plot.axis.bytes"), () => [...csv, ...again()]);
  plot.floor = "data";
  const color = own();
  const csv = curves(plot, data, [
    ["acked", "edge_bytes", { id: "edge_bytes", label: t("diag.page.edge"), color: palette().limit, factor: 1e-6, width: 1, dash: [5, 3], loose: true }],
    ["sent", "sent_bytes", { id: "sent_bytes", label: t("diag.page.sent"), color: faint(color), factor: 1e-6, width: 1 }],
    ["acked", "acked_bytes", { id: "acked_bytes", label: t("diag.page.acked"), color, factor: 1e-6, width: 1.75 }],
  ]);
  plot.marks = marks(data, page);
  const again = (): CsvColumn[] => {
    const time = data.column(data.series.again, "time_s");
    const kind = data.column(data.series.again, "kind");
    if (!time || !kind) return [];
    const column = (name: string) => numbers(`again_${name}`, time, data.column(data.series.again, name) ?? time);
    return [column("byte"), column("len"), { name: "again_kind", time, cell: (row) => page.kinds[kind[row]] ?? "" }];
  };
  return plot;
}

function flight(data: Data<Packets>, { flow }: FlowEntry): Plot {
  const plot = empty(t("diag.page.axis.kb"), () => csv);
  const csv = curves(plot, data, [
    ["acked", "window_bytes", { id: "window_bytes", label: t("diag.page.window"), color: flowColor(1), factor: 1e-3, loose: true }],
    ["sent", "inflight_bytes", { id: "inflight_bytes", label: t("diag.page.inflight"), color: own(), factor: 1e-3 }],
  ]);
  const bdp = flow.measures.bdp_bytes;
  if (bdp > 0) plot.levels.push({ label: t("diag.page.bdp", { bytes: bytes(bdp) }), value: bdp * 1e-3, color: palette().limit });
  return plot;
}

/**
 * A QUIC endpoint's congestion window from its qlog; the CSV also has the states of its congestion control.
 */
function cwnd({ flow, span }: FlowEntry): Plot {
  const { metrics, states } = flow.qlog!;
  const plot = empty(t("diag.page.axis.kb"), () => csv);
  const csv: CsvColumn[] = [];
  const curve = (id: string, label: string, color: string, of: (m: (typeof metrics)[number]) => number | undefined, look: Partial<Sampled> = {}): void => {
    const points = metrics.filter((m) => of(m) !== undefined);
    if (!points.length) return;
    const s = { time: Float64Array.from(points, (m) => m.at_s), value: Float64Array.from(points, (m) => of(m)!) };
    plot.tracks.push({ kind: "sampled", axis: "left", width: 1.25, samples: s, id, label, color, factor: 1e-3, ...look });
    csv.push(numbers(id, s.time, s.value));
  };
  curve("ssthresh_bytes", t("diag.page.ssthresh"), palette().limit, (m) => m.ssthresh_bytes, { width: 1, dash: [5, 3], loose: true });
  curve("inflight_bytes", t("diag.page.inflight"), flowColor(1), (m) => m.inflight_bytes, { width: 1 });
  curve("cwnd_bytes", t("diag.page.cwnd"), own(), (m) => m.cwnd_bytes, { width: 1.75 });
  const cuts = metrics.filter((m, i) => i > 0 && m.cwnd_bytes < 0.9 * metrics[i - 1].cwnd_bytes);
  const at = Float64Array.from(cuts, (m) => m.at_s);
  plot.marks = cuts.length ? [{ label: t("diag.page.cut"), shape: "tick", color: palette().drop, time: at, value: Float64Array.from(cuts, (m) => m.cwnd_bytes * 1e-3) }] : [];
  if (states.length) {
    const time = Float64Array.from([...states.map((s) => s.at_s), Math.max(span.to, states[states.length - 1].at_s)]);
    csv.push({ name: "state", time, cell: (row) => (states[row] ?? states[states.length - 1]).name });
  }
  return plot;
}

function rtt(data: Data<Packets>): Plot {
  const plot = empty(t("plot.axis.rtt"), () => csv);
  const csv = curves(plot, data, [["acked", "rtt_ms", { id: "rtt_ms", label: "RTT", color: own(), factor: 1 }]]);
  return plot;
}

/** Throughput of acknowledged data; of sent data if the capture has only that direction. */
function throughput(data: Data<Packets>, entry: FlowEntry): Plot {
  const { acked, sent } = data.series;
  const [table, column] = "acked_bytes" in acked.columns && acked.columns.acked_bytes.rows > 0 ? [acked, "acked_bytes"] : [sent, "sent_bytes"];
  const s = samples(data, table, column);
  const plot = empty(t("plot.axis.mbps"), () => (s ? [numbers(column, s.time, s.value)] : []));
  if (s) {
    plot.tracks.push({
      kind: "binned", id: column, label: t("diag.page.title.throughput"), color: own(), width: 1.25, axis: "left", factor: 8e-6, parts: [s], as: "rate", end: entry.span.to,
    });
  }
  const { limiter } = entry;
  if (limiter && limiter.rate_mbps > 0 && !limiter.rate_range_mbps) {
    const label = t("diag.page.limit", { kind: t(`diag.kind.${limiter.kind}`), rate: short(limiter.rate_mbps) });
    plot.levels.push({ label, value: limiter.rate_mbps, color: palette().limit });
  }
  return plot;
}

function present(kind: Kind, { flow }: FlowEntry, ready: boolean): boolean {
  if (kind === "causes") return flow.ribbon.at.length > 1;
  if (kind === "cwnd") return (flow.qlog?.metrics.length ?? 0) > 1;
  if (!ready || !flow.packets) return false;
  const { sent, acked } = flow.packets;
  const rows = (of: Table, column: string) => of.columns[column]?.rows ?? 0;
  return kind === "rtt" ? rows(acked, "rtt_ms") > 0 : rows(sent, "sent_bytes") > 1;
}

function build(kind: Kind, entry: FlowEntry, page: DiagnosisPage): Plot {
  if (kind === "causes") return causes(entry, page);
  if (kind === "cwnd") return cwnd(entry);
  const data = entry.data!;
  const make = { sequence: () => sequence(data, page), flight: () => flight(data, entry), rtt: () => rtt(data), throughput: () => throughput(data, entry) };
  return make[kind]();
}

/** Says which packets are not drawn; null if all are. */
function notDrawn({ flow }: FlowEntry): string | null {
  const { packets } = flow;
  if (!packets) return flow.qlog ? null : t("diag.page.no-packets", { n: flow.id });
  const parts = [
    packets.every_again > 1 && t("diag.page.thinned-again", { n: packets.every, m: packets.every_again }),
    packets.every > 1 && packets.every_again <= 1 && t("diag.page.thinned", { n: packets.every }),
    packets.late && t("diag.page.late"),
  ];
  return parts.filter(Boolean).join(" ") || null;
}

export const flows = (page: DiagnosisPage): Gallery<FlowEntry> => ({
  kinds: KINDS,
  title: (kind) => t(`diag.page.title.${kind}`),
  present: (kind, entry, ready) => present(kind as Kind, entry, ready),
  build: (kind, entry) => build(kind as Kind, entry, page),
  missing: (kind) => t(`diag.page.none.${kind}`),
  unsampled: null,
  before: () => null,
  after: (entry) => {
    const words = notDrawn(entry);
    return [h("span", { class: "dim" }, causeName(entry.flow.cause)), words && h("span", { class: "dim left-out" }, words)].map((n) => n || null);
  },
});
