// Makes sample pages, e.g. a plausible run of four flows with policer and shaper, or a very large one.
//   node test/sample.mjs [policer|big|many|hostile|lone|crowd] FILE

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fill, series } from "./encode.mjs";
import { facts, figures } from "./figures.mjs";

const TEMPLATE = fileURLToPath(new URL("../../crates/answers/report/assets/page.html", import.meta.url));

/** A generator of pseudo-random numbers, the same each time. */
function random(seed) {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const MSS = 1460;

/**
 * A flow's window in steps of `dt`: it grows, halves when the path drops, and sometimes waits for a timeout.
 */
class Sender {
  constructor(name, rng) {
    Object.assign(this, { name, rng, cwnd: 10, ssthresh: Infinity, state: "slow start", until: 0, sent: 0, acked: 0, resends: 0, timeouts: 0, lost: 0 });
    this.states = [];
    this.table = Object.fromEntries(
      ["time_s", "delivered_bytes", "cwnd", "inflight", "ssthresh", "srtt_ms", "rtt_ms", "pacing_mbps", "retransmitted", "sent_bytes", "acked_bytes", "state"].map((c) => [c, []]),
    );
    this.resent = { time_s: [], byte: [], len: [] };
  }

  lose(now, hard) {
    this.resends += hard ? 3 : 1;
    this.lost += hard ? 3 : 1;
    for (let i = 0; i < (hard ? 3 : 1); i++) {
      this.resent.time_s.push(now + i * 1e-4);
      this.resent.byte.push(this.acked + i * MSS);
      this.resent.len.push(MSS);
    }
    if (hard) this.timeouts++;
    this.ssthresh = Math.max(2, this.cwnd / 2);
    this.cwnd = hard ? 1 : this.ssthresh;
    this.state = hard ? "loss" : "recovery";
    this.until = now + (hard ? 0.3 : 0.06);
  }

  step(now, dt, rtt, share) {
    if (now > this.until && this.state !== "slow start") this.state = this.cwnd < this.ssthresh ? "slow start" : "avoidance";
    if (this.state === "slow start" && this.cwnd >= this.ssthresh) this.state = "avoidance";
    const silent = this.state === "loss" && now < this.until;
    const rate = silent ? 0 : Math.min((this.cwnd * MSS) / rtt, share);
    this.acked += rate * dt;
    this.sent = Math.max(this.sent, this.acked + (silent ? 0 : this.cwnd * MSS * 0.9));
    if (!silent) this.cwnd += this.state === "slow start" ? (this.cwnd * dt) / rtt : dt / rtt;
    this.cwnd = Math.min(this.cwnd, 44);
    return rate;
  }

  sample(now, rtt, running) {
    const t = this.table;
    const inflight = this.state === "loss" ? 1 : Math.round(this.cwnd * (0.8 + 0.2 * this.rng()));
    if (!this.states.includes(this.state)) this.states.push(this.state);
    t.time_s.push(Math.round(now * 1e6) / 1e6);
    t.delivered_bytes.push(Math.round(this.acked));
    t.cwnd.push(Math.round(this.cwnd));
    t.inflight.push(inflight);
    t.ssthresh.push(Number.isFinite(this.ssthresh) ? Math.round(this.ssthresh) : NaN);
    t.rtt_ms.push(running ? Math.round(rtt * (0.95 + 0.1 * this.rng()) * 1e6) / 1e3 : NaN);
    t.srtt_ms.push(running ? Math.round(rtt * 1e6) / 1e3 : NaN);
    t.pacing_mbps.push(NaN);
    t.retransmitted.push(this.resends);
    t.sent_bytes.push(Math.round(this.sent));
    t.acked_bytes.push(Math.round(this.acked));
    t.state.push(this.states.indexOf(this.state));
  }
}

const quantile = (list, q) => list[Math.min(list.length - 1, Math.floor(q * list.length))];

function summarise(f, duration) {
  const rtts = f.table.rtt_ms.filter((x) => !Number.isNaN(x)).sort((a, b) => a - b);
  const shares = f.states.map((state, i) => ({
    state,
    share: f.table.state.filter((s) => s === i).length / f.table.state.length,
    entered: f.table.state.filter((s, k) => s === i && f.table.state[k - 1] !== i).length,
  }));
  return {
    name: f.name, from: "client", to: "server", cc: "compound",
    goodput_mbps: (f.acked * 8) / 1e6 / duration,
    sent_packets: Math.round(f.sent / MSS) + f.resends,
    retransmitted_packets: f.resends,
    rtt_ms: {
      min: rtts[0], mean: rtts.reduce((a, b) => a + b, 0) / rtts.length, p50: quantile(rtts, 0.5),
      p95: quantile(rtts, 0.95), p99: quantile(rtts, 0.99), max: rtts[rtts.length - 1],
    },
    timeouts: f.timeouts, delivered_bytes: Math.round(f.acked), lost_packets: f.lost,
    states: shares.sort((a, b) => b.share - a.share),
    timeout_wait: (f.timeouts * 0.2) / duration, mss_bytes: MSS, limit_mbps: 19.3,
  };
}

function topology(shaper) {
  const limiter = shaper
    ? { kind: "shaper", name: "limiter", settings: { rate: "20Mbit/s", burst: "10kB", excess_burst: "10kB", refill: "interval", "queue.kind": "fifo", "queue.packets": "200" } }
    : { kind: "policer", name: "limiter", settings: { rate: "20Mbit/s", burst: "625kB" } };
  return {
    hosts: ["client", "router", "server"],
    links: [
      { name: "lan", between: ["client", "router"], forward: [{ kind: "link", name: "link", settings: { rate: "1Gbit/s" } }], backward: [{ kind: "link", name: "link", settings: { rate: "1Gbit/s" } }] },
      {
        name: "wan", between: ["router", "server"],
        forward: [{ kind: "tunnel", name: "ethernet", settings: { overhead: "14B" } }, limiter, { kind: "tunnel-end", name: "end-of-frame" }, { kind: "delay", name: "delay", settings: { delay: "2.5ms" } }],
        backward: [{ kind: "delay", name: "delay", settings: { delay: "2.5ms" } }],
      },
    ],
  };
}

/** A crudely simulated variant: with `shaper` packets queue, else a bucket drops them. */
export function variant(name, { shaper = false, flows = 4, duration = 20, dt = 0.01, seed = 1, sub = 1 } = {}) {
  const rng = random(seed);
  const senders = Array.from({ length: flows }, (_, i) => new Sender(`tcp-${i + 1}`, rng));
  const limit = 19.3e6 / 8;
  let [tokens, queue, dropped] = [625e3, 0, 0];
  const limiter = { time_s: [], queue_packets: [], queue_bytes: [], tokens_bytes: [], dropped: [], marked: [] };
  const steps = Math.round(duration / dt);
  for (let i = 0; i <= steps; i++) {
    const now = i * dt;
    const rtt = 0.005 + (shaper ? (queue * MSS) / limit : 0);
    let rate = 0;
    const room = shaper || tokens <= 0 ? limit : limit + tokens / 2;
    for (const s of senders) rate += s.step(now, dt, rtt, room / flows);
    if (shaper) {
      const target = senders.reduce((n, s) => n + s.cwnd, 0) - (limit * 0.005) / MSS;
      queue = Math.max(0, Math.min(200, queue + (target - queue) * 0.3));
      tokens = queue > 0 ? 2e3 * rng() : 20e3;
    } else {
      tokens = Math.min(625e3, tokens + (limit - rate) * dt);
      if (tokens <= 3000) {
        for (const s of senders) {
          if (s.state !== "loss" && now > s.until && rng() < 0.35) {
            dropped += 3;
            s.lose(now, rng() < 0.4);
          }
        }
      }
    }
    if (i % sub) continue;
    for (const s of senders) s.sample(now, rtt, i > 0);
    limiter.time_s.push(Math.round(now * 1e6) / 1e6);
    limiter.queue_packets.push(Math.round(queue));
    limiter.queue_bytes.push(Math.round(queue) * 1500);
    limiter.tokens_bytes.push(Math.round(tokens * 10) / 10);
    limiter.dropped.push(dropped);
    limiter.marked.push(0);
  }
  const summaries = senders.map((s) => summarise(s, duration));
  const rates = summaries.map((f) => f.goodput_mbps);
  const total = rates.reduce((a, b) => a + b, 0);
  const element = (id, kind, more = {}) => ({
    name: id, kind, passed_packets: 40000, dropped_packets: 0, marked_packets: 0, max_queue_packets: 0, delay_ms: { mean: 0, max: 0 }, ...more,
  });
  return {
    variant: {
      name, clock: "sim", duration_s: duration, flows: summaries,
      elements: [
        element("lan.forward.link", "link", { max_queue_packets: 3 }), element("lan.backward.link", "link"),
        element("wan.forward.ethernet", "tunnel"),
        element("wan.forward.limiter", shaper ? "shaper" : "policer", { dropped_packets: dropped, max_queue_packets: Math.max(...limiter.queue_packets.slice(0, 1e5)) }),
        element("wan.forward.end-of-frame", "tunnel-end"), element("wan.forward.delay", "delay"), element("wan.backward.delay", "delay"),
      ],
      total_goodput_mbps: total,
      jain_index: total ** 2 / (flows * rates.reduce((s, x) => s + x * x, 0)),
      limit_mbps: 19.3, path: topology(shaper),
    },
    flows: senders.map(({ name, states, table, resent }) => ({ name, states, table, resent })),
    elements: [{ name: "wan.forward.limiter", table: limiter }],
  };
}

const STORY = {
  en: "The policer carries little over half of its 19.3 Mbit/s: four flows lose packets together and wait for timeouts; the shaper queues instead and fills the limit.",
  zh: "流量监管只达到其 19.3 Mbit/s 限速的一半多：四条流同时丢包并等待超时；流量整形改为排队，用满了限速。",
  facts: { en: ["Delay at the 95th percentile: 25 ms instead of 104."], zh: ["第 95 百分位时延：25 ms，而不是 104 ms。"] },
  goals: { en: [], zh: [] },
  about: [],
};

/** Makes the data of a page of variants made by `variant`. */
export function page(variants, more = {}) {
  const blobs = [];
  const list = variants.map((v, i) => {
    const [one, text] = series(`series-${i}`, v);
    blobs.push([`series-${i}`, text]);
    return one;
  });
  const run = {
    schema: "longfat-result/2", scenario: "policer-or-shaper", seed: 1,
    description: "Four TCP uploads through 20 Mbit/s: policer, shaper with FIFO, shaper with WFQ, with and without a UDP flood",
    variants: variants.map((v) => v.variant), ...more,
  };
  const warnings = (run.warnings ?? []).map((text, i) => (i === 0 ? { en: text, zh: "flows.tcp：缓冲区小于 BDP" } : { en: text, zh: text }));
  const result = { label: "policer-or-shaper", run, warnings, figures: run.variants.map(figures), series: list };
  return { page: { format: "longfat-report/1", longfat: "0.2.0", lang: "en", story: STORY, facts: facts(run), results: [result] }, blobs };
}

export const HOSTILE = ["</script><script>alert(1)</script>", `"'><img src=x onerror=alert(1)>`, "\u202egnol eman\u202c 'quoted'", "x".repeat(10_000), "=cmd|' /C calc'!A0"];

/** A page with hostile names everywhere. */
function hostile() {
  const v = variant(HOSTILE[0], { flows: 5, duration: 5 });
  v.flows.forEach((f, i) => (f.name = v.variant.flows[i].name = HOSTILE[i]));
  v.variant.path.links[0].forward[0].name = HOSTILE[3];
  v.variant.path.links[0].forward[0].settings = { [HOSTILE[1]]: HOSTILE[3] };
  v.variant.path.hosts[0] = v.variant.path.links[0].between[0] = HOSTILE[2];
  for (const f of v.variant.flows) f.from = HOSTILE[2];
  const made = page([v, variant(HOSTILE[3], { flows: 5, duration: 5, shaper: true })], { scenario: HOSTILE[1], description: HOSTILE.join(" ") });
  made.page.story = { en: HOSTILE[0], zh: HOSTILE[0], facts: { en: HOSTILE, zh: HOSTILE }, goals: { en: [], zh: [] }, about: [] };
  return made;
}

/**
 * Two variants of 24 flows of two congestion controls that end, run five times; and a variant with a call.
 */
function crowd() {
  const made = [variant("policer-with-a-very-long-common-name-cubic", { flows: 24, duration: 20 }), variant("policer-with-a-very-long-common-name-bbr", { flows: 24, duration: 20, shaper: true, seed: 2 }), variant("call", { flows: 3, duration: 20, seed: 3 })];
  made.forEach(({ variant: v }, k) => {
    v.flows.forEach((f, i) => {
      f.cc = i % 2 ? "bbr" : "cubic";
      f.completion_s = 1 + k + i * 0.37 + (i % 5) * 0.9;
    });
    const values = [0.9, 0.97, 1, 1.02, 1.2].map((x) => x * v.total_goodput_mbps);
    const estimate = { mean: v.total_goodput_mbps, ci95: 0.4 };
    v.repeats = { n: 5, seeds: [1, 2, 3, 4, 5], total_goodput_mbps: estimate, retransmitted_packets: estimate, rtt_mean_ms: estimate, jain_index: estimate, values: { total_goodput_mbps: values, retransmitted_packets: [], rtt_mean_ms: values.map((x) => x * 3), jain_index: [] } };
  });
  const [talk] = made[2].variant.flows.splice(2, 1);
  const series = made[2].flows.find((f) => f.name === talk.name);
  series.table.delay_ms = series.table.rtt_ms.map((x) => x / 2);
  series.table.rtt_ms = series.table.rtt_ms.map(() => NaN);
  delete talk.completion_s;
  Object.assign(talk, { cc: "udp", real_time: { delay_ms: { min: 2, mean: 3, p50: 2.9, p95: 4.4, p99: 5, max: 6 }, jitter_ms: 0.7, lost: 0.012, loss_bursts: 3, loss_burst_mean: 1.4, loss_burst_max: 3, r_factor: 88, mos: 4.2 } });
  made[2].variant.flows.push(talk);
  return page(made, { warnings: ["flows.tcp: the buffer is smaller than the BDP", "variant call: 3 flows"], partial: true, expectations: EXPECTED });
}

/** Expectations: one is met, one is not, and one could not be measured. */
const EXPECTED = [
  { expected: "goodput > 1Mbit/s", variant: "call", clock: "sim", measured: 4.12345, unit: "Mbit/s", met: true },
  { expected: "jain > 0.9", variant: "call", clock: "sim", measured: 0.5, unit: "", met: false },
  { expected: "mos > 4", variant: "call", clock: "sim", unit: "", met: false },
];

const SAMPLES = {
  crowd,
  policer: () => page([variant("policer"), variant("shaper-fifo", { shaper: true, seed: 2 })]),
  lone: () => page([variant("policer", { flows: 1 })]),
  /** A million rows: two variants of 4 flows with 125,000 samples. */
  big: () => page([variant("policer", { duration: 1250 }), variant("shaper-fifo", { duration: 1250, shaper: true, seed: 2 })]),
  many: () => page(Array.from({ length: 100 }, (_, i) => variant(`variant-${i}`, { shaper: i % 2 === 1, flows: i % 10 === 0 ? 20 : 4, duration: 4, seed: i + 1 }))),
  hostile,
};

/** The HTML of a sample. */
export function sample(name) {
  const made = SAMPLES[name]();
  return fill(readFileSync(TEMPLATE, "utf8"), made.page, made.blobs);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , name = "policer", file = "/dev/stdout"] = process.argv;
  writeFileSync(file, sample(name));
}
