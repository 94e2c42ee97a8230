// Plots many flows: areas between quantiles, the median, medians of groups, and the worst or the picked
// flows.

import { t } from "../i18n";
import type { FlowSeries } from "../model";
import { flowColor, palette } from "../theme";
import { Crowd } from "./crowd";
import { empty, type Shown, type Source } from "./kinds";
import { columnsOf, known, nothing, samples } from "./samples";
import type { Binned, Plot, Samples, Track } from "./track";

/** The largest number of groups whose curves can be distinguished. */
export const MAX_GROUPS = 8;

/**
 * Adds quantiles over many flows, medians of their groups, and the flow with the highest `rank` or the picked
 * flows.
 */
export function crowded(
  plot: Plot,
  { variant: v, data, crowd, groups, flows, picked }: Source,
  column: (s: FlowSeries) => string | null,
  look: Pick<Binned, "as" | "factor">,
  rank: (f: Shown) => number,
): void {
  const end = v.duration_s;
  const samplesOf = (f: Shown): Samples[] => {
    const name = column(f.series);
    const s = name === null ? null : samples(data, f.series, name);
    // A total that stayed 0 has no column.
    const none = !s && look.as === "rate" ? nothing(data, f.series) : null;
    if (none) return [none];
    return s ? [look.as === "level" ? s : known(s)] : [];
  };
  const members = crowd.filter((f) => samplesOf(f).length > 0);
  const all = new Crowd(members.flatMap(samplesOf), look.as, look.factor, end);
  const color = palette().ink;
  const edge = (name: string, q: number, width: number): Track =>
    ({ kind: "quantile", id: name, label: t("ui.crowd", { n: members.length }), part: name, color, width, axis: "left", factor: 1, crowd: all, q, end });
  plot.tracks.push(edge("p95", 0.95, 0), edge("p75", 0.75, 0), edge("p50", 0.5, 1.75), edge("p25", 0.25, 0), edge("p5", 0.05, 0));
  plot.shades.push({ between: ["p95", "p5"], color: color + "1c" }, { between: ["p75", "p25"], color: color + "2c" });
  (groups.length <= MAX_GROUPS ? groups : []).forEach((g, i) => {
    const own = members.filter((f) => g.members.includes(v.flows.indexOf(f.flow)));
    if (own.length) plot.tracks.push({ kind: "quantile", id: `group ${g.name}`, label: t("ui.crowd.median", { name: `${g.members.length} × ${g.name}` }), color: flowColor(i), width: 1.5, axis: "left", factor: 1, crowd: new Crowd(own.flatMap(samplesOf), look.as, look.factor, end), q: 0.5, end });
  });
  const worst = [...members].sort((a, b) => rank(b) - rank(a)).slice(0, 1);
  for (const f of picked ? flows : worst) {
    const label = picked ? f.flow.name : t("ui.crowd.worst", { name: f.flow.name });
    plot.tracks.push({ kind: "binned", id: f.flow.name, label, color: picked ? f.color : palette().drop, width: 1.25, axis: "left", parts: samplesOf(f), end, ...look });
  }
}

/** Plots the throughput of each of many flows by quantiles. */
export function each(source: Source): Plot {
  const { data, crowd } = source;
  const plot = empty(t("plot.axis.mbps"), () => columnsOf(crowd.map((f) => [`${f.flow.name} delivered_bytes`, samples(data, f.series, "delivered_bytes")])));
  crowded(plot, source, () => "delivered_bytes", { as: "rate", factor: 8e-6 }, (f) => -f.flow.goodput_mbps);
  return plot;
}
