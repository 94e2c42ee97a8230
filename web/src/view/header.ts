// The page's header: controls, name of the scenario, and how it was run.

import { button, h, name } from "../dom";
import { lang, t } from "../i18n";
import type { Lang } from "../model";
import type { Runs } from "../state";
import { theme, type Theme } from "../theme";
import { seconds } from "../number";
import { goals } from "./goals";

export interface Controls {
  setLang(lang: Lang): void;
  setTheme(theme: Theme): void;
  /** Copies a link to the present view; absent if the page has none. */
  copyLink?: (() => Promise<boolean>) | undefined;
}

function segment(label: string, items: { id: string; text: string; on: boolean; lang?: string; pick: () => void }[]): HTMLElement {
  const buttons = items.map(({ id, text, on, lang, pick }) =>
    button({ id, "aria-pressed": on ? "true" : "false", lang }, pick, text),
  );
  return h("div", { class: "segment", role: "group", "aria-label": label }, ...buttons);
}

/** The page's top line. */
export const topBar = (c: Controls): HTMLElement => h("div", { class: "bar" }, h("span", { class: "brand" }, "longfat"), controls(c));

function controls(c: Controls): HTMLElement {
  const language = (code: Lang, text: string) => ({
    id: `lang-${code}`,
    text,
    lang: code === "zh" ? "zh-Hans" : "en",
    on: lang() === code,
    pick: () => c.setLang(code),
  });
  const shade = (id: Theme) => ({
    id: `theme-${id}`,
    text: t(`ui.theme.${id}`),
    on: theme() === id,
    pick: () => c.setTheme(id),
  });
  return h(
    "div",
    { class: "controls" },
    segment(t("ui.language"), [language("en", "English"), language("zh", "中文")]),
    segment(t("ui.theme"), (["auto", "light", "dark"] as const).map(shade)),
    c.copyLink && linkButton(c.copyLink),
    button({ id: "print", class: "plain" }, () => print(), t("ui.print")),
  );
}

/** The button that copies the link; its text says whether that succeeded. */
function linkButton(copy: () => Promise<boolean>): HTMLElement {
  const said = h("span", { class: "hidden", role: "status" });
  const press = button({ id: "copy-link", class: "plain" }, () => void run(), t("ui.link.copy"));
  const run = async (): Promise<void> => {
    const words = t((await copy()) ? "ui.link.copied" : "ui.link.failed");
    press.textContent = said.textContent = words;
    setTimeout(() => { press.textContent = t("ui.link.copy"); said.textContent = ""; }, 2500);
  };
  return h("span", { class: "link-copy" }, press, said);
}

const distinct = <T>(items: T[]): T[] => [...new Set(items)];

const fact = (label: string, value: string | number) => h("div", {}, h("dt", {}, label), h("dd", {}, value));

/** Shows facts in one line; those without a value are left out. */
export const factLine = (list: [string, string | number | null][]): HTMLElement =>
  h("dl", { class: "facts" }, ...list.map(([label, value]) => (value === null ? null : fact(label, value))));

/** Shows how the scenario was run. */
function facts(state: Runs): HTMLElement {
  const { clocks, seeds, duration_s: [shortest, longest], variants, repeats } = state.page.facts;
  const span = shortest === longest ? seconds(longest) : `${seconds(shortest)}–${seconds(longest)}`;
  return factLine([
    [t("ui.clock"), clocks.map((c) => t(`ui.clock.${c}`)).join(", ")],
    [t("ui.duration"), `${span} s`],
    [t("ui.seed"), seeds.join(", ")],
    [t("ui.variants"), variants],
    [t("ui.repeats"), repeats > 1 ? repeats : null],
  ]);
}

/** The largest number of characters of a description. */
const MAX_DESCRIPTION = 400;

export function header(state: Runs, c: Controls): HTMLElement {
  const runs = state.page.results.map((r) => r.run);
  const names = distinct(runs.map((r) => r.scenario));
  const title = h("h1", {});
  names.slice(0, 4).forEach((scenario, i) => title.append(i ? " · " : "", name(scenario)));
  if (names.length > 4) title.append(` ${t("plot.more", { n: names.length - 4 })}`);
  const descriptions = distinct(runs.map((r) => r.description ?? "").filter(Boolean));
  const [text] = descriptions;
  // The tooltip has the whole description.
  const clipped = text && text.length > MAX_DESCRIPTION ? `${text.slice(0, MAX_DESCRIPTION)}…` : text;
  const description = descriptions.length === 1 ? h("p", { class: "about", dir: "auto", title: clipped === text ? null : text }, clipped) : null;
  return h(
    "header",
    { class: "top" },
    topBar(c),
    title,
    description,
    facts(state),
  );
}

/** A longer headline has a smaller font, so that the path stays visible. */
const LONG_HEADLINE = 150;

export function story(state: Runs): HTMLElement {
  const text = state.page.story[lang()] ?? state.page.story.en;
  return h(
    "section",
    { class: "story", "aria-label": t("ui.story") },
    h("p", { id: "story", class: text.length > LONG_HEADLINE ? "long" : null }, text),
    h("ul", { id: "facts" }, ...(state.page.story.facts[lang()] ?? []).map((line) => h("li", {}, line))),
    goals(state.page.story),
  );
}

const NOTES = [
  "goodput", "share", "each", "jain", "mos", "page", "response", "completion", "lost", "resent", "rto", "rtt", "delay", "jitter", "udplost", "drops", "queue",
];

export const footer = (state: Runs): HTMLElement =>
  foot(NOTES.map((note) => [t(`ui.col.${note}`), t(`ui.note.${note}`)]), state.page.longfat);

/** The page's foot: the meaning of columns, and the version of longfat. */
export function foot(notes: [string, string][], version: string): HTMLElement {
  const list = h("dl", {});
  for (const [column, meaning] of notes) list.append(h("dt", {}, column), h("dd", {}, meaning));
  return h(
    "footer",
    {},
    h("h2", {}, t("ui.notes")),
    list,
    h("p", { class: "made" }, t("ui.made", { version })),
  );
}
