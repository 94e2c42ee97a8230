// The kinds of plots: the columns that each shows, and whether there is something to show.

import type { Data } from "../data";
import { t } from "../i18n";
import type { Band, ElementSeries, Figures, Flow, FlowSeries, GroupFigures, Variant, VariantFigures } from "../model";
import { short } from "../number";
import { faint, flowColor, palette } from "../theme";
import { ribbons, statesCsv } from "./states";
import { sequence } from "./sequence";
import { crowded, each, MAX_GROUPS } from "./many";
import { bandOf, overRepeats, type Repeats } from "./over";
import { columnsOf, known, nothing, samples } from "./samples";
import type { Binned, CsvColumn, Level, Plot, Sampled, Samples, TimeSpan, Track } from "./track";
import { faultName } from "../view/faults";

export const KINDS = ["throughput", "each", "rates", "rtt", "delay", "cwnd", "queue", "drops", "states", "sequence"] as const;
export type Kind = (typeof KINDS)[number];

/** A flow with its series and the colour it has in every plot. */
export interface Shown {
  flow: Flow;
  figures: Figures;
  series: FlowSeries;
  color: string;
}

export interface Source {
  variant: Variant;
  figures: VariantFigures;
  data: Data;
  /** The flows to draw. */
  flows: Shown[];
  /** Whether the reader chose the flows. */
  picked: boolean;
  /** All flows with a series if they are too many to be drawn one by one, else none. */
  crowd: Shown[];
  /** The table's groups of flows. */
  groups: GroupFigures[];
  /** The repeats to draw. */
  repeats: Repeats;
  /** Names of the rate columns of all variants; each has the same line style in all of them. */
  rates: string[];
}

/** A variant with more flows than this is drawn by quantiles. */
export const MANY_FLOWS = 8;

/** Possible names of the column of datagrams' one-way delay. */
const DELAYS = ["one_way_delay_ms", "delay_ms"];

/** The largest number of elements in one plot. */
const MAX_ELEMENTS = 8;

/** Returns the key of a plot's title. Plots that the command line draws, too, share its titles. */
export const titleKey = (kind: Kind): string => (kind === "drops" ? "plot.drops-marks" : ["rates", "each", "delay"].includes(kind) ? `ui.title.${kind}` : `plot.${kind}`);

/** Returns the flows of a variant that have a series, coloured by their position in the variant. */
export function shownFlows(v: Variant, figures: VariantFigures, data: Data): Shown[] {
  const byName = new Map(data.series.flows.map((s) => [s.name, s]));
  return v.flows.flatMap((flow, i) => {
    const series = byName.get(flow.name);
    return series ? [{ flow, figures: figures.flows[i], series, color: flowColor(i) }] : [];
  });
}

const has = (s: { columns: Record<string, { rows: number }> }, name: string): boolean =>
  (s.columns[name]?.rows ?? 0) > 1 && "time_s" in s.columns;

/** Returns the flow's columns that are rates, by the unit at the end of their names. */
export const rateColumns = (s: FlowSeries): string[] => Object.keys(s.columns).filter((c) => c.endsWith("_mbps") && has(s, c));

/** Returns the flow's column of delays; null for a flow without datagrams. */
export const delayColumn = (s: FlowSeries): string | null => DELAYS.find((c) => has(s, c)) ?? null;

/** Returns the elements with a positive `rank`, at most those with the highest. */
function elements(data: Data, column: string, rank: (name: string) => number): ElementSeries[] {
  // A value that stayed 0 in the first repeat has no column.
  const all = data.series.elements.filter((e) => (has(e, column) || bandOf(data, e, column) !== undefined) && rank(e.name) > 0);
  const top = [...all].sort((a, b) => rank(b.name) - rank(a.name)).slice(0, MAX_ELEMENTS);
  return all.filter((e) => top.includes(e));
}

