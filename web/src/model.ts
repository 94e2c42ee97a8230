// The page's data, as crates/report writes it; `Run` as crates/result's summary has it.

export type Lang = "en" | "zh";

export interface Page {
  format: string;
  /** Version of longfat. */
  longfat: string;
  lang: Lang;
  /** The sentence on top. */
  story: Record<Lang, string> & { about: [result: number, variant: number][] };
  results: Result[];
}

export interface Result {
  label: string;
  run: Run;
  /** In the order of `run.variants`; null where nothing was sampled. */
  series: (Series | null)[];
}

export interface Run {
  schema: string;
  scenario: string;
  description?: string;
  seed: number;
  variants: Variant[];
}

export interface Estimate {
  mean: number;
  ci95: number;
}

export interface Variant {
  name: string;
  clock: "sim" | "kernel";
  duration_s: number;
  flows: Flow[];
  elements: Element[];
  total_goodput_mbps: number;
  jain_index: number;
  limit_mbps?: number;
  path?: Topology;
  one_at_a_time?: boolean;
  repeats?: { n: number; seeds: number[]; total_goodput_mbps: Estimate };
}

export interface Flow {
  name: string;
  from: string;
  to: string;
  cc: string;
  goodput_mbps: number;
  sent_packets: number;
  retransmitted_packets: number;
  rtt_ms: { min: number; mean: number; p50: number; p95: number; p99: number; max: number };
  timeouts: number;
  delivered_bytes: number;
  completed?: number;
  lost_packets?: number;
  states?: { state: string; share: number; entered: number }[];
  timeout_wait?: number;
  mss_bytes?: number;
  limit_mbps?: number;
  repeats?: { goodput_mbps: Estimate };
}

export interface Element {
  /** `link.direction.stage`, with `@flow` where flows were measured one at a time. */
  name: string;
  kind: string;
  passed_packets: number;
  dropped_packets: number;
  marked_packets: number;
  max_queue_packets: number;
  delay_ms: { mean: number; max: number };
}

export interface Topology {
  hosts: string[];
  links: Link[];
  relays?: { name: string; host: string }[];
}

export interface Link {
  name: string;
  between: [string, string];
  forward: Stage[];
  backward: Stage[];
}

export interface Stage {
  name: string;
  kind: string;
  settings?: Record<string, string>;
}

export interface Series {
  /** Id of the script element that holds the columns. */
  blob: string;
  /** Inflated. */
  bytes: number;
  flows: FlowSeries[];
  elements: ElementSeries[];
}

export interface FlowSeries {
  name: string;
  states: string[];
  columns: Record<string, Column>;
  resent: Record<string, Column>;
}

export interface ElementSeries {
  name: string;
  columns: Record<string, Column>;
}

/** Where a column is in the inflated blob; value = integer / per. */
export interface Column {
  at: number;
  rows: number;
  per: number;
  order: 1 | 2;
  nulls?: boolean;
}

export const isUdp = (f: Flow): boolean => f.cc === "udp";
