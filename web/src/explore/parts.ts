// Parts of the page that every result makes anew: at once where they are seen, the others when the page rests.

/** Milliseconds without a result after which what is out of sight follows. */
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
      if (part.seen) this.bring(part);
    }
  });

  /** Other parts from here on, which are made now. */
  begin(parts: [HTMLElement, () => void][]): void {
    clearTimeout(this.resting);
    this.sight.disconnect();
    this.all = parts.map(([root, make]) => ({ root, make, seen: true, stale: false }));
    for (const { root, make } of this.all) {
      make();
      this.sight.observe(root);
    }
  }

  /** There is another result. */
  renew(): void {
    for (const part of this.all) {
      part.stale = true;
      if (part.seen) this.bring(part);
    }
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.all.forEach((part) => this.bring(part)), REST_MS);
  }

  private bring(part: Part): void {
    if (!part.stale) return;
    part.stale = false;
    part.make();
  }
}
