// A plot as a picture: title, legend and curves on the theme's ground, twice the size on the page.

import uPlot from "uplot";
import { state as stateName, t } from "../i18n";
import { palette } from "../theme";
import { clip, data, font, options, type Frame } from "./chart";
import type { Aligned } from "./decimate";
import { legend as stateLegend } from "./states";
import type { Plot } from "./track";

const SCALE = 2;

interface Item {
  /** None of mere words. */
  color: string | null;
  text: string;
  dashed: boolean;
  square: boolean;
}

function items(plot: Plot): Item[] {
  const marks = new Map(plot.marks.map((m) => [m.label, m.color]));
  return [
    ...plot.tracks.map((k) => ({ color: k.color, text: k.part ? `${k.label} ${k.part}` : k.label, dashed: !!k.dash, square: false })),
    ...plot.levels.map((l) => ({ color: l.color, text: l.label, dashed: true, square: false })),
    ...[...marks].map(([text, color]) => ({ color, text, dashed: false, square: true })),
    ...stateLegend(plot.ribbons).map((s) => ({ color: s.color, text: stateName(s.state), dashed: false, square: true })),
    ...(plot.note ? [{ color: null, text: plot.note, dashed: false, square: false }] : []),
  ];
}

/** Draws the legend in lines, or only measures; returns where it ends. */
function legend(ctx: CanvasRenderingContext2D, list: Item[], width: number, top: number, draw: boolean): number {
  const line = 18 * SCALE;
  let [x, y] = [16 * SCALE, top];
  ctx.font = font(12 * SCALE);
  ctx.textBaseline = "middle";
  for (const item of list) {
    const text = clip(ctx, item.text, (item.color ? 240 : 480) * SCALE);
    const sign = item.color ? 24 * SCALE : 0;
    const room = ctx.measureText(text).width + sign + 16 * SCALE;
    if (x + room > width && x > 16 * SCALE) [x, y] = [16 * SCALE, y + line];
    if (draw) {
      if (item.color) ctx.strokeStyle = ctx.fillStyle = item.color;
      ctx.lineWidth = 2 * SCALE;
      ctx.setLineDash(item.dashed ? [4 * SCALE, 3 * SCALE] : []);
      if (!item.color) {
        // Words alone.
      } else if (item.square) {
        ctx.fillRect(x + 4 * SCALE, y + line / 2 - 5 * SCALE, 10 * SCALE, 10 * SCALE);
      } else {
        ctx.beginPath();
        ctx.moveTo(x, y + line / 2);
        ctx.lineTo(x + 18 * SCALE, y + line / 2);
        ctx.stroke();
      }
      ctx.fillStyle = palette().ink;
      ctx.fillText(text, x + sign, y + line / 2);
    }
    x += room;
  }
  ctx.setLineDash([]);
  return y + line;
}

/** `uPlot` again, larger and off the page; its own pixels come on top of the screen's ratio. */
function curves(plot: Plot, frame: Frame, points: Aligned, size: { width: number; height: number }): Promise<HTMLCanvasElement> {
  const k = SCALE / devicePixelRatio;
  const holder = document.createElement("div");
  const scaled = { width: size.width * k, height: size.height * k };
  const chart = new uPlot(options(plot, frame, scaled, t("plot.axis.time"), k), data(plot, points), holder);
  // It draws in a separate microtask.
  return new Promise((done) => setTimeout(() => { done(chart.ctx.canvas); chart.destroy(); }));
}

export async function picture(plot: Plot, frame: Frame, points: Aligned, size: { width: number; height: number }, title: string): Promise<Blob> {
  const drawn = await curves(plot, frame, points, size);
  const canvas = document.createElement("canvas");
  const ctx = canvas.getContext("2d");
  if (!ctx) throw new Error("no canvas");
  const list = items(plot);
  const head = 34 * SCALE;
  const width = drawn.width + 8 * SCALE;
  const top = legend(ctx, list, width, head, false) + 6 * SCALE;
  canvas.width = width;
  canvas.height = top + drawn.height + 8 * SCALE;
  ctx.fillStyle = palette().ground;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.fillStyle = palette().ink;
  ctx.font = font(15 * SCALE, 600);
  ctx.textBaseline = "middle";
  ctx.fillText(clip(ctx, title, width - 32 * SCALE), 16 * SCALE, head / 2 + 2 * SCALE);
  legend(ctx, list, width, head, true);
  ctx.drawImage(drawn, 0, top);
  return new Promise((done, failed) => canvas.toBlob((b) => (b ? done(b) : failed(new Error("no picture"))), "image/png"));
}
