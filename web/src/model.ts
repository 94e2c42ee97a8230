// The page's data: types.ts is made of the JSON Schemas of what crates/result and crates/report write.

import type { Flow } from "./types";

export type * from "./types";

export const isUdp = (f: Flow): boolean => f.cc === "udp";
