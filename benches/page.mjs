// Measures the size of the report page and how fast it opens and zooms, in headless Chromium on this machine.
//   node benches/page.mjs [rounds] [which]
// Prints the table of docs/measured/page-speed.md. The page of a million rows comes from benches/page.toml, that of a capture of
// a million packets from crates/answers/report/examples/capture.rs.
import { mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { launch } from "../web/test/browser/chromium.mjs";
import { capture } from "../web/test/browser/captures.mjs";
import { folder, run } from "../web/test/browser/reports.mjs";

const ROUNDS = Number(process.argv[2] ?? 5);
const { build } = createRequire(new URL("../web/package.json", import.meta.url))("esbuild");

/** The page's own decoder as a script, to be timed alone. */
async function decoder() {
  const entry = fileURLToPath(new URL("../web/src/decode.ts", import.meta.url));
  const made = await build({ entryPoints: [entry], bundle: true, write: false, format: "iife", globalName: "timed", footer: { js: "globalThis.timed = timed;" } });
  return made.outputFiles[0].text;
}

/** In the page, before its scripts: scrolls to a plot that is below the window at first, and stores the time when it is drawn. */
function watch(plot) {
  const look = () => {
    document.querySelector(plot)?.scrollIntoView();
    if (!document.querySelector(`${plot}[data-drawn] canvas`)) return requestAnimationFrame(look);
    // The frame that drew it ends before the next task.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => (window.firstPlot = performance.now());
    port2.postMessage(0);
  };
  requestAnimationFrame(look);
}

/** In the page: presses a key on the focused plot and returns the milliseconds until all plots in view show it. */
function step(key) {
  const before = document.querySelector("#range").dataset.from + document.querySelector("#range").dataset.to;
  const shown = [...document.querySelectorAll(".plot .canvas")].filter((c) => {
    const { top, bottom } = c.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  });
  return new Promise((done, failed) => {
    const began = performance.now();
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const { from, to } = document.querySelector("#range").dataset;
    if (from + to === before) return failed(new Error(`${key} changed nothing`));
    const { port1, port2 } = new MessageChannel();
    const look = () => requestAnimationFrame(() => port2.postMessage(0));
    port1.onmessage = () => {
      if (shown.length && shown.every((c) => c.dataset.from === from && c.dataset.to === to)) done(performance.now() - began);
      else look();
    };
    look();
  });
}

/** In the page: the series of a capture's first flow in the form of a result's series. */
function ofCapture(page) {
  const { blob, sent, acked, again } = page.flows[0].packets;
  const flow = (table, column) => ({ columns: { time_s: table.columns.time_s, delivered_bytes: table.columns[column] } });
  return { blob, flows: [flow(sent, "sent_bytes"), flow(acked, "acked_bytes")], elements: [sent, acked, again] };
}

/** In the page: the milliseconds of each step before the first plot, each step alone. */
async function parts() {
  const took = {};
  const time = async (name, run) => {
    const began = performance.now();
    const result = await run();
    took[name] = performance.now() - began;
    return result;
  };
  const page = await time("parse", () => JSON.parse(document.getElementById("data").textContent));
  const series = page.flows ? ofCapture(page) : page.results[0].series.filter(Boolean)[0];
  const text = document.getElementById(series.blob).textContent;
  const packed = await time("base64", () => timed.unbase64(text));
  const bytes = await time("inflate", () => timed.inflate(packed));
  const all = [...series.flows, ...series.elements];
  const first = series.flows.flatMap((f) => [f.columns.time_s, f.columns.delivered_bytes]);
  await time("decode, first plot", () => first.forEach((c) => timed.decode(bytes, c)));
  const columns = all.flatMap((s) => [...Object.values(s.columns), ...Object.values(s.resent ?? {})]);
  await time("decode, all", () => columns.forEach((c) => timed.decode(bytes, c)));
  return { took, rows: series.flows.reduce((n, f) => n + f.columns.time_s.rows, 0) };
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const KEYS = ["+", "+", "+", "+", "+", "+", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "-", "-", "-", "-", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft", "-", "0"];

async function open(browser, file, plot) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.addInitScript(watch, plot);
  await page.goto(pathToFileURL(file).href);
  return page;
}

async function measure(browser, file, code, plot) {
  const [first, steps] = [[], []];
  let split;
  for (let i = 0; i < ROUNDS; i++) {
    const page = await open(browser, file, plot);
    await page.waitForFunction(() => window.firstPlot);
    first.push(await page.evaluate(() => window.firstPlot));
    await page.focus(plot);
    await page.waitForFunction(() => document.querySelectorAll(".plot .canvas[data-drawn]").length > 1);
    for (const key of KEYS) steps.push(await page.evaluate(step, key));
    await page.evaluate(`${code}\nglobalThis.ofCapture = ${ofCapture}`);
    split = await page.evaluate(parts);
    await page.close();
  }
  return { first: median(first), worst: Math.max(...first), step: median(steps), worstStep: Math.max(...steps), split };
}

async function main() {
  mkdirSync(folder, { recursive: true });
  const code = await decoder();
  const browser = await launch();
  const line = (...cells) => console.log(`| ${cells.join(" | ")} |`);
  const ms = (x) => x.toFixed(x < 10 ? 1 : 0);
  console.log(`${cpus().length} × ${cpus()[0].model}, load ${loadavg()[0].toFixed(2)}; medians of ${ROUNDS} (worst)\n`);
  line("result", "rows of flows", "`longfat run`, s", "report.html, MB", "first plot, ms", "zoom step, ms", "JSON, ms", "base64, ms", "inflate, ms", "decode first plot / all, ms");
  line("---", ...Array(9).fill("---:"));
  const result = (scenario) => (name) => run(name, scenario, "--no-progress");
  const pages = [
    ["policer", result("scenarios/policer-or-shaper.toml"), "#plot-throughput-a"],
    ["million", result("benches/page.toml"), "#plot-throughput-a"],
    ["capture", (name) => capture(name, 350_000, `${name}.pcap`, "release"), "#plot-sequence-a"],
  ].filter(([name]) => !process.argv[3] || name === process.argv[3]);
  for (const [name, make, plot] of pages) {
    const began = performance.now();
    const file = join(make(`bench-${name}`), "report.html");
    const ran = (performance.now() - began) / 1e3;
    const m = await measure(browser, file, code, plot);
    const { took, rows } = m.split;
    line(
      name, rows.toLocaleString("en"), ran.toFixed(1), (statSync(file).size / 1e6).toFixed(2),
      `${ms(m.first)} (${ms(m.worst)})`, `${ms(m.step)} (${ms(m.worstStep)})`,
      ms(took.parse), ms(took.base64), ms(took.inflate), `${ms(took["decode, first plot"])} / ${ms(took["decode, all"])}`,
    );
  }
  await browser.close();
}

await main();
