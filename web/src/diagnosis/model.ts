// Types of a capture's page. types.ts is generated from the JSON Schemas of crates/engine/result and
// crates/answers/report.

import type { Data } from "../data";
import type { Subject } from "../state";
import type { CaptureFlow, Limiter, Packets } from "../types";

export type { CapturePage as DiagnosisPage, CaptureFlow as Flow, CaptureUdpFlow as UdpFlow, Limiter, Packets, PageSummary as Summary } from "../types";

export interface FlowEntry extends Subject {
  flow: CaptureFlow;
  limiter: Limiter | null;
  data: Data<Packets> | null;
}
