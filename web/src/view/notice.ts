// Warnings at the top of the page: not all runs were made, or something in the scenario is probably not
// intended.

import { h } from "../dom";
import { lang, t } from "../i18n";
import type { Runs } from "../state";

/** The number of warnings that are not folded away. */
const MAX_SHOWN = 8;

/** A line, with its language if that is not the page's: some warnings exist in English only. */
interface Line {
  text: string;
  lang: string;
}

/** The box with the warnings; null without any. */
export function notice(state: Runs): HTMLElement | null {
  const several = state.page.results.length > 1;
  const lines = state.page.results.flatMap(({ label, run, warnings }) => {
    const prefix = several ? `${label}: ` : "";
    const texts = warnings.map((warning) => ({ text: prefix + warning[lang()], lang: warning.zh === warning.en ? "en" : "" }));
    return [...(run.partial ? [{ text: prefix + t("ui.notice.partial"), lang: "" }] : []), ...texts];
  });
  if (!lines.length) return null;
  const item = ({ text, lang }: Line) => h("li", { dir: "auto", ...(lang && { lang }) }, text.length > 600 ? `${text.slice(0, 600)}…` : text);
  const items = (list: Line[]) => h("ul", {}, ...list.map(item));
  const rest = lines.slice(MAX_SHOWN);
  return h(
    "aside",
    { class: "notice", id: "notice", "aria-labelledby": "notice-title" },
    h("h2", { id: "notice-title" }, t("ui.notice")),
    items(lines.slice(0, MAX_SHOWN)),
    rest.length > 0 && h("details", {}, h("summary", {}, t("plot.more", { n: rest.length })), items(rest)),
  );
}
