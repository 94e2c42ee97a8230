// The table of a variant's flows, with the shares of their states.

import { h, name } from "../dom";
import { state as stateName, t } from "../i18n";
import type { Figures, Flow } from "../model";
import { count, millis, percent, short } from "../number";
import type { Entry } from "../state";
import { stateColor } from "../theme";
import { bar, delayText, goodputText, lostText, rttText, secondsText, shareText } from "./table";

/** Shows a flow's states as a striped bar and in words. */
const states = (flow: Flow): HTMLElement | null =>
  striped((flow.states ?? []).map((s) => ({ ...s, title: t("ui.entered", { n: s.entered }) })));

/** Shows shares as a striped bar and in words; null if all are zero. */
export function striped(all: { state: string; share: number; title: string }[]): HTMLElement | null {
  const known = all.filter((s) => s.share > 0);
  if (!known.length) return null;
  const stripe = h("span", { class: "stripe", "aria-hidden": "true" });
  const words = h("span", { class: "state-words" });
  for (const { state, share, title } of known) {
    const piece = h("span", { "data-state": state });
    piece.style.flexGrow = String(share);
    piece.style.background = stateColor(state);
    stripe.append(piece);
    const word = h("span", { title });
    const dot = h("i", { "aria-hidden": "true", "data-state": state });
    dot.style.background = stateColor(state);
    word.append(dot, `${stateName(state)} ${percent(share)} %`);
    words.append(word);
  }
  return h("div", { class: "states" }, stripe, words);
}

interface Field {
  key: string;
  cell: (f: Flow) => Node | string | null;
}

/** Recolours the stripes for the present theme. */
export function recolor(root: ParentNode): void {
  for (const el of root.querySelectorAll<HTMLElement>(".states [data-state]")) {
    el.style.background = stateColor(el.dataset.state ?? "");
  }
}

export function details(entry: Entry): HTMLElement {
  const v = entry.variant;
  const maxGoodput = Math.max(1e-9, ...v.flows.map((f) => f.goodput_mbps));
  const figures = new Map(v.flows.map((f, i) => [f, entry.figures.flows[i]]));
  const figuresOf = (f: Flow): Figures => figures.get(f)!;
  const fields: Field[] = [
    { key: "flow", cell: (f) => name(f.name) },
    { key: "cc", cell: (f) => name(f.cc) },
    { key: "way", cell: (f) => h("span", { class: "way" }, name(f.from), " → ", name(f.to)) },
    { key: "goodput", cell: (f) => h("span", { class: "barred" }, goodputText(figuresOf(f)), bar(f.goodput_mbps / maxGoodput)) },
    { key: "share", cell: (f) => shareText(figuresOf(f)) },
    { key: "lost", cell: (f) => lostText(figuresOf(f)) },
    { key: "resent", cell: (f) => count(f.retransmitted_packets) },
    { key: "rto", cell: (f) => h("span", { class: f.timeouts > 0 ? "bad" : "" }, count(f.timeouts)) },
    { key: "rtt", cell: (f) => rttText(figuresOf(f)) },
    { key: "delay", cell: (f) => delayText(figuresOf(f)) },
    { key: "jitter", cell: (f) => (figuresOf(f).jitter_ms === undefined ? null : millis(figuresOf(f).jitter_ms!)) },
    { key: "mos", cell: (f) => (figuresOf(f).mos === undefined ? null : figuresOf(f).mos!.toFixed(1)) },
    { key: "page", cell: (f) => secondsText(figuresOf(f).page_p50_s, figuresOf(f).page_p95_s) },
    { key: "response", cell: (f) => secondsText(figuresOf(f).response_p50_s, figuresOf(f).response_p95_s) },
    { key: "took", cell: (f) => (f.unfinished ? h("span", { class: "bad" }, t("ui.unfinished")) : f.completion_s === undefined ? null : short(f.completion_s)) },
    { key: "completed", cell: (f) => (f.completed === undefined ? null : count(f.completed)) },
    { key: "waiting", cell: (f) => (f.timeout_wait === undefined ? null : percent(f.timeout_wait)) },
    { key: "states", cell: states },
  ];
  const shown = fields.filter((c) => v.flows.some((f) => c.cell(f) !== null));
  const head = shown.map((c) => h("th", { scope: "col", class: c.key }, t(`ui.col.${c.key}`)));
  const row = (f: Flow) =>
    h(
      "tr",
      { "data-flow": f.name.slice(0, 200) },
      ...shown.map((c) => h("td", { class: c.key, "data-label": t(`ui.col.${c.key}`) }, c.cell(f) ?? "–")),
    );
  return h(
    "div",
    { class: "flows-scroll", tabindex: 0, role: "region", "aria-label": t("ui.flows.of", { name: v.name.slice(0, 80) }) },
    h("table", { class: "flows" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...v.flows.map(row))),
  );
}
