// A capture's page without table and plots: header, sentences of the diagnosis, and the causes of the chosen
// flows.

import { fill, h, name } from "../dom";
import { lang, state as causeName, t } from "../i18n";
import { bytes, count, millis, percent, seconds, short } from "../number";
import type { State } from "../state";
import { striped } from "../view/details";
import { factLine, foot, topBar, type Controls } from "../view/header";
import type { DiagnosisPage, FlowEntry, Summary } from "./model";

/** Formats the capture's start in UTC; null for a simulator's capture, which has no date. */
const clock = (s: number): string | null => (s >= 1 && s < 8.64e12 ? new Date(s * 1e3).toISOString().replace("T", " ").slice(0, 19) + " UTC" : null);

export function header({ capture: c }: DiagnosisPage, controls: Controls): HTMLElement {
  return h(
    "header",
    { class: "top" },
    topBar(controls),
    h("h1", {}, t("diag.page.title"), ": ", name(c.file)),
    factLine([
      [t("diag.page.format"), [c.format, ...c.links].join(", ").slice(0, 120)],
      [t("diag.page.begins"), clock(c.start_s)],
      [t("diag.page.lasts"), `${seconds(Number(c.duration_s.toFixed(2)))} s`],
      [t("diag.page.packets"), count(c.packets)],
      [t("diag.page.connections"), count(c.connections)],
    ]),
  );
}

/** Typesets text written for a terminal: real arrows, and no line break between a number and its unit. */
const typeset = (text: string): string => text.replaceAll(" -> ", " → ").replace(/(?<=\d) (?=([kMG]?B|Mbit\/s|ms|s|%)(?!\w))/g, "\u00a0");

function sentence({ text, facts, cause, flows }: Summary, first: boolean): HTMLElement {
  const list = facts.length > 0 && h("details", { open: first }, h("summary", {}, t("diag.page.evidence")), h("ul", {}, ...facts.map((f) => h("li", {}, typeset(f)))));
  return h("div", { class: "summary", "data-cause": cause, "data-flows": flows.slice(0, 20).join(" ") }, h("p", { class: "long", id: first ? "story" : null }, typeset(text)), list);
}

export function story(page: DiagnosisPage): HTMLElement {
  const list = page.summaries[lang()] ?? page.summaries.en;
  const parts = list.length ? list.map((one, i) => sentence(one, i === 0)) : [h("p", { id: "story" }, t("diag.page.empty"))];
  const notes = page.notes[lang()] ?? page.notes.en;
  return h(
    "section",
    { class: "story", "aria-label": t("ui.story") },
    ...parts,
    notes.length > 0 && h("aside", { class: "notes", id: "notes", "aria-label": t("diag.page.notes") }, h("h2", {}, t("diag.page.notes")), h("ul", {}, ...notes.map((n) => h("li", {}, n)))),
  );
}

