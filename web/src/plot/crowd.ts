// Quantiles over many flows in time bins.

import { partsValue } from "./bins";
import type { Binned, Samples } from "./track";

/** Returns the `q`-quantile of ascending values with linear interpolation; NaN without values. */
export function quantile(ascending: ArrayLike<number>, q: number): number {
  const last = ascending.length - 1;
  if (last < 0) return NaN;
  const place = q * last;
  const below = Math.floor(place);
  return ascending[below] + (ascending[Math.min(below + 1, last)] - ascending[below]) * (place - below);
}

export class Crowd {
  private width = 0;
  private sorted = new Map<number, Float64Array>();

  /** `members`: samples of each flow; `end`: end of the run in seconds. */
  constructor(
    readonly members: Samples[],
    readonly as: Binned["as"],
    readonly factor: number,
    readonly end: number,
  ) {}

  /** Returns the flows' known values in bin `k`, ascending. */
  private values(width: number, k: number): Float64Array {
    if (width !== this.width) {
      this.sorted.clear();
      this.width = width;
    }
    let list = this.sorted.get(k);
    if (!list) {
      list = Float64Array.from(this.members, (m) => partsValue([m], this, width, k)).filter((v) => !Number.isNaN(v)).sort();
      this.sorted.set(k, list);
    }
    return list;
  }

  at(q: number, width: number, k: number): number {
    return quantile(this.values(width, k), q);
  }
}
