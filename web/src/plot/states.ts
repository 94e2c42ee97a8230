// States of congestion controls over time, one ribbon per flow.

import type { Data } from "../data";
import { palette, stateColor } from "../theme";
import type { Range } from "../state";
import type { Shown } from "./kinds";
import { before, upTo } from "./search";
import type { CsvColumn, Ribbon } from "./track";

export function ribbons(data: Data, flows: Shown[]): Ribbon[] {
  return flows.flatMap(({ series, flow }) => {
    const time = data.column(series, "time_s");
    const state = data.column(series, "state");
    if (!time || !state || series.states.every((s) => s === "")) return [];
    return [{ name: flow.name, time, state, states: series.states }];
  });
}

export function statesCsv(data: Data, flows: Shown[]): CsvColumn[] {
  return ribbons(data, flows).map((r) => ({
    name: `${r.name} state`,
    time: r.time,
    cell: (row) => r.states[r.state[row]] ?? "",
  }));
}

/** Returns the state at the last sample at or before `time`; "" if unknown. */
export function stateAt(r: Ribbon, time: number): string {
  const n = upTo(r.time, time);
  return n === 0 ? "" : (r.states[r.state[n - 1]] ?? "");
}

/** Returns the state at the first sample at or after `time`, else at the last one. */
export function stateFrom(r: Ribbon, time: number): string {
  const row = Math.min(before(r.time, time), r.time.length - 1);
  return r.states[r.state[row]] ?? "";
}

/** Consecutive columns of the plot in one state. */
export interface Band {
  from: number;
  to: number;
  state: string;
}

/**
 * Returns the bands of a ribbon: each column shows the state that lasted longest in it, but a timeout is
 * always shown, as it is short and important.
 */
export function bands(r: Ribbon, view: Range, columns: number): Band[] {
  const step = (view.to - view.from) / columns;
  const list: Band[] = [];
  const ended = r.time.length ? r.time[r.time.length - 1] : 0;
  let row = Math.max(0, upTo(r.time, view.from) - 1);
  for (let c = 0; c < columns; c++) {
    const end = view.from + (c + 1) * step;
    const begin = end - step;
    if (r.time.length === 0 || begin > ended || end < r.time[0]) continue;
    const state = r.states[dominant(r, row, begin, end)] ?? "";
    while (row + 1 < r.time.length && r.time[row + 1] <= end) row++;
    if (state === "") continue;
    const last = list[list.length - 1];
    if (last?.state === state && last.to === c) last.to = c + 1;
    else list.push({ from: c, to: c + 1, state });
  }
  return list;
}

/** Returns the state to show for `begin..end`; `row` is the sample valid at `begin`. */
function dominant(r: Ribbon, row: number, begin: number, end: number): number {
  const { time, state, states } = r;
  const loss = states.indexOf("loss");
  const took = new Float64Array(states.length);
  let best = state[row];
  for (let i = row; i < time.length && (i === row || time[i] < end); i++) {
    const until = i + 1 < time.length ? Math.min(time[i + 1], end) : end;
    if (state[i] === loss && until > begin) return loss;
    took[state[i]] += until - Math.max(time[i], begin);
    if (took[state[i]] > took[best]) best = state[i];
  }
  return best;
}

/** Returns all states in order of appearance, with their colours. */
export function legend(all: Ribbon[]): { state: string; color: string }[] {
  const names = new Set(all.flatMap((r) => r.states).filter((s) => s !== ""));
  return [...names].map((state) => ({ state, color: stateColor(state) }));
}

const HEIGHT = 18;
const GAP = 6;

/** Height of `n` rows without axes, CSS pixels. */
export const ribbonHeight = (n: number): number => n * (HEIGHT + GAP) + GAP;

/** Draws the rows into a rectangle of the canvas; `k`: canvas pixels per CSS pixel. */
export function drawRibbons(
  ctx: CanvasRenderingContext2D,
  all: Ribbon[],
  view: Range,
  box: { left: number; top: number; width: number; height: number },
  k: number,
): void {
  const pitch = box.height / Math.max(all.length, 1);
  all.forEach((r, i) => {
    const top = box.top + i * pitch + (GAP / 2) * k;
    const height = Math.max(pitch - GAP * k, k);
    ctx.fillStyle = palette().grid;
    ctx.fillRect(box.left, top + height, box.width, k);
    const columns = Math.max(1, Math.round(box.width));
    for (const { from, to, state } of bands(r, view, columns)) {
      ctx.fillStyle = stateColor(state);
      ctx.fillRect(box.left + from, top, to - from, height);
    }
  });
}
