// The plots of a result's variants.

import { button, h, name } from "../dom";
import { t } from "../i18n";
import type { Entry, Runs } from "../state";
import { groupsOf } from "../view/groups";
import { KINDS, MANY_FLOWS, plotOf, present, rateColumns, shownFlows, titleKey, type Kind, type Source } from "./kinds";
import { defaultFlows, picker } from "./picker";
import type { Gallery } from "./section";

/** Returns the data to draw of a variant, with the flows that were picked. */
function source(state: Runs, entry: Entry): Source {
  const data = entry.data!;
  const chosen = state.flows.get(entry);
  const picked = chosen ?? defaultFlows(entry.variant);
  const { variant, figures } = entry;
  const rates = new Set(state.entries.flatMap((e) => e.data?.series.flows.flatMap(rateColumns) ?? []));
  const all = shownFlows(variant, figures, data);
  return {
    variant, figures, data, repeats: state.repeats, rates: [...rates].sort(),
    flows: all.filter((f) => picked.has(f.flow.name)), picked: chosen !== undefined,
    crowd: all.length > MANY_FLOWS ? all : [], groups: groupsOf(entry, state.group),
  };
}

/** The choice between all repeats and the first; null without bands over repeats. */
function repeatsChoice(state: Runs): HTMLElement | null {
  if (!state.entries.some((e) => e.data?.series.bands)) return null;
  const buttons = (["all", "first"] as const).map((which) =>
    button({ "data-repeats": which, "aria-pressed": state.repeats === which ? "true" : "false" }, () => {
      for (const b of buttons) b.setAttribute("aria-pressed", b.dataset.repeats === which ? "true" : "false");
      state.showRepeats(which);
    }, t(`ui.over.${which}`)));
  return h("span", { class: "segment", role: "group", "aria-label": t("ui.boxes") }, ...buttons);
}

export const variants = (state: Runs): Gallery<Entry> => ({
  kinds: KINDS,
  title: (kind) => t(titleKey(kind as Kind)),
  present: (kind, entry, ready) => ready && entry.data !== null && present(kind as Kind, entry.variant, entry.data),
  build: (kind, entry) => plotOf(kind as Kind, source(state, entry)),
  missing: (kind) => t(`ui.none.${kind}`),
  unsampled: t("ui.none.series"),
  choice: () => repeatsChoice(state),
  before: ({ result }) => state.page.results.length > 1 && name(result.label, { class: "name result" }),
  after: (entry) => [
    h("span", { class: "clock" }, t(`ui.clock.${entry.variant.clock}`)),
    entry.data && picker(state, entry, entry.data),
  ],
});
