// The state of the explorer: the same variants with new results each time.

import type { Data } from "../data";
import type { Page, Series } from "../model";
import { entriesOf, Runs, type Topic } from "../state";

export class LiveRuns extends Runs {
  private registered: [Topic, () => void][] | null = null;

  override on(topic: Topic, listener: () => void): void {
    super.on(topic, listener);
    this.registered?.push([topic, listener]);
  }

  /**
   * Returns a function that rebuilds a part of the page with `make`, after removing the listeners of its last
   * build.
   */
  part(make: () => void): () => void {
    let own: [Topic, () => void][] = [];
    return () => {
      own.forEach(([topic, listener]) => this.listeners.get(topic)?.delete(listener));
      own = this.registered = [];
      make();
      this.registered = null;
    };
  }

  /** Puts new results into the present entries. The caller must redraw the parts that show them. */
  renew(page: Page, data: (s: Series) => Data): void {
    entriesOf(page, data).forEach((entry, i) => Object.assign(this.entries[i] ?? {}, entry));
    this.page = page;
  }
}
