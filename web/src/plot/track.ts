// What a plot shows, apart from how it is drawn.

import type { Crowd } from "./crowd";
import type { Band } from "../model";

/** Values at moments; NaN where none is known. */
export interface Samples {
  time: Float64Array;
  value: Float64Array;
}

interface Common {
  /** Stable name, for tests and CSV: `flow-1 cwnd`. */
  id: string;
  /** In the page's language; curves of one label share a line of the legend. */
  label: string;
  /** What of it, where several curves share the label. */
  part?: string;
  color: string;
  width: number;
  dash?: number[];
  axis: "left" | "right";
  filled?: boolean;
  /** It does not stretch its axis far beyond the others. */
  loose?: boolean;
  /** Shown value = value * factor. */
  factor: number;
  /** What repeats have in common of it, where that is known. */
  over?: Band | undefined;
}

/** A column as it was sampled. */
export interface Sampled extends Common {
  kind: "sampled";
  samples: Samples;
}

/** Growth of cumulative columns in bins of time: how much, or how much a second. */
export interface Binned extends Common {
  kind: "binned";
  parts: Samples[];
  /** A rate (per second) of something that flows, a number of events, or what was last known in the bin. */
  as: "rate" | "count" | "level";
  /** Seconds: when the run ended. */
  end: number;
}

/** A quantile over many flows, of each bin of time. */
export interface Quantile extends Common {
  kind: "quantile";
  crowd: Crowd;
  /** 0 to 1. */
  q: number;
  /** Seconds: when the run ended. */
  end: number;
}

/** Median over repeats with a band around it, in bins of a grid of its own; NaN where nothing is known. */
export interface Banded extends Common {
  kind: "banded";
  /** Seconds of a bin; the first begins at 0. */
  bin: number;
  median: Float64Array;
  low: Float64Array;
  high: Float64Array;
  /** Seconds: when the run ended. */
  end: number;
}

/** Tracks that have one value a bin. */
export type InBins = Binned | Quantile | Banded;
export type Track = Sampled | InBins;

export const inBins = (t: Track): t is InBins => t.kind !== "sampled";

/** The area between two quantiles. */
export interface Shade {
  /** Ids of its upper and its lower track. */
  between: [string, string];
  color: string;
}

/** A horizontal line. */
export interface Level {
  label: string;
  value: number;
  color: string;
}

/** A time in which something was different: from its begin to its end over the whole height. */
export interface TimeSpan {
  label: string;
  /** Seconds. */
  from: number;
  to: number;
  color: string;
}

/** Single events in the plane. */
export interface Marks {
  label: string;
  /** A tick, or a cross for what weighs more. */
  shape: "tick" | "cross";
  color: string;
  /** Ascending. */
  time: Float64Array;
  value: Float64Array;
}

/** States over time, a row. */
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
  /** Text or number of a row; "" where nothing is known. */
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
  /** What of several repeats is drawn. */
  note?: string;
  /** Why curves look as they do, where a reader may wonder. */
  remark?: string;
  /** Where the left axis begins: at nothing, or at the least in view. */
  floor: "zero" | "data";
}
