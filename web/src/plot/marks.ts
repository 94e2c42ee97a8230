// Draws events as small marks, at most one per pixel.

import type uPlot from "uplot";
import type { Range } from "../state";
import { before, upTo } from "./search";
import type { Marks } from "./track";

/** Half the size of a mark, CSS pixels. */
const REACH = 3;

/** `pixels`: canvas pixels per CSS pixel. */
export function drawMarks(u: uPlot, all: Marks[], view: Range, pixels: number): void {
  const { ctx, bbox } = u;
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const r = REACH * pixels;
  ctx.lineWidth = 1.4 * pixels;
  for (const m of all) {
    ctx.strokeStyle = m.color;
    ctx.beginPath();
    const taken = new Set<number>();
    for (let i = before(m.time, view.from), end = upTo(m.time, view.to); i < end; i++) {
      const x = Math.round(u.valToPos(m.time[i], "x", true));
      const y = Math.round(u.valToPos(m.value[i], "left", true));
      const pixel = y * 65536 + x;
      if (taken.has(pixel)) continue;
      taken.add(pixel);
      const dx = m.shape === "cross" ? r : 0;
      ctx.moveTo(x - dx, y - r);
      ctx.lineTo(x + dx, y + r);
      if (m.shape === "tick") continue;
      ctx.moveTo(x - dx, y + r);
      ctx.lineTo(x + dx, y - r);
    }
    ctx.stroke();
  }
}