/** Measures of a flow; unknown ones and zero counts are left out. */
function measures({ flow }: FlowEntry): [string, string][] {
  const m = flow.measures;
  const rtt = m.rtt_ms;
  const list: [string, string | false][] = [
    ["place", t(`diag.page.place.${flow.vantage.place}`)],
    ["cc", flow.cc.confidence > 0 && `${flow.cc.name.slice(0, 40)} (${(flow.cc.confidence * 100).toFixed(0)} %)`],
    ["sure", `${(flow.confidence * 100).toFixed(0)} %`],
    ["goodput", `${short(m.goodput_mbps)} Mbit/s`],
    ["delivery", `${short(m.max_delivery_mbps)} Mbit/s`],
    ["bytes", bytes(m.bytes)],
    ["rtt", rtt.max > 0 && `${[rtt.min, rtt.p50, rtt.p95, rtt.max].map(millis).join(" / ")} ms`],
    ["handshake", m.handshake_rtt_ms !== undefined && `${millis(m.handshake_rtt_ms)} ms`],
    ["responses", flow.responses !== undefined && `${[flow.responses.server_ms.p50, flow.responses.server_ms.p95].map(millis).join(" / ")}, ${flow.responses.network_ms === undefined ? "–" : millis(flow.responses.network_ms)} ms`],
    ["setup", flow.setup !== undefined && `${count(flow.setup.syns)} / ${count(flow.setup.syn_acks)} (${short(flow.setup.retried_s)} s)`],
    ["reset", flow.reset !== undefined && `${t(`diag.end.${flow.reset.by}`)}, ${seconds(Number((flow.reset.at_s - flow.start_s).toFixed(2)))} s`],
    ["held", m.held_segments > 0 && `${count(m.held_segments)} (${short(m.held_s)} s)`],
    ["flight", `${bytes(m.max_inflight_bytes)} / ${bytes(m.mean_inflight_bytes)}`],
    ["bdp", m.bdp_bytes > 0 && bytes(m.bdp_bytes)],
    ["window", m.max_window_bytes !== undefined && bytes(m.max_window_bytes)],
    ["zero", m.zero_windows > 0 && t("diag.page.times", { n: count(m.zero_windows) })],
    ["lost", `${count(m.lost_up)} / ${count(m.lost_down)}`],
    ["resent", m.retransmitted_packets > 0 && [m.fast, m.rto, m.tlp, m.spurious].map(count).join(" / ")],
    ["timeouts", m.timeouts > 0 && `${count(m.timeouts)} (${short(m.timeout_s)} s)`],
    ["reordered", m.reordered > 0 && count(m.reordered)],
    ["idle", m.idle_s > 0 && `${short(m.idle_s)} s`],
    ["burst", m.largest_burst_bytes > 0 && `${bytes(m.largest_burst_bytes)} / ${bytes(m.mean_burst_bytes)}`],
    ["mss", `${bytes(m.mss_bytes)}`],
    ["acks", `${count(m.acks)} / ${count(m.dup_acks)}`],
  ];
  return list.filter((item): item is [string, string] => item[1] !== false);
}

/** Packets that prove the causes, with Wireshark filters. */
function proofs({ flow }: FlowEntry): HTMLElement | false {
  const list = flow.proofs ?? [];
  const line = ({ cause, kind, packets, total, filter }: (typeof list)[number]): HTMLElement => {
    const what = t(`diag.proof.${kind}`);
    const values = { cause: cause === undefined ? "" : causeName(cause), what, list: packets.map(String).join(", "), n: count(total) };
    const said = t(cause === undefined ? "diag.page.found" : "diag.page.proof", values);
    return h("li", { "data-proof": cause ?? kind }, said, " ", h("code", { class: "filter-text" }, filter));
  };
  return list.length > 0 && h("details", { class: "proofs" }, h("summary", {}, t("diag.page.proofs")), h("ul", {}, ...list.map(line)));
}

function one(entry: FlowEntry, side: "a" | "b"): HTMLElement {
  const { flow } = entry;
  const title = t("diag.page.why", { n: flow.id });
  const words = flow.causes.map((c) => ({ state: c.cause, share: c.share, title: `${causeName(c.cause)} ${percent(c.share)} %, ${short(c.seconds)} s` }));
  return h(
    "article",
    { class: "why", "data-side": side, "data-flow": flow.id, "aria-label": title },
    h("h3", {}, h("span", { class: `badge ${side}` }, side.toUpperCase()), " ", title, " ", name(`${flow.from} → ${flow.to}`, { class: "name dim" })),
    striped(words),
    h("dl", { class: "measures" }, ...measures(entry).map(([id, value]) => h("div", { "data-measure": id }, h("dt", {}, t(`diag.page.measure.${id}`)), h("dd", {}, value)))),
    proofs(entry),
  );
}

/** The causes of the shown flows: their shares as a bar, and the flows' measures. */
export function why(state: State<FlowEntry>): HTMLElement {
  const root = h("section", { class: "whys", id: "why" });
  const draw = () => {
    const shown = state.shown();
    root.dataset.columns = String(shown.length);
    fill(root, ...shown.map((entry, i) => one(entry, i ? "b" : "a")));
  };
  state.on("pick", draw);
  draw();
  return root;
}

const NOTES = ["rate", "rtt", "lost", "share", "limiter", "cc"];

export const footer = (page: DiagnosisPage): HTMLElement =>
  foot(NOTES.map((id) => [t(`diag.page.${id}`), t(`diag.page.note.${id === "rate" ? "goodput" : id}`)]), page.longfat);
