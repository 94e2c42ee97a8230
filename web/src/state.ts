// What the reader looks at: variants, range of time, cursor. Parts of the page listen to what concerns them.

import { Data } from "./data";
import type { Page, Result, Series, Variant } from "./model";

/** A variant of a result. */
export interface Entry {
  /** Position among all entries. */
  index: number;
  result: Result;
  variant: Variant;
  data: Data | null;
}

/** Seconds. */
export interface Range {
  from: number;
  to: number;
}

export type Side = "a" | "b";
type Topic = "pick" | "range" | "cursor" | "flows";

export class State {
  readonly entries: Entry[];
  a: Entry;
  b: Entry | null;
  /** Null shows all. */
  range: Range | null = null;
  /** Seconds; null hides it. */
  cursor: number | null = null;
  /** Names of the flows that the reader chose to see, by entry. */
  flows = new Map<Entry, Set<string>>();
  private listeners = new Map<Topic, Set<() => void>>();

  constructor(readonly page: Page) {
    const data = (s: Series | null | undefined) => (s ? new Data(s) : null);
    this.entries = page.results
      .flatMap((result) => result.run.variants.map((variant, i) => ({ result, variant, data: data(result.series[i]) })))
      .map((e, index) => ({ ...e, index }));
    // What the story is about, the subject first; else whatever comes first.
    const told = page.story.about.map(([r, v]) => this.entries.find((e) => e.result === page.results[r] && e.variant === e.result.run.variants[v]));
    const a = told[0] ?? this.entries[0];
    this.a = a;
    this.b = told[1] ?? this.entries.find((e) => e !== a) ?? null;
  }

  on(topic: Topic, listener: () => void): void {
    const set = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, set.add(listener));
  }

  /** Forgets all listeners: the page is about to be made anew. */
  silence(): void {
    this.listeners.clear();
  }

  private tell(topic: Topic): void {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  /** Shows `entry` on one side; where it is on the other, the two change places. */
  show(side: Side, entry: Entry): void {
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

  shown(): Entry[] {
    return this.b ? [this.a, this.b] : [this.a];
  }

  /** From nothing to the end of the longer of the shown variants. */
  whole(): Range {
    const end = Math.max(...this.shown().map((e) => e.variant.duration_s));
    return { from: 0, to: end > 0 ? end : 1 };
  }

  view(): Range {
    return this.range ?? this.whole();
  }

  /** Looks at `range`, kept within the whole and not narrower than a microsecond. */
  zoom(range: Range | null): void {
    const whole = this.whole();
    if (range) {
      const width = Math.min(Math.max(range.to - range.from, 1e-6), whole.to);
      const from = Math.min(Math.max(range.from, 0), whole.to - width);
      range = width >= whole.to * 0.9999 ? null : { from, to: from + width };
    }
    this.range = range;
    this.tell("range");
  }

  point(cursor: number | null): void {
    if (cursor === this.cursor) return;
    this.cursor = cursor;
    this.tell("cursor");
  }

  pickFlows(entry: Entry, names: Set<string>): void {
    this.flows.set(entry, names);
    this.tell("flows");
  }
}
