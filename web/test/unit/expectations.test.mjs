// What was expected of runs, as rows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { held, setLang } = await load("view/expectations.ts", "i18n.ts");

const one = { expected: "goodput > 18Mbit/s", variant: "v", clock: "sim", measured: 17.99651, unit: "Mbit/s", met: false };
const rows = (...runs) => held(runs.map((expectations, i) => ({ label: `r${i}`, run: { expectations } })));

test("a row tells what came in its unit, and a dash where nothing was measured", () => {
  const { measured, ...nothing } = one;
  // Not rounded to what was expected.
  assert.deepEqual(rows([one, { ...one, measured: 0.6823, unit: "", met: true }, nothing]), [
    { met: false, variant: "v", expected: "goodput > 18Mbit/s", measured: "17.9965 Mbit/s" },
    { met: true, variant: "v", expected: "goodput > 18Mbit/s", measured: "0.6823" },
    { met: false, variant: "v", expected: "goodput > 18Mbit/s", measured: "–" },
  ]);
  assert.deepEqual(rows([], undefined), []);
});

test("results and clocks are named where there are several", () => {
  setLang("en");
  const names = (...runs) => rows(...runs).map((r) => r.variant);
  assert.deepEqual(names([one], [one]), ["r0: v", "r1: v"]);
  assert.deepEqual(names([one, { ...one, clock: "kernel" }]), ["v (simulated)", "v (on the kernel)"]);
});
