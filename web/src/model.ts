// Types of the page's data. types.ts is generated from the JSON Schemas of crates/engine/result and
// crates/answers/report.

import type { FlowResult as Flow } from "./types";

export type * from "./types";
// Short names, as a page has one type of each.
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
