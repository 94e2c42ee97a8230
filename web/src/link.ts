// The view in the address, behind the #: variants, time, plot, flows, groups, order and language. Whoever opens the same page
// with it sees the same.

import type { Lang } from "./model";
import type { Entry, Group, Runs } from "./state";

const GROUPS = ["cc", "direction", "name", "from", "none"];

/** What a variant is called in an address: its name where no other has it, else its place. */
function keyOf(entries: Entry[], entry: Entry): string {
  const alike = entries.filter((e) => e.name === entry.name).length > 1;
  return alike || /^\d+$/.test(entry.name) || entry.name.length > 80 ? String(entry.index) : entry.name;
}

const entryOf = (entries: Entry[], key: string | null): Entry | undefined =>
  key === null ? undefined : (entries.find((e) => keyOf(entries, e) === key));

/** Microseconds are enough, and short. */
const moment = (s: number): string => String(Number(s.toFixed(6)));

/** The view as it stands; `plot` is the kind that is being looked at. */
export function written(state: Runs, lang: Lang, plot: string | null): string {
  const of = new URLSearchParams();
  of.set("a", keyOf(state.entries, state.a));
  of.set("b", state.b ? keyOf(state.entries, state.b) : "");
  if (state.range) of.set("t", `${moment(state.range.from)}-${moment(state.range.to)}`);
  if (state.sort) of.set("sort", (state.sort.reversed ? "-" : "") + state.sort.key);
  if (state.group) of.set("group", state.group);
  if (state.repeats === "first") of.set("rep", "first");
  state.shown().forEach((entry, i) => {
    const flows = state.flows.get(entry);
    if (!flows) return;
    const places = entry.variant.flows.flatMap((f, place) => (flows.has(f.name) ? [place] : []));
    of.set(i ? "fb" : "fa", places.join("."));
  });
  if (plot) of.set("plot", plot);
  of.set("lang", lang);
  return of.toString();
}

export interface Linked {
  lang: Lang | null;
  /** Kind of the plot to look at. */
  plot: string | null;
}

/** Sets the state as `hash` says; what it cannot have is left as it was. */
export function read(state: Runs, hash: string): Linked {
  const of = new URLSearchParams(hash.replace(/^#/, ""));
  const a = entryOf(state.entries, of.get("a"));
  if (a) {
    const b = entryOf(state.entries, of.get("b"));
    [state.a, state.b] = [a, of.has("b") ? (b && b !== a ? b : null) : state.b === a ? null : state.b];
  }
  const range = /^([\d.e+-]+?)-([\d.e+]+)$/.exec(of.get("t") ?? "");
  const [from, to] = [Number(range?.[1]), Number(range?.[2])];
  if (range && from < to) state.zoom({ from, to });
  const sort = /^(-?)(\w{1,20})$/.exec(of.get("sort") ?? "");
  if (sort) state.sort = { key: sort[2], reversed: sort[1] === "-" };
  const group = of.get("group");
  if (group && GROUPS.includes(group)) state.group = group as Group;
  if (of.get("rep") === "first") state.repeats = "first";
  state.shown().forEach((entry, i) => {
    const places = of.get(i ? "fb" : "fa");
    if (places === null) return;
    const names = places.split(".").flatMap((place) => entry.variant.flows[Number(place)]?.name ?? []);
    if (places !== "") state.flows.set(entry, new Set(names));
  });
  const lang = of.get("lang");
  return { lang: lang === "en" || lang === "zh" ? lang : null, plot: of.get("plot") };
}

/** Puts the view into the address, without a step in the browser's history. */
export function write(text: string): void {
  try {
    history.replaceState(null, "", `#${text}`);
  } catch {
    // Some browsers refuse that to a page from a file; then the button's link has it all the same.
  }
}

/** Copies to the clipboard; a browser that refuses its own way may grant the old one. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
