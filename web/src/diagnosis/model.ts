// The data of a capture's page, as crates/report/src/diagnosis writes it; docs/diagnosis-schema.md says what the keys mean.

import type { Data, Table } from "../data";
import type { Lang } from "../model";
import type { Subject } from "../state";

export interface DiagnosisPage {
  format: string;
  longfat: string;
  lang: Lang;
  capture: Capture;
  limiters: Limiter[];
  /** Names of packets' kinds, by number. */
  kinds: string[];
  /** All causes there are, by number. */
  causes: CauseLook[];
  told: Record<Lang, Told[]>;
  notes: Record<Lang, string[]>;
  /** Most bytes first. */
  flows: Flow[];
  /** Flows that are not here. */
  more: number;
}

export interface Capture {
  file: string;
  format: string;
  links: string[];
  start_s: number;
  duration_s: number;
  packets: number;
  connections: number;
}

/** A cause's name, words and colours. */
export interface CauseLook {
  name: string;
  label: Record<Lang, string>;
  light: string;
  dark: string;
}

export interface Told {
  text: string;
  facts: string[];
  flows: number[];
  cause?: string;
}

export interface Limiter {
  kind: "policer" | "shaper" | "bottleneck";
  rate_mbps: number;
}

export interface Flow {
  id: number;
  from: string;
  to: string;
  start_s: number;
  duration_s: number;
  vantage: { place: string };
  cause: string;
  confidence: number;
  causes: { cause: string; share: number; seconds: number }[];
  limiter?: number;
  cc: { name: string; confidence: number };
  measures: Measures;
  /** From `at[i]` on `cause[i]` held; the last moment is the end. */
  ribbon: { at: number[]; cause: number[] };
  packets: Packets | null;
}

export interface Measures {
  goodput_mbps: number;
  max_delivery_mbps: number;
  bytes: number;
  data_packets: number;
  mss_bytes: number;
  handshake_rtt_ms?: number;
  rtt_ms: { min: number; mean: number; p50: number; p95: number; p99: number; max: number };
  bdp_bytes: number;
  max_inflight_bytes: number;
  mean_inflight_bytes: number;
  max_window_bytes?: number;
  retransmitted_packets: number;
  fast: number;
  rto: number;
  tlp: number;
  spurious: number;
  timeouts: number;
  lost_up: number;
  lost_down: number;
  reordered: number;
  acks: number;
  dup_acks: number;
  zero_windows: number;
  idle_s: number;
  timeout_s: number;
  largest_burst_bytes: number;
  mean_burst_bytes: number;
}

/** A flow's packets: which columns there are says crates/report/src/diagnosis/encode.rs. */
export interface Packets {
  blob: string;
  sent: Table;
  acked: Table;
  again: Table;
  /** One of so many is here. */
  every: number;
  every_again: number;
  /** The first are not. */
  late: boolean;
}

/** A flow that can be shown. */
export interface FlowEntry extends Subject {
  flow: Flow;
  limiter: Limiter | null;
  data: Data<Packets> | null;
}

/** Lost on either side of the capture, of what was sent. */
export const lost = ({ measures: m }: Flow): number | null =>
  m.data_packets > 0 ? (m.lost_up + m.lost_down) / m.data_packets : null;

export const share = (flow: Flow, cause: string): number => flow.causes.find((c) => c.cause === cause)?.share ?? 0;
