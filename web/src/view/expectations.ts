// The table of expectations (`--expect`): the measured values and whether each is met.

import { h, name } from "../dom";
import { t } from "../i18n";
import type { Expectation, Result } from "../types";

/** A row; `measured` has its unit, or is a dash if there was nothing to measure. */
export interface ExpectationRow {
  met: boolean;
  variant: string;
  expected: string;
  measured: string;
}

/**
 * Returns the rows in the order of the results. A row names the result if there are several, and the clock if
 * there are two.
 */
export function expectationRows(results: Pick<Result, "label" | "run">[]): ExpectationRow[] {
  const several = results.length > 1;
  return results.flatMap(({ label, run }) => {
    const all = run.expectations ?? [];
    const clocks = new Set(all.map((e) => e.clock)).size > 1;
    const row = (e: Expectation): ExpectationRow => ({
      met: e.met,
      variant: (several ? `${label}: ` : "") + e.variant + (clocks ? ` (${t(`ui.clock.${e.clock}`)})` : ""),
      expected: e.expected,
      measured: e.measured === undefined ? "–" : `${Number(e.measured.toPrecision(6))}${e.unit ? ` ${e.unit}` : ""}`,
    });
    return all.map(row);
  });
}

/** The section with the table; null without expectations. */
export function expectations(results: Result[]): HTMLElement | null {
  const rows = expectationRows(results);
  if (!rows.length) return null;
  const failed = rows.filter((r) => !r.met).length;
  const head = (["met", "variant", "expected", "measured"] as const).map((c) => h("th", { scope: "col", class: c === "measured" ? null : "text" }, t(`ui.expected.${c}`)));
  const line = (r: ExpectationRow) =>
    h("tr", { "data-met": String(r.met) },
      h("td", { class: r.met ? "text" : "text bad" }, t(r.met ? "ui.expected.pass" : "ui.expected.fail")),
      h("td", { class: "text" }, name(r.variant)),
      h("td", { class: "text", lang: "en" }, name(r.expected)),
      h("td", { class: "number" }, r.measured));
  const sum = failed ? t("ui.expected.failed", { n: failed, all: rows.length }) : t("ui.expected.held", { all: rows.length });
  return h(
    "section",
    { class: "expectations", id: "expectations", "aria-labelledby": "expectations-title" },
    h("h2", { id: "expectations-title" }, t("ui.expected")),
    h("p", { class: failed ? "bad" : "dim" }, sum),
    h("div", { class: "table-scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows.map(line)))),
  );
}
