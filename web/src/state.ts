// What the reader looks at: variants or flows, range of time, cursor. Parts of the page listen to what concerns them.

import { Data } from "./data";
import type { Repeats } from "./plot/over";
import type { Page, Result, Series, Variant, VariantFigures } from "./model";

/** What plots are of. */
export interface Subject {
  /** Position among all of them. */
  index: number;
  name: string;
  /** Of what it is a part: the scenario, the capture. */
  of: string;
  /** When it was, in seconds. */
  span: Range;
  data: Data<Blob> | null;
}

/** Columns by the id of the script element that holds them. */
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
  /** Null shows all. */
  range: Range | null = null;
  /** Seconds; null hides it. */
  cursor: number | null = null;
  /** Names of the flows that the reader chose to see, by entry. */
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

  /** Forgets all listeners: what they are of is about to be made anew. */
  silence(): void {
    this.listeners.clear();
  }

  protected tell(topic: Topic): void {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  /** Shows `entry` on one side; where it is on the other, the two change places. */
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
    this.tell("pick");
  }

  shown(): E[] {
    return this.b ? [this.a, this.b] : [this.a];
  }

  /** From the first's begin to the last's end of those shown. */
  whole(): Range {
    const spans = this.shown().map((e) => e.span);
    const from = Math.min(...spans.map((s) => s.from));
    const to = Math.max(...spans.map((s) => s.to));
    return { from, to: to > from ? to : from + 1 };
  }

  view(): Range {
    return this.range ?? this.whole();
  }

  /** Looks at `range`, kept within the whole and not narrower than a microsecond. */
  zoom(range: Range | null): void {
    const whole = this.whole();
    if (range) {
      const all = whole.to - whole.from;
      const width = Math.min(Math.max(range.to - range.from, 1e-6), all);
      const from = Math.min(Math.max(range.from, whole.from), whole.to - width);
      range = width >= all * 0.9999 ? null : { from, to: from + width };
    }
    this.range = range;
    this.tell("range");
  }

  point(cursor: number | null): void {
    if (cursor === this.cursor) return;
    this.cursor = cursor;
    this.tell("cursor");
  }

  /** What is drawn of a subject changed. */
  changed(): void {
    this.tell("flows");
  }
}

/** A column that the table is sorted by; greatest or first letter first unless `reversed`. */
export interface Sort {
  key: string;
  reversed: boolean;
}

/** What flows are put together by in the table; null: as each variant has it unasked. */
export type Group = "cc" | "direction" | "name" | "from" | "none" | null;

export function entriesOf(page: Page, data: (s: Series) => Data): Entry[] {
  const of = (s: Series | null | undefined) => (s ? data(s) : null);
  return page.results
    .flatMap((result) => result.run.variants.map((variant, i) => ({ result, variant, figures: result.figures[i], data: of(result.series[i]) })))
    .map((e, index) => ({ ...e, index, name: e.variant.name, of: e.result.run.scenario, span: { from: 0, to: e.variant.duration_s } }));
}

/** Variants of results. */
export class Runs extends State<Entry> {
  /** Names of the flows that the reader chose to see, by entry. */
  readonly flows = new Map<Entry, Set<string>>();
  /** Null leaves the results' order. */
  sort: Sort | null = null;
  group: Group = null;
  /** Which repeats plots show. */
  repeats: Repeats = "all";

  constructor(
    public page: Page,
    /** Where the columns of a variant's series are. */
    data: (s: Series) => Data = (s) => new Data(s),
  ) {
    const entries = entriesOf(page, data);
    // What the story is about, the subject first; else whatever comes first.
    const told = page.story.about.map(([r, v]) => entries.find((e) => e.result === page.results[r] && e.variant === e.result.run.variants[v]));
    const a = told[0] ?? entries[0];
    super(entries, a, told[1] ?? entries.find((e) => e !== a) ?? null);
  }

  /** Sorts by a column; by the one it is sorted by, the other way round. */
  sortBy(key: string): void {
    this.sort = { key, reversed: this.sort?.key === key && !this.sort.reversed };
    this.tell("table");
  }

  groupBy(group: Group): void {
    this.group = group;
    this.tell("table");
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
