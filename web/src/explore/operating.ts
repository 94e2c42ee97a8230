// The operating-point curve: goodput and RTT against the data in flight. Each point is a short run with a
// fixed receive window, from a quarter of the bandwidth-delay product to four times it (Kleinrock 1979).

import { button, fill, h, svg } from "../dom";
import { t } from "../i18n";
import type { Variant } from "../model";
import { bytes, millis, short } from "../number";
import { CANCELLED, type Engine, type Job } from "./engine";
import type { ReadVariant, RunReply, ScenarioText } from "./model";
import { overrides } from "./quantity";

/** Receive windows in bandwidth-delay products. */
const WINDOWS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4];
/** Longest duration of a point's run, s; it includes slow start. */
const MAX_DURATION_S = 8;

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 250, 52, 52, 16, 40];

interface Point {
  /** In bandwidth-delay products. */
  window: number;
  goodput: number;
  rtt: number;
}

/** The path that the curve is measured on. */
export interface OperatingPath {
  scenario: ScenarioText;
  variant: ReadVariant;
  /** Bandwidth-delay product of the path, bytes: rate × RTT without queues. */
  bdp: number;
}

/**
 * Returns the bandwidth-delay product of the main flow's path, bytes; null without a rate limit or a delay.
 */
export function bdpOf(variant: ReadVariant): number | null {
  const main = (what: string) => variant.tunables.find((x) => x.main && x.what === what);
  const [rate, rtt] = [main("rate"), main("rtt")];
  return rate && rtt ? (rate.value / 8) * rtt.value : null;
}

export class Operating {
  readonly root = h("section", { class: "operating", id: "operating", "aria-labelledby": "operating-title" });
  private path: OperatingPath | null = null;
  private points: Point[] = [];
  private jobs: Job[] = [];
  private drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "operating-drawing" });
  private body = h("div", { class: "card", hidden: true }, this.drawing);
  private generation = 0;

  constructor(private engine: Engine) {}

  draw(): void {
    fill(
      this.root,
      h("div", { class: "section-head" },
        h("h2", { id: "operating-title" }, t("explore.operating")),
        button({ id: "operating-draw" }, () => void this.measure(), t("explore.operating.draw"))),
      this.body,
      h("p", { class: "hint" }, t("explore.operating.hint")),
    );
    this.plot();
  }

  /** Clears the curve, as the scenario or its values have changed. */
  follow(path: OperatingPath | null): void {
    this.generation++;
    this.jobs.forEach((job) => job.cancel());
    this.jobs = [];
    this.path = path;
    this.points = [];
    this.root.hidden = path === null;
    this.plot();
  }

  private async measure(): Promise<void> {
    const { path } = this;
    if (!path) return;
    this.follow(path);
    const generation = this.generation;
    const window = path.variant.tunables.find((x) => x.what === "window");
    const flows = Number(path.variant.tunables.find((x) => x.main && x.what === "count")?.value ?? 1);
    if (!window) return;
    // Two runs at a time, as a page without a server has two workers.
    const todo = [...WINDOWS];
    const next = async (): Promise<void> => {
      for (let x = todo.shift(); x !== undefined; x = todo.shift()) {
        const sets = [...path.scenario.sets, ...overrides(window, Math.max(3000, (x * path.bdp) / flows)).map(([key, value]) => `${key}=${value}`)];
        const until_s = Math.min(MAX_DURATION_S, path.variant.duration_s);
        const job = this.engine.ask({ do: "run", scenario: { ...path.scenario, sets }, until_s });
        this.jobs.push(job);
        const { pieces } = await job.done;
        if (generation !== this.generation) return;
        const [head, page] = pieces.slice(0, 2).map((p) => JSON.parse(new TextDecoder().decode(p)));
        if ((head as RunReply & { refused?: unknown }).refused) return;
        this.points.push(pointOf(x, page.results[0].run.variants[0] as Variant));
        this.points.sort((a, b) => a.window - b.window);
        this.plot();
      }
    };
    await Promise.all([next(), next()]).catch((e: Error) => { if (e.message !== CANCELLED) console.error(e); });
  }

  private plot(): void {
    const { points, path } = this;
    this.body.hidden = points.length === 0;
    this.root.dataset.points = String(points.length);
    if (!path || points.length === 0) return this.drawing.replaceChildren();
    const top = (value: (p: Point) => number) => Math.max(1e-9, ...points.map(value)) * 1.08;
    const [goodput, rtt] = [top((p) => p.goodput), top((p) => p.rtt)];
    const x = (window: number) => LEFT + (window / WINDOWS[WINDOWS.length - 1]) * (WIDTH - LEFT - RIGHT);
    const y = (share: number) => HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
    const line = (share: (p: Point) => number, kind: string): SVGElement[] => [
      svg("polyline", { points: points.map((p) => `${x(p.window)},${y(share(p))}`).join(" "), class: `line ${kind}` }),
      ...points.map((p) => svg("circle", { cx: x(p.window), cy: y(share(p)), r: 3.5, class: `dot ${kind}` })),
    ];
    const text = (at: [number, number], kind: string, words: string) => svg("text", { x: at[0], y: at[1], class: `label ${kind}` }, words);
    this.drawing.replaceChildren(
      svg("path", { d: `M${LEFT} ${y(0)}H${WIDTH - RIGHT}`, class: "axis" }),
      svg("path", { d: `M${x(1)} ${y(0)}V${TOP}`, class: "bdp" }),
      text([x(1), HEIGHT - BOTTOM + 16], "", `1 BDP = ${bytes(path.bdp)}`),
      text([x(WINDOWS[WINDOWS.length - 1]), HEIGHT - BOTTOM + 16], "", `${WINDOWS[WINDOWS.length - 1]} BDP`),
      text([(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6], "", t("explore.operating.x")),
      text([LEFT - 8, TOP + 6], "end goodput", short(goodput / 1.08)),
      text([WIDTH - RIGHT + 8, TOP + 6], "start rtt", millis(rtt / 1.08)),
      text([LEFT, TOP - 4], "start goodput", t("plot.axis.mbps")),
      text([WIDTH - RIGHT, TOP - 4], "end rtt", t("plot.axis.rtt")),
      ...line((p) => p.goodput / goodput, "goodput"),
      ...line((p) => p.rtt / rtt, "rtt"),
    );
    const words = points.map((p) => `${p.window} BDP: ${short(p.goodput)} Mbit/s, ${millis(p.rtt)} ms`);
    this.drawing.setAttribute("aria-label", `${t("explore.operating")}: ${words.join("; ")}`);
  }
}

/** Computes a point: the goodput of all flows, and the median RTT of the flow with the longest. */
function pointOf(window: number, variant: Variant): Point {
  const tcp = variant.flows.filter((f) => f.kind === "tcp");
  return {
    window,
    goodput: tcp.reduce((sum, f) => sum + f.goodput_mbps, 0),
    rtt: Math.max(0, ...tcp.map((f) => f.rtt_ms?.p50 ?? 0)),
  };
}
