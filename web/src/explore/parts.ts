// Parts of the page that are rebuilt for every result: visible ones at once, others when no more results
// come.

/** Time without a result after which invisible parts are rebuilt, ms. */
export const REST_MS = 100;

interface Part {
  root: HTMLElement;
  make: () => void;
  seen: boolean;
  stale: boolean;
}

export class Parts {
  private all: Part[] = [];
  private resting = 0;
  private sight = new IntersectionObserver((entries) => {
    for (const e of entries) {
      const part = this.all.find((p) => p.root === e.target);
      if (!part) continue;
      part.seen = e.isIntersecting;
      if (part.seen) this.refresh(part);
    }
  });

  /** Replaces the parts, and builds the new ones. */
  begin(parts: [HTMLElement, () => void][]): void {
    clearTimeout(this.resting);
    this.sight.disconnect();
    this.all = parts.map(([root, make]) => ({ root, make, seen: true, stale: false }));
    for (const { root, make } of this.all) {
      make();
      this.sight.observe(root);
    }
  }

  /** Rebuilds the parts for a new result. */
  renew(): void {
    for (const part of this.all) {
      part.stale = true;
      if (part.seen) this.refresh(part);
    }
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.all.forEach((part) => this.refresh(part)), REST_MS);
  }

  private refresh(part: Part): void {
    if (!part.stale) return;
    part.stale = false;
    part.make();
  }
}
