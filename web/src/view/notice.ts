// What should be known before anything else: not all was run, or something is probably not meant.

import { h } from "../dom";
import { lang, t } from "../i18n";
import type { Runs } from "../state";

/** Warnings that are shown at once. */
const MOST = 8;

/** A line, and its language where that may not be the page's: of some kinds only the English words are known. */
interface Line {
  text: string;
  lang: string;
}

/** Nothing where there is nothing to warn of. */
export function notice(state: Runs): HTMLElement | null {
  const several = state.page.results.length > 1;
  const lines = state.page.results.flatMap(({ label, run, warnings: told }) => {
    const of = several ? `${label}: ` : "";
    const warnings = told.map((warning) => ({ text: of + warning[lang()], lang: warning.zh === warning.en ? "en" : "" }));
    return [...(run.partial ? [{ text: of + t("ui.notice.partial"), lang: "" }] : []), ...warnings];
  });
  if (!lines.length) return null;
  const item = ({ text, lang }: Line) => h("li", { dir: "auto", ...(lang && { lang }) }, text.length > 600 ? `${text.slice(0, 600)}…` : text);
  const items = (list: Line[]) => h("ul", {}, ...list.map(item));
  const rest = lines.slice(MOST);
  return h(
    "aside",
    { class: "notice", id: "notice", "aria-labelledby": "notice-title" },
    h("h2", { id: "notice-title" }, t("ui.notice")),
    items(lines.slice(0, MOST)),
    rest.length > 0 && h("details", {}, h("summary", {}, t("plot.more", { n: rest.length })), items(rest)),
  );
}
