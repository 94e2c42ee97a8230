// Axes of drawings without a time axis.

import { nice } from "../plot/bins";

/** Returns about five round numbers from 0 to `max`. */
export function steps(max: number): number[] {
  const step = nice(max / 5);
  return Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, i) => i * step);
}
