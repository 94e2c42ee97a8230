// The state of the view: variants or flows, time range, cursor. Parts of the page listen to the topics that
// concern them.

import { Data } from "./data";
import type { Repeats } from "./plot/over";
import type { Page, Result, Series, Variant, VariantFigures } from "./model";

/** A variant or flow that plots can show. */
export interface Subject {
  /** Position among all subjects. */
  index: number;
  name: string;
  /** Name of the scenario or capture that it belongs to. */
  of: string;
  /** Its time, in seconds. */
  span: Range;
  data: Data<Blob> | null;
}

/** A reference to columns by the id of the script element that contains them. */
export interface Blob {
  blob: string;
}

/** A variant of a result. */
export interface Entry extends Subject {
  result: Result;
  variant: Variant;
  figures: VariantFigures;
  data: Data | null;
}

/** Seconds. */
export interface Range {
  from: number;
  to: number;
}

export type Side = "a" | "b";
export type Topic = "pick" | "range" | "cursor" | "flows" | "table";

export class State<E extends Subject = Subject> {
  /** Null shows the whole time. */
  range: Range | null = null;
  /** Seconds; null hides it. */
  cursor: number | null = null;
  protected listeners = new Map<Topic, Set<() => void>>();

  constructor(
    readonly entries: E[],
    public a: E,
    public b: E | null,
  ) {}

  on(topic: Topic, listener: () => void): void {
    const set = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, set.add(listener));
  }

  /** Removes all listeners, before the parts of the page are rebuilt. */
  silence(): void {
    this.listeners.clear();
  }

  protected notify(topic: Topic): void {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  /** Shows `entry` on one side; if it is on the other side, the sides are swapped. */
  show(side: Side, entry: E): void {
    if (side === "a") {
      if (entry === this.b) this.b = this.a;
      this.a = entry;
    } else if (entry === this.a) {
      if (!this.b) return;
      [this.a, this.b] = [this.b, this.a];
    } else {
      this.b = entry;
    }
    this.picked();
  }

  /** Shows A alone. */
  single(): void {
    this.b = null;
    this.picked();
  }

  private picked(): void {
    this.range = null;
    this.cursor = null;
    this.notify("pick");
  }

  shown(): E[] {
    return this.b ? [this.a, this.b] : [this.a];
  }

  /** Returns the time that covers all shown subjects. */
  whole(): Range {
    const spans = this.shown().map((e) => e.span);
    const from = Math.min(...spans.map((s) => s.from));
    const to = Math.max(...spans.map((s) => s.to));
    return { from, to: to > from ? to : from + 1 };
  }

  view(): Range {
    return this.range ?? this.whole();
  }

  /** Zooms to `range`, limited to the whole time and to at least a microsecond. */
  zoom(range: Range | null): void {
    const whole = this.whole();
    if (range) {
      const all = whole.to - whole.from;
      const width = Math.min(Math.max(range.to - range.from, 1e-6), all);
      const from = Math.min(Math.max(range.from, whole.from), whole.to - width);
      range = width >= all * 0.9999 ? null : { from, to: from + width };
    }
    this.range = range;
    this.notify("range");
  }

  point(cursor: number | null): void {
    if (cursor === this.cursor) return;
    this.cursor = cursor;
    this.notify("cursor");
  }

  /** Notifies the listeners that the drawn parts of a subject have changed. */
  changed(): void {
    this.notify("flows");
  }
}

/** The column that the table is sorted by; largest number or first letter first unless `reversed`. */
export interface Sort {
  key: string;
  reversed: boolean;
}

/** The property by which the table aggregates flows; null: each variant's default. */
export type Group = "cc" | "direction" | "name" | "from" | "none" | null;

export function entriesOf(page: Page, data: (s: Series) => Data): Entry[] {
  const dataOf = (s: Series | null | undefined) => (s ? data(s) : null);
  return page.results
    .flatMap((result) => result.run.variants.map((variant, i) => ({ result, variant, figures: result.figures[i], data: dataOf(result.series[i]) })))
    .map((e, index) => ({ ...e, index, name: e.variant.name, of: e.result.run.scenario, span: { from: 0, to: e.variant.duration_s } }));
}

/** The state of a page of results. */
export class Runs extends State<Entry> {
  /** Names of the flows that the reader chose to see, by entry. */
  readonly flows = new Map<Entry, Set<string>>();
  /** Null keeps the results' order. */
  sort: Sort | null = null;
  group: Group = null;
  /** Which repeats plots show. */
  repeats: Repeats = "all";

  constructor(
    public page: Page,
    /** Returns the columns of a variant's series. */
    data: (s: Series) => Data = (s) => new Data(s),
  ) {
    const entries = entriesOf(page, data);
    // Show the variants of the headline, else the first ones.
    const about = page.story.about.map(([r, v]) => entries.find((e) => e.result === page.results[r] && e.variant === e.result.run.variants[v]));
    const a = about[0] ?? entries[0];
    super(entries, a, about[1] ?? entries.find((e) => e !== a) ?? null);
  }

  /** Sorts by a column; sorting by the same column again reverses the order. */
  sortBy(key: string): void {
    this.sort = { key, reversed: this.sort?.key === key && !this.sort.reversed };
    this.notify("table");
  }

  groupBy(group: Group): void {
    this.group = group;
    this.notify("table");
    this.changed();
  }

  showRepeats(repeats: Repeats): void {
    this.repeats = repeats;
    this.changed();
  }

  pickFlows(entry: Entry, names: Set<string>): void {
    this.flows.set(entry, names);
    this.changed();
  }
}
