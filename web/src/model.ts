// The page's data: types.ts is made of the JSON Schemas of what crates/engine/result and crates/answers/report write.

import type { FlowResult as Flow } from "./types";

export type * from "./types";
// In a page there is one of each, so the short names do.
export type {
  EncodedTable as Table,
  FlowResult as Flow,
  PageColumn as Column,
  PathLink as Link,
  PathStage as Stage,
  SeriesDirectory as Series,
  VariantResult as Variant,
} from "./types";

export const isUdp = (f: Flow): boolean => f.cc === "udp";
