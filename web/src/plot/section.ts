// The plots of the shown variants or flows, one row per kind, drawn when they are near the window.

import { append, fill, h, name } from "../dom";
import { t } from "../i18n";
import { seconds, short } from "../number";
import type { Side, State, Subject } from "../state";
import { join, roomy } from "./chart";
import { moved, scaled } from "./gestures";
import { Panel, type Keys } from "./panel";
import { neighbour } from "./readout";
import { toolbar } from "./toolbar";
import type { Plot } from "./track";

/** The kinds of plots for one type of subject. */
export interface Gallery<E extends Subject> {
  kinds: readonly string[];
  title(kind: string): string;
  /** Whether there is something to draw; decodes nothing. `ready`: the subject's data are loaded. */
  present(kind: string, entry: E, ready: boolean): boolean;
  /** Builds a plot, decoding the columns that it needs. */
  build(kind: string, entry: E): Plot;
  /** Says why there is no plot of this kind. */
  missing(kind: string): string;
  /** Says why there are no plots if no data could be loaded; null to list the reasons by kind. */
  unsampled: string | null;
  /** Shown before the subject's name above its plots. */
  before(entry: E): Node | false | null;
  /** Shown after the subject's name above its plots. */
  after(entry: E): (Node | false | null)[];
  /** A control for all plots in the toolbar. */
  choice?(): HTMLElement | null;
}

/** Time for drawing per frame, ms; the rest waits for the next frame. */
const BUDGET = 60;

interface Group {
  kind: string;
  root: HTMLElement;
  panels: Panel[];
  /** In the window or within 300 pixels of it. */
  near: boolean;
  seen: boolean;
  stale: boolean;
}

export class Plots<E extends Subject = Subject> {
  readonly root: HTMLElement;
  private body = h("div", { class: "plots-body" });
  private heads = h("div", { class: "plots-heads" });
  private range: HTMLElement;
  private speech: HTMLElement;
  protected groups: Group[] = [];
  private width = 0;
  private waiting = false;
  private near = this.observer("near", 300);
  private seen = this.observer("seen", 0);
  private sizes = new ResizeObserver(() => this.resized());
  protected generation = 0;
  private requested: string | null = null;

  /** `prefix`: prefix of all ids, if the page has several groups of plots. */
  constructor(
    protected state: State<E>,
    protected gallery: Gallery<E>,
    private prefix = "",
    title = t("ui.plots"),
  ) {
    this.range = h("output", { class: "range", id: `${prefix}range`, "aria-live": "off" });
    this.speech = h("p", { class: "hidden", "aria-live": "polite", id: `${prefix}speech` });
    this.root = h(
      "section",
      { class: "plots", id: `${prefix}plots`, "aria-labelledby": `${prefix}plots-title` },
      h("div", { class: "section-head" }, h("h2", { id: `${prefix}plots-title` }, title), h("p", { class: "hint" }, t("ui.plots.hint"))),
      toolbar(state, this.range, gallery.choice?.() ?? null),
      this.heads,
      this.body,
      this.speech,
    );
    state.on("pick", () => void this.rebuild());
    state.on("flows", () => void this.rebuild(false));
    state.on("range", () => this.restale());
    state.on("cursor", () => this.point());
    this.sizes.observe(this.body);
    void this.rebuild();
  }

  /** Scrolls to the plot of this kind once it is there. */
  lookAt(kind: string): void {
    this.requested = kind;
  }

  /** Builds the plots of the shown subjects. */
  async rebuild(heads = true): Promise<void> {
    const generation = ++this.generation;
    const { state } = this;
    for (const g of this.groups) g.panels.forEach((p) => p.destroy());
    this.unobserve();
    this.groups = [];
    const shown = state.shown().map((entry, i) => ({ entry, side: (i ? "b" : "a") as Side }));
    this.root.dataset.columns = String(shown.length);
    // Keep the heads when flows are picked, so that the list of flows stays open.
    if (heads) fill(this.heads, ...shown.map(({ entry, side }) => this.head(entry, side)));
    this.showRange();
    const ready = await Promise.all(shown.map(({ entry }) => this.load(entry)));
    if (generation !== this.generation) return;
    fill(this.body);
    const missing: string[] = [];
    const { gallery } = this;
    for (const kind of gallery.kinds) {
      const with_ = shown.filter((s, i) => gallery.present(kind, s.entry, ready[i]));
      if (!with_.length) {
        missing.push(`${gallery.title(kind)} (${gallery.missing(kind)})`);
        continue;
      }
      this.add(kind, shown, with_);
    }
    if (missing.length) {
      const list = t("ui.none", { list: missing.join("; ") });
      append(this.body, [h("p", { class: "none", id: `${this.prefix}not-drawn` }, ready.some(Boolean) ? list : (gallery.unsampled ?? list))]);
    }
    this.resized();
    this.groups.find((g) => g.kind === this.requested)?.root.scrollIntoView();
    this.requested = null;
  }

  protected async load(entry: E): Promise<boolean> {
    if (!entry.data) return false;
    try {
      await entry.data.load();
      return true;
    } catch (e) {
      console.error(e);
      return false;
    }
  }

  private head(entry: E, side: Side): HTMLElement {
    return h(
      "div",
      { class: "plots-head", "data-side": side },
      h("span", { class: `badge ${side}` }, side.toUpperCase()),
      this.gallery.before(entry),
      name(entry.name),
      ...this.gallery.after(entry),
    );
  }

