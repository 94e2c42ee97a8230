// Makes the reports for the browser tests with the command line. Run this before the tests; `reports.json`
// lists the reports.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { capture, captured, udpOfBothEnds } from "./captures.mjs";

/** A hostile file name of a capture. */
export const MARKUP = `</script><script>window.pwned=1</script>"'><img src=x onerror=alert(1)>{{data}}\u202Egnp.pcap`;

export const root = fileURLToPath(new URL("../../../", import.meta.url));
/** Cargo's target folder. */
export const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
/** Folder of the reports. */
export const folder = join(target, "browser");
const longfat = join(target, "release", "longfat");

/** Runs longfat and returns its output; throws if it fails. */
export function cli(...args) {
  return execFileSync(longfat, args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 });
}

/** Runs a scenario, once unless the arguments have `--repeat`, and returns the result's folder. */
export function run(name, scenario, ...args) {
  const out = join(folder, name);
  const once = args.includes("--repeat") ? [] : ["--repeat", "1"];
  cli("run", scenario, "--out", out, ...once, ...args);
  return out;
}

/** The study's Compound needs eBPF on the kernel, and its 20 s would be real time, so use CUBIC and 4 s. */
const KERNEL = ["--on", "both", "--set", "duration=4s", "--set", "flows.tcp.cc=cubic", "--variant", "policer", "--variant", "shaper-fifo"];

function main() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const made = { policer: run("policer", "scenarios/policer-or-shaper.toml"), sdwan: run("sdwan", "scenarios/sdwan-limiter.toml") };
  made.repeats = run("repeats", "scenarios/home-line.toml", "--repeat", "12", "--set", "duration=6s");
  made.few = run("few", "scenarios/sdwan-limiter.toml", "--repeat", "3", "--variant", "policing-cubic", "--variant", "shaping-cubic");
  if (process.getuid() === 0) {
    made.both = run("both", "scenarios/policer-or-shaper.toml", ...KERNEL);
  } else {
    console.error("browser: SKIPPED on the kernel's results, not root");
  }
  writeFileSync(join(folder, "reports.json"), JSON.stringify(made));
  capture("capture", 20_000);
  captured("real-capture", "scenarios/policer-or-shaper.toml", "policer", "server");
  capture("hostile-capture", 2_000, MARKUP);
  udpOfBothEnds("udp-ends");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
