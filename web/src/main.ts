// The page of results and, through src/diagnosis, of captures. Elements that tests rely on:
//
// #report                      the whole page; data-ready="true" once it is built
// #lang-en #lang-zh            language; #theme-auto #theme-light #theme-dark theme; #print. aria-pressed says which is on
// #notice                      warnings and whether all runs were made; absent if there are none
// #story                       the headline; #facts: one li for each fact behind it
// #expectations                results of --expect: tr[data-met=true|false]; absent without any
// #path                        section; [data-host], [data-link], [data-stage="link.direction.stage"] with data-worst (dropped
//                              most) and data-differs (from the first variant); tabs button[data-side]
// #variants                    the table; tr.variant[data-row=index][data-variant=name][data-side=a|b] (aria-selected), in it
//                              button[data-pick=a|b], button.expand, td[data-col=goodput|share|each|jain|lost|resent|rto|rtt|drops|queue|…]
//                              th[data-by][aria-sort] button.sort; select#group-by, tr.group-row[data-group]
//                              #details-INDEX: the flows' rows tr[data-flow=name] once expanded
// #faults                      effects of faults on flows: tr[data-flow]; absent without faults. Plots mark each fault as an
//                              area, named in the legend: li[data-fault]
// #plots                       section; data-columns=1|2; .toolbar button[data-zoom=in|out|left|right|whole]
// #range                       data-from, data-to: seconds in view
// .plots-head[data-side]       heads of the columns; .picker: choice of flows if there are more than 8
// figure.plot[data-kind=throughput|each|rates|rtt|delay|cwnd|queue|drops|states|sequence][data-side=a|b]
//   .canvas#plot-KIND-SIDE     focusable; data-drawn="true" once drawn, for data-from..data-to seconds; data-points: number of
//                              times drawn; data-exact: whether these are all samples in view; data-bin: width of a bin in
//                              seconds, 0 without bins
//   .legend output[data-series][data-value]  a curve's value at the cursor in full precision ("" if unknown); series is
//                              `total`, `group NAME`, `p5`…`p95`, `FLOW` (throughput, states), `FLOW COLUMN` or
//                              `ELEMENT COLUMN`; li.at[data-time]
//   button[data-save=csv|png]
// #speech                      aria-live: values at the keyboard's cursor (shift + arrows on a focused .canvas)
// #copy-link                   copies the address; its hash is the view: a, b, t=from-to, sort, group, fa, fb, plot, lang
// #repeats figure.boxes[data-of=goodput|rtt], #distributions figure.cdf[data-of=response|completion]
// #not-drawn                   the plots that are left out, and why
// document.documentElement     lang, data-theme

import { diagnosis, FORMAT as CAPTURE } from "./diagnosis/main";
import type { DiagnosisPage } from "./diagnosis/model";
import { h } from "./dom";
import { lang, setLang, t } from "./i18n";
import * as link from "./link";
import type { Linked } from "./link";
import type { Lang, Page } from "./model";
import { variants } from "./plot/gallery";
import { Plots } from "./plot/section";
import { keep, recall } from "./prefs";
import { Runs } from "./state";
import { onThemeChange, setTheme, theme } from "./theme";
import { boxes } from "./view/boxes";
import { distributions } from "./view/cdf";
import { recolor } from "./view/details";
import { expectations } from "./view/expectations";
import { faults } from "./view/faults";
import { footer, header, story, type Controls } from "./view/header";
import { notice } from "./view/notice";
import { path } from "./view/path";
import { table } from "./view/table";

const FORMAT = "longfat-report/1";

/** The content of a page, which is rebuilt when the language changes. */
export interface View {
  /** The initial language. */
  lang: Lang;
  /** The address's language, which overrides the reader's stored choice. */
  linked?: Lang | null;
  make(controls: Controls): { parts: HTMLElement[]; plots: Pick<Plots, "retheme" | "destroy"> | null };
}

function read(): View {
  const page = JSON.parse(document.getElementById("data")?.textContent ?? "") as Page | DiagnosisPage;
  if (page.format === CAPTURE) return diagnosis(page as DiagnosisPage);
  if (page.format !== FORMAT) throw new Error(`this page shows ${FORMAT} and ${CAPTURE}, not ${page.format}`);
  return report(page as Page);
}

/** Returns the kind of the plot at the top of the window. */
function inView(): string | null {
  const all = [...document.querySelectorAll<HTMLElement>(".plots-body .group")];
  const at = all.find((el) => el.getBoundingClientRect().bottom > 60);
  return at && at.getBoundingClientRect().top < innerHeight / 2 ? (at.dataset.kind ?? null) : null;
}

function report(page: Page): View {
  const state = new Runs(page);
  const linked: Linked = state.entries.length ? link.read(state, location.hash) : { lang: null, plot: null };
  let waiting = 0;
  /** Updates the address with a short delay, as a drag changes the view at every step. */
  const follow = (): void => {
    clearTimeout(waiting);
    waiting = setTimeout(() => link.write(link.written(state, lang(), inView())), 250);
  };
  const copyLink = (): Promise<boolean> => link.copy(`${location.href.replace(/#.*$/, "")}#${link.written(state, lang(), inView())}`);
  return {
    lang: page.lang,
    linked: linked.lang,
    make(controls) {
      state.silence();
      controls = { ...controls, copyLink: state.entries.length ? copyLink : undefined };
      const parts: (HTMLElement | null)[] = [header(state, controls), notice(state), story(state), expectations(state.page.results)];
      let plots: Plots<(typeof state.entries)[0]> | null = null;
      if (state.entries.length) {
        plots = new Plots(state, variants(state));
        parts.push(path(state), table(state), faults(state.page.results), boxes(state), plots.root, distributions(state));
        for (const topic of ["pick", "range", "flows", "table"] as const) state.on(topic, follow);
        if (linked.plot) plots.lookAt(linked.plot);
        else if (waiting || location.hash) follow();
        linked.plot = null;
      } else {
        parts.push(h("p", { class: "none" }, t("ui.empty")));
      }
      parts.push(footer(state));
      return { parts: parts.filter((p) => p !== null), plots };
    },
  };
}

function main(root: HTMLElement): void {
  const view = read();
  const kept = recall("lang");
  setLang(view.linked ?? (kept === "en" || kept === "zh" ? kept : view.lang));
  setTheme(theme());
  let plots: ReturnType<View["make"]>["plots"] = null;

  const repaint = (printing: boolean): void => {
    recolor(root);
    plots?.retheme(printing);
  };
  const draw = (): void => {
    plots?.destroy();
    const made = view.make({
      setLang(lang: Lang): void {
        keep("lang", lang);
        setLang(lang);
        draw();
        document.getElementById(`lang-${lang}`)?.focus();
      },
      setTheme(choice: Parameters<typeof setTheme>[0]): void {
        setTheme(choice);
        for (const id of ["auto", "light", "dark"]) {
          document.getElementById(`theme-${id}`)?.setAttribute("aria-pressed", String(id === choice));
        }
        repaint(false);
      },
    });
    plots = made.plots;
    root.replaceChildren(...made.parts);
    root.dataset.ready = "true";
  };
  draw();
  onThemeChange(repaint);
}

const root = document.getElementById("report");
if (root) {
  try {
    main(root);
  } catch (e) {
    root.append(h("p", { class: "none", role: "alert" }, `longfat: ${e instanceof Error ? e.message : e}`));
    throw e;
  }
}