  private add(kind: string, shown: { entry: E; side: Side }[], with_: { entry: E; side: Side }[]): void {
    const keys: Keys = { focused: (panel, e) => this.key(panel, e) };
    const { gallery, state } = this;
    const title = gallery.title(kind);
    const panels = with_.map(({ entry, side }) => new Panel(state, kind, side, entry, title, () => gallery.build(kind, entry), keys));
    const cells = shown.map((s) => {
      const panel = panels[with_.indexOf(s)];
      return panel ? panel.root : h("p", { class: "none" }, h("span", { class: `badge ${s.side}` }, s.side.toUpperCase()), " ", gallery.missing(kind));
    });
    const root = h("section", { class: "group", "data-kind": kind, "aria-labelledby": `title-${kind}` }, h("h3", { id: `title-${kind}` }, title), h("div", { class: "pair" }, ...cells));
    this.body.append(root);
    this.groups.push({ kind, root, panels, near: false, seen: false, stale: true });
    this.near.observe(root);
    this.seen.observe(root);
  }

  /** Sets `what` of groups that are in the window or at most `margin` pixels from it. */
  private observer(what: "near" | "seen", margin: number): IntersectionObserver {
    const update = (all: IntersectionObserverEntry[]): void => {
      for (const e of all) {
        const group = this.groups.find((g) => g.root === e.target);
        if (group) group[what] = e.isIntersecting;
      }
      this.soon();
    };
    return new IntersectionObserver(update, { rootMargin: `${margin}px 0px` });
  }

  private unobserve(): void {
    this.near.disconnect();
    this.seen.disconnect();
  }

  /** Marks all plots to be drawn again. */
  restale(): void {
    for (const g of this.groups) g.stale = true;
    this.showRange();
    this.soon();
  }

  private soon(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawSome();
    });
  }

  /** Draws stale plots: those in the window first, then those near it. */
  protected drawSome(): void {
    const began = performance.now();
    const todo = this.groups.filter((g) => g.near && g.stale);
    const seen = todo.filter((g) => g.seen);
    const [now, budget] = seen.length ? [seen, BUDGET] : [todo, BUDGET / 4];
    for (const group of now) if (performance.now() - began <= budget) this.draw(group);
    if (todo.some((g) => g.stale && this.width > 0)) this.soon();
  }

  private draw(group: Group): void {
    if (this.width <= 0) return;
    const view = this.state.view();
    const extents = group.panels.map((p) => p.prepare(view, this.width));
    // Both sides share the left axis. The right axis (buckets) may differ a hundredfold, so each side has its
    // own.
    const left = roomy(extents.map((e) => e.left).reduce(join), group.panels[0].plot.floor);
    group.panels.forEach((p, i) => p.draw({ left, right: roomy(extents[i].right, "zero") }, this.width));
    group.stale = false;
  }

  /** Measures the width, which is the same for all plots. */
  private resized(): void {
    const cell = this.body.querySelector<HTMLElement>(".plot .canvas");
    const width = cell ? Math.floor(cell.clientWidth) : 0;
    if (width === this.width && width > 0) {
      this.soon();
      return;
    }
    this.width = width;
    this.restale();
  }

  private point(): void {
    const { cursor } = this.state;
    for (const g of this.groups) if (g.near && !g.stale) g.panels.forEach((p) => p.point(cursor));
  }

  protected showRange(): void {
    const { from, to } = this.state.view();
    const digits = Math.max(0, Math.ceil(-Math.log10((to - from) / 100)));
    const round = (x: number) => seconds(Number(x.toFixed(Math.min(digits, 6))));
    this.range.textContent = t("ui.range", { from: round(from), to: round(to), width: short(to - from) });
    this.range.dataset.from = String(from);
    this.range.dataset.to = String(to);
  }

  private key(panel: Panel, e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { state } = this;
    const view = state.view();
    const centre = state.cursor ?? (view.from + view.to) / 2;
    const arrow = e.key === "ArrowLeft" ? -1 : e.key === "ArrowRight" ? 1 : 0;
    if (arrow && e.shiftKey) this.step(panel, arrow as 1 | -1);
    else if (arrow) state.zoom(moved(view, arrow * 0.2));
    else if (e.key === "+" || e.key === "=") state.zoom(scaled(view, 0.5, centre));
    else if (e.key === "-") state.zoom(scaled(view, 2, centre));
    else if (e.key === "0") state.zoom(null);
    else if (e.key === "Escape") state.point(null);
    else return;
    e.preventDefault();
  }

  /** Moves the cursor to the next sample and speaks its values. */
  private step(panel: Panel, sign: 1 | -1): void {
    const { state } = this;
    const view = state.view();
    const from = state.cursor ?? (sign > 0 ? view.from : view.to);
    const to = neighbour(panel.plot, view, from, sign);
    if (to === null || to < state.whole().from || to > state.whole().to) return;
    if (to < view.from || to > view.to) state.zoom(moved(view, sign * 0.5));
    state.point(to);
    this.speech.textContent = panel.spoken(to);
  }

  /** Redraws all plots after a change of colours; for printing also those far from the window. */
  retheme(printing: boolean): void {
    for (const g of this.groups) {
      g.panels.forEach((p) => p.reset());
      g.stale = true;
      if (printing) this.draw(g);
    }
    if (!printing) this.soon();
  }

  destroy(): void {
    this.generation++;
    this.unobserve();
    this.sizes.disconnect();
    for (const g of this.groups) g.panels.forEach((p) => p.destroy());
  }
}
