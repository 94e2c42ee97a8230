// The data of a capture's page: types.ts is made of the JSON Schemas of what crates/engine/result and crates/answers/report write.

import type { Data } from "../data";
import type { Subject } from "../state";
import type { CaptureFlow, Limiter, Packets } from "../types";

export type { CapturePage as DiagnosisPage, CaptureFlow as Flow, CaptureUdpFlow as UdpFlow, Limiter, Packets, PageTold as Told } from "../types";

/** A flow that can be shown. */
export interface FlowEntry extends Subject {
  flow: CaptureFlow;
  limiter: Limiter | null;
  data: Data<Packets> | null;
}
