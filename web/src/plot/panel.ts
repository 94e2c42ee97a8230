// A plot of a variant or flow on the page: title, legend with values at the cursor, canvas, buttons for CSV
// and PNG.

import uPlot from "uplot";
import { button, fill, h, name } from "../dom";
import { state as stateName, t } from "../i18n";
import { seconds } from "../number";
import type { Range, Side, State, Subject } from "../state";
import { data, extent, options, points, widthOfBins, type Extent, type Frame } from "./chart";
import { csv, fileName, save } from "./csv";
import type { Aligned } from "./decimate";
import { gestures } from "./gestures";
import { picture } from "./png";
import { inWords, readings } from "./readout";
import { legend as stateLegend, ribbonHeight } from "./states";
import type { Plot } from "./track";

const HEIGHT = 232;
/** Height of a ribbon's axis. */
const AXIS = 52;

export interface Keys {
  focused(panel: Panel, event: KeyboardEvent): void;
}

export class Panel {
  readonly root: HTMLElement;
  readonly canvas: HTMLElement;
  private legend = h("ul", { class: "legend" });
  /** The legend's values of tracks and ribbons, in their order. */
  private outputs: HTMLElement[] = [];
  private levels: HTMLElement[] = [];
  /** A key of the legend's content. */
  private lines = "";
  private chart: uPlot | null = null;
  private built: Plot | null = null;
  /** Whether the subject has newer data than `built`. */
  private isOld = false;
  private frame: Frame;
  private drawn: { points: Aligned; view: Range } | null = null;

  constructor(
    private state: State,
    readonly kind: string,
    readonly side: Side,
    readonly entry: Subject,
    private title: string,
    private build: () => Plot,
    keys: Keys,
  ) {
    const id = `plot-${kind}-${side}`;
    this.frame = { view: state.view(), extent: { left: [0, 1], right: [0, 1] }, exact: true };
    this.canvas = h("div", { class: "canvas", role: "img", tabindex: 0, "aria-label": title, id });
    this.canvas.style.minHeight = `${HEIGHT}px`;
    this.canvas.addEventListener("keydown", (e) => keys.focused(this, e));
    const tool = (what: "csv" | "png", run: () => void) =>
      button({ class: "tool", "data-save": what, "aria-label": t(`ui.${what}`, { title, side: side.toUpperCase() }) }, run, what.toUpperCase());
    this.root = h(
      "figure",
      { class: "plot", "data-kind": kind, "data-side": side },
      h(
        "figcaption",
        {},
        h("span", { class: "whose" }, h("span", { class: `badge ${side}` }, side.toUpperCase()), " ", name(entry.name)),
        h("span", { class: "tools" }, tool("csv", () => this.saveCsv()), tool("png", () => this.savePng())),
      ),
      this.legend,
      this.canvas,
    );
  }

  get plot(): Plot {
    const { built, isOld } = this;
    if (built && !isOld) return built;
    this.isOld = false;
    const fresh = this.build();
    const shape = (p: Plot) => JSON.stringify([p.tracks.map((t) => [t.id, t.kind, t.axis]), p.right === null, p.ribbons.length]);
    // The chart refers to the old plot: if the curves are the same, replace the data in it.
    if (built && shape(fresh) === shape(built)) {
      Object.assign(built, fresh);
      this.describe();
      return built;
    }
    this.destroy();
    this.built = fresh;
    this.describe();
    this.words();
    return fresh;
  }

  private get height(): number {
    return this.plot.ribbons.length ? ribbonHeight(this.plot.ribbons.length) + AXIS : HEIGHT;
  }

  /** Computes the points; the caller joins the axes' ranges of both sides before `draw`. */
  prepare(view: Range, width: number): Extent {
    const p = points(this.plot, view, Math.max(50, Math.round(width - 60)));
    this.drawn = { points: p, view };
    return extent(this.plot, p, view);
  }

  draw(joined: Extent, width: number): void {
    if (!this.drawn) return;
    this.frame.view = this.drawn.view;
    this.frame.extent = joined;
    this.frame.exact = this.drawn.points.exact;
    const aligned = data(this.plot, this.drawn.points);
    if (this.chart && this.chart.width === width) {
      this.chart.setData(aligned);
    } else {
      this.chart?.destroy();
      this.canvas.style.minHeight = `${this.height}px`;
      const size = { width, height: this.height };
      this.chart = new uPlot(options(this.plot, this.frame, size, t("plot.axis.time"), 1), aligned, this.canvas);
      gestures(this.state, this.chart);
    }
    this.canvas.dataset.points = String(this.drawn.points.x.length);
    this.canvas.dataset.exact = String(this.drawn.points.exact);
    this.canvas.dataset.bin = String(widthOfBins(this.plot, this.drawn.view));
    this.canvas.dataset.from = String(this.drawn.view.from);
    this.canvas.dataset.to = String(this.drawn.view.to);
    this.canvas.dataset.drawn = "true";
    this.point(this.state.cursor);
  }

