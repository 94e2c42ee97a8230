// What repeats have in common: curves of the first one replaced by the median over all, with a band around it.

import type { Data } from "../data";
import { t } from "../i18n";
import type { Band, Bands } from "../model";
import { numbers } from "./csv";
import type { Banded, Binned, CsvColumn, Plot, Sampled, Track } from "./track";

/** Which repeats plots show. */
export type Repeats = "all" | "first";

/** "10th to 90th percentile", "least to most". */
export function bandName({ between: [low, high] }: Bands): string {
  if (low <= 0 && high >= 1) return t("ui.over.extremes");
  return t("ui.over.percentiles", { low: Math.round(low * 100), high: Math.round(high * 100) });
}

/** What line and area are; `bands`: of the variant. */
export const lineAndArea = (bands: Bands): string => t("ui.over.line", { n: bands.repeats, band: bandName(bands) });

/** What repeats have in common of a series' column, where that is known. */
export function bandOf(data: Data, of: { name: string }, column: string): Band | undefined {
  const { flows = [], elements = [] } = data.series.bands ?? {};
  return [...flows, ...elements].find((s) => s.name === of.name)?.bands[column];
}

/** A curve over all repeats; null where nothing is known of them. */
function banded(track: Track, data: Data, { bin_s: bin }: Bands, end: number): Banded | null {
  const { over } = track;
  const of = (name: string): Float64Array | null => (over ? data.column(over, name) : null);
  const [low, median, high] = [of("low"), of("median"), of("high")];
  if (!low || !median || !high) return null;
  // What is counted in bins is so in bands already; what is sampled has its unit still.
  const { id, label, part, color, width, dash, axis, loose, factor } = track.kind === "sampled" ? track : { ...track, factor: 1 };
  const look = { ...(part !== undefined && { part }), ...(dash && { dash }), ...(loose !== undefined && { loose }) };
  return { kind: "banded", id, label, color, width, axis, factor, bin, low, median, high, end, ...look };
}

/** The first repeat's curve beside bands: in their bins, and it says what it is. */
function first(track: Track, end: number): Track {
  const label = t("ui.over.first-of", { name: track.label });
  if (track.kind !== "sampled") return { ...track, label };
  const { samples, kind: _, ...rest } = track satisfies Sampled;
  return { ...rest, label, kind: "binned", as: "level", parts: [samples], end } satisfies Binned;
}

/** Rows of a band: from the beginning of each bin. */
function csv(tracks: Track[]): CsvColumn[] {
  return tracks.flatMap((track) => {
    if (track.kind !== "banded") return [];
    const time = Float64Array.from(track.median, (_, k) => k * track.bin);
    const scaled = (values: Float64Array): Float64Array => values.map((v) => v * track.factor);
    const of = ["low", "median", "high"] as const;
    return of.map((name) => numbers(`${track.id} ${name}`, time, scaled(track[name])));
  });
}

/** The plot of the first repeat as one of all; where nothing of it is known over repeats it says that it is the first's. */
export function overRepeats(plot: Plot, data: Data, end: number): Plot {
  const { bands } = data.series;
  if (!bands) return plot;
  const tracks = plot.tracks.map((track) => banded(track, data, bands, end));
  if (tracks.every((track) => track === null)) return { ...plot, note: t("ui.over.first-only", { n: bands.repeats }) };
  const shown = tracks.map((track, i) => track ?? first(plot.tracks[i], end));
  return { ...plot, tracks: shown, csv: () => csv(shown), note: lineAndArea(bands) };
}
