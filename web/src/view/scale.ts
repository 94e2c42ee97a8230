// Axes of drawings that are not over time.

import { nice } from "../plot/bins";

/** Round numbers from 0 to `most`, about five. */
export function steps(most: number): number[] {
  const step = nice(most / 5);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}
