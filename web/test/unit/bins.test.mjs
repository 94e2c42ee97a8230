import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { binWidth, binned, binsOf, interval, nice, valueAt } = await load("plot/bins.ts", "plot/readout.ts");

const steps = (n, dt) => Float64Array.from({ length: n }, (_, i) => Math.round(i * dt * 1e6) / 1e6);
const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)), `${a} is not ${b}`);

/** A cumulative column with irregular growth, sampled every 10 ms. */
function cumulative(end = 20) {
  let [s, sum] = [9, 0];
  const time = steps(Math.round(end / 0.01) + 1, 0.01);
  const value = time.map((_, i) => (i === 0 ? 0 : (sum += (s = (s * 48271) % 2147483647) % 30_000)));
  return { time, value };
}

test("bin widths are round, about 1/200 of the view, and at least two samples", () => {
  assert.deepEqual([0.011, 0.1, 0.3, 0.6, 7, 20].map(nice), [0.02, 0.1, 0.5, 1, 10, 20]);
  near(binWidth({ from: 0, to: 20 }, 0.01), 0.1);
  near(binWidth({ from: 0, to: 1 }, 0.01), 0.02);
  near(binWidth({ from: 0, to: 1250 }, 0.01), 10);
  near(interval(steps(500, 0.01)), 0.01);
});

test("the bins' rates add up to what was delivered", () => {
  const parts = [cumulative()];
  const track = { kind: "binned", parts, as: "rate", factor: 8e-6, end: 20 };
  const total = (parts[0].value.at(-1) * 8) / 1e6;
  for (const width of [0.02, 0.1, 0.5, 5]) {
    const bins = binsOf({ from: 0, to: 20 }, width, 20);
    near(binned(track, bins).reduce((a, b) => a + b, 0) * width, total);
  }
});

test("the rate of a last bin that is cut by the end of the run counts its real length", () => {
  const time = steps(2051, 0.01);
  const track = { kind: "binned", parts: [{ time, value: time.map((t) => t * 1e6) }], as: "rate", factor: 8e-6, end: 20.5 };
  const values = binned(track, binsOf({ from: 0, to: 20.5 }, 1, 20.5));
  assert.equal(values.length, 21);
  for (const v of values) near(v, 8);
});

test("counts are whole and add up to the total", () => {
  const { time } = cumulative();
  const value = time.map((t) => Math.floor(t * 3.7));
  const track = { kind: "binned", parts: [{ time, value }], as: "count", factor: 1, end: 20 };
  const values = binned(track, binsOf({ from: 0, to: 20 }, 0.1, 20));
  assert.ok(values.every(Number.isInteger));
  // An event at the end of the last bin belongs to the next one, so use a range that includes that.
  const last = binned(track, binsOf({ from: 0, to: 20.1 }, 0.1, 20.1));
  assert.equal(last.reduce((a, b) => a + b, 0), value.at(-1));
});

test("a total is the sum of its parts in every bin", () => {
  const [a, b] = [cumulative(), { ...cumulative(), value: cumulative().value.map((v) => v * 2) }];
  const of = (parts) => binned({ kind: "binned", parts, as: "rate", factor: 1, end: 20 }, binsOf({ from: 3, to: 9 }, 0.05, 20));
  const [x, y, both] = [of([a]), of([b]), of([a, b])];
  both.forEach((v, i) => near(v, x[i] + y[i]));
});

test("the value at the cursor is that of the last sample at or before it, or of its bin", () => {
  const samples = { time: Float64Array.of(1, 2, 3), value: Float64Array.of(10, NaN, 30) };
  const sampled = { kind: "sampled", samples, factor: 1 };
  assert.deepEqual([0.9, 1, 1.99, 2, 3, 99].map((t) => valueAt(sampled, t, 0)), [NaN, 10, 10, NaN, 30, 30]);
  const track = { kind: "binned", parts: [{ time: Float64Array.of(0, 1, 2), value: Float64Array.of(0, 8, 8) }], as: "rate", factor: 1, end: 2 };
  assert.deepEqual([0, 0.99, 1, 1.5].map((t) => valueAt(track, t, 1)), [8, 8, 0, 0]);
});
