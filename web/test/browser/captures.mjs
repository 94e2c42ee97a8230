// Captures for the tests of their page, each a folder with page, Parquet and JSON of the same packets.
// Made-up captures contain everything that can occur (crates/answers/app/examples/capture.rs); others are
// diagnosed by `longfat diagnose`.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet/src/node.js";
import { cli, folder, target } from "./reports.mjs";

/**
 * Makes a capture with `packets` packets in its largest flow, with the example program of the build, and
 * returns its folder.
 */
export function capture(name, packets, file = `${name}.pcap`, build = "debug") {
  const out = join(folder, name);
  execFileSync(join(target, build, "examples", "capture"), [out, String(packets), file], { stdio: ["ignore", "inherit", "inherit"] });
  return out;
}

/** Runs a variant of a scenario, diagnoses the capture of `host`, and returns the folder. */
export function captured(name, scenario, variant, host, ...args) {
  const out = join(folder, name);
  cli("run", scenario, "--variant", variant, "--out", join(out, "run"), "--pcap", join(out, "pcap"), "--no-progress", ...args);
  cli("diagnose", join(out, "pcap", variant, `${host}.pcap`), "--out", out, "--report", join(out, "report.html"), "--no-progress");
  return out;
}

/**
 * Diagnoses the captures of both hosts of a policed video and a call that queues behind a transfer; returns
 * the folder.
 */
export function udpOfBothEnds(name) {
  const out = join(folder, name);
  mkdirSync(out, { recursive: true });
  const scenario = join(out, "udp.toml");
  writeFileSync(scenario, UDP);
  cli("run", scenario, "--out", join(out, "run"), "--pcap", join(out, "pcap"), "--no-progress");
  const [here, there] = ["office", "dc"].map((host) => join(out, "pcap", "default", `${host}.pcap`));
  cli("diagnose", here, there, "--both-ends", "--out", out, "--report", join(out, "report.html"), "--no-progress");
  return out;
}

const UDP = `duration = "20s"
[hosts.office]
[hosts.dc]
[links.wan]
between = ["office", "dc"]
forward = [{ kind = "link", rate = "100Mbit/s" }, { kind = "policer", rate = "4Mbit/s", burst = "30kB" }, { kind = "delay", delay = "20ms" }]
backward = [{ kind = "link", rate = "6Mbit/s", queue = { kind = "fifo", packets = 60 } }, { kind = "delay", delay = "20ms" }]
[flows.video]
from = "office"
to = "dc"
app = { kind = "udp", rate = "5Mbit/s" }
[flows.call]
from = "dc"
to = "office"
app = { kind = "udp", rate = "80kbit/s" }
[flows.load]
from = "dc"
to = "office"
cc = "cubic"
start = "8s"
app = { kind = "bulk", bytes = "4MB" }
`;

export const diagnosis = (dir) => JSON.parse(readFileSync(join(dir, "diagnosis.json"), "utf8"));

const numbers = (row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, typeof v === "bigint" && k !== "time_ns" ? Number(v) : v]));

async function rows(dir, file) {
  const all = await parquetReadObjects({ file: await asyncBufferFromFile(join(dir, file)) });
  return all.map(numbers);
}

/** Returns the rows of `flows.parquet` by flow number. */
export const flowRows = async (dir) => new Map((await rows(dir, "flows.parquet")).map((f) => [f.flow, f]));

/**
 * Reads a flow's packets from `packets.parquet`: `sent` and `acked` as the page draws them, and the
 * retransmissions `again`; times are in seconds since the start of the capture.
 */
export async function packetsOf(dir, flow) {
  const start = BigInt(Math.round(diagnosis(dir).capture.start_s * 1e9));
  const out = { sent: [], acked: [], again: [] };
  let [end, ack] = [0, 0];
  for (const p of await rows(dir, "packets.parquet")) {
    const time = Number(p.time_ns - start) / 1e9;
    if (p.flow === flow && p.len > 0) {
      end = Math.max(end, p.seq + p.len);
      out.sent.push({ time, sent_bytes: end, inflight_bytes: p.inflight });
      if (p.kind !== "data") out.again.push({ time, byte: p.seq, kind: p.kind });
    } else if (p.flow === (flow ^ 1)) {
      ack = Math.max(ack, p.ack);
      out.acked.push({ time, acked_bytes: ack, edge_bytes: ack + p.window, window_bytes: p.window, rtt_ms: p.rtt_us === null ? null : p.rtt_us / 1e3 });
    }
  }
  return out;
}
