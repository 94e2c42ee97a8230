// Reduces the points of a curve: if there are more than pixels, each pixel column keeps its minimum and
// maximum.

import type { Range } from "../state";
import { extremes } from "./extremes";
import { before, upTo } from "./search";
import type { Samples } from "./track";

/** A value; null breaks the line, undefined means that the series has no point here. */
export type Point = number | null | undefined;

/** Series over common times, as uPlot takes them. */
export interface Aligned {
  x: number[];
  y: Point[][];
  /** Whether every sample in view is included at its own time. */
  exact: boolean;
}

/** Points per series and pixel column. */
export const POINTS = 2;

/** Returns the rows in view, and one more on either side to continue the line. */
function reach({ time }: Samples, view: Range): [number, number] {
  return [Math.max(0, before(time, view.from) - 1), Math.min(time.length, upTo(time, view.to) + 1)];
}

const point = (v: number, factor: number): Point => (Number.isNaN(v) ? null : v * factor);

function exactly(all: Samples[], factors: number[], spans: [number, number][]): Aligned {
  const times = new Set<number>();
  all.forEach(({ time }, s) => {
    for (let i = spans[s][0]; i < spans[s][1]; i++) times.add(time[i]);
  });
  const x = [...times].sort((a, b) => a - b);
  const y = all.map(({ time, value }, s) => {
    const points = new Array<Point>(x.length).fill(undefined);
    let at = 0;
    for (let i = spans[s][0]; i < spans[s][1]; i++) {
      while (x[at] < time[i]) at++;
      points[at] = point(value[i], factors[s]);
    }
    return points;
  });
  return { x, y, exact: true };
}

/** Returns the minimum and maximum of a series in one column, in time order. */
function represent({ value }: Samples, factor: number, from: number, to: number): Point[] {
  if (from >= to) return [];
  const e = extremes(value, from, to);
  if (e.least < 0) return [null];
  const [first, second] = e.least < e.most ? [e.least, e.most] : [e.most, e.least];
  return first === second ? [value[first] * factor] : [value[first] * factor, value[second] * factor];
}

function columnwise(all: Samples[], factors: number[], view: Range, columns: number): Aligned {
  const step = (view.to - view.from) / columns;
  // One more column on either side, so that lines reach the edges.
  const n = columns + 2;
  const x = new Array<number>(n * POINTS);
  for (let i = 0; i < x.length; i++) x[i] = view.from + (i / POINTS - 1 + 0.5 / POINTS) * step;
  const y = all.map((samples, s) => {
    const points = new Array<Point>(x.length).fill(undefined);
    let from = before(samples.time, view.from - step);
    for (let c = 0; c < n; c++) {
      const to = before(samples.time, view.from + c * step);
      represent(samples, factors[s], from, to).forEach((p, k) => (points[c * POINTS + k] = p));
      from = to;
    }
    return points;
  });
  return { x, y, exact: false };
}

/**
 * Returns the points of `all` for a plot that is `columns` pixels wide; values are multiplied by `factors`.
 */
export function align(all: Samples[], factors: number[], view: Range, columns: number): Aligned {
  const spans = all.map((s) => reach(s, view));
  const few = spans.every(([from, to]) => to - from <= columns * POINTS);
  return few ? exactly(all, factors, spans) : columnwise(all, factors, view, columns);
}
