// Draws a plot with uPlot: options, data for a time range, and the parts that uPlot does not draw.

import uPlot from "uplot";
import { ticks } from "../number";
import type { Range } from "../state";
import { palette } from "../theme";
import { bandAt, binned, binsOf, binWidth, interval, partsOf } from "./bins";
import { align, type Aligned } from "./decimate";
import { drawDense } from "./dense";
import { drawRibbons } from "./states";
import { drawMarks } from "./marks";
import { inBins, type InBins, type Plot, type Sampled } from "./track";

/** Lower and upper ends of the left and right axes. */
export interface Extent {
  left: [number, number];
  right: [number, number];
}

/** The share of the other curves' height by which a loose curve may raise the axis. */
const LOOSE_SHARE = 0.6;

const FONT = '"Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif';
export const font = (px: number, weight = 400): string => `${weight} ${px}px ${FONT}`;

/** Returns the width of a plot's bins in seconds; 0 without bins. */
export function widthOfBins(plot: Pick<Plot, "tracks">, view: Range): number {
  // Bands over repeats have a fixed bin width at every zoom.
  const banded = plot.tracks.find((t) => t.kind === "banded");
  if (banded) return banded.bin;
  const parts = plot.tracks.filter(inBins).flatMap(partsOf);
  return parts.length ? binWidth(view, parts.reduce((longest, p) => Math.max(longest, interval(p.time)), 0)) : 0;
}

/** Returns the points to draw for `view` in `columns` pixels. */
export function points(plot: Plot, view: Range, columns: number): Aligned {
  const width = widthOfBins(plot, view);
  if (width > 0) {
    const tracks = plot.tracks as InBins[];
    const end = Math.max(...tracks.map((t) => t.end));
    const bins = binsOf(view, width, end);
    const x = Array.from({ length: bins.count + 1 }, (_, i) => Math.min((bins.first + i) * width, end));
    // A step lasts until the next point, so repeat the last value.
    const y = tracks.map((t) => { const v = binned(t, bins).map((x) => (Number.isNaN(x) ? null : x)); return [...v, v[v.length - 1]]; });
    return { x, y, exact: true };
  }
  const tracks = plot.tracks as Sampled[];
  if (!tracks.length) return { x: [view.from, view.to], y: [], exact: true };
  return align(tracks.map((t) => t.samples), tracks.map((t) => t.factor), view, columns);
}

/** Returns the value range of the points in view and of levels near them. */
export function extent(plot: Plot, { x, y }: Aligned, view: Range): Extent {
  const rangeOf = (axis: "left" | "right", loose: boolean): [number, number] => {
    let [low, high] = [Infinity, -Infinity];
    plot.tracks.forEach((track, s) => {
      if (track.axis !== axis || (track.loose ?? false) !== loose) return;
      for (let i = 0; i < x.length; i++) {
        const v = y[s][i];
        // The point beyond each end continues a line, but does not count for the range.
        if (v === null || v === undefined || x[i] < view.from || x[i] > view.to) continue;
        if (v < low) low = v;
        if (v > high) high = v;
        if (track.kind !== "banded") continue;
        const [below, , above] = bandAt(track, Math.floor(x[i] / track.bin + 1e-9));
        if (below < low) low = below;
        if (above > high) high = above;
      }
    });
    return [low, high];
  };
  const [left, right] = [rangeOf("left", false), rangeOf("right", false)];
  const loose = rangeOf("left", true);
  // A loose curve determines the axis if it is the only one, and raises it if it is near the others.
  if (left[0] > left[1]) left.splice(0, 2, ...loose);
  else if (loose[1] <= left[1] + LOOSE_SHARE * (left[1] - left[0])) left[1] = Math.max(left[1], loose[1]);
  for (const { value } of plot.levels) if (value < 2.5 * left[1]) left[1] = Math.max(left[1], value);
  return { left, right };
}

