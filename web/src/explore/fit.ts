// Fits a scenario to a diagnosed capture, and shows the result.
//
// Two searches run in parallel: the whole one, whose result is that of `longfat fit`, and a shorter one whose
// result is used if the whole one does not end in time.

import { button, fill, h, name } from "../dom";
import { known, lang, t } from "../i18n";
import { millis, percent, short } from "../number";
import { CANCELLED, type Engine, type Job } from "./engine";
import type { CaptureFitReply, FitFigures, PathNumber, Refusal } from "./model";

/** Approximate number of packets that the whole search may simulate, as in `longfat fit`. */
const WHOLE_PACKETS = 6_000_000;
/** Approximate number of packets that the short search may simulate: most machines do these in time. */
const SHORT_PACKETS = 2_500_000;
/** Time limit of the whole search, ms. */
const MAX_MS = 10_000;

export interface Fitted {
  reply: CaptureFitReply;
  file: string;
  /** Whether this is the result of the whole search. */
  whole: boolean;
  ms: number;
}

/**
 * Starts both searches; `onProgress` gets the approximate number of packets that the whole one has simulated.
 */
function search(engine: Engine, file: File, onProgress: (packets: number) => void): { done: Promise<Fitted | Refusal>; cancel(): void } {
  const began = performance.now();
  const ask = (packets: number): Job =>
    engine.ask({ do: "fit", file: file.name, packets }, (now, _, reading) => { if (packets === WHOLE_PACKETS && !reading) onProgress(now); }, file);
  const jobs = [ask(WHOLE_PACKETS), ask(SHORT_PACKETS)];
  const cancel = (): void => jobs.forEach((job) => job.cancel());
  const late = setTimeout(() => jobs[0].cancel(), MAX_MS);
  // If the whole search ends first, the short one is cancelled and its rejection ignored.
  jobs[1].done.catch(() => {});
  let whole = true;
  const done = jobs[0].done
    .catch(() => { whole = false; return jobs[1].done; })
    .then(({ pieces }) => {
      const reply = JSON.parse(new TextDecoder().decode(pieces[0])) as CaptureFitReply & { refused?: Refusal };
      return reply.refused ?? { reply, file: file.name, whole, ms: performance.now() - began };
    })
    .finally(() => { clearTimeout(late); cancel(); });
  return { done, cancel };
}

/** The bar above a capture's page: the button that starts the search, then its progress. */
export class FitBar {
  readonly root = h("div", { class: "fit-bar" });
  private running: { cancel(): void } | null = null;
  private bar = h("progress", { id: "fit-progress", max: 1 });
  private words = h("span", { class: "hint", role: "status" });
  private refused: Pick<Refusal, "message" | "zh"> | null = null;

  constructor(
    private engine: Engine,
    private file: File,
    private taken: (of: Fitted) => void,
  ) {}

  /** Builds the bar in the page's language. */
  draw(): void {
    const focus = document.activeElement?.id ?? "";
    this.bar.setAttribute("aria-label", t("explore.fit.running"));
    if (this.running) fill(this.root, button({ id: "fit-cancel" }, () => this.cancel(), t("explore.fit.cancel")), this.bar, this.words);
    else fill(this.root, button({ id: "fit", class: "main", title: t("explore.fit.hint") }, () => void this.begin(), t("explore.fit")), this.words);
    if (this.refused) {
      const { message, zh } = this.refused;
      // Some errors exist in English only.
      const why = lang() === "zh" && zh ? zh : h("span", { lang: "en" }, message);
      this.root.append(h("p", { id: "fit-refused", class: "refused", role: "alert" }, t("explore.fit.refused"), " ", why));
    }
    if (/^fit(-cancel)?$/.test(focus)) this.root.querySelector("button")?.focus();
  }

  cancel(): void {
    this.running?.cancel();
  }

  private async begin(): Promise<void> {
    this.refused = null;
    let packets = 0;
    const began = performance.now();
    const search_ = search(this.engine, this.file, (now) => { packets = now; });
    this.running = search_;
    const tick = (): void => {
      this.bar.value = Math.min(1, Math.max(packets / WHOLE_PACKETS, (performance.now() - began) / MAX_MS));
      this.words.textContent = packets > 0 ? t("explore.fit.packets", { n: short(packets) }) : t("explore.fit.reading");
    };
    tick();
    this.draw();
    const ticks = setInterval(tick, 250);
    let fitted: Fitted | null = null;
    try {
      const found = await search_.done;
      if ("reply" in found) fitted = found;
      else this.refused = found;
    } catch (e) {
      const message = e instanceof Error ? e.message : String(e);
      if (message !== CANCELLED) this.refused = { message };
    }
    clearInterval(ticks);
    this.running = null;
    this.words.textContent = "";
    if (fitted) this.taken(fitted);
    else this.draw();
  }
}

