// What should be known before anything else: not all was run, or something is probably not meant.

import { h } from "../dom";
import { t } from "../i18n";
import type { Runs } from "../state";

/** Warnings that are shown at once. */
const MOST = 8;

/** Nothing where there is nothing to warn of. */
export function notice(state: Runs): HTMLElement | null {
  const several = state.page.results.length > 1;
  const lines = state.page.results.flatMap(({ label, run }) => {
    const of = several ? `${label}: ` : "";
    return [...(run.partial ? [of + t("ui.notice.partial")] : []), ...(run.warnings ?? []).map((text) => of + text)];
  });
  if (!lines.length) return null;
  const items = (list: string[]) => h("ul", {}, ...list.map((line) => h("li", { dir: "auto" }, line.length > 600 ? `${line.slice(0, 600)}…` : line)));
  const rest = lines.slice(MOST);
  return h(
    "aside",
    { class: "notice", id: "notice", "aria-labelledby": "notice-title" },
    h("h2", { id: "notice-title" }, t("ui.notice")),
    items(lines.slice(0, MOST)),
    rest.length > 0 && h("details", {}, h("summary", {}, t("plot.more", { n: rest.length })), items(rest)),
  );
}
