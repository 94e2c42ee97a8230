// Few points that look like many: all of them where few are in view, else of each pixel's column the least and the
// most.

import type { Range } from "../state";
import { extremes } from "./extremes";
import { before, upTo } from "./search";
import type { Samples } from "./track";

/** null breaks a line; undefined is no point of this series. */
export type Point = number | null | undefined;

/** Series over times they share, as uPlot draws them. */
export interface Aligned {
  x: number[];
  y: Point[][];
  /** Each sample in view is there, at its time. */
  exact: boolean;
}

/** Points a series and pixel column. */
export const POINTS = 2;

/** Samples in view, and one on either side where the line comes from and goes to. */
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

/** The points of one series in one column, in the order of time. */
function represent({ value }: Samples, factor: number, from: number, to: number): Point[] {
  if (from >= to) return [];
  const e = extremes(value, from, to);
  if (e.least < 0) return [null];
  const [first, second] = e.least < e.most ? [e.least, e.most] : [e.most, e.least];
  return first === second ? [value[first] * factor] : [value[first] * factor, value[second] * factor];
}

function columnwise(all: Samples[], factors: number[], view: Range, columns: number): Aligned {
  const step = (view.to - view.from) / columns;
  // A column more on either side: lines run to the edges.
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

/** Points of `all` for a plot `columns` pixels wide; values times `factors`. */
export function align(all: Samples[], factors: number[], view: Range, columns: number): Aligned {
  const spans = all.map((s) => reach(s, view));
  const few = spans.every(([from, to]) => to - from <= columns * POINTS);
  return few ? exactly(all, factors, spans) : columnwise(all, factors, view, columns);
}