function countOf(v: Variant, key: "passed_packets" | "dropped_packets" | "marked_packets" | "max_queue_packets") {
  const byName = new Map(v.elements.map((e) => [e.name, e[key]]));
  return (name: string): number => byName.get(name) ?? 0;
}

const queues = (v: Variant, d: Data) => elements(d, "queue_packets", countOf(v, "max_queue_packets"));
/** Buckets that packets passed; others stay full. */
const buckets = (v: Variant, d: Data) => elements(d, "tokens_bytes", (name) => countOf(v, "passed_packets")(name) + countOf(v, "dropped_packets")(name));
const droppers = (v: Variant, d: Data) => elements(d, "dropped", countOf(v, "dropped_packets"));
const markers = (v: Variant, d: Data) => elements(d, "marked", countOf(v, "marked_packets"));

/** Whether there is something to draw; decodes nothing. */
export function present(kind: Kind, v: Variant, data: Data): boolean {
  const flows = data.series.flows;
  switch (kind) {
    case "throughput":
      return flows.some((f) => has(f, "time_s"));
    case "rates":
      return flows.some((f) => rateColumns(f).length > 0);
    case "each":
      return flows.length > MANY_FLOWS && flows.some((f) => has(f, "time_s"));
    case "rtt":
      return flows.some((f) => has(f, "rtt_ms"));
    case "delay":
      return flows.some((f) => delayColumn(f) !== null);
    case "cwnd":
      return flows.some((f) => has(f, "cwnd"));
    case "queue":
      return queues(v, data).length + buckets(v, data).length > 0;
    case "drops":
      return droppers(v, data).length + markers(v, data).length > 0;
    case "states":
      return flows.some((f) => has(f, "state") && f.states.some((s) => s !== ""));
    case "sequence":
      return flows.some((f) => has(f, "sent_bytes"));
  }
}

export const empty = (left: string, csv: () => CsvColumn[]): Plot => ({
  tracks: [], levels: [], marks: [], ribbons: [], shades: [], spans: [],
  left,
  right: null,
  csv,
  floor: "zero",
});

const rateLevel = (mbps: number, color: string): Level => ({ label: t("plot.limit", { rate: short(mbps) }), value: mbps, color });

/**
 * Returns the common level of all flows; without one, each flow's own level in its colour, equal ones once.
 */
export function levels(all: Figures, flows: Shown[], key: "common_limit_mbps" | "bdp_packets", level: (value: number, color: string) => Level): Level[] {
  const common = all[key];
  if (common !== undefined) return [level(common, palette().limit)];
  const own = flows.map((f) => level(f.figures[key] ?? 0, f.color));
  return own.filter((l, i) => l.value > 0 && own.findIndex((o) => o.label === l.label) === i);
}

function throughput({ variant: v, figures, data, flows, crowd, groups, picked }: Source): Plot {
  const plot = empty(t("plot.axis.mbps"), () =>
    columnsOf(everyone.map((f) => [`${f.flow.name} delivered_bytes`, samples(data, f.series, "delivered_bytes")])),
  );
  const everyone = shownFlows(v, figures, data);
  const track = (id: string, label: string, color: string, width: number, parts: Samples[], over?: Band): Binned => ({
    kind: "binned", id, label, color, width, axis: "left", factor: 8e-6, parts, as: "rate", end: v.duration_s, over,
  });
  const part = (f: Shown) => {
    const s = samples(data, f.series, "delivered_bytes");
    return s ? [known(s)] : [];
  };
  if (everyone.length > 1 && !v.one_at_a_time) {
    plot.tracks.push(track("total", t("plot.total"), palette().ink, 1.75, everyone.flatMap(part), data.series.bands?.total));
  }
  // Many flows have another plot for each flow's throughput; here are the sums of their groups.
  const summed = crowd.length > 0 && groups.length <= MAX_GROUPS ? groups : [];
  summed.forEach((g, i) => {
    const members = everyone.filter((f) => g.members.includes(v.flows.indexOf(f.flow)));
    plot.tracks.push(track(`group ${g.name}`, `${g.members.length} × ${g.name}`, flowColor(i), 1.5, members.flatMap(part)));
  });
  const single = crowd.length > 0 && !picked ? [] : flows;
  for (const f of single) plot.tracks.push(track(f.flow.name, f.flow.name, f.color, 1.25, part(f), bandOf(data, f.series, "delivered_bytes")));
  plot.levels = levels(figures.all, flows, "common_limit_mbps", rateLevel);
  // Bytes after a lost packet are delivered to the application all at once, above the limit.
  if (plot.levels.length > 0 && single.some((f) => f.flow.retransmitted_packets > 0)) plot.remark = t("plot.released");
  return plot;
}

