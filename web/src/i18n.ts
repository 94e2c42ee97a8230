// Texts in the page's language, from tables shared with the Rust code.

import names from "../../crates/answers/report/names.json";
import table from "../../crates/answers/report/strings.json";
import type { Lang } from "./model";

const strings: Record<string, Record<Lang, string>> = { ...table, ...names };
let current: Lang = "en";

export const lang = (): Lang => current;

export function setLang(lang: Lang): void {
  current = lang;
  document.documentElement.lang = lang === "zh" ? "zh-Hans" : "en";
}

/** Returns the text of `key` with `{x}` replaced by `values.x`; an unknown key is returned unchanged. */
export function t(key: string, values: Record<string, string | number> = {}): string {
  const text = strings[key]?.[current] ?? key;
  return text.replace(/\{(\w+)\}/g, (all, name: string) => (name in values ? String(values[name]) : all));
}

/** Returns the text of `key`; null if the table has none. */
export const known = (key: string): string | null => strings[key]?.[current] ?? null;

/** Translates a congestion control's state or a cause; a name without a translation is returned unchanged. */
export function state(name: string): string {
  const key = name === "loss" ? "plot.timeout" : `plot.state.${name.replace(" ", "-")}`;
  return known(key) ?? known(`cause.${name}.label`) ?? name;
}

/** Adds a page's own texts. */
export function learn(words: Record<string, Record<Lang, string>>): void {
  Object.assign(strings, words);
}
