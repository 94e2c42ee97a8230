// The runs that the page shows: the same variants again and again, each time with other results.

import type { Data } from "../data";
import type { Page, Series } from "../model";
import { entriesOf, Runs, type Topic } from "../state";

export class LiveRuns extends Runs {
  private registered: [Topic, () => void][] | null = null;

  override on(topic: Topic, listener: () => void): void {
    super.on(topic, listener);
    this.registered?.push([topic, listener]);
  }

  /** A part of the page that is made again and again: what is given makes it, and the last one listens no longer. */
  part(make: () => void): () => void {
    let own: [Topic, () => void][] = [];
    return () => {
      own.forEach(([topic, listener]) => this.listeners.get(topic)?.delete(listener));
      own = this.registered = [];
      make();
      this.registered = null;
    };
  }

  /** The same variants run anew: each entry stays and holds what is new. Whoever draws must be told by the caller. */
  renew(page: Page, data: (s: Series) => Data): void {
    entriesOf(page, data).forEach((entry, i) => Object.assign(this.entries[i] ?? {}, entry));
    this.page = page;
  }
}