/** Makes a sampled track of a column for each flow. */
function perFlow(data: Data, flows: Shown[], column: string, look: Partial<Sampled>): Sampled[] {
  return flows.flatMap((f) => {
    const s = samples(data, f.series, column);
    if (!s) return [];
    const { name } = f.flow;
    return [{ kind: "sampled", id: `${name} ${column}`, label: name, color: f.color, width: 1.25, axis: "left", factor: 1, samples: s, over: bandOf(data, f.series, column), ...look } as Sampled];
  });
}

/** Line styles that distinguish the columns of one flow, in turn. */
const DASHES: Partial<Sampled>[] = [{}, { dash: [6, 3] }, { dash: [2, 3] }, { dash: [8, 3, 2, 3] }];

/** All rates that senders measure and set. */
function rates({ figures, data, flows, rates: columns }: Source): Plot {
  const plot = empty(t("ui.axis.rate"), () =>
    columnsOf(flows.flatMap((f) => columns.map((c): [string, Samples | null] => [`${f.flow.name} ${c}`, samples(data, f.series, c)]))),
  );
  plot.tracks = columns.flatMap((c, i) => {
    const line = i % DASHES.length;
    return perFlow(data, flows, c, { part: t(`ui.line.${line}`, { name: c }), ...DASHES[line] });
  });
  plot.levels = levels(figures.all, flows, "common_limit_mbps", rateLevel);
  return plot;
}

/** Plots a sampled column of each flow, or its quantiles over many flows. */
function sampled(source: Source, left: string, column: (s: FlowSeries) => string | null, rank: (f: Shown) => number): Plot {
  const { data, flows, crowd } = source;
  const many = crowd.filter((f) => column(f.series) !== null).length > MANY_FLOWS;
  const plot = empty(left, () =>
    columnsOf((many ? crowd : flows).flatMap((f): [string, Samples | null][] => {
      const name = column(f.series);
      return name === null ? [] : [[`${f.flow.name} ${name}`, samples(data, f.series, name)]];
    })),
  );
  if (many) crowded(plot, source, column, { as: "level", factor: 1 }, rank);
  else plot.tracks = flows.flatMap((f) => { const name = column(f.series); return name === null ? [] : perFlow(data, [f], name, {}); });
  return plot;
}

const rtt = (source: Source): Plot => sampled(source, t("plot.axis.rtt"), (s) => ("rtt_ms" in s.columns ? "rtt_ms" : null), (f) => f.figures.rtt_p95_ms ?? 0);

const delay = (source: Source): Plot => sampled(source, t("ui.axis.delay"), delayColumn, (f) => f.figures.delay_p95_ms ?? 0);

/** Level of the bandwidth-delay product. */
export const bdpLevel = (value: number, color: string): Level => ({ label: t("plot.bdp", { packets: value.toFixed(0) }), value, color });

