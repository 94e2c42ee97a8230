// Zoom and cursor by mouse, wheel and touch for one chart; all charts follow the state.

import type uPlot from "uplot";
import type { Range, State } from "../state";

/** Scales the width of `view` by `factor` around `at`. */
export function scaled(view: Range, factor: number, at: number): Range {
  const part = (at - view.from) / (view.to - view.from);
  const width = (view.to - view.from) * factor;
  const from = at - part * width;
  return { from, to: from + width };
}

/** Moves `view` by a part of its width. */
export function moved(view: Range, part: number): Range {
  const by = (view.to - view.from) * part;
  return { from: view.from + by, to: view.to + by };
}

export function gestures(state: State, u: uPlot): void {
  const { over } = u;
  const timeAt = (clientX: number): number => {
    const box = over.getBoundingClientRect();
    const { from, to } = state.view();
    return from + ((clientX - box.left) / box.width) * (to - from);
  };
  const within = (t: number) => Math.min(Math.max(t, state.view().from), state.view().to);

  (u.hooks.setSelect ??= []).push(() => {
    const { left, width } = u.select;
    if (width < 4) return;
    const [from, to] = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    state.zoom({ from, to });
  });
  over.addEventListener("dblclick", () => state.zoom(null));
  over.addEventListener(
    "wheel",
    (e) => {
      // Without Ctrl the wheel scrolls the page.
      if (!e.ctrlKey) return;
      e.preventDefault();
      state.zoom(scaled(state.view(), Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.004), timeAt(e.clientX)));
    },
    { passive: false },
  );

  const fingers = new Map<number, number>();
  let pinch: { view: Range; spread: number; at: number } | null = null;
  const spread = (): [number, number] => {
    const [a, b] = [...fingers.values()];
    return [Math.max(Math.abs(a - b), 8), (a + b) / 2];
  };
  over.addEventListener("pointerdown", (e) => {
    if (e.pointerType === "mouse") return;
    fingers.set(e.pointerId, e.clientX);
    if (fingers.size === 2) {
      const [width, centre] = spread();
      pinch = { view: state.view(), spread: width, at: timeAt(centre) };
    } else {
      state.point(within(timeAt(e.clientX)));
    }
  });
  over.addEventListener("pointermove", (e) => {
    if (e.pointerType === "mouse") {
      state.point(within(timeAt(e.clientX)));
      return;
    }
    if (!fingers.has(e.pointerId)) return;
    fingers.set(e.pointerId, e.clientX);
    if (pinch && fingers.size === 2) state.zoom(scaled(pinch.view, pinch.spread / spread()[0], pinch.at));
    else if (!pinch) state.point(within(timeAt(e.clientX)));
  });
  const release = (e: PointerEvent): void => {
    fingers.delete(e.pointerId);
    if (fingers.size === 0) pinch = null;
  };
  over.addEventListener("pointerup", release);
  over.addEventListener("pointercancel", release);
  over.addEventListener("pointerleave", (e) => {
    if (e.pointerType === "mouse") state.point(null);
  });
}
