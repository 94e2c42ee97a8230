// The page of a capture. Elements that tests rely on, in addition to the plots and controls listed in ../main.ts:
//
// #story                       the headline; .summary[data-cause] all sentences, #notes notes on the capture
// #flows                       the table; tr.variant[data-flow=number][data-side=a|b], td[data-col=rate|rtt|lost|cause|share|limiter|…]
//                              th[data-by][aria-sort] button.sort; select#cause-filter
// #why                         article[data-side][data-flow]: .stripe [data-state], [data-measure] dd
// figure.plot[data-kind=causes|cwnd|sequence|flight|rtt|throughput]; series are columns' names
// #udp-flows                   the table of UDP flows; tr[data-udp=number][data-side=a|b], td[data-col=rate|lost|rtt|jitter|late|limiter|…]
// #udp-plots                   figure.plot[data-kind=udp-rate|udp-lost|udp-late]; series rate, lost, mean_ms, max_ms

import { Data } from "../data";
import { t } from "../i18n";
import { h } from "../dom";
import { Plots } from "../plot/section";
import { State } from "../state";
import type { View } from "../main";
import { table } from "./flows";
import type { Packets } from "../model";
import type { DiagnosisPage, FlowEntry } from "./model";
import { flows } from "./plots";
import { udp, udpState } from "./udp";
import { footer, header, story, why } from "./view";

export const FORMAT = "longfat-diagnosis/4";

/** Returns the columns of a flow's packets. */
type DataOf = (packets: Packets) => Data<Packets>;

function entries(page: DiagnosisPage, dataOf: DataOf): FlowEntry[] {
  return page.flows.map((flow, index) => {
    const at = flow.ribbon.at;
    const span = { from: Math.min(flow.start_s, at[0] ?? Infinity), to: Math.max(flow.start_s + flow.duration_s, at[at.length - 1] ?? 0) };
    const limiter = flow.limiter === undefined ? null : (page.limiters[flow.limiter] ?? null);
    const data = flow.packets ? dataOf(flow.packets) : null;
    return { index, name: `${flow.id}: ${flow.from} → ${flow.to}`, of: page.capture.file, span, flow, limiter, data };
  });
}

/** Combines several groups of plots. */
function combined(all: (ReturnType<View["make"]>["plots"] | undefined)[]): ReturnType<View["make"]>["plots"] {
  return { retheme: (printing) => all.forEach((p) => p?.retheme(printing)), destroy: () => all.forEach((p) => p?.destroy()) };
}

export function diagnosis(page: DiagnosisPage, dataOf: DataOf = (packets) => new Data(packets)): View {
  const all = entries(page, dataOf);
  // Show the flow of the headline.
  const first = page.summaries.en[0]?.flows[0];
  const a = all.find((e) => e.flow.id === first) ?? all[0];
  const state = new State<FlowEntry>(all, a, null);
  const udps = udpState(page);
  return {
    lang: page.lang,
    make(controls) {
      state.silence();
      const top = [header(page, controls), story(page)];
      const datagrams = udps && udp(udps, page);
      const below = [...(datagrams?.parts ?? []), footer(page)];
      if (!all.length) return { parts: [...top, ...below], plots: datagrams?.plots ?? null };
      const plots = new Plots(state, flows(page));
      const head = h("h2", { class: "hidden" }, t("diag.page.evidence"));
      return { parts: [...top, table(state, page), head, why(state), plots.root, ...below], plots: combined([plots, datagrams?.plots]) };
    },
  };
}