const unit = (x: number, name: string): string => `${short(x)}\u00a0${name}`;

const numberRow = ({ name: what, label, value, unit: of, range }: PathNumber): HTMLElement =>
  h("tr", { "data-number": what },
    h("th", { class: "text", scope: "row" }, label[lang()]),
    h("td", {}, unit(value, of)),
    h("td", {}, range ? t("explore.fit.range", { low: short(range[0]), high: unit(range[1], of) }) : t("explore.fit.unsearched")));

/** The figures that are compared, with their format. */
const FIGURES: [string, (f: FitFigures) => string][] = [
  ["goodput", (f) => unit(f.goodput_mbps, "Mbit/s")],
  ["least", (f) => `${millis(f.rtt_min_ms)}\u00a0ms`],
  ["median", (f) => `${millis(f.rtt_p50_ms)}\u00a0ms`],
  ["p95", (f) => `${millis(f.rtt_p95_ms)}\u00a0ms`],
  ["again", (f) => `${percent(f.retransmitted_share)}\u00a0%`],
];

/** The card that shows a fit. */
function card({ reply: { fit, numbers, not_shown }, file, whole }: Fitted, close: () => void): HTMLElement {
  const { captured, fitted } = fit.compared;
  const isBad = (fit.misfits ?? []).length > 0;
  const kind = known(`name.element.${fit.limiter}`) ?? fit.limiter;
  const policers = fit.policers ?? [];
  // Several policers have their own rows for rate and bucket.
  const own = policers.length > 1 ? numbers.filter((n) => n.name !== "rate" && n.name !== "bucket") : numbers;
  const head = (...keys: string[]) => h("thead", {}, h("tr", {}, h("td", {}), ...keys.map((key) => h("th", { scope: "col" }, t(key)))));
  return h("section", { class: "card fitted", id: "fitted", "data-limiter": fit.limiter, "data-whole": String(whole), "aria-labelledby": "fitted-title" },
    h("div", { class: "fitted-head" },
      h("h2", { id: "fitted-title", tabindex: -1 }, t("explore.fit.title"), " ", name(file)),
      button({ id: "fitted-close", "aria-label": t("explore.fit.close") }, close, "×")),
    h("p", { class: "verdict" }, fit.limiter === "none" ? t("explore.fit.none") : t("explore.fit.kind", { kind, p: fit.confidence > 0.99 ? ">\u00a099" : (100 * fit.confidence).toFixed(0) })),
    isBad && h("p", { class: "badly" }, t("explore.fit.badly")),
    h("div", { class: "fitted-tables" },
      h("table", { id: "fitted-numbers" }, head("explore.fit.value", "explore.fit.nearly"),
        h("tbody", {}, ...own.map(numberRow), ...policers.filter(() => policers.length > 1).map((p) =>
          h("tr", {}, h("th", { class: "text", scope: "row" }, name(p.flows.join(", "))), h("td", {}, unit(p.rate_mbps, "Mbit/s")), h("td", {}, unit(p.bucket_kb, "kB")))))),
      h("table", { id: "fitted-compared" }, head("explore.fit.captured", "explore.fit.simulated"),
        h("tbody", {}, ...FIGURES.map(([key, spell]) =>
          h("tr", {}, h("th", { class: "text", scope: "row" }, t(`explore.fit.figure.${key}`)), h("td", {}, spell(captured)), h("td", {}, spell(fitted))))))),
    not_shown.length > 0 && h("h3", {}, t("explore.fit.not_shown")),
    not_shown.length > 0 && h("ul", { id: "fitted-not-shown" }, ...not_shown.map((words) => h("li", {}, words[lang()]))),
    h("p", { class: "hint" }, t("explore.fit.runs", { n: fit.simulated.runs, s: short(fit.simulated.seconds) }), whole ? "" : ` ${t("explore.fit.cut")}`));
}

/** Shows the last fit above the page, as long as its scenario is the present one. */
export class FitNote {
  readonly root = h("div", {});
  private fitted: Fitted | null = null;
  private text = "";

  /** Keeps a fit and returns its scenario. */
  take(fitted: Fitted): string {
    this.fitted = fitted;
    return fitted.reply.fit.scenario;
  }

  /** Redraws the card for the present scenario and language. */
  follow(text: string): void {
    this.text = text;
    const { fitted } = this;
    const close = (): void => { this.fitted = null; this.follow(this.text); };
    fill(this.root, fitted?.reply.fit.scenario === text && card(fitted, close));
  }

  focus(): void {
    scrollTo(0, 0);
    document.getElementById("fitted-title")?.focus({ preventScroll: true });
  }
}
