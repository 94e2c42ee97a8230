// An independent computation of the figures that crates/answers/report/src/figures.rs gives the page, for
// made-up variants.

const sum = (list, of) => list.reduce((s, x) => s + of(x), 0);

/** Removes undefined values. */
const known = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

function one(v, flows, total, limit, elements) {
  const tcp = flows.filter((f) => f.cc !== "udp" && f.rtt_ms.max > 0);
  const sent = sum(flows, (f) => f.sent_packets);
  const rtt = (quantile) => (tcp.length ? sum(tcp, (f) => f.sent_packets * f.rtt_ms[quantile]) / sum(tcp, (f) => f.sent_packets) : undefined);
  const rates = flows.map((f) => f.goodput_mbps);
  const round = Math.min(...tcp.map((f) => f.rtt_ms.min));
  const several = flows.length > 1;
  return known({
    goodput_mbps: total, share: limit && total / limit, flows: flows.length,
    each_mbps: several ? [Math.min(...rates), Math.max(...rates)] : undefined, jain_index: several ? v.jain_index : undefined,
    lost: flows.every((f) => f.lost_packets !== undefined) ? sum(flows, (f) => f.lost_packets) / sent : undefined,
    resent: sum(flows, (f) => f.retransmitted_packets), timeouts: sum(flows, (f) => f.timeouts),
    rtt_p50_ms: rtt("p50"), rtt_p95_ms: rtt("p95"), rtt_mean_ms: rtt("mean"),
    dropped: elements.length ? sum(elements, (e) => e.dropped_packets) : undefined,
    max_queue: elements.length ? Math.max(...elements.map((e) => e.max_queue_packets)) : undefined,
    common_limit_mbps: limit, bdp_packets: limit && tcp.length ? (limit * 1e3 * round) / 8 / (tcp[0].mss_bytes + 40) : undefined,
    ...optionalFigures(flows), unfinished: flows.filter((f) => f.unfinished).length,
    cc: [...new Set(flows.map((f) => f.cc))].join(", "),
  });
}

/** Computes a quantile (R's type 7). */
export function quantile(values, q) {
  const all = [...values].sort((a, b) => a - b);
  if (!all.length) return undefined;
  const place = q * (all.length - 1);
  const [low, high] = [all[Math.floor(place)], all[Math.ceil(place)]];
  return low + (high - low) * (place - Math.floor(place));
}

/** Figures of datagrams and completion times, for flows that have them. */
function optionalFigures(flows) {
  const done = flows.flatMap((f) => f.completion_s ?? []);
  const [first] = flows.flatMap((f) => f.real_time ?? []);
  return {
    completion_p50_s: quantile(done, 0.5), completion_p95_s: quantile(done, 0.95),
    delay_p50_ms: first?.delay_ms.p50, delay_p95_ms: first?.delay_ms.p95, jitter_ms: first?.jitter_ms, mos: first?.mos,
  };
}

/** Groups flows by a key; returns no group if there would be only one. */
function grouped(v, keyOf) {
  const names = [...new Set(v.flows.map(keyOf))];
  if (names.length < 2 || names.length === v.flows.length) return [];
  return names.map((name) => {
    const members = v.flows.flatMap((f, i) => (keyOf(f) === name ? [i] : []));
    const flows = members.map((i) => v.flows[i]);
    const rates = flows.map((f) => f.goodput_mbps);
    const total = sum(rates, (x) => x);
    const all = one({ jain_index: total ** 2 / (rates.length * sum(rates, (x) => x * x)) }, flows, total, v.limit_mbps, []);
    return { name, members, figures: all };
  });
}

/** Returns the figures of a variant whose elements have distinct names. */
export function figures(v) {
  const most = Math.max(...v.elements.map((e) => e.dropped_packets));
  const stage = ({ dropped_packets: dropped, passed_packets, max_queue_packets: max_queue }) => ({
    dropped, max_queue, drop_share: dropped > 0 ? dropped / (dropped + passed_packets) : 0, worst: most > 0 && dropped === most,
  });
  const groups = { cc: grouped(v, (f) => f.cc), direction: grouped(v, (f) => `${f.from} → ${f.to}`) };
  const five = (values) => values && [0, 0.25, 0.5, 0.75, 1].map((q) => quantile(values, q));
  const boxes = { goodput_box: five(v.repeats?.values.total_goodput_mbps), rtt_box: five(v.repeats?.values.rtt_mean_ms) };
  return {
    all: known({ ...one(v, v.flows, v.total_goodput_mbps, v.limit_mbps, v.elements), ...boxes }),
    groups: Object.fromEntries(Object.entries(groups).filter(([, list]) => list.length)),
    ...(v.flows.length > 8 && groups.cc.length ? { grouped: "cc" } : {}),
    flows: v.flows.map((f) => one(v, [f], f.goodput_mbps, f.limit_mbps ?? v.limit_mbps, [])),
    stages: Object.fromEntries(v.elements.map((e) => [e.name, stage(e)])),
  };
}

/** Returns how the variants of a page with one result were run. */
export const facts = (run) => ({
  clocks: [...new Set(run.variants.map((v) => v.clock))], seeds: [run.seed],
  duration_s: [Math.min(...run.variants.map((v) => v.duration_s)), Math.max(...run.variants.map((v) => v.duration_s))],
  variants: run.variants.length, repeats: 0,
});
