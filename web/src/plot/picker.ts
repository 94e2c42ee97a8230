// The choice of flows to draw, if there are many.

import type { Data } from "../data";
import { h, name } from "../dom";
import { t } from "../i18n";
import type { Variant } from "../model";
import { short } from "../number";
import type { Entry, Runs } from "../state";
import { MANY_FLOWS, shownFlows } from "./kinds";

/** Returns the flows with most goodput. */
export function defaultFlows(v: Variant): Set<string> {
  const most = [...v.flows].sort((a, b) => b.goodput_mbps - a.goodput_mbps).slice(0, MANY_FLOWS);
  return new Set(most.map((f) => f.name));
}

/** A list of checkboxes; null if all flows are drawn anyway. */
export function picker(state: Runs, entry: Entry, data: Data): HTMLElement | null {
  const all = shownFlows(entry.variant, entry.figures, data);
  if (all.length <= MANY_FLOWS) return null;
  const chosen = new Set(state.flows.get(entry) ?? defaultFlows(entry.variant));
  const list = all.map(({ flow }) => {
    const box = h("input", { type: "checkbox", checked: chosen.has(flow.name) });
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(flow.name);
      else chosen.delete(flow.name);
      summary.textContent = t("ui.picker", { n: chosen.size, all: all.length });
      state.pickFlows(entry, new Set(chosen));
    });
    return h("label", {}, box, " ", name(flow.name), " ", h("span", { class: "dim" }, short(flow.goodput_mbps)));
  });
  const summary = h("summary", {}, t("ui.picker", { n: chosen.size, all: all.length }));
  return h("details", { class: "picker" }, summary, h("div", { class: "picker-list" }, ...list));
}