function cwnd({ figures, data, flows }: Source): Plot {
  const plot = empty(t("plot.axis.window"), () =>
    columnsOf(flows.flatMap((f) => ["cwnd", "inflight"].map((c): [string, Samples | null] => [`${f.flow.name} ${c}`, samples(data, f.series, c)]))),
  );
  // The data in flight is thin and pale behind the window.
  const behind = flows.map((f) => ({ ...f, color: faint(f.color) }));
  plot.tracks.push(...perFlow(data, behind, "inflight", { width: 1, part: t("ui.inflight") }));
  plot.tracks.push(...perFlow(data, flows, "cwnd", { width: 1.5, part: t("ui.cwnd") }));
  plot.levels = levels(figures.all, flows, "bdp_packets", bdpLevel);
  return plot;
}

function queue({ variant: v, data }: Source): Plot {
  const [queued, kept] = [queues(v, data), buckets(v, data)];
  const plot = empty(t("plot.axis.queue"), () =>
    columnsOf([
      ...queued.map((e): [string, Samples | null] => [`${e.name} queue_packets`, samples(data, e, "queue_packets")]),
      ...kept.map((e): [string, Samples | null] => [`${e.name} tokens_bytes`, samples(data, e, "tokens_bytes")]),
    ]),
  );
  const colors = new Map([...new Set([...queued, ...kept])].map((e, i) => [e, flowColor(i)]));
  const add = (e: ElementSeries, column: string, look: Partial<Sampled>): void => {
    const s = samples(data, e, column);
    if (!s) return;
    plot.tracks.push({ kind: "sampled", id: `${e.name} ${column}`, label: e.name, color: colors.get(e) ?? "", width: 1.25, axis: "left", factor: 1, samples: s, over: bandOf(data, e, column), ...look } as Sampled);
  };
  for (const e of queued) add(e, "queue_packets", {});
  // The bucket of a shaper that also has a queue is dashed.
  for (const e of kept) {
    add(e, "tokens_bytes", { axis: "right", factor: 1e-3, width: 1, label: t("plot.tokens-of", { name: e.name }), ...(queued.includes(e) ? { dash: [3, 3] } : {}) });
  }
  if (kept.length) plot.right = t("plot.axis.tokens");
  return plot;
}

function drops({ variant: v, data }: Source): Plot {
  const lists = [
    ["dropped", "plot.dropped-of", droppers(v, data)],
    ["marked", "plot.marked-of", markers(v, data)],
  ] as const;
  const plot = empty(t("ui.axis.packets"), () =>
    columnsOf(lists.flatMap(([column, , list]) => list.map((e): [string, Samples | null] => [`${e.name} ${column}`, samples(data, e, column)]))),
  );
  const { drop, mark } = palette();
  for (const [column, label, list] of lists) {
    list.forEach((e, i) => {
      const s = samples(data, e, column) ?? nothing(data, e);
      if (!s) return;
      const own = column === "dropped" ? drop : mark;
      const track: Track = {
        kind: "binned", id: `${e.name} ${column}`, label: t(label, { name: e.name }), color: i === 0 ? own : flowColor(i),
        width: 1, axis: "left", factor: 1, parts: [known(s)], as: "count", filled: list.length === 1, end: v.duration_s, over: bandOf(data, e, column),
      };
      plot.tracks.push(track);
    });
  }
  return plot;
}

function states({ data, flows }: Source): Plot {
  const plot = empty("", () => statesCsv(data, flows));
  plot.ribbons = ribbons(data, flows);
  return plot;
}

/** Returns the time spans of the scenario's faults. */
export const spansOf = (v: Pick<Variant, "faults">): TimeSpan[] =>
  (v.faults ?? []).map((f) => ({ label: faultName(f), from: f.at_s, to: f.at_s + f.duration_s, color: palette().drop }));

/** Builds a plot, decoding the columns that it needs. */
export function plotOf(kind: Kind, source: Source): Plot {
  const make = { throughput, each, rates, rtt, delay, cwnd, queue, drops, states, sequence: (s: Source) => sequence(s, empty) };
  const plot = { ...make[kind](source), spans: spansOf(source.variant) };
  return source.repeats === "all" ? overRepeats(plot, source.data, source.variant.duration_s) : plot;
}
