// What a plot shows, apart from how it is drawn.

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
  /** A rate (per second) of something that flows, or a number of events. */
  as: "rate" | "count";
  /** Seconds: when the run ended. */
  end: number;
}

export type Track = Sampled | Binned;

/** A horizontal line. */
export interface Level {
  label: string;
  value: number;
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
  /** Units of the axes. */
  left: string;
  right: string | null;
  csv: () => CsvColumn[];
  /** Where the left axis begins: at nothing, or at the least in view. */
  floor: "zero" | "data";
}
