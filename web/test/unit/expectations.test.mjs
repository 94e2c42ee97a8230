// Rows of the table of expectations.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { expectationRows, setLang } = await load("view/expectations.ts", "i18n.ts");

const one = { expected: "goodput > 18Mbit/s", variant: "v", clock: "sim", measured: 17.99651, unit: "Mbit/s", met: false };
const rows = (...runs) => expectationRows(runs.map((expectations, i) => ({ label: `r${i}`, run: { expectations } })));

test("a row shows the measured value with its unit, or a dash", () => {
  const { measured, ...nothing } = one;
  // The value is not rounded to the expected one.
  assert.deepEqual(rows([one, { ...one, measured: 0.6823, unit: "", met: true }, nothing]), [
    { met: false, variant: "v", expected: "goodput > 18Mbit/s", measured: "17.9965 Mbit/s" },
    { met: true, variant: "v", expected: "goodput > 18Mbit/s", measured: "0.6823" },
    { met: false, variant: "v", expected: "goodput > 18Mbit/s", measured: "–" },
  ]);
  assert.deepEqual(rows([], undefined), []);
});

test("rows name the result and the clock if there are several", () => {
  setLang("en");
  const names = (...runs) => rows(...runs).map((r) => r.variant);
  assert.deepEqual(names([one], [one]), ["r0: v", "r1: v"]);
  assert.deepEqual(names([one, { ...one, clock: "kernel" }]), ["v (simulated)", "v (on the kernel)"]);
});
