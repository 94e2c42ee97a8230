// Plots that are redrawn when their subjects get new data.

import { Plots } from "../plot/section";
import type { Entry } from "../state";
import { REST_MS } from "./parts";

export class LivePlots extends Plots<Entry> {
  private resting = 0;

  /**
   * Redraws the plots with the subjects' new data; rebuilds them if other plots must be shown. Visible plots
   * are drawn at once instead of in the next frame.
   */
  async renew(): Promise<void> {
    const { generation, gallery, groups } = this;
    const shown = this.state.shown();
    const ready = await Promise.all(shown.map((entry) => this.load(entry)));
    if (generation !== this.generation) return;
    const drawable = (kind: string): Entry[] => shown.filter((entry, i) => gallery.present(kind, entry, ready[i]));
    const kinds = gallery.kinds.filter((kind) => drawable(kind).length > 0);
    const areSame = kinds.join() === groups.map((g) => g.kind).join() && groups.every((g) => same(g.panels.map((p) => p.entry as Entry), drawable(g.kind)));
    if (areSame) {
      for (const g of groups) {
        g.panels.forEach((p) => p.renew());
        g.stale = true;
      }
      this.showRange();
      this.drawSome();
    } else {
      await this.rebuild();
      if (this.generation !== generation + 1) return;
    }
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.groups.forEach((g) => g.panels.forEach((p) => p.words())), REST_MS);
  }

  override destroy(): void {
    clearTimeout(this.resting);
    super.destroy();
  }
}

const same = <T>(a: T[], b: T[]): boolean => a.length === b.length && a.every((x, i) => x === b[i]);
