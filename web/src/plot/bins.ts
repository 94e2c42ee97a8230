// Bins of time: throughput and drops are counted in them, wider ones for wider views.

import type { Range } from "../state";
import { slopeAt, stepAt } from "./search";
import type { Binned, Samples } from "./track";

/** About this many bins in view. */
const BINS = 200;

/** 1, 2 or 5 times a power of ten, the nearest not below `x`. */
export function nice(x: number): number {
  const power = 10 ** Math.floor(Math.log10(x) + 1e-9);
  const times = x / power;
  return (times <= 1 + 1e-9 ? 1 : times <= 2 + 1e-9 ? 2 : times <= 5 + 1e-9 ? 5 : 10) * power;
}

/** The median distance of the first samples: how often was sampled. */
export function interval(times: Float64Array): number {
  const few = Math.min(times.length - 1, 101);
  if (few < 1) return 0;
  const gaps = Array.from({ length: few }, (_, i) => times[i + 1] - times[i]).sort((a, b) => a - b);
  return gaps[few >> 1];
}

/** Seconds: a nice width near a 200th of the view, two samples or more. */
export function binWidth(view: Range, sampled: number): number {
  // Without a tolerance 2 x 0.01 s would round up to 0.05.
  return nice(Math.max((view.to - view.from) / BINS, 2 * sampled) * (1 - 1e-6));
}

export interface Bins {
  width: number;
  /** The first bin's number: bin k is from k * width to (k + 1) * width. */
  first: number;
  count: number;
}

/** The bins that `view` touches, none after `end`. */
export function binsOf(view: Range, width: number, end: number): Bins {
  const first = Math.floor(view.from / width + 1e-9);
  const last = Math.ceil(Math.min(view.to, end) / width - 1e-9);
  return { width, first, count: Math.max(last - first, 1) };
}

/** What a cumulative column grew by from edge to edge. */
export function growth(parts: Samples[], as: Binned["as"], from: number, to: number): number {
  const at = as === "rate" ? slopeAt : stepAt;
  let sum = 0;
  for (const part of parts) sum += at(part, to) - at(part, from);
  return sum;
}

/** A track's shown value in the bin numbered `k`; a rate is one over as much of the bin as the run lasted. */
export function binValue(track: Binned, width: number, k: number): number {
  const [from, to] = [k * width, (k + 1) * width];
  const grown = growth(track.parts, track.as, from, to);
  if (track.as === "count") return grown * track.factor;
  const lasted = Math.min(to, track.end) - from;
  return lasted > 0 ? (grown / lasted) * track.factor : 0;
}

/** Shown values of all bins. */
export function binned(track: Binned, { width, first, count }: Bins): number[] {
  return Array.from({ length: count }, (_, i) => binValue(track, width, first + i));
}
