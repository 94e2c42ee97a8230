// The explorer's page: the scenario, the last result, the pinned runs, and the parts that show them.

import { fill, h } from "../dom";
import { lang, t } from "../i18n";
import { variants } from "../plot/gallery";
import type { Plots } from "../plot/section";
import { write } from "../link";
import { recolor } from "../view/details";
import { foot, story, topBar } from "../view/header";
import { notice } from "../view/notice";
import { path } from "../view/path";
import { table } from "../view/table";
import { Builder } from "./builder";
import { diagnose, onDrop, show, type Diagnosed } from "./capture";
import { pageControls } from "./controls";
import type { Engine } from "./engine";
import { FitBar, FitNote } from "./fit";
import { Live, type Result, type RunRequest } from "./live";
import type { ReadReply, Refusal } from "./model";
import { Lessons, type LessonRun } from "./lessons";
import { Moment } from "./moment";
import { bdpOf, Operating } from "./operating";
import { Parts } from "./parts";
import { comparedWith, MAX_PINS, pageOf, pinned, type Pin } from "./pins";
import { LivePlots } from "./plots";
import { LiveRuns } from "./runs";
import { Sliders } from "./sliders";
import { read, Source, written } from "./source";
import { Side } from "./side";

/** Table columns that the foot of the page explains. */
const NOTES = ["goodput", "share", "jain", "lost", "resent", "rto", "rtt", "drops", "queue"];

export class Explorer {
  private source = new Source();
  private live: Live;
  /** The engine's description of the present scenario. */
  private description: ReadReply | null = null;
  private pins: Pin[] = [];
  private last: Result | null = null;
  private runs: LiveRuns | null = null;
  private plots: Pick<Plots, "retheme" | "destroy"> | null = null;
  /** Plots of runs; null while a capture is shown. */
  private curves: LivePlots | null = null;
  private side: Side;
  private sliders = new Sliders({ moving: (sets) => this.moving(sets), moved: () => void this.reread() });
  private shown = h("div", {});
  private count = 0;
  private reading = 0;
  /** The part above the plots, rebuilt for every result. */
  private above = h("div", {});
  private below = h("div", {});
  private parts = new Parts();
  private moment: Moment | null = null;
  private lessons: Lessons;
  private operating: Operating;
  private builder = new Builder((sets) => { for (const [key, value] of sets) this.source.set(key, value); void this.reread(true); });
  /** The capture that is shown instead of the simulator. */
  private diagnosed: (Diagnosed & { fit: FitBar }) | null = null;
  private note = new FitNote();
  /** Called with the next exact result. */
  private next: (() => void) | null = null;

  constructor(
    private root: HTMLElement,
    private engine: Engine,
  ) {
    this.live = new Live(engine, {
      result: (result, request) => this.result(result, request),
      refused: (why) => this.side.refused(why),
      progress: (share) => this.side.progress(share),
    });
    this.lessons = new Lessons(engine, (scenario, runs) => void this.look(scenario, runs));
    this.lessons.root.hidden = true;
    this.operating = new Operating(engine);
    this.side = new Side(this.source, this.sliders, {
      opened: () => void this.opened(),
      variant: (name) => this.vary(name),
      reset: () => { this.source.sets.clear(); void this.reread(true); },
      pin: () => this.pin(),
      unpin: () => this.unpin(),
      toml: () => this.toml(),
      file: (file) => void this.take(file),
      lessons: () => {
        this.lessons.root.hidden = !this.lessons.root.hidden;
        return !this.lessons.root.hidden;
      },
    });
  }

  async begin(): Promise<void> {
    if (!(await read(this.source, location.hash))) this.source.open(this.source.example ?? "policer-or-shaper");
    this.draw();
    await this.opened();
    onDrop((file) => void this.take(file));
    addEventListener("hashchange", () => void read(this.source, location.hash).then((taken) => { if (taken) void this.opened(); }));
  }

