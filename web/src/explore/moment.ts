// The limiter at one moment: its bucket, its queue and its recent drops. The time is scrubbed or played, and
// the cursors of all plots follow.

import { button, fill, h, svg } from "../dom";
import { t } from "../i18n";
import type { ElementSeries } from "../model";
import { bytes, count, seconds, short } from "../number";
import type { Entry, Runs } from "../state";

/** Steps of the time slider. */
const STEPS = 1000;
/** Length of the interval for recent drops and goodput, s: two bins of the plots at most zoom levels. */
const RECENT_S = 0.1;
/** Cells of the drawn queue. */
const CELLS = 40;
/** Playback speeds: simulated seconds per second. */
const SPEEDS = [1, 0.25, 0.05];

const WIDTH = 720;
const HEIGHT = 128;

/** An element's columns; null if it has no such column. */
interface Columns {
  time: Float64Array;
  queue: Float64Array | null;
  tokens: Float64Array | null;
  dropped: Float64Array | null;
  maxQueue: number;
  maxTokens: number;
}

const maximum = (values: Float64Array | null): number => values?.reduce((m, x) => (x > m ? x : m), 0) ?? 0;

/** Returns the last row at or before a time. */
function row(time: Float64Array, at: number): number {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Returns the growth of a cumulative column in the recent interval. */
function growth(time: Float64Array, values: Float64Array | null, at: number): number {
  return values ? values[row(time, at)] - values[row(time, Math.max(0, at - RECENT_S))] : 0;
}

/** Returns the fill level, 0 to 1. */
const share = (now: number, full: number): number => (full > 0 ? Math.min(1, Math.max(0, now / full)) : 0);

export class Moment {
  readonly root: HTMLElement;
  private slider = h("input", { type: "range", id: "moment", min: 0, max: STEPS, value: 0 });
  private choice = h("select", { id: "moment-of" });
  private speed = h("select", { id: "moment-speed" });
  private drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "moment-drawing" });
  private words = h("p", { class: "moment-words", id: "moment-words" });
  private play: HTMLButtonElement;
  private playing = 0;
  private runs: Runs | null = null;
  private element: string | null = null;
  private columns: Columns | null = null;
  /** A key of the present drawing, to avoid drawing the same again. */
  private drawnKey = "";

  constructor() {
    this.play = button({ id: "moment-play" }, () => (this.playing ? this.stop() : this.start()));
    this.slider.setAttribute("aria-label", t("explore.moment.time"));
    this.choice.setAttribute("aria-label", t("explore.moment.of"));
    this.speed.setAttribute("aria-label", t("explore.moment.speed"));
    fill(this.speed, ...SPEEDS.map((x) => h("option", { value: x, selected: x === SPEEDS[1] }, `× ${x}`)));
    this.slider.addEventListener("input", () => {
      this.stop();
      this.runs?.point((Number(this.slider.value) / STEPS) * this.whole());
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

  /** Follows another state's cursor. */
  follow(runs: Runs): void {
    this.stop();
    this.runs = runs;
    runs.on("cursor", () => this.draw());
  }

  /** Shows the state's new result. */
  renew(): void {
    const { entry } = this;
    const { variant, data } = entry ?? {};
    const rank = new Map(variant?.elements.map((e) => [e.name, e.dropped_packets * 1e6 + e.max_queue_packets]));
    const has = (e: ElementSeries): boolean => "tokens_bytes" in e.columns || "queue_packets" in e.columns;
    const all = (data?.series.elements ?? []).filter(has).sort((a, b) => (rank.get(b.name) ?? 0) - (rank.get(a.name) ?? 0)).slice(0, 12);
    this.root.hidden = all.length === 0;
    if (!all.some((e) => e.name === this.element)) this.element = all[0]?.name ?? null;
    const names = all.map((e) => e.name);
    if ([...this.choice.options].map((o) => o.value).join() !== names.join()) fill(this.choice, ...names.map((name) => h("option", { value: name }, name)));
    this.choice.value = this.element ?? "";
    void data?.load().then(() => { if (entry === this.entry) this.read(); });
  }

  private read(): void {
    const data = this.entry?.data;
    const element = data?.series.elements.find((e) => e.name === this.element);
    const time = element && data?.column(element, "time_s");
    if (!data || !element || !time) {
      this.columns = null;
    } else {
      const [queue, tokens, dropped] = ["queue_packets", "tokens_bytes", "dropped"].map((name) => data.column(element, name));
      this.columns = { time, queue, tokens, dropped, maxQueue: maximum(queue), maxTokens: maximum(tokens) };
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
    this.slider.value = String(Math.round((at / this.whole()) * STEPS));
    this.slider.setAttribute("aria-valuetext", `${seconds(at)} s`);
    const i = row(c.time, at);
    const drops = growth(c.time, c.dropped, at);
    this.picture(c.tokens && share(c.tokens[i] || 0, c.maxTokens), c.queue?.[i] ?? 0, c.maxQueue, drops);
    const words = [
      `${seconds(at)} s`,
      c.tokens && t("explore.moment.tokens", { now: bytes(c.tokens[i] || 0), most: bytes(c.maxTokens) }),
      c.queue && c.maxQueue > 0 && t("explore.moment.queue", { n: count(c.queue[i]) }),
      t("explore.moment.drops", { n: count(drops), ms: RECENT_S * 1e3 }),
      t("explore.moment.goodput", { rate: short(this.goodput(entry, at)) }),
    ];
    this.words.textContent = words.filter(Boolean).join(" · ");
    this.drawing.setAttribute("aria-label", this.words.textContent);
  }

  /** Draws the limiter, unless the drawing would be the same. */
  private picture(level: number | null, queued: number, maxQueued: number, drops: number): void {
    const each = Math.max(1, Math.ceil(maxQueued / CELLS));
    const filled = Math.ceil(queued / each);
    const key = [level, maxQueued > 0, each, filled, drops].join();
    if (key === this.drawnKey && this.drawing.firstChild) return;
    this.drawnKey = key;
    const bucket = level === null ? [] : this.bucket(8, level);
    this.drawing.replaceChildren(...bucket, ...this.queue(level === null ? 8 : 140, maxQueued > 0, each, filled), ...this.drops(level === null ? 8 : 140, drops));
  }

  /** Returns the goodput of all flows in the recent interval, Mbit/s. */
  private goodput(entry: Entry, at: number): number {
    const { data } = entry;
    const delivered = (f: Parameters<NonNullable<typeof data>["column"]>[0]): number => {
      const [time, values] = [data?.column(f, "time_s"), data?.column(f, "delivered_bytes")];
      return time && values ? growth(time, values, at) : 0;
    };
    return ((data?.series.flows ?? []).reduce((sum, f) => sum + delivered(f), 0) * 8e-6) / RECENT_S;
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
    return n > 0 ? [...dots, svg("text", { x: x + 4, y: 118, class: "label left bad" }, t("explore.moment.drops", { n: count(n), ms: RECENT_S * 1e3 }))] : dots;
  }
}
