// Flows put together in the table of variants: 50 of CUBIC beside 50 of BBR.

import { h } from "../dom";
import { t } from "../i18n";
import type { GroupFigures } from "../model";
import type { Entry, Group, Runs } from "../state";

/** In the order in which a variant is asked for them. */
const KINDS = ["cc", "direction", "name", "from"] as const;

/** The groups that a variant is shown in; none where it has one only. */
export function groupsOf({ figures }: Entry, group: Group): GroupFigures[] {
  const by = group ?? figures.grouped;
  return by === undefined || by === "none" ? [] : (figures.groups?.[by] ?? []);
}

/** The choice of groups; nothing where no variant has any. */
export function groupChoice(state: Runs): HTMLElement | null {
  const kinds = KINDS.filter((kind) => state.entries.some((e) => (e.figures.groups?.[kind]?.length ?? 0) > 1));
  if (!kinds.length) return null;
  const unasked = state.entries.find((e) => e.figures.grouped)?.figures.grouped ?? "none";
  const select = h("select", { id: "group-by" }, ...(["none", ...kinds] as const).map((kind) => h("option", { value: kind, selected: kind === (state.group ?? unasked) }, t(`ui.group.${kind}`))));
  select.addEventListener("change", () => state.groupBy(select.value as Group));
  return h("label", { class: "filter" }, `${t("ui.group")} `, select);
}