  /** Opens a file that was dropped or chosen: a scenario if it ends with .toml, else a capture. */
  async take(file: File): Promise<void> {
    if (file.name.endsWith(".toml")) return this.side.takeText(await file.text());
    this.side.progress(0);
    try {
      const diagnosed = await diagnose(this.engine, file, (share) => this.side.progress(share)).done;
      this.diagnosed?.fit.cancel();
      this.diagnosed = { ...diagnosed, fit: new FitBar(this.engine, file, (of) => this.start(this.note.take(of))) };
      this.draw();
      scrollTo(0, 0);
    } catch (e) {
      this.side.failed(e);
    }
    this.side.progress(null);
  }

  /** Continues with a scenario that was fitted to a capture. */
  private start(text: string): void {
    this.diagnosed = null;
    this.draw();
    this.side.takeText(text);
    this.note.focus();
  }

  /** Builds the whole page in the present language. */
  draw(): void {
    this.plots?.destroy();
    this.plots = this.curves = null;
    const controls = pageControls(() => this.draw(), () => this.repaint(false), async () => `${location.href.replace(/#.*$/, "")}#${await written(this.source, lang())}`);
    delete this.root.dataset.capture;
    if (this.diagnosed) {
      const { fit } = this.diagnosed;
      fit.draw();
      this.plots = show(this.root, this.diagnosed, controls, () => { fit.cancel(); this.diagnosed = null; this.draw(); }, fit.root);
      return;
    }
    this.side.draw(!this.lessons.root.hidden);
    this.lessons.draw();
    this.operating.draw();
    this.builder.draw();
    this.sliders.show(this.description?.variant.tunables ?? []);
    this.side.describe(this.description);
    this.note.follow(this.source.text);
    this.runs = null;
    this.moment?.stop();
    this.moment = null;
    this.shown.replaceChildren(h("p", { class: "none" }, t("explore.loading")));
    const notes: [string, string][] = NOTES.map((note) => [t(`ui.col.${note}`), t(`ui.note.${note}`)]);
    this.root.replaceChildren(
      h("header", { class: "top" }, topBar(controls)),
      h("div", { class: "explorer" }, this.side.root, h("div", { class: "shown" }, this.note.root, this.lessons.root, this.shown)),
      foot(notes, this.last?.page.longfat ?? ""),
    );
    if (this.last) this.result(this.last);
  }

  repaint(printing: boolean): void {
    recolor(this.root);
    this.plots?.retheme(printing);
  }

  private async opened(): Promise<void> {
    this.live.forget();
    this.sliders.forget();
    this.note.follow(this.source.text);
    await this.reread(true);
  }

  private vary(name: string): void {
    this.source.variant = name;
    this.live.forget();
    void this.reread(true);
  }

  private moving(sets: [string, string][]): void {
    for (const [key, value] of sets) {
      if (value === "") this.source.sets.delete(key);
      else this.source.set(key, value);
    }
    this.run();
  }

  /** Has the engine read the present scenario, and shows its sliders. */
  private async reread(run = false): Promise<void> {
    const reading = ++this.reading;
    const answer = await this.engine.ask({ do: "read", ...this.source.request() }).done.catch((e) => this.side.failed(e));
    if (!answer || reading !== this.reading) return;
    const reply = JSON.parse(new TextDecoder().decode(answer.pieces[0])) as ReadReply & { refused?: Refusal };
    if (reply.refused) return this.side.refused(reply.refused);
    this.description = reply;
    this.sliders.show(reply.variant.tunables);
    this.side.describe(reply);
    this.builder.follow(reply.variant);
    const bdp = bdpOf(reply.variant);
    this.operating.follow(bdp === null ? null : { scenario: this.source.request(), variant: reply.variant, bdp });
    if (run) this.run();
    else this.follow();
  }

  private run(): void {
    if (!this.description) return;
    const label = t("explore.now");
    this.live.request({ scenario: this.source.request(), duration: this.description.variant.duration_s, label, pinned: comparedWith(this.pins) });
    this.follow();
  }

