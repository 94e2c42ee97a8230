// Parts of a capture's page without a browser: the order of the table, and axes with loose curves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const m = await load("number.ts", "sort.ts", "plot/chart.ts");

test("sizes are formatted as on the terminal", () => {
  assert.deepEqual([0, 847, 64_000, 999_700, 625_000, 3.2e9].map(m.bytes), ["0 B", "847 B", "64.0 kB", "1.00 MB", "625 kB", "3.20 GB"]);
});

test("the largest number and the first letter come first, equal ones keep their order", () => {
  const entries = [3, 1, 3, 2].map((x, index) => ({ index, x }));
  const order = (by, reversed) => m.sorted(entries, by, reversed).map((e) => e.index);
  assert.deepEqual(order((e) => e.x, false), [0, 2, 3, 1]);
  assert.deepEqual(order((e) => e.x, true), [1, 3, 2, 0]);
  assert.deepEqual(order((e) => "dbca"[e.index], false), [3, 1, 2, 0]);
});

test("a loose curve raises the axis only if it is near the others", () => {
  const track = (loose) => ({ axis: "left", loose });
  const axis = (high) => {
    const plot = { tracks: [track(false), track(true)], levels: [] };
    return m.extent(plot, { x: [0, 1], y: [[0, 100], [high, high]] }, { from: 0, to: 1 }).left;
  };
  assert.deepEqual(axis(150), [0, 150]);
  assert.deepEqual(axis(3000), [0, 100]);
  const alone = m.extent({ tracks: [track(true)], levels: [] }, { x: [0, 1], y: [[5, 9]] }, { from: 0, to: 1 });
  assert.deepEqual(alone.left, [5, 9]);
});
