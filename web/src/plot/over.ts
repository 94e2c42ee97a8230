// Replaces the curves of the first repeat by the median over all repeats, with a band around it.

import type { Data } from "../data";
import { t } from "../i18n";
import type { Band, Bands } from "../model";
import { numbers } from "./csv";
import type { Banded, Binned, CsvColumn, Plot, Sampled, Track } from "./track";

/** The repeats that plots show. */
export type Repeats = "all" | "first";

/** Names a band, e.g. "10th to 90th percentile". */
export function bandName({ between: [low, high] }: Bands): string {
  if (low <= 0 && high >= 1) return t("ui.over.extremes");
  return t("ui.over.percentiles", { low: Math.round(low * 100), high: Math.round(high * 100) });
}

/** Explains line and area of a variant's bands. */
export const lineAndArea = (bands: Bands): string => t("ui.over.line", { n: bands.repeats, band: bandName(bands) });

/** Returns the band over repeats of a series' column, if there is one. */
export function bandOf(data: Data, of: { name: string }, column: string): Band | undefined {
  const { flows = [], elements = [] } = data.series.bands ?? {};
  return [...flows, ...elements].find((s) => s.name === of.name)?.bands[column];
}

/** Makes the curve over all repeats; null without a band. */
function banded(track: Track, data: Data, { bin_s: bin }: Bands, end: number): Banded | null {
  const { over } = track;
  const column = (name: string): Float64Array | null => (over ? data.column(over, name) : null);
  const [low, median, high] = [column("low"), column("median"), column("high")];
  if (!low || !median || !high) return null;
  // Bands of binned tracks are already in the shown unit; those of sampled tracks are not.
  const { id, label, part, color, width, dash, axis, loose, factor } = track.kind === "sampled" ? track : { ...track, factor: 1 };
  const look = { ...(part !== undefined && { part }), ...(dash && { dash }), ...(loose !== undefined && { loose }) };
  return { kind: "banded", id, label, color, width, axis, factor, bin, low, median, high, end, ...look };
}

/**
 * Makes the first repeat's curve for a plot with bands: in their bins, with a label that names the repeat.
 */
function first(track: Track, end: number): Track {
  const label = t("ui.over.first-of", { name: track.label });
  if (track.kind !== "sampled") return { ...track, label };
  const { samples, kind: _, ...rest } = track satisfies Sampled;
  return { ...rest, label, kind: "binned", as: "level", parts: [samples], end } satisfies Binned;
}

/** Makes the CSV of bands, with a row for the beginning of each bin. */
function csv(tracks: Track[]): CsvColumn[] {
  return tracks.flatMap((track) => {
    if (track.kind !== "banded") return [];
    const time = Float64Array.from(track.median, (_, k) => k * track.bin);
    const scaled = (values: Float64Array): Float64Array => values.map((v) => v * track.factor);
    const columns = ["low", "median", "high"] as const;
    return columns.map((name) => numbers(`${track.id} ${name}`, time, scaled(track[name])));
  });
}

/**
 * Converts a plot of the first repeat to one of all repeats; without any band it gets a note that it shows
 * the first.
 */
export function overRepeats(plot: Plot, data: Data, end: number): Plot {
  const { bands } = data.series;
  if (!bands) return plot;
  const tracks = plot.tracks.map((track) => banded(track, data, bands, end));
  if (tracks.every((track) => track === null)) return { ...plot, note: t("ui.over.first-only", { n: bands.repeats }) };
  const shown = tracks.map((track, i) => track ?? first(plot.tracks[i], end));
  return { ...plot, tracks: shown, csv: () => csv(shown), note: lineAndArea(bands) };
}
