// Values of a plot's curves at the cursor, from the full data and not from the drawn points.

import { state as stateName } from "../i18n";
import { precise, short } from "../number";
import type { Range } from "../state";
import { bandAt, binValue } from "./bins";
import { widthOfBins } from "./chart";
import { upTo } from "./search";
import { stateAt } from "./states";
import { inBins, type Plot, type Track } from "./track";

export interface Reading {
  /** The track's id, or for a ribbon the flow's name. */
  series: string;
  label: string;
  /** In full precision; a state's name; "" if unknown. */
  value: string;
  /** For the reader. */
  shown: string;
}

/** Returns the track's value at the last sample at or before `t`, or in the bin that contains it. */
export function valueAt(track: Track, t: number, width: number): number {
  if (inBins(track)) return binValue(track, width, Math.floor(t / width + 1e-9));
  const { time, value } = track.samples;
  const n = upTo(time, t);
  return n === 0 ? NaN : value[n - 1] * track.factor;
}

export function readings(plot: Plot, view: Range, t: number): Reading[] {
  const width = widthOfBins(plot, view);
  const curves = plot.tracks.map((track): Reading => {
    const v = valueAt(track, t, width);
    const [low, , high] = track.kind === "banded" ? bandAt(track, Math.floor(t / width + 1e-9)) : [NaN, NaN, NaN];
    // Values over repeats have three digits, as the legend shows three of them.
    const shown = Number.isNaN(low) ? precise(v) : `${short(v)} (${short(low)}–${short(high)})`;
    return { series: track.id, label: track.part ? `${track.label} ${track.part}` : track.label, value: Number.isNaN(v) ? "" : String(v), shown };
  });
  const rows = plot.ribbons.map((r): Reading => {
    const value = stateAt(r, t);
    return { series: r.name, label: r.name, value, shown: value ? stateName(value) : "–" };
  });
  return [...curves, ...rows];
}

/** Returns the time of the next sample or bin in the direction of `sign`. */
export function neighbour(plot: Plot, view: Range, t: number, sign: 1 | -1): number | null {
  const width = widthOfBins(plot, view);
  if (width > 0) return (Math.floor(t / width + 1e-9) + sign) * width;
  const times = [...plot.tracks.map((k) => (k.kind === "sampled" ? k.samples.time : null)), ...plot.ribbons.map((r) => r.time)];
  let best: number | null = null;
  for (const time of times) {
    if (!time) continue;
    const n = upTo(time, t);
    let i = n;
    if (sign < 0) {
      i = n - 1;
      if (i >= 0 && time[i] === t) i--;
    }
    if (i < 0 || i >= time.length) continue;
    if (best === null || (sign > 0 ? time[i] < best : time[i] > best)) best = time[i];
  }
  return best;
}

/** Describes minimum, mean and maximum of the curves for screen readers. */
export function inWords(plot: Plot, words: (label: string, min: string, mean: string, max: string) => string): string {
  return plot.tracks
    .slice(0, 10)
    .map((track) => {
      const { min, mean, max } = figures(track);
      return words([track.label.slice(0, 60), track.part].filter(Boolean).join(" "), precise3(min), precise3(mean), precise3(max));
    })
    .join("; ");
}

const precise3 = (x: number): string => (Number.isFinite(x) ? String(Number(x.toPrecision(3))) : "–");

function figures(track: Track): { min: number; mean: number; max: number } {
  let values: ArrayLike<number>;
  let factor = track.factor;
  if (inBins(track)) {
    const view = { from: 0, to: track.end };
    const width = widthOfBins({ tracks: [track] }, view);
    values = Array.from({ length: Math.max(1, Math.ceil(track.end / width - 1e-9)) }, (_, k) => binValue(track, width, k));
    factor = 1;
  } else {
    values = track.samples.value;
  }
  let [min, max, sum, n] = [Infinity, -Infinity, 0, 0];
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (Number.isNaN(v)) continue;
    if (v < min) min = v;
    if (v > max) max = v;
    sum += v;
    n++;
  }
  return n ? { min: min * factor, mean: (sum / n) * factor, max: max * factor } : { min: NaN, mean: NaN, max: NaN };
}
