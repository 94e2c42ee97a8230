// The table of the scenario's faults and their effect on each flow.

import { h, name } from "../dom";
import { t } from "../i18n";
import { count, millis, short } from "../number";
import type { FaultResult, Result } from "../types";

/** A row; an unknown value is a dash. */
export interface FaultRow {
  variant: string;
  fault: string;
  flow: string;
  silence: string;
  back: string;
  /** Whether the flow received nothing more after the fault. */
  never: boolean;
  lost: string;
}

/** Names a fault, e.g. "cut: link radio, 5.00 s + 2.50 s". */
export const faultName = (f: FaultResult): string => `${f.name}: ${f.kind} ${f.of}, ${short(f.at_s)} s + ${short(f.duration_s)} s`;

/**
 * Returns the rows in the order of the results. A row names the result if there are several, and the clock if
 * there are two.
 */
export function faultRows(results: Pick<Result, "label" | "run">[]): FaultRow[] {
  const several = results.length > 1;
  return results.flatMap(({ label, run }) => {
    const clocks = new Set(run.variants.map((v) => v.clock)).size > 1;
    return run.variants.flatMap((v) =>
      (v.faults ?? []).flatMap((fault, i) =>
        v.flows.flatMap((flow): FaultRow[] => {
          const o = flow.outages?.[i];
          if (!o) return [];
          const never = !!o.caused_silence && o.recovery_ms === undefined;
          return [{
            variant: (several ? `${label}: ` : "") + v.name + (clocks ? ` (${t(`ui.clock.${v.clock}`)})` : ""),
            fault: faultName(fault),
            flow: flow.name,
            silence: o.silence_ms === undefined ? "–" : millis(o.silence_ms),
            back: never ? t("ui.faults.never") : o.recovery_ms === undefined ? "–" : millis(o.recovery_ms),
            never,
            lost: o.lost_packets === undefined ? "–" : count(o.lost_packets),
          }];
        }),
      ),
    );
  });
}

const COLUMNS = ["variant", "fault", "flow", "silence", "back", "lost"] as const;
const TEXT_COLUMNS = ["variant", "fault", "flow"];

/** The section with the table; null without faults. */
export function faults(results: Result[]): HTMLElement | null {
  const rows = faultRows(results);
  if (!rows.length) return null;
  const head = COLUMNS.map((c) => h("th", { scope: "col", class: TEXT_COLUMNS.includes(c) ? "text" : null }, t(`ui.faults.${c}`)));
  const cell = (r: FaultRow, c: (typeof COLUMNS)[number]) =>
    TEXT_COLUMNS.includes(c) ? h("td", { class: "text" }, name(r[c])) : h("td", { class: c === "back" && r.never ? "number bad" : "number" }, r[c]);
  const line = (r: FaultRow) => h("tr", { "data-flow": r.flow.slice(0, 200) }, ...COLUMNS.map((c) => cell(r, c)));
  return h(
    "section",
    { class: "faults", id: "faults", "aria-labelledby": "faults-title" },
    h("h2", { id: "faults-title" }, t("ui.faults")),
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-labelledby": "faults-title" }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows.map(line)))),
  );
}
