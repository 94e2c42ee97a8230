// Words in the page's language, from the tables that Rust shares.

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

/** The words of `key`, `{x}` replaced by `values.x`; an unknown key is shown as it is. */
export function t(key: string, values: Record<string, string | number> = {}): string {
  const text = strings[key]?.[current] ?? key;
  return text.replace(/\{(\w+)\}/g, (all, name: string) => (name in values ? String(values[name]) : all));
}

/** The words of `key`; null where the table has none. */
export const known = (key: string): string | null => strings[key]?.[current] ?? null;

/** A state of a congestion control, or what held a flow: translated where it is one all have, else its own name. */
export function state(name: string): string {
  const key = name === "loss" ? "plot.timeout" : `plot.state.${name.replace(" ", "-")}`;
  return known(key) ?? known(`cause.${name}.label`) ?? name;
}

/** Takes up words of a page's own. */
export function learn(words: Record<string, Record<Lang, string>>): void {
  Object.assign(strings, words);
}
