// Measures size and speed of the explorer, served and as a page that needs no server, in headless Chromium on this machine.
//   node benches/explore.mjs [moves]
// Needs `make site`, and target/release/examples/answer (cargo build --release -p longfat-explore --example answer).
// Prints the tables of docs/explore.md.
import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../web/test/browser/chromium.mjs";
import { scenario, serve } from "../web/test/browser/explorer.mjs";
import { cli, folder, target } from "../web/test/browser/reports.mjs";
import { engine, site } from "../web/test/wasm/engine.mjs";

const MOVES = Number(process.argv[2] ?? 40);

const quantile = (all, q) => [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(q * all.length))];
const percentiles = (all) => `${quantile(all, 0.5).toFixed(0)} / ${quantile(all, 0.95).toFixed(0)}`;

/** In the page: moves the rate's slider and returns the milliseconds until the first redraw and until the exact one. */
function move() {
  const root = document.querySelector("#report");
  const slider = document.querySelector('.tune[data-what="rate"] input');
  const before = Number(root.dataset.run);
  slider.value = String(Number(slider.value) + (Number(slider.value) % 2 ? -3 : 5));
  return new Promise((done) => {
    const began = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    let [first, framed] = [0, {}];
    // What arrives before a frame begins is drawn in that frame, plots at the latest by the frame's own callbacks; a task that
    // runs after the end of the frame therefore runs with the result on the screen.
    const { port1, port2 } = new MessageChannel();
    const look = () => requestAnimationFrame(() => {
      framed = { ...root.dataset };
      port2.postMessage(0);
    });
    port1.onmessage = () => {
      const now = performance.now();
      if (Number(framed.run) > before) {
        first ||= now - began;
        if (framed.exact === "true") return done([first, now - began]);
      }
      look();
    };
    look();
  });
}

async function redraws(page, hash) {
  const browser = await launch();
  try {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const p = await context.newPage();
    await p.goto(page + hash);
    await p.waitForFunction(() => document.querySelector("#report")?.dataset.exact === "true", null, { timeout: 60_000 });
    // Scrolled so that plots fill the window next to the sliders, where most has to be drawn.
    await p.evaluate(() => document.querySelector("#plots").scrollIntoView());
    // Some runs first, until the WebAssembly compiler's optimising tier is in use.
    for (let i = 0; i < 8; i++) await p.evaluate(move);
    const all = [];
    for (let i = 0; i < MOVES; i++) all.push(await p.evaluate(move));
    return [all.map((a) => a[0]), all.map((a) => a[1])];
  } finally {
    await browser.close();
  }
}

/** Milliseconds of a run as WebAssembly in this process, and natively. */
async function perPacket(name, sets, variant) {
  const request = { do: "run", scenario: scenario(name, sets, variant) };
  const own = await engine();
  for (let i = 0; i < 6; i++) own.ask(request);
  const wasm = Array.from({ length: 12 }, () => {
    const began = performance.now();
    own.ask(request);
    return performance.now() - began;
  });
  const program = join(target, "release", "examples", "answer");
  const native = execFileSync(program, ["12"], { input: JSON.stringify(request), encoding: "utf8" }).trim().split("\n").map((l) => Number(l.split(" ")[0]));
  const { packets } = JSON.parse(own.ask(request)[0]);
  // The smallest: time that other programs on the machine take does not count.
  return { packets, wasm: Math.min(...wasm), native: Math.min(...native) };
}

/** A capture of some 50 MB. */
function large() {
  const out = join(folder, "explore-large");
  const sets = ["links.wan.forward.limiter={ kind = \"shaper\", rate = \"300Mbit/s\", queue = { kind = \"fifo\", packets = 500 } }", "sample=100ms"];
  cli("run", "scenarios/policer-or-shaper.toml", "--variant", "shaper-fifo", ...sets.flatMap((x) => ["--set", x]), "--pcap", out, "--out", `${out}-run`, "--force", "--no-progress");
  return join(out, "shaper-fifo", "client.pcap");
}

/** Diagnoses a capture in the page: seconds until its page is there, and seconds in the engine. */
async function capture(page, pcap) {
  const browser = await launch();
  try {
    const p = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
    await p.goto(page);
    await p.waitForFunction(() => document.querySelector("#report")?.dataset.exact === "true", null, { timeout: 60_000 });
    const all = [];
    for (let i = 0; i < 3; i++) {
      const began = performance.now();
      await p.setInputFiles("#capture-file", pcap);
      await p.waitForSelector('#report[data-capture="true"]', { timeout: 60_000 });
      const whole = (performance.now() - began) / 1e3;
      const ms = await p.$eval("#report", (r) => r.dataset.ms);
      all.push([whole, Number(ms) / 1e3]);
      await p.click("#back");
      await p.waitForSelector("#sliders");
    }
    return all.reduce((best, a) => (a[0] < best[0] ? a : best));
  } finally {
    await browser.close();
  }
}

async function main() {
  const served = await serve();
  const pages = [["served", served.url], ["without a server", pathToFileURL(site).href]];
  try {
    console.log(`page without a server: ${(statSync(site).size / 1e6).toFixed(2)} MB; load of the machine before: ${loadavg()[0].toFixed(1)}`);
    console.log("\n| slider moved | page | first redraw, ms: p50 / p95 | exact, ms: p50 / p95 |\n|---|---|---|---|");
    for (const [what, hash] of [["20 s, four flows (policer-or-shaper, shaper-fifo)", "#s=policer-or-shaper&v=shaper-fifo"], ["the same, 10 s", "#s=policer-or-shaper&v=shaper-fifo&set=duration=10s"]]) {
      for (const [kind, page] of pages) {
        const [first, exact] = await redraws(page, hash);
        console.log(`| ${what} | ${kind} | ${percentiles(first)} | ${percentiles(exact)} |`);
      }
    }
    const pcap = large();
    console.log(`\ncapture of ${(statSync(pcap).size / 1e6).toFixed(1)} MB, seconds:`);
    for (const [kind, page] of pages) {
      const [whole, engine] = await capture(page, pcap);
      console.log(`${kind}: ${whole.toFixed(2)}, ${engine.toFixed(2)} of them in the engine`);
    }
  } finally {
    served.end();
  }
  if (!existsSync(join(target, "release", "examples", "answer"))) return;
  console.log("\n| run | packets | native, us a packet | WebAssembly | times |\n|---|---|---|---|---|");
  for (const [name, variant] of [["policer-or-shaper", "shaper-fifo"], ["policer-or-shaper", "policer"], ["home-line", "fq-codel"]]) {
    const { packets, wasm, native } = await perPacket(name, [], variant);
    const us = (ms) => ((ms * 1e3) / packets).toFixed(2);
    console.log(`| ${name}, ${variant} | ${packets} | ${us(native)} | ${us(wasm)} | ${(wasm / native).toFixed(2)} |`);
  }
}

await main();
