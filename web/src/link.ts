// The view in the address, after the #: variants, time range, plot, flows, groups, order and language.
// Opening the same page with it shows the same view.

import type { Lang } from "./model";
import type { Entry, Group, Runs } from "./state";

const GROUPS = ["cc", "direction", "name", "from", "none"];

/** Returns a variant's key in an address: its name if that is unique, else its index. */
function keyOf(entries: Entry[], entry: Entry): string {
  const alike = entries.filter((e) => e.name === entry.name).length > 1;
  return alike || /^\d+$/.test(entry.name) || entry.name.length > 80 ? String(entry.index) : entry.name;
}

const entryOf = (entries: Entry[], key: string | null): Entry | undefined =>
  key === null ? undefined : (entries.find((e) => keyOf(entries, e) === key));

/** Formats a time with microsecond precision. */
const moment = (s: number): string => String(Number(s.toFixed(6)));

/** Encodes the present view; `plot` is the kind of the plot in the window. */
export function written(state: Runs, lang: Lang, plot: string | null): string {
  const params = new URLSearchParams();
  params.set("a", keyOf(state.entries, state.a));
  params.set("b", state.b ? keyOf(state.entries, state.b) : "");
  if (state.range) params.set("t", `${moment(state.range.from)}-${moment(state.range.to)}`);
  if (state.sort) params.set("sort", (state.sort.reversed ? "-" : "") + state.sort.key);
  if (state.group) params.set("group", state.group);
  if (state.repeats === "first") params.set("rep", "first");
  state.shown().forEach((entry, i) => {
    const flows = state.flows.get(entry);
    if (!flows) return;
    const places = entry.variant.flows.flatMap((f, place) => (flows.has(f.name) ? [place] : []));
    params.set(i ? "fb" : "fa", places.join("."));
  });
  if (plot) params.set("plot", plot);
  params.set("lang", lang);
  return params.toString();
}

export interface Linked {
  lang: Lang | null;
  /** Kind of the plot to scroll to. */
  plot: string | null;
}

/** Sets the state from `hash`; invalid values are ignored. */
export function read(state: Runs, hash: string): Linked {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const a = entryOf(state.entries, params.get("a"));
  if (a) {
    const b = entryOf(state.entries, params.get("b"));
    [state.a, state.b] = [a, params.has("b") ? (b && b !== a ? b : null) : state.b === a ? null : state.b];
  }
  const range = /^([\d.e+-]+?)-([\d.e+]+)$/.exec(params.get("t") ?? "");
  const [from, to] = [Number(range?.[1]), Number(range?.[2])];
  if (range && from < to) state.zoom({ from, to });
  const sort = /^(-?)(\w{1,20})$/.exec(params.get("sort") ?? "");
  if (sort) state.sort = { key: sort[2], reversed: sort[1] === "-" };
  const group = params.get("group");
  if (group && GROUPS.includes(group)) state.group = group as Group;
  if (params.get("rep") === "first") state.repeats = "first";
  state.shown().forEach((entry, i) => {
    const places = params.get(i ? "fb" : "fa");
    if (places === null) return;
    const names = places.split(".").flatMap((place) => entry.variant.flows[Number(place)]?.name ?? []);
    if (places !== "") state.flows.set(entry, new Set(names));
  });
  const lang = params.get("lang");
  return { lang: lang === "en" || lang === "zh" ? lang : null, plot: params.get("plot") };
}

/** Puts the view into the address without an entry in the browser's history. */
export function write(text: string): void {
  try {
    history.replaceState(null, "", `#${text}`);
  } catch {
    // Some browsers refuse this to a page opened from a file; the button still copies the link.
  }
}

/** Copies to the clipboard; falls back to `execCommand` if the Clipboard API is refused. */
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
