import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { align, extremes, before, upTo } = await load("plot/decimate.ts", "plot/extremes.ts", "plot/search.ts");

/** Pseudo-random numbers, the same each time. */
const noise = (n, seed = 1) => Float64Array.from({ length: n }, () => (seed = (seed * 48271) % 2147483647) / 2147483647);
const steps = (n, dt = 0.01) => Float64Array.from({ length: n }, (_, i) => i * dt);
const drawn = (points) => points.filter((v) => typeof v === "number");

test("no extreme is lost, whatever the view", () => {
  const value = noise(100_000);
  const time = steps(value.length);
  for (const [from, to] of [[0, 1000], [3.337, 990.1], [500, 620.5], [12.3, 60]]) {
    const { x, y, exact } = align([{ time, value }], [1], { from, to }, 500);
    assert.equal(exact, false);
    const seen = value.subarray(before(time, from), upTo(time, to));
    const points = drawn(y[0]);
    assert.equal(Math.max(...seen), Math.max(...points.filter((v) => seen.includes(v))), "the maximum");
    assert.ok(points.includes(Math.min(...seen)) && points.includes(Math.max(...seen)));
    assert.ok(x.length <= 502 * 4 && x.every((t, i) => i === 0 || t > x[i - 1]));
  }
});

test("each column of pixels shows its own extremes in time order", () => {
  const value = noise(40_000, 7);
  const time = steps(value.length);
  const columns = 100;
  const { y } = align([{ time, value }], [1], { from: 0, to: 400 }, columns);
  for (let c = 0; c < columns; c++) {
    const [from, to] = [before(time, c * 4), before(time, (c + 1) * 4)];
    const mine = value.subarray(from, to);
    const ends = [Math.min(...mine), Math.max(...mine)].sort((a, b) => mine.indexOf(a) - mine.indexOf(b));
    assert.deepEqual(y[0].slice((c + 1) * 2, (c + 2) * 2), ends, `column ${c}`);
  }
});

test("few samples are drawn exactly, at their own times", () => {
  const a = { time: Float64Array.of(0, 1, 2, 3), value: Float64Array.of(5, NaN, 7, 8) };
  const b = { time: Float64Array.of(0.5, 1, 9), value: Float64Array.of(1, 2, 3) };
  const { x, y, exact } = align([a, b], [1, 10], { from: 0, to: 10 }, 300);
  assert.equal(exact, true);
  assert.deepEqual(x, [0, 0.5, 1, 2, 3, 9]);
  assert.deepEqual(y[0], [5, undefined, null, 7, 8, undefined]);
  assert.deepEqual(y[1], [undefined, 10, 20, undefined, undefined, 30]);
});

test("a view between two samples shows the line that crosses it", () => {
  const s = { time: Float64Array.of(0, 10), value: Float64Array.of(1, 3) };
  const { x, y } = align([s], [1], { from: 4, to: 5 }, 300);
  assert.deepEqual([x, y[0]], [[0, 10], [1, 3]]);
});

test("the extremes found by blocks are those of a full scan", () => {
  const value = noise(5_000, 3);
  for (let i = 0; i < value.length; i += 17) value[i] = NaN;
  value.fill(NaN, 1024, 2048);
  for (const [from, to] of [[0, 5000], [1, 4999], [127, 129], [1000, 2100], [1100, 2000], [4000, 5000], [5, 5]]) {
    const finite = [...value.subarray(from, to)].filter((v) => !Number.isNaN(v));
    const e = extremes(value, from, to);
    if (!finite.length) assert.deepEqual(e, { least: -1, most: -1 });
    else assert.deepEqual([value[e.least], value[e.most]], [Math.min(...finite), Math.max(...finite)]);
  }
});

test("a column with unknown values only is a gap in the line", () => {
  const value = noise(10_000, 5);
  value.fill(NaN, 4000, 6000);
  const { y } = align([{ time: steps(10_000), value }], [1], { from: 0, to: 100 }, 100);
  assert.equal(y[0][51 * 2], null);
});
