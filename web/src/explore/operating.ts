// The operating-point curve: goodput and round trip against what may be in flight, one short run a point, with the receiver's
// window held from a quarter of the bandwidth-delay product to four times it (Kleinrock 1979).

import { button, fill, h, svg } from "../dom";
import { t } from "../i18n";
import type { Variant } from "../model";
import { bytes, millis, short } from "../number";
import { CANCELLED, type Engine, type Job } from "./engine";
import type { ReadVariant, RunReply, ScenarioText } from "./model";
import { overrides } from "./quantity";

/** Windows, in bandwidth-delay products. */
const WINDOWS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4];
/** Seconds of a point's run: slow start is a part of it, as in any download so long. */
const LONGEST_S = 8;

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 250, 52, 52, 16, 40];

interface Point {
  /** Bandwidth-delay products. */
  window: number;
  goodput: number;
  rtt: number;
}

/** What the curve is of. */
export interface Operated {
  scenario: ScenarioText;
  variant: ReadVariant;
  /** The path's, bytes of payload: rate by the round trip without queues. */
  bdp: number;
}

/** The bandwidth-delay product of the main flow's path, bytes; null where the scenario has no limit or no delay. */
export function bdpOf(variant: ReadVariant): number | null {
  const main = (what: string) => variant.tunables.find((of) => of.main && of.what === what);
  const [rate, rtt] = [main("rate"), main("rtt")];
  return rate && rtt ? (rate.value / 8) * rtt.value : null;
}

export class Operating {
  readonly root = h("section", { class: "operating", id: "operating", "aria-labelledby": "operating-title" });
  private of: Operated | null = null;
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

  /** Another scenario, or other values: the curve is of the past. */
  follow(of: Operated | null): void {
    this.generation++;
    this.jobs.forEach((job) => job.cancel());
    this.jobs = [];
    this.of = of;
    this.points = [];
    this.root.hidden = of === null;
    this.plot();
  }

  private async measure(): Promise<void> {
    const { of } = this;
    if (!of) return;
    this.follow(of);
    const generation = this.generation;
    const window = of.variant.tunables.find((x) => x.what === "window");
    const flows = Number(of.variant.tunables.find((x) => x.main && x.what === "count")?.value ?? 1);
    if (!window) return;
    // Two at a time: as many as a page without a server has workers.
    const todo = [...WINDOWS];
    const next = async (): Promise<void> => {
      for (let x = todo.shift(); x !== undefined; x = todo.shift()) {
        const sets = [...of.scenario.sets, ...overrides(window, Math.max(3000, (x * of.bdp) / flows)).map(([key, value]) => `${key}=${value}`)];
        const until_s = Math.min(LONGEST_S, of.variant.duration_s);
        const job = this.engine.ask({ do: "run", scenario: { ...of.scenario, sets }, until_s });
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
    const { points, of } = this;
    this.body.hidden = points.length === 0;
    this.root.dataset.points = String(points.length);
    if (!of || points.length === 0) return this.drawing.replaceChildren();
    const most = (value: (p: Point) => number) => Math.max(1e-9, ...points.map(value)) * 1.08;
    const [goodput, rtt] = [most((p) => p.goodput), most((p) => p.rtt)];
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
      text([x(1), HEIGHT - BOTTOM + 16], "", `1 BDP = ${bytes(of.bdp)}`),
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

/** Goodput of all flows, and the round trip in the median of the flow that has the longest. */
function pointOf(window: number, variant: Variant): Point {
  const tcp = variant.flows.filter((f) => f.kind === "tcp");
  return {
    window,
    goodput: tcp.reduce((sum, f) => sum + f.goodput_mbps, 0),
    rtt: Math.max(0, ...tcp.map((f) => f.rtt_ms?.p50 ?? 0)),
  };
}
