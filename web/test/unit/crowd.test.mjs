// Quantiles over many flows, distributions, groups, and the view in the address.
import assert from "node:assert/strict";
import { test } from "node:test";
import { figures, quantile } from "../figures.mjs";
import { page, variant } from "../sample.mjs";
import { load } from "./load.mjs";

const m = await load("plot/crowd.ts", "plot/bins.ts", "plot/readout.ts", "plot/kinds.ts", "view/cdf.ts", "view/groups.ts", "state.ts", "link.ts", "sort.ts");
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

const constant = (rate) => {
  const time = Float64Array.from({ length: 101 }, (_, i) => i * 0.1);
  return { time, value: time.map((t) => (t * rate * 1e6) / 8) };
};

test("quantiles of the flows' rates are computed per bin", () => {
  const rates = [1, 2, 3, 4, 10];
  const crowd = new m.Crowd(rates.map(constant), "rate", 8e-6, 10);
  for (const q of [0.05, 0.25, 0.5, 0.95]) near(crowd.at(q, 0.5, 3), quantile(rates, q));
  const track = { kind: "quantile", crowd, q: 0.5, end: 10, factor: 1 };
  near(m.valueAt(track, 4.2, 0.5), 3);
  assert.ok(Number.isNaN(new m.Crowd([], "rate", 1, 10).at(0.5, 1, 0)));
});

test("a flow without goodput counts as zero, although it has no column", () => {
  const v = variant("a", { flows: 10, duration: 4 });
  const made = page([v]).page;
  const [{ series, figures: all }] = made.results;
  delete series[0].flows[3].columns.delivered_bytes;
  const time = Float64Array.from({ length: 401 }, (_, i) => i * 0.01);
  const data = { series: series[0], column: (s, name) => (name === "time_s" ? time : s.columns[name] ? time.map((t) => t * 1e6) : null) };
  const crowd = m.shownFlows(v.variant, all[0], data);
  v.variant.flows[3].goodput_mbps = 0;
  const plot = m.plotOf("each", { variant: v.variant, figures: all[0], data, flows: [], picked: false, crowd, groups: [], rates: [] });
  const valueOf = (id) => m.valueAt(plot.tracks.find((t) => t.id === id), 2, 0.1);
  assert.deepEqual([valueOf("tcp-4"), plot.tracks.find((t) => t.id === "p50").crowd.members.length], [0, 10]);
  assert.ok(valueOf("p5") < valueOf("p25"));
});

test("a level is the last known value in a bin, and flows without one are left out", () => {
  const time = Float64Array.from([0, 1, 2, 3]);
  const levels = (...value) => ({ time, value: Float64Array.from(value) });
  const crowd = new m.Crowd([levels(5, 7, NaN, 1), levels(9, 9, NaN, NaN)], "level", 1, 4);
  assert.equal(crowd.at(1, 2, 0), 9);
  assert.equal(crowd.at(0, 2, 0), 7);
  assert.equal(crowd.at(1, 2, 1), 1);
  assert.ok(Number.isNaN(new m.Crowd([levels(NaN, NaN, NaN, NaN)], "level", 1, 4).at(0.5, 2, 0)));
});

test("completion times are shown as a step function from 0 to 1", () => {
  const v = { flows: [3, 1, undefined, 2].map((completion_s) => ({ completion_s })) };
  assert.deepEqual([...m.times({ variant: v, data: null }, "completion")], [1, 2, 3]);
  assert.deepEqual(m.staircase([1, 2, 3, 4], 600), [[1, 0.25], [2, 0.5], [3, 0.75], [4, 1]]);
  const thinned = m.staircase(Float64Array.from({ length: 10_001 }, (_, i) => i), 100);
  assert.ok(thinned.length <= 102);
  assert.deepEqual(thinned.at(-1), [10_000, 1]);
});

test("response times come from the list of responses", () => {
  const data = { series: { flows: [{}, {}] }, responses: (_, column) => (column === "seconds" ? Float64Array.from([2, 1]) : null) };
  assert.deepEqual([...m.times({ variant: { flows: [] }, data }, "response")], [1, 1, 2, 2]);
});

test("groups are the chosen ones, by default those of many flows", () => {
  const { variant: v } = variant("a", { flows: 10, duration: 1 });
  v.flows.forEach((f, i) => (f.cc = i % 2 ? "bbr" : "cubic"));
  const entry = { figures: figures(v) };
  assert.deepEqual(m.groupsOf(entry, null).map((g) => [g.name, g.members.length]), [["cubic", 5], ["bbr", 5]]);
  assert.deepEqual(m.groupsOf(entry, "none"), []);
  assert.deepEqual(m.groupsOf(entry, "direction"), [], "all flows have the same direction");
});

const runs = () => new m.Runs(page(["one", "two", "three", "two"].map((name, i) => variant(name, { duration: 4, seed: i + 1 }))).page);

test("a link restores the view that it was made of", () => {
  const state = runs();
  [state.a, state.b] = [state.entries[2], state.entries[3]];
  state.zoom({ from: 1.25, to: 2.5 });
  state.sortBy("rtt");
  state.sortBy("rtt");
  state.groupBy("direction");
  state.pickFlows(state.entries[2], new Set(["tcp-2", "tcp-4"]));
  const text = m.written(state, "zh", "rtt");
  assert.match(text, /^a=three&b=3&t=1.25-2.5&sort=-rtt&group=direction&fa=1.3&plot=rtt&lang=zh$/);
  const other = runs();
  assert.deepEqual(m.read(other, `#${text}`), { lang: "zh", plot: "rtt" });
  assert.deepEqual([other.a.index, other.b.index, other.range, other.sort, other.group], [2, 3, { from: 1.25, to: 2.5 }, { key: "rtt", reversed: true }, "direction"]);
  assert.deepEqual([...other.flows.get(other.a)], ["tcp-2", "tcp-4"]);
  assert.equal(m.written(other, "zh", "rtt"), text);
});

test("invalid values of a link are ignored", () => {
  const state = runs();
  const before = m.written(state, "en", null);
  for (const hash of ["", "#a=nobody&b=one&t=5-1&sort=%3Cscript%3E&group=x&fa=99.x&lang=xx", "#t=NaN-2", "#%E0%A4%A", "#a=__proto__"]) {
    const one = runs();
    m.read(one, hash);
    assert.equal(one.a.index, state.a.index, hash);
    assert.equal(one.range, null, hash);
    if (hash !== "#a=nobody&b=one&t=5-1&sort=%3Cscript%3E&group=x&fa=99.x&lang=xx") assert.equal(m.written(one, "en", null), before, hash);
  }
  const alone = runs();
  m.read(alone, "#a=one&b=");
  assert.deepEqual([alone.a.index, alone.b], [0, null]);
});

test("unknown values are sorted last in both orders", () => {
  const entries = [2, undefined, 3, NaN].map((x, index) => ({ index, x }));
  const order = (reversed) => m.sorted(entries, (e) => e.x, reversed).map((e) => e.index);
  assert.deepEqual([order(false), order(true)], [[2, 0, 1, 3], [0, 2, 1, 3]]);
});
