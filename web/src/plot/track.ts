// The content of a plot, independent of how it is drawn.

import type { Crowd } from "./crowd";
import type { Band } from "../model";

/** Values at times; NaN if unknown. */
export interface Samples {
  time: Float64Array;
  value: Float64Array;
}

interface Common {
  /** Stable name, for tests and CSV: `flow-1 cwnd`. */
  id: string;
  /** Label in the page's language; curves with the same label share a line of the legend. */
  label: string;
  /** Distinguishes curves with the same label. */
  part?: string;
  color: string;
  width: number;
  dash?: number[];
  axis: "left" | "right";
  filled?: boolean;
  /** Whether the curve may raise its axis only a little above the other curves. */
  loose?: boolean;
  /** Shown value = value * factor. */
  factor: number;
  /** The band over repeats, if there is one. */
  over?: Band | undefined;
}

/** A sampled column. */
export interface Sampled extends Common {
  kind: "sampled";
  samples: Samples;
}

/** Growth of cumulative columns in time bins, in total or per second. */
export interface Binned extends Common {
  kind: "binned";
  parts: Samples[];
  /** The shown value: growth per second, growth, or the last known value in the bin. */
  as: "rate" | "count" | "level";
  /** End of the run, s. */
  end: number;
}

/** A quantile over many flows in time bins. */
export interface Quantile extends Common {
  kind: "quantile";
  crowd: Crowd;
  /** 0 to 1. */
  q: number;
  /** End of the run, s. */
  end: number;
}

/** Median over repeats with a band around it, in bins of a fixed width; NaN if unknown. */
export interface Banded extends Common {
  kind: "banded";
  /** Width of a bin, s; the first begins at 0. */
  bin: number;
  median: Float64Array;
  low: Float64Array;
  high: Float64Array;
  /** End of the run, s. */
  end: number;
}

/** Tracks with one value per bin. */
export type InBins = Binned | Quantile | Banded;
export type Track = Sampled | InBins;

export const inBins = (t: Track): t is InBins => t.kind !== "sampled";

/** The area between two quantiles. */
export interface Shade {
  /** Ids of the upper and the lower track. */
  between: [string, string];
  color: string;
}

/** A horizontal line. */
export interface Level {
  label: string;
  value: number;
  color: string;
}

/** A time span that is marked over the whole height of the plot. */
export interface TimeSpan {
  label: string;
  /** Seconds. */
  from: number;
  to: number;
  color: string;
}

/** Single events with a time and a value. */
export interface Marks {
  label: string;
  /** A tick; a cross for more important events. */
  shape: "tick" | "cross";
  color: string;
  /** Ascending. */
  time: Float64Array;
  value: Float64Array;
}

/** A row of states over time. */
export interface Ribbon {
  name: string;
  time: Float64Array;
  /** Index into `states`. */
  state: Float64Array;
  states: string[];
}

export interface CsvColumn {
  name: string;
  time: Float64Array;
  /** Text or number of a row; "" if unknown. */
  cell: (row: number) => string;
}

export interface Plot {
  tracks: Track[];
  levels: Level[];
  marks: Marks[];
  ribbons: Ribbon[];
  shades: Shade[];
  spans: TimeSpan[];
  /** Units of the axes. */
  left: string;
  right: string | null;
  csv: () => CsvColumn[];
  /** Says which repeats are drawn. */
  note?: string;
  /** Explains an unexpected look of the curves. */
  remark?: string;
  /** Whether the left axis begins at zero or at the smallest value in view. */
  floor: "zero" | "data";
}
