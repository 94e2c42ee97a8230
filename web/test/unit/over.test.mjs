// Curves over repeats: the median with its band replaces the first repeat's curve.
import assert from "node:assert/strict";
import { test } from "node:test";
import { page, variant } from "../sample.mjs";
import { load } from "./load.mjs";

const m = await load("plot/chart.ts", "plot/kinds.ts", "plot/over.ts", "plot/readout.ts", "plot/csv.ts", "i18n.ts", "state.ts", "link.ts");

/** A variant with bands of its first flow and of the total; its columns have made-up values. */
function source(repeats, { between = [0.1, 0.9], flows = 2 } = {}) {
  const v = variant("a", { flows, duration: 4 });
  const [{ series, figures }] = page([v]).page.results;
  const band = { columns: { low: { of: 1 }, median: { of: 2 }, high: { of: 4 } } };
  const name = v.variant.flows[0].name;
  series[0].bands = { repeats: 12, between, bin_s: 0.5, total: band, flows: [{ name, bands: { delivered_bytes: band, cwnd: band } }], elements: [] };
  const time = Float64Array.from({ length: 401 }, (_, i) => i * 0.01);
  const values = (c) => Float64Array.from({ length: 8 }, (_, k) => (c.of === 4 && k === 7 ? 40 : k === 0 ? NaN : c.of));
  const data = { series: series[0], column: (s, n) => (n === "time_s" ? time : s.columns[n]?.of ? values(s.columns[n]) : s.columns[n] ? time.map((t) => t * 1e6) : null) };
  const shown = m.shownFlows(v.variant, figures[0], data);
  return { variant: v.variant, figures: figures[0], data, flows: shown, picked: false, crowd: [], groups: [], rates: [], repeats };
}

test("curves with bands replace those of the first repeat, and a note explains them", () => {
  const plot = m.plotOf("throughput", source("all"));
  assert.deepEqual(plot.tracks.map((t) => t.kind), ["banded", "banded", "binned"]);
  assert.equal(plot.note, "line: median of 12 repeats; area: 10th to 90th percentile");
  assert.equal(plot.tracks[2].label, "tcp-2, first repeat");
  const [, flow] = m.readings(plot, { from: 0, to: 4 }, 1.2);
  assert.deepEqual([flow.value, flow.shown], ["2", "2.00 (1.00–4.00)"]);
  const [, unknown] = m.readings(plot, { from: 0, to: 4 }, 0.2);
  assert.deepEqual([unknown.value, unknown.shown], ["", "–"]);
  m.setLang("zh");
  assert.equal(m.plotOf("throughput", source("all", { between: [0, 1] })).note, "线：12 次重复运行的中位数；区域：最小至最大");
  m.setLang("en");
});

test("the first repeat is shown as it was sampled", () => {
  const plot = m.plotOf("cwnd", source("first"));
  assert.ok(plot.tracks.every((t) => t.kind === "sampled") && plot.note === undefined);
  const states = m.plotOf("states", source("all"));
  assert.equal(states.note, "first of 12 repeats");
  assert.ok(states.ribbons.length > 0);
});

test("bands keep their bin width at every zoom, and the axis includes the band", () => {
  const plot = m.plotOf("throughput", source("all"));
  assert.equal(m.widthOfBins(plot, { from: 1, to: 1.1 }), 0.5);
  const view = { from: 0, to: 4 };
  const points = m.points(plot, view, 500);
  assert.equal(points.x.length, 9);
  assert.equal(m.extent(plot, points, view).left[1], 40);
  assert.ok(m.extent(plot, points, { from: 0, to: 2 }).left[1] < 40, "values outside the view do not count");
});

test("the CSV of a band has three columns", async () => {
  const plot = m.plotOf("cwnd", source("all"));
  const lines = (await m.csv(plot.csv()).text()).trim().split("\r\n");
  assert.equal(lines[0], "time_s,tcp-1 cwnd low,tcp-1 cwnd median,tcp-1 cwnd high");
  assert.deepEqual([lines[1], lines[2], lines.length], ["0,,,", "0.5,1,2,4", 9]);
});

test("the address has the choice of repeats", () => {
  const state = new m.Runs(page([variant("a", { flows: 2, duration: 4 })]).page);
  assert.ok(!m.written(state, "en", null).includes("rep="));
  state.showRepeats("first");
  const address = m.written(state, "en", null);
  assert.match(address, /rep=first/);
  state.showRepeats("all");
  m.read(state, `#${address}`);
  assert.equal(state.repeats, "first");
});
