// Aggregated flows in the table of variants, e.g. 50 flows of CUBIC and 50 of BBR.

import { h } from "../dom";
import { t } from "../i18n";
import type { GroupFigures } from "../model";
import type { Entry, Group, Runs } from "../state";

/** Properties to aggregate by, in the order of the list. */
const KINDS = ["cc", "direction", "name", "from"] as const;

/** Returns the groups of a variant; none if it would have only one. */
export function groupsOf({ figures }: Entry, group: Group): GroupFigures[] {
  const by = group ?? figures.grouped;
  return by === undefined || by === "none" ? [] : (figures.groups?.[by] ?? []);
}

/** The select for the groups; null if no variant has any. */
export function groupChoice(state: Runs): HTMLElement | null {
  const kinds = KINDS.filter((kind) => state.entries.some((e) => (e.figures.groups?.[kind]?.length ?? 0) > 1));
  if (!kinds.length) return null;
  const byDefault = state.entries.find((e) => e.figures.grouped)?.figures.grouped ?? "none";
  const select = h("select", { id: "group-by" }, ...(["none", ...kinds] as const).map((kind) => h("option", { value: kind, selected: kind === (state.group ?? byDefault) }, t(`ui.group.${kind}`))));
  select.addEventListener("change", () => state.groupBy(select.value as Group));
  return h("label", { class: "filter" }, `${t("ui.group")} `, select);
}
