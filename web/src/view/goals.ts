// The table of goals: the baseline's value, the best variant, its value, and what it costs.

import { h } from "../dom";
import { lang, t } from "../i18n";
import type { GoalRow, PageStory } from "../types";

const COLUMNS: (keyof GoalRow)[] = ["goal", "baseline", "best", "value", "costs"];

/** The table; null if there is one goal, which the headline covers. */
export function goals(story: PageStory): HTMLElement | null {
  const rows = story.goals?.[lang()] ?? [];
  if (!rows.length) return null;
  const head = COLUMNS.map((c) => h("th", { scope: "col" }, t(`ui.goals.${c}`)));
  const cell = (row: GoalRow, c: keyof GoalRow) =>
    c === "goal" ? h("th", { scope: "row" }, row[c]) : h("td", { dir: c === "best" ? "auto" : null, class: c === "costs" ? "words" : null }, row[c] || "–");
  const body = rows.map((row) => h("tr", {}, ...COLUMNS.map((c) => cell(row, c))));
  const table = h("table", { id: "goals" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body));
  return h("div", { class: "table-scroll" }, table);
}
