// Cumulative distributions of the durations of transfers, responses and pages, and of RTTs, with A and B in
// one drawing.

import { fill, h, name, svg } from "../dom";
import { t } from "../i18n";
import { short, ticks } from "../number";
import { quantile } from "../plot/crowd";
import type { Entry, Runs } from "../state";
import { steps } from "./scale";

const [WIDTH, HEIGHT] = [720, 240];
const BOX = { left: 48, right: 704, top: 12, bottom: 196 };
const KINDS = ["page", "response", "completion", "rtt"] as const;
type Kind = (typeof KINDS)[number];

/** The smallest number of values for a distribution. */
const MIN_VALUES = 5;

/**
 * Returns the values, ascending: durations of pages, responses or whole flows in seconds; all RTT samples of
 * all flows in ms.
 */
export function times({ variant, data }: Pick<Entry, "variant" | "data">, kind: Kind): Float64Array {
  const list =
    kind === "completion"
      ? variant.flows.flatMap((f) => f.completion_s ?? [])
      : (data?.series.flows ?? []).flatMap((f) => {
          if (kind === "rtt") return [...(data?.column(f, "rtt_ms") ?? [])].filter((ms) => ms > 0);
          const page = data?.responses(f, "page");
          return [...(data?.responses(f, "seconds") ?? [])].filter((_, i) => (page?.[i] === 1) === (kind === "page"));
        });
  return Float64Array.from(list.filter(Number.isFinite)).sort();
}

/** Returns the points of the step function from 0 to 1, thinned to `columns` points. */
export function staircase(ascending: ArrayLike<number>, columns: number): [number, number][] {
  const n = ascending.length;
  const every = Math.max(1, Math.floor(n / columns));
  const points: [number, number][] = [];
  for (let i = 0; i < n; i += every) points.push([ascending[i], (i + 1) / n]);
  if (n && (n - 1) % every) points.push([ascending[n - 1], 1]);
  return points;
}

interface Curve {
  entry: Entry;
  side: "a" | "b";
  times: Float64Array;
}

function drawing(curves: Curve[], kind: Kind): SVGSVGElement {
  const max = Math.max(...curves.map((c) => c.times[c.times.length - 1]), 1e-9);
  const x = (s: number) => (BOX.left + (s / max) * (BOX.right - BOX.left)).toFixed(1);
  const y = (part: number) => (BOX.bottom - part * (BOX.bottom - BOX.top)).toFixed(1);
  const seconds = steps(max);
  const labels = ticks(seconds);
  const root = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": inWords(curves, kind) });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    root.append(svg("line", { class: "grid", x1: BOX.left, x2: BOX.right, y1: y(part), y2: y(part) }), svg("text", { x: BOX.left - 8, y: Number(y(part)) + 4, "text-anchor": "end" }, `${part * 100}`));
  }
  seconds.forEach((s, i) => root.append(svg("text", { x: x(s), y: BOX.bottom + 18, "text-anchor": "middle" }, labels[i])));
  root.append(
    svg("text", { x: (BOX.left + BOX.right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, t(kind === "rtt" ? "plot.axis.rtt" : "ui.cdf.axis")),
    svg("text", { transform: `translate(13 ${(BOX.top + BOX.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "%"),
  );
  for (const { side, times } of curves) {
    const path = staircase(times, 600).map(([s, part]) => `H${x(s)}V${y(part)}`);
    root.append(svg("path", { class: `curve ${side}`, d: `M${x(0)} ${y(0)}${path.join("")}H${x(max)}` }));
  }
  return root;
}

const spread = (times: Float64Array, kind: Kind): string => `${short(quantile(times, 0.5))} / ${short(quantile(times, 0.95))} ${kind === "rtt" ? "ms" : "s"}`;

const inWords = (curves: Curve[], kind: Kind): string =>
  `${t(`ui.cdf.${kind}`)}: ${curves.map((c) => `${c.entry.name.slice(0, 80)}, p50 / p95 ${spread(c.times, kind)}`).join("; ")}`;

function figure(curves: Curve[], kind: Kind): HTMLElement {
  const legend = curves.map(({ entry, side, times }) =>
    h("li", {}, h("span", { class: `badge ${side}` }, side.toUpperCase()), " ", name(entry.name), " ", h("span", { class: "dim" }, t("ui.cdf.of", { n: times.length, spread: spread(times, kind) }))),
  );
  return h("figure", { class: "cdf group", "data-of": kind }, h("h3", {}, t(`ui.cdf.${kind}`)), h("ul", { class: "legend" }, ...legend), drawing(curves, kind));
}

/** The distributions of the shown variants; empty if there are too few values. */
export function distributions(state: Runs): HTMLElement {
  const root = h("section", { class: "distributions", id: "distributions" });
  let generation = 0;
  const draw = async (): Promise<void> => {
    const now = ++generation;
    const shown = state.shown();
    // Without the series (if the browser cannot inflate them) the durations of whole flows are still known.
    await Promise.allSettled(shown.map((e) => e.data?.load()));
    if (now !== generation) return;
    const figures = KINDS.flatMap((kind) => {
      const curves = shown.map((entry, i): Curve => ({ entry, side: i ? "b" : "a", times: times(entry, kind) })).filter((c) => c.times.length >= MIN_VALUES);
      return curves.length ? [figure(curves, kind)] : [];
    });
    fill(root, figures.length > 0 && h("h2", {}, t("ui.cdf")), ...figures);
  };
  state.on("pick", () => void draw());
  void draw();
  return root;
}
