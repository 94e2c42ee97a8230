// The limiter at one moment: its bucket, its queue, what it just dropped. Time is scrubbed or played, and all plots' cursors
// follow it.

import { button, fill, h, svg } from "../dom";
import { t } from "../i18n";
import type { ElementSeries } from "../model";
import { bytes, count, seconds, short } from "../number";
import type { Entry, Runs } from "../state";

/** Places of the slider of time. */
const PLACES = 1000;
/** Seconds of the run that "just now" is: two bins of the plots at most zooms. */
const JUST_NOW = 0.1;
/** Cells of the drawn queue. */
const CELLS = 40;
/** Seconds of the run a second of the reader's. */
const SPEEDS = [1, 0.25, 0.05];

const WIDTH = 720;
const HEIGHT = 128;

/** An element's columns, as far as they are there. */
interface Columns {
  time: Float64Array;
  queue: Float64Array | null;
  tokens: Float64Array | null;
  dropped: Float64Array | null;
  /** The most of each. */
  mostQueue: number;
  mostTokens: number;
}

const most = (of: Float64Array | null): number => of?.reduce((m, x) => (x > m ? x : m), 0) ?? 0;

/** The last row at or before a moment. */
function row(time: Float64Array, at: number): number {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** What grew in the last moments. */
function grown(time: Float64Array, of: Float64Array | null, at: number): number {
  return of ? of[row(time, at)] - of[row(time, Math.max(0, at - JUST_NOW))] : 0;
}

/** How full it is, 0 to 1. */
const share = (now: number, full: number): number => (full > 0 ? Math.min(1, Math.max(0, now / full)) : 0);

export class Moment {
  readonly root: HTMLElement;
  private slider = h("input", { type: "range", id: "moment", min: 0, max: PLACES, value: 0 });
  private choice = h("select", { id: "moment-of" });
  private speed = h("select", { id: "moment-speed" });
  private drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "moment-drawing" });
  private words = h("p", { class: "moment-words", id: "moment-words" });
  private play: HTMLButtonElement;
  private playing = 0;
  private runs: Runs | null = null;
  private element: string | null = null;
  private columns: Columns | null = null;
  /** What is drawn, in short. */
  private looks = "";

  constructor() {
    this.play = button({ id: "moment-play" }, () => (this.playing ? this.stop() : this.start()));
    this.slider.setAttribute("aria-label", t("explore.moment.time"));
    this.choice.setAttribute("aria-label", t("explore.moment.of"));
    this.speed.setAttribute("aria-label", t("explore.moment.speed"));
    fill(this.speed, ...SPEEDS.map((x) => h("option", { value: x, selected: x === SPEEDS[1] }, `× ${x}`)));
    this.slider.addEventListener("input", () => {
      this.stop();
      this.runs?.point((Number(this.slider.value) / PLACES) * this.whole());
    });
    this.choice.addEventListener("change", () => { this.element = this.choice.value; this.read(); });
    this.root = h(
      "section",
      { class: "moment", "aria-labelledby": "moment-title" },
      h("div", { class: "section-head" }, h("h2", { id: "moment-title" }, t("explore.moment")), this.choice),
      h("div", { class: "card" }, this.drawing, this.words, h("div", { class: "moment-time" }, this.play, this.slider, this.speed)),
    );
    this.label();
  }

  private label(): void {
    this.play.textContent = t(this.playing ? "explore.moment.stop" : "explore.moment.play");
  }

  private get entry(): Entry | null {
    return this.runs?.entries[0] ?? null;
  }

  private whole(): number {
    return this.entry?.span.to ?? 1;
  }

  /** A state to follow. */
  follow(runs: Runs): void {
    this.stop();
    this.runs = runs;
    runs.on("cursor", () => this.draw());
  }

  /** The state holds another result. */
  renew(): void {
    const { entry } = this;
    const { variant, data } = entry ?? {};
    const worth = new Map(variant?.elements.map((e) => [e.name, e.dropped_packets * 1e6 + e.max_queue_packets]));
    const has = (e: ElementSeries): boolean => "tokens_bytes" in e.columns || "queue_packets" in e.columns;
    const all = (data?.series.elements ?? []).filter(has).sort((a, b) => (worth.get(b.name) ?? 0) - (worth.get(a.name) ?? 0)).slice(0, 12);
    this.root.hidden = all.length === 0;
    if (!all.some((e) => e.name === this.element)) this.element = all[0]?.name ?? null;
    const names = all.map((e) => e.name);
    if ([...this.choice.options].map((o) => o.value).join() !== names.join()) fill(this.choice, ...names.map((name) => h("option", { value: name }, name)));
    this.choice.value = this.element ?? "";
    void data?.load().then(() => { if (entry === this.entry) this.read(); });
  }

  private read(): void {
    const data = this.entry?.data;
    const of = data?.series.elements.find((e) => e.name === this.element);
    const time = of && data?.column(of, "time_s");
    if (!data || !of || !time) {
      this.columns = null;
    } else {
      const [queue, tokens, dropped] = ["queue_packets", "tokens_bytes", "dropped"].map((name) => data.column(of, name));
      this.columns = { time, queue, tokens, dropped, mostQueue: most(queue), mostTokens: most(tokens) };
    }
    this.draw();
  }

  private start(): void {
    const begin = this.runs?.cursor ?? 0;
    let at = begin >= this.whole() ? 0 : begin;
    let last = performance.now();
    const step = (now: number): void => {
      at += ((now - last) / 1000) * Number(this.speed.value);
      last = now;
      if (at >= this.whole() || !this.runs) return this.stop();
      this.runs.point(at);
      this.playing = requestAnimationFrame(step);
    };
    this.playing = requestAnimationFrame(step);
    this.label();
  }

  stop(): void {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.label();
  }

  private draw(): void {
    const { columns: c, entry } = this;
    if (!c || !entry || c.time.length === 0) return this.drawing.replaceChildren();
    const at = Math.min(this.runs?.cursor ?? 0, this.whole());
    this.slider.value = String(Math.round((at / this.whole()) * PLACES));
    this.slider.setAttribute("aria-valuetext", `${seconds(at)} s`);
    const i = row(c.time, at);
    const drops = grown(c.time, c.dropped, at);
    this.picture(c.tokens && share(c.tokens[i] || 0, c.mostTokens), c.queue?.[i] ?? 0, c.mostQueue, drops);
    const words = [
      `${seconds(at)} s`,
      c.tokens && t("explore.moment.tokens", { now: bytes(c.tokens[i] || 0), most: bytes(c.mostTokens) }),
      c.queue && c.mostQueue > 0 && t("explore.moment.queue", { n: count(c.queue[i]) }),
      t("explore.moment.drops", { n: count(drops), ms: JUST_NOW * 1e3 }),
      t("explore.moment.goodput", { rate: short(this.goodput(entry, at)) }),
    ];
    this.words.textContent = words.filter(Boolean).join(" · ");
    this.drawing.setAttribute("aria-label", this.words.textContent);
  }

  /** Draws the limiter; what looks as before stays. */
  private picture(level: number | null, queued: number, mostQueued: number, drops: number): void {
    const each = Math.max(1, Math.ceil(mostQueued / CELLS));
    const filled = Math.ceil(queued / each);
    const looks = [level, mostQueued > 0, each, filled, drops].join();
    if (looks === this.looks && this.drawing.firstChild) return;
    this.looks = looks;
    const bucket = level === null ? [] : this.bucket(8, level);
    this.drawing.replaceChildren(...bucket, ...this.queue(level === null ? 8 : 140, mostQueued > 0, each, filled), ...this.drops(level === null ? 8 : 140, drops));
  }

  /** Of all flows, in the last moments. */
  private goodput(entry: Entry, at: number): number {
    const { data } = entry;
    const of = (f: Parameters<NonNullable<typeof data>["column"]>[0]): number => {
      const [time, delivered] = [data?.column(f, "time_s"), data?.column(f, "delivered_bytes")];
      return time && delivered ? grown(time, delivered, at) : 0;
    };
    return ((data?.series.flows ?? []).reduce((sum, f) => sum + of(f), 0) * 8e-6) / JUST_NOW;
  }

  private bucket(x: number, part: number): SVGElement[] {
    const [top, tall] = [10, 84];
    const level = part * tall;
    return [
      svg("rect", { x, y: top, width: 92, height: tall, rx: 6, class: "outline" }),
      svg("rect", { x: x + 2, y: top + tall - level + (level > 2 ? 2 : 0), width: 88, height: Math.max(0, level - 4), rx: 4, class: "tokens" }),
      svg("text", { x: x + 46, y: top + tall + 18, class: "label" }, t("plot.tokens")),
    ];
  }

  private queue(x: number, any: boolean, each: number, filled: number): SVGElement[] {
    const wide = (WIDTH - x - 96) / CELLS;
    const cell = (_: unknown, k: number): SVGElement =>
      svg("rect", { x: x + (CELLS - 1 - k) * wide, y: 34, width: wide - 2, height: 36, rx: 2, class: k < filled ? "packet" : "slot" });
    const cells = any ? Array.from({ length: CELLS }, cell) : [];
    const label = any ? t("explore.moment.cells", { n: each }) : t("explore.moment.none");
    const end = WIDTH - 88;
    return [
      ...cells,
      svg("path", { d: `M${end} 52h66m-10 -7l10 7l-10 7`, class: "arrow" }),
      svg("text", { x: x + (CELLS * wide) / 2, y: any ? 24 : 56, class: "label" }, label),
    ];
  }

  private drops(x: number, n: number): SVGElement[] {
    const dots = Array.from({ length: Math.min(60, Math.round(n)) }, (_, k) => svg("circle", { cx: x + 8 + (k % 60) * 9, cy: 92, r: 3.2, class: "drop" }));
    return n > 0 ? [...dots, svg("text", { x: x + 4, y: 118, class: "label left bad" }, t("explore.moment.drops", { n: count(n), ms: JUST_NOW * 1e3 }))] : dots;
  }
}
