// Types of the engine's questions and answers: crates/faces/explore/src/read.rs, tunable.rs, request.rs,
// fit_capture.rs.

import type { Lang, Run } from "../model";

/** The reason why a question cannot be answered. */
export interface Refusal {
  message: string;
  /** The message in Chinese, if the engine has it. */
  zh?: string;
  /** The message with the quoted line and a caret. */
  text: string;
  /** Line of the file; 0 for an override. */
  line: number;
  key: string;
}

export type Measure = "rate" | "bytes" | "time" | "share" | "count" | "choice";

export interface TunablePart {
  key: string;
  value: number;
  /** The key's value with `{}` in place of the number. */
  template: string;
}

export interface Tunable {
  what: string;
  place: string;
  measure: Measure;
  value: number;
  choice: string;
  choices: string[];
  parts: TunablePart[];
  main: boolean;
  given: boolean;
}

/** A stage's TOML table. */
export type StageTable = Record<string, unknown> & { kind: string; name?: string };

export interface LinkTable {
  between: [string, string];
  forward?: StageTable[];
  backward?: StageTable[];
}

export interface Tables {
  hosts: Record<string, unknown>;
  links: Record<string, LinkTable>;
  relays: Record<string, Record<string, unknown>>;
  flows: Record<string, Record<string, unknown>>;
}

export interface ReadVariant {
  name: string;
  duration_s: number;
  seed: number;
  tunables: Tunable[];
  tables: Tables;
  hosts: string[];
}

export interface ReadReply {
  name: string;
  description: string;
  variants: string[];
  variant: ReadVariant;
}

export interface RunReply {
  duration_s: number;
  packets: number;
}

/** A scenario in a question to the engine. */
export interface ScenarioText {
  file: string;
  text: string;
  sets: string[];
  variant: string | null;
}

/** A pinned run, which the headline compares with. */
export interface PinnedRun {
  label: string;
  run: Run;
}

export interface FitFigures {
  goodput_mbps: number;
  rtt_min_ms: number;
  rtt_p50_ms: number;
  rtt_p95_ms: number;
  /** Share, 0 to 1. */
  retransmitted_share: number;
}

/** The fields of a fit that the page shows (docs/fit.schema.json). */
export interface FitData {
  limiter: string;
  confidence: number;
  policers?: { flows: string[]; rate_mbps: number; bucket_kb: number }[];
  compared: { captured: FitFigures; fitted: FitFigures };
  /** The figures that differ by more than in a good fit; absent where none does. */
  misfits?: string[];
  simulated: { runs: number; seconds: number };
  scenario: string;
}

/** A text of the engine in both languages. */
export type FitWords = Record<Lang, string>;

export interface PathNumber {
  name: string;
  label: FitWords;
  value: number;
  unit: string;
  /** The range that fits nearly as well; null if it was not searched. */
  range: [number, number] | null;
}

export interface CaptureFitReply {
  fit: FitData;
  numbers: PathNumber[];
  /** Facts that the capture cannot show. */
  not_shown: FitWords[];
}
