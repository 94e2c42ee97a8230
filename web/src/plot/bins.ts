// Time bins for throughput and drops; wider views have wider bins.

import type { Range } from "../state";
import { before, slopeAt, stepAt } from "./search";
import type { Banded, Binned, InBins, Samples } from "./track";

/** Approximate number of bins in view. */
const BINS = 200;

/** Rounds up to 1, 2 or 5 times a power of ten. */
export function nice(x: number): number {
  const power = 10 ** Math.floor(Math.log10(x) + 1e-9);
  const times = x / power;
  return (times <= 1 + 1e-9 ? 1 : times <= 2 + 1e-9 ? 2 : times <= 5 + 1e-9 ? 5 : 10) * power;
}

const intervals = new WeakMap<Float64Array, number>();

/** Returns the sampling interval: the median gap of the first samples. */
export function interval(times: Float64Array): number {
  let known = intervals.get(times);
  if (known === undefined) intervals.set(times, (known = firstInterval(times)));
  return known;
}

function firstInterval(times: Float64Array): number {
  const few = Math.min(times.length - 1, 101);
  if (few < 1) return 0;
  const gaps = Array.from({ length: few }, (_, i) => times[i + 1] - times[i]).sort((a, b) => a - b);
  return gaps[few >> 1];
}

/** Returns a round bin width in seconds: about 1/200 of the view, but at least two sampling intervals. */
export function binWidth(view: Range, sampled: number): number {
  // Without the tolerance 2 × 0.01 s would round up to 0.05 s.
  return nice(Math.max((view.to - view.from) / BINS, 2 * sampled) * (1 - 1e-6));
}

export interface Bins {
  width: number;
  /** Number of the first bin; bin k is from k * width to (k + 1) * width. */
  first: number;
  count: number;
}

/** Returns the bins that overlap `view`, up to `end`. */
export function binsOf(view: Range, width: number, end: number): Bins {
  const first = Math.floor(view.from / width + 1e-9);
  const last = Math.ceil(Math.min(view.to, end) / width - 1e-9);
  return { width, first, count: Math.max(last - first, 1) };
}

/** Returns the growth of cumulative columns between two times. */
export function growth(parts: Samples[], as: Binned["as"], from: number, to: number): number {
  const at = as === "rate" ? slopeAt : stepAt;
  let sum = 0;
  for (const part of parts) sum += at(part, to) - at(part, from);
  return sum;
}

/** Returns the last known value within the bin; NaN if there is none. */
function lastKnown({ time, value }: Samples, from: number, to: number): number {
  for (let i = before(time, to) - 1; i >= 0 && time[i] >= from; i--) if (!Number.isNaN(value[i])) return value[i];
  return NaN;
}

/**
 * Returns the shown value of the sum of `parts` in bin `k`. A rate counts only the part of the bin before the
 * end of the run.
 */
export function partsValue(parts: Samples[], { as, factor, end }: Pick<Binned, "as" | "factor" | "end">, width: number, k: number): number {
  const [from, to] = [k * width, (k + 1) * width];
  if (as === "level") return lastKnown(parts[0], from, to) * factor;
  const grown = growth(parts, as, from, to);
  if (as === "count") return grown * factor;
  const lasted = Math.min(to, end) - from;
  return lasted > 0 ? (grown / lasted) * factor : 0;
}

/** Returns a track's shown value in bin `k`. */
export function binValue(track: InBins, width: number, k: number): number {
  if (track.kind === "banded") return bandAt(track, k)[1];
  return track.kind === "quantile" ? track.crowd.at(track.q, width, k) : partsValue(track.parts, track, width, k);
}

/** Returns lower end, median and upper end of a band in bin `k`. */
export function bandAt({ low, median, high, factor }: Banded, k: number): [number, number, number] {
  const at = (values: Float64Array): number => (k >= 0 && k < values.length ? values[k] * factor : NaN);
  return [at(low), at(median), at(high)];
}

/** Returns the shown values of all bins. */
export function binned(track: InBins, { width, first, count }: Bins): number[] {
  return Array.from({ length: count }, (_, i) => binValue(track, width, first + i));
}

/** Returns the samples that a track's bins are computed from. */
export const partsOf = (track: InBins): Samples[] => (track.kind === "banded" ? [] : track.kind === "quantile" ? track.crowd.members : track.parts);