  /** Shows the cursor at `time` and the curves' values there. */
  point(time: number | null): void {
    if (!this.chart) return;
    const { view } = this.frame;
    const on = time !== null && time >= view.from && time <= view.to;
    this.chart.setCursor(on ? { left: this.chart.valToPos(time, "x"), top: 0 } : { left: -10, top: -10 }, false);
    const now = time === null ? [] : readings(this.plot, view, time);
    this.outputs.forEach((el, i) => {
      el.textContent = now[i]?.shown ?? "";
      if (now[i]) el.dataset.value = now[i].value;
      else delete el.dataset.value;
    });
    const clock = this.legend.querySelector<HTMLElement>(".at");
    if (!clock) return;
    clock.textContent = time === null ? "" : `${seconds(time)} s`;
    if (time === null) delete clock.dataset.time;
    else clock.dataset.time = String(time);
  }

  /** Returns the values at the cursor as a sentence. */
  spoken(time: number): string {
    const list = readings(this.plot, this.frame.view, time).slice(0, 12);
    return `${seconds(time)} s: ${list.map((r) => `${r.label.slice(0, 60)} ${r.shown}`).join(", ")}`;
  }

  /** Updates the legend; if its lines are the same, only the labels of levels. */
  private describe(): void {
    const { plot } = this;
    const states = stateLegend(plot.ribbons);
    const lines = JSON.stringify([
      plot.tracks.map((k) => [k.id, k.label, k.part, k.kind, k.color, k.dash]), plot.levels.map((l) => l.color), plot.spans,
      plot.marks.map((m) => [m.label, m.shape, m.color]), states, plot.ribbons.map((r) => r.name), plot.note,
    ]);
    if (lines !== this.lines) this.listLines(states);
    this.lines = lines;
    plot.levels.forEach((l, i) => { this.levels[i].textContent = l.label; });
  }

  private listLines(states: ReturnType<typeof stateLegend>): void {
    const { plot } = this;
    const swatch = (kind: string, color: string) => {
      const el = h("i", { class: `swatch ${kind}`, "aria-hidden": "true" });
      el.style.color = color;
      return el;
    };
    const output = (id: string, title?: string, banded = false) => h("output", { "data-series": id.slice(0, 300), "aria-live": "off", title, class: banded && "banded" });
    const items: HTMLElement[] = [];
    // Curves of one flow share a line with the colour of the last one, which is drawn on top.
    const lines = new Map<string, HTMLElement>();
    const parts = new Set<string>();
    this.outputs = plot.tracks.map((k) => {
      const value = output(k.id, k.part, k.kind === "banded");
      const key = k.part ? k.label : k.id;
      const line = lines.get(key);
      if (line) {
        line.append(" ", value);
        line.firstElementChild?.replaceWith(swatch("line", k.color));
      } else {
        items.push(h("li", {}, swatch(k.dash ? "dashed" : "line", k.color), name(k.label), " ", value));
        lines.set(key, items[items.length - 1]);
      }
      if (k.part) parts.add(k.part);
      return value;
    });
    if (parts.size > 0) items.push(h("li", { class: "parts" }, [...parts].join(" / ")));
    this.levels = plot.levels.map((l) => {
      const label = h("span");
      items.push(h("li", { class: "level" }, swatch("dashed", l.color), label));
      return label;
    });
    for (const s of plot.spans) items.push(h("li", { "data-fault": s.label.slice(0, 200) }, swatch("mark", s.color + "40"), name(s.label)));
    const seen = new Set<string>();
    for (const m of plot.marks) {
      if (!seen.has(m.label)) items.push(h("li", {}, swatch(m.shape, m.color), m.label));
      seen.add(m.label);
    }
    for (const s of states) items.push(h("li", { "data-state": s.state }, swatch("mark", s.color), stateName(s.state)));
    const rows = plot.ribbons.map((r) => {
      const value = output(r.name);
      this.outputs.push(value);
      return h("li", { class: "row-value" }, name(r.name), " ", value);
    });
    if (plot.remark) items.push(h("li", { class: "parts", "data-note": "remark" }, plot.remark));
    if (plot.note) items.push(h("li", { class: "parts", "data-note": "repeats" }, plot.note));
    fill(this.legend, ...items, ...rows, h("li", { class: "at" }));
  }

  /** Sets the description for screen readers. */
  words(): void {
    const { plot } = this;
    const words = inWords(plot, (label, min, mean, max) => t("ui.words", { label, min, mean, max }));
    this.canvas.setAttribute("aria-label", [`${this.title}, ${this.entry.name.slice(0, 80)}`, plot.left, words].filter(Boolean).join(": "));
  }

  private names(ending: string): string {
    return fileName([this.entry.of, this.entry.name, this.kind], ending);
  }

  private saveCsv(): void {
    save(csv(this.plot.csv()), this.names("csv"));
  }

  private savePng(): void {
    const view = this.state.view();
    if (!this.chart || !this.drawn) return;
    const title = `${this.title} – ${this.entry.name}`;
    const size = { width: this.chart.width, height: this.height };
    const frame = { ...this.frame, view };
    picture(this.plot, frame, this.drawn.points, size, title).then((blob) => save(blob, this.names("png")), console.error);
  }

  destroy(): void {
    this.chart?.destroy();
    this.chart = null;
  }

  /** Marks the subject's data as new; they are read when the plot is drawn or requested. */
  renew(): void {
    this.isOld = true;
  }

  /** Drops the plot, as the colours have changed. */
  reset(): void {
    this.destroy();
    this.built = null;
  }
}