/** Returns an axis range that includes both. */
export const join = (a: [number, number], b: [number, number]): [number, number] => [Math.min(a[0], b[0]), Math.max(a[1], b[1])];

/** Adds a margin; the axis begins at zero unless `floor` is "data". */
export function roomy([low, high]: [number, number], floor: Plot["floor"]): [number, number] {
  if (low > high) return [0, 1];
  const base = floor === "zero" ? Math.min(0, low) : low;
  const span = high - base || Math.abs(high) || 1;
  return [floor === "data" && low > 0.04 * span ? base - 0.04 * span : base, high + 0.06 * span];
}

/** Values that a chart reads at each drawing; set before its data. */
export interface Frame {
  view: Range;
  extent: Extent;
  /** Whether uPlot draws the points; else `drawDense` does. */
  exact: boolean;
}

/** Makes uPlot's options; `k` scales everything, for pictures. */
export function options(plot: Plot, frame: Frame, size: { width: number; height: number }, xLabel: string, k: number): uPlot.Options {
  const p = palette();
  const axis = (more: uPlot.Axis): uPlot.Axis => ({
    stroke: p.muted,
    font: font(11 * k),
    labelFont: font(11 * k),
    grid: { stroke: p.grid, width: k },
    ticks: { show: false },
    gap: 6 * k,
    values: (_u, splits) => ticks(splits),
    ...more,
  });
  const ribbon = plot.ribbons.length > 0;
  const axes: uPlot.Axis[] = [
    axis({ size: 24 * k, label: xLabel, labelSize: 18 * k, labelGap: 2 * k, space: 70 * k }),
    ribbon
      ? axis({ scale: "left", size: 52 * k, grid: { show: false }, splits: [] })
      : axis({ scale: "left", size: 46 * k, label: plot.left, labelSize: 18 * k, labelGap: 0, space: 32 * k }),
  ];
  const scales: uPlot.Scales = {
    x: { time: false, range: () => [frame.view.from, frame.view.to] },
    left: { range: () => frame.extent.left },
  };
  if (plot.right !== null) {
    scales.right = { range: () => frame.extent.right };
    axes.push(axis({ scale: "right", side: 1, size: 46 * k, label: plot.right, labelSize: 18 * k, labelGap: 0, grid: { show: false }, space: 32 * k }));
  }
  const linear = uPlot.paths.linear!();
  const stepped = uPlot.paths.stepped!({ align: 1 });
  const series: uPlot.Series[] = [{}];
  for (const t of plot.tracks) {
    const one: uPlot.Series = { scale: t.axis, stroke: t.color, width: t.width * k, points: { show: false } };
    if (t.dash) one.dash = t.dash.map((d) => d * k);
    if (t.filled) one.fill = t.color + "38";
    // Thinned curves are drawn by `drawDense`.
    one.paths = inBins(t) ? stepped : (u, s, from, to) => (frame.exact ? linear(u, s, from, to) : null);
    series.push(one);
  }
  // uPlot needs a series to draw an axis.
  if (!plot.tracks.length) series.push({ scale: "left", show: true, points: { show: false } });
  return {
    ...size,
    padding: [8 * k, (plot.right === null ? 12 : 0) * k, 0, ribbon ? 12 * k : 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: 4 },
    },
    scales,
    axes,
    series,
    hooks: { drawAxes: [(u) => spans(u, plot, k), (u) => shades(u, plot), (u) => levels(u, plot, k)], drawSeries: [(u, s) => dense(u, s, plot, frame, k)], draw: [(u) => extras(u, plot, frame, k)] },
  };
}

/** Converts the points to uPlot's data. */
export function data(plot: Plot, { x, y }: Aligned): uPlot.AlignedData {
  return [x, ...(plot.tracks.length ? y : [x.map(() => null)])] as uPlot.AlignedData;
}

function dense(u: uPlot, s: number, plot: Plot, frame: Frame, k: number): void {
  const track = plot.tracks[s - 1];
  if (frame.exact || !track) return;
  drawDense(u, s, track.axis, { color: track.color, width: track.width * k * devicePixelRatio, dashed: track.dash !== undefined });
}

