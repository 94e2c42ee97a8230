// The plots there are: which columns each shows, and when there is nothing to show.

import type { Data } from "../data";
import { t } from "../i18n";
import type { Band, ElementSeries, Figures, Flow, FlowSeries, GroupFigures, Variant, VariantFigures } from "../model";
import { short } from "../number";
import { faint, flowColor, palette } from "../theme";
import { ribbons, statesCsv } from "./states";
import { sequence } from "./sequence";
import { crowded, each, MOST_GROUPS } from "./many";
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
  /** Those that plots draw. */
  flows: Shown[];
  /** The reader chose them. */
  picked: boolean;
  /** All that have a series, where they are too many to be drawn one by one; else none. */
  crowd: Shown[];
  /** Flows put together that have several members, as the table shows them. */
  groups: GroupFigures[];
  /** Which repeats are drawn. */
  repeats: Repeats;
  /** Names of all columns that are rates, of any variant: each has its own kind of line in all of them. */
  rates: string[];
}

/** Above this many a variant's flows are drawn as a crowd. */
export const MANY_FLOWS = 8;

/** Columns of datagrams' one-way delay, whatever they are called. */
const DELAYS = ["one_way_delay_ms", "delay_ms"];

/** Elements whose curves fit in one plot. */
const MOST_ELEMENTS = 8;

/** Plots that `longfat plot` draws too share its titles, whose letters its fonts have. */
export const titleKey = (kind: Kind): string => (kind === "drops" ? "plot.drops-marks" : ["rates", "each", "delay"].includes(kind) ? `ui.title.${kind}` : `plot.${kind}`);

/** The flows of a variant that have a series, coloured by their place in the variant. */
export function shownFlows(v: Variant, figures: VariantFigures, data: Data): Shown[] {
  const byName = new Map(data.series.flows.map((s) => [s.name, s]));
  return v.flows.flatMap((flow, i) => {
    const series = byName.get(flow.name);
    return series ? [{ flow, figures: figures.flows[i], series, color: flowColor(i) }] : [];
  });
}

const has = (s: { columns: Record<string, { rows: number }> }, name: string): boolean =>
  (s.columns[name]?.rows ?? 0) > 1 && "time_s" in s.columns;

/** The flow's columns that are rates: their names end with the unit. */
export const rateColumns = (s: FlowSeries): string[] => Object.keys(s.columns).filter((c) => c.endsWith("_mbps") && has(s, c));

/** The flow's column of delays that has values; null where it is no flow of datagrams. */
export const delayColumn = (s: FlowSeries): string | null => DELAYS.find((c) => has(s, c)) ?? null;

/** Elements that `worth` says something of, those with most of it first. */
function elements(data: Data, column: string, worth: (name: string) => number): ElementSeries[] {
  // What stayed 0 in the first repeat has no column.
  const all = data.series.elements.filter((e) => (has(e, column) || bandOf(data, e, column) !== undefined) && worth(e.name) > 0);
  const most = [...all].sort((a, b) => worth(b.name) - worth(a.name)).slice(0, MOST_ELEMENTS);
  return all.filter((e) => most.includes(e));
}

function of(v: Variant, key: "passed_packets" | "dropped_packets" | "marked_packets" | "max_queue_packets") {
  const byName = new Map(v.elements.map((e) => [e.name, e[key]]));
  return (name: string): number => byName.get(name) ?? 0;
}

const queues = (v: Variant, d: Data) => elements(d, "queue_packets", of(v, "max_queue_packets"));
/** A bucket that nothing passed stays full: that is no news. */
const buckets = (v: Variant, d: Data) => elements(d, "tokens_bytes", (name) => of(v, "passed_packets")(name) + of(v, "dropped_packets")(name));
const droppers = (v: Variant, d: Data) => elements(d, "dropped", of(v, "dropped_packets"));
const markers = (v: Variant, d: Data) => elements(d, "marked", of(v, "marked_packets"));

/** Whether there is something to draw, without decoding anything. */
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

