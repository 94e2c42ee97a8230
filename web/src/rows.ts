// What the table says of a variant; the same sums as crates/report/src/summary.rs makes.

import { isUdp, type Element, type Estimate, type Flow, type Variant } from "./model";

export interface Summary {
  /** Mbit/s; null where each flow was measured alone, whose sum says nothing. */
  goodput: number | null;
  interval: Estimate | null;
  /** Of the limit, 0 to 1. */
  share: number | null;
  /** The flows' goodputs, least and most; null for a single one. */
  each: [number, number] | null;
  jain: number | null;
  /** Share of data packets that the path dropped, where every flow knows it. */
  lost: number | null;
  resent: number;
  timeouts: number;
  p50: number | null;
  p95: number | null;
  drops: number | null;
  queue: number | null;
  cc: string;
}

/** The flows that comparisons are about: TCP, or all where there is none. */
export function compared(flows: Flow[]): Flow[] {
  return flows.every(isUdp) ? flows : flows.filter((f) => !isUdp(f));
}

export const sum = <T>(items: T[], of: (item: T) => number): number => items.reduce((s, x) => s + of(x), 0);

function lost(flows: Flow[]): number | null {
  if (flows.some((f) => f.lost_packets === undefined)) return null;
  const sent = sum(flows, (f) => f.sent_packets);
  return sent > 0 ? sum(flows, (f) => f.lost_packets ?? 0) / sent : null;
}

/** The flows' quantiles averaged, each flow weighing as many packets as it sent. */
function rtt(flows: Flow[], quantile: (f: Flow) => number): number | null {
  const known = compared(flows).filter((f) => f.rtt_ms.max > 0);
  const weight = sum(known, (f) => f.sent_packets);
  return weight > 0 ? sum(known, (f) => f.sent_packets * quantile(f)) / weight : null;
}

function shareOf(goodput: number | null, limit: number | undefined): number | null {
  return goodput !== null && limit !== undefined && limit > 0 ? goodput / limit : null;
}

const distinct = (names: string[]): string => [...new Set(names)].join(", ");

function quantities(flows: Flow[], elements: Element[]) {
  return {
    lost: lost(flows),
    resent: sum(flows, (f) => f.retransmitted_packets),
    timeouts: sum(flows, (f) => f.timeouts),
    p50: rtt(flows, (f) => f.rtt_ms.p50),
    p95: rtt(flows, (f) => f.rtt_ms.p95),
    drops: elements.length ? sum(elements, (e) => e.dropped_packets) : null,
    queue: elements.length ? Math.max(...elements.map((e) => e.max_queue_packets)) : null,
    cc: distinct(flows.map((f) => f.cc)),
  };
}

export function summary(v: Variant): Summary {
  const goodputs = compared(v.flows).map((f) => f.goodput_mbps);
  const goodput = v.one_at_a_time && v.flows.length > 1 ? null : v.total_goodput_mbps;
  const several = goodputs.length > 1;
  return {
    goodput,
    interval: goodput === null ? null : (v.repeats?.total_goodput_mbps ?? null),
    share: shareOf(goodput, v.limit_mbps),
    each: several ? [Math.min(...goodputs), Math.max(...goodputs)] : null,
    jain: several && !v.one_at_a_time ? v.jain_index : null,
    ...quantities(v.flows, v.elements),
  };
}

/** One flow's; elements only where it was measured alone. */
export function flowSummary(v: Variant, flow: Flow): Summary {
  const own = v.one_at_a_time ? v.elements.filter((e) => e.name.endsWith(`@${flow.name}`)) : [];
  return {
    goodput: flow.goodput_mbps,
    interval: flow.repeats?.goodput_mbps ?? null,
    share: shareOf(flow.goodput_mbps, flow.limit_mbps ?? v.limit_mbps),
    each: null,
    jain: null,
    ...quantities([flow], own),
  };
}