  /** The timer of the address's update, delayed because a drag changes the scenario at every step. */
  private following = 0;
  private follow(): void {
    clearTimeout(this.following);
    this.following = setTimeout(() => void written(this.source, lang()).then((text) => { write(text); this.side.command(); }), 250);
  }

  private result(result: Result, request: RunRequest | null = null): void {
    this.side.refused(null);
    this.side.coarse(result.exact ? null : (result.page.results[0].run.variants[0]?.duration_s ?? 0));
    this.last = result;
    if (this.diagnosed) return;
    const { page, data } = pageOf(result, this.pins);
    if (this.runs && this.runs.entries.length === page.results.flatMap((r) => r.run.variants).length) {
      this.runs.renew(page, data);
    } else {
      this.runs = new LiveRuns(page, data);
      this.plots?.destroy();
      this.plots = this.curves = null;
    }
    // A coarse run is drawn on the time axis of the whole run.
    this.runs.entries[0].span = { from: 0, to: result.head.duration_s };
    this.show(this.runs);
    const { dataset } = this.root;
    dataset.run = String(++this.count);
    dataset.exact = String(result.exact);
    dataset.ms = result.ms.toFixed(1);
    dataset.packets = String(result.head.packets);
    dataset.ready = "true";
    if (result.exact && this.next && request?.scenario.variant === this.source.variant) {
      const { next } = this;
      this.next = null;
      next();
    }
  }

  private show(runs: LiveRuns): void {
    if (this.curves) {
      this.parts.renew();
      void this.curves.renew();
      return;
    }
    this.moment ??= new Moment();
    const { moment } = this;
    moment.follow(runs);
    this.parts.begin([
      [this.above, runs.part(() => fill(this.above, story(runs), notice(runs), table(runs)))],
      [moment.root, () => moment.renew()],
      [this.below, runs.part(() => fill(this.below, path(runs)))],
    ]);
    this.plots = this.curves = new LivePlots(runs, variants(runs));
    this.shown.replaceChildren(this.above, moment.root, this.curves.root, this.operating.root, this.below, this.builder.root);
  }

  private pin(name?: string): void {
    if (!this.last?.exact || this.pins.length >= MAX_PINS) return;
    const changed = [...this.source.sets].map(([key, value]) => `${key.split(".").pop()} ${value}`).slice(-2).join(", ");
    const label = name ?? `${this.pins.length + 1}: ${changed || (this.description?.variant.name ?? "")}`;
    this.side.pinned(this.pins.length + 1, MAX_PINS);
    this.pins.push(pinned(this.last, label.length > 40 ? `${label.slice(0, 39)}…` : label));
    this.run();
  }

  /** Shows both runs of a lesson: pins the first and runs the second. */
  private async look(scenario: string, [first, second]: [LessonRun, LessonRun]): Promise<void> {
    this.pins = [];
    const open = async ({ variant, sets }: LessonRun): Promise<void> => {
      this.source.open(scenario);
      this.source.variant = variant;
      for (const set of sets) this.source.set(set.slice(0, set.indexOf("=")), set.slice(set.indexOf("=") + 1));
      await this.opened();
    };
    this.next = () => {
      this.pin(first.variant);
      void open(second).then(() => this.shown.scrollIntoView());
    };
    await open(first);
    this.side.chosen();
  }

  private unpin(): void {
    this.pins = [];
    this.side.pinned(0, MAX_PINS);
    this.run();
  }

  private async toml(): Promise<string> {
    const { pieces } = await this.engine.ask({ do: "toml", ...this.source.request() }).done;
    const reply = JSON.parse(new TextDecoder().decode(pieces[0])) as { toml?: string; refused?: Refusal };
    if (reply.refused) this.side.refused(reply.refused);
    return reply.toml ?? this.source.text;
  }
}