/** The level of all flows; where they have none in common each flow's own in its colour, those that are alike once. */
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
  // What many flows get one by one is another plot's; here are the sums of their groups.
  const summed = crowd.length > 0 && groups.length <= MOST_GROUPS ? groups : [];
  summed.forEach((g, i) => {
    const members = everyone.filter((f) => g.members.includes(v.flows.indexOf(f.flow)));
    plot.tracks.push(track(`group ${g.name}`, `${g.members.length} × ${g.name}`, flowColor(i), 1.5, members.flatMap(part)));
  });
  const single = crowd.length > 0 && !picked ? [] : flows;
  for (const f of single) plot.tracks.push(track(f.flow.name, f.flow.name, f.color, 1.25, part(f), bandOf(data, f.series, "delivered_bytes")));
  plot.levels = levels(figures.all, flows, "common_limit_mbps", rateLevel);
  // Bytes behind a lost packet reach the application all at once.
  if (plot.levels.length > 0 && single.some((f) => f.flow.retransmitted_packets > 0)) plot.remark = t("plot.released");
  return plot;
}

/** A column of each flow as it was sampled. */
function perFlow(data: Data, flows: Shown[], column: string, look: Partial<Sampled>): Sampled[] {
  return flows.flatMap((f) => {
    const s = samples(data, f.series, column);
    if (!s) return [];
    const { name } = f.flow;
    return [{ kind: "sampled", id: `${name} ${column}`, label: name, color: f.color, width: 1.25, axis: "left", factor: 1, samples: s, over: bandOf(data, f.series, column), ...look } as Sampled];
  });
}

/** How the columns of one flow are told apart, in turn. */
const DASHES: Partial<Sampled>[] = [{}, { dash: [6, 3] }, { dash: [2, 3] }, { dash: [8, 3, 2, 3] }];

/** What senders measure and set: every rate among the columns, whatever it is called. */
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

/** A column of samples, of each flow or of the crowd. */
function sampled(source: Source, left: string, column: (s: FlowSeries) => string | null, worth: (f: Shown) => number): Plot {
  const { data, flows, crowd } = source;
  const many = crowd.filter((f) => column(f.series) !== null).length > MANY_FLOWS;
  const plot = empty(left, () =>
    columnsOf((many ? crowd : flows).flatMap((f): [string, Samples | null][] => {
      const name = column(f.series);
      return name === null ? [] : [[`${f.flow.name} ${name}`, samples(data, f.series, name)]];
    })),
  );
  if (many) crowded(plot, source, column, { as: "level", factor: 1 }, worth);
  else plot.tracks = flows.flatMap((f) => { const name = column(f.series); return name === null ? [] : perFlow(data, [f], name, {}); });
  return plot;
}

const rtt = (source: Source): Plot => sampled(source, t("plot.axis.rtt"), (s) => ("rtt_ms" in s.columns ? "rtt_ms" : null), (f) => f.figures.rtt_p95_ms ?? 0);

const delay = (source: Source): Plot => sampled(source, t("ui.axis.delay"), delayColumn, (f) => f.figures.delay_p95_ms ?? 0);

/** The bandwidth-delay product: what the path holds without a queue. */
export const bdpLevel = (value: number, color: string): Level => ({ label: t("plot.bdp", { packets: value.toFixed(0) }), value, color });

function cwnd({ figures, data, flows }: Source): Plot {
  const plot = empty(t("plot.axis.window"), () =>
    columnsOf(flows.flatMap((f) => ["cwnd", "inflight"].map((c): [string, Samples | null] => [`${f.flow.name} ${c}`, samples(data, f.series, c)]))),
  );
  // Thin and light, and behind the window that bounds it.
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
  // A shaper's bucket beside its own queue is the lighter curve.
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

/** What went wrong on purpose, and when. */
export const spansOf = (v: Pick<Variant, "faults">): TimeSpan[] =>
  (v.faults ?? []).map((f) => ({ label: faultName(f), from: f.at_s, to: f.at_s + f.lasts_s, color: palette().drop }));

/** Builds a plot: decodes the columns it needs. */
export function plotOf(kind: Kind, source: Source): Plot {
  const make = { throughput, each, rates, rtt, delay, cwnd, queue, drops, states, sequence: (s: Source) => sequence(s, empty) };
  const plot = { ...make[kind](source), spans: spansOf(source.variant) };
  return source.repeats === "all" ? overRepeats(plot, source.data, source.variant.duration_s) : plot;
}