/** Draws bands over repeats and areas between quantiles, behind all curves. */
function shades(u: uPlot, plot: Plot): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const xs = u.data[0];
  const pixel = (v: number, scale: string): number => Math.round(u.valToPos(v, scale, true));
  for (const track of plot.tracks) {
    if (track.kind !== "banded") continue;
    ctx.fillStyle = track.color + "30";
    for (let i = 0; i + 1 < xs.length; i++) {
      const [low, , high] = bandAt(track, Math.floor(xs[i] / track.bin + 1e-9));
      if (Number.isNaN(low)) continue;
      const [left, top] = [pixel(xs[i], "x"), pixel(high, track.axis)];
      ctx.fillRect(left, top, pixel(xs[i + 1], "x") - left, Math.max(1, pixel(low, track.axis) - top));
    }
  }
  for (const { between, color } of plot.shades) {
    const [high, low] = between.map((id) => u.data[plot.tracks.findIndex((t) => t.id === id) + 1]);
    ctx.fillStyle = color;
    for (let i = 0; i + 1 < xs.length; i++) {
      const [top, bottom] = [high[i], low[i]];
      if (typeof top !== "number" || typeof bottom !== "number") continue;
      const [left, y] = [pixel(xs[i], "x"), pixel(top, "left")];
      ctx.fillRect(left, y, pixel(xs[i + 1], "x") - left, Math.max(1, pixel(bottom, "left") - y));
    }
  }
  ctx.restore();
}

/** Draws faults behind everything: a light area between two lines, which is visible even if it is short. */
function spans(u: uPlot, plot: Plot, k: number): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = devicePixelRatio * k;
  for (const { from, to, color } of plot.spans) {
    const [left, right] = [from, to].map((t) => Math.round(u.valToPos(t, "x", true)));
    ctx.fillStyle = color + "18";
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.strokeStyle = color + "70";
    ctx.beginPath();
    for (const x of [left, right]) {
      ctx.moveTo(x + 0.5, bbox.top);
      ctx.lineTo(x + 0.5, bbox.top + bbox.height);
    }
    ctx.stroke();
  }
  ctx.restore();
}

function levels(u: uPlot, plot: Plot, k: number): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = 1.25 * devicePixelRatio * k;
  ctx.setLineDash([6, 4].map((d) => d * devicePixelRatio * k));
  for (const { value, color } of plot.levels) {
    const y = Math.round(u.valToPos(value, "left", true)) + 0.5;
    ctx.strokeStyle = color;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

function extras(u: uPlot, plot: Plot, frame: Frame, k: number): void {
  const { ctx, bbox } = u;
  const pixels = devicePixelRatio * k;
  ctx.save();
  if (plot.ribbons.length) {
    drawRibbons(ctx, plot.ribbons, frame.view, bbox, pixels);
    names(u, plot, pixels);
  }
  if (plot.marks.length) drawMarks(u, plot.marks, frame.view, pixels);
  ctx.restore();
}

/** Draws the names of a ribbon's rows on its left. */
function names(u: uPlot, plot: Plot, pixels: number): void {
  const { ctx, bbox } = u;
  ctx.font = font(11 * pixels);
  ctx.fillStyle = palette().muted;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const pitch = bbox.height / plot.ribbons.length;
  const room = bbox.left - 14 * pixels;
  plot.ribbons.forEach((r, i) => {
    ctx.fillText(clip(ctx, r.name, room), bbox.left - 7 * pixels, bbox.top + (i + 0.5) * pitch);
  });
}

/** Shortens a text to the width `room`. */
export function clip(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  let shown = text.slice(0, 60);
  if (shown === text && ctx.measureText(shown).width <= room) return shown;
  while (shown && ctx.measureText(shown + "…").width > room) shown = shown.slice(0, -1);
  return shown + "…";
}
