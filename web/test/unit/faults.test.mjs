// Rows of the table of faults; faults as spans in plots.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { faultRows, setLang, spansOf } = await load("view/faults.ts", "i18n.ts", "plot/kinds.ts");

const cut = { name: "cut", kind: "link", of: "radio", at_s: 5, duration_s: 2.5 };
const variant = (clock, ...outages) => ({ name: "v", clock, faults: [cut], flows: outages.map((o, i) => ({ name: `f${i}`, outages: [{ fault: "cut", ...o }] })) });
const rows = (...variants) => faultRows([{ label: "r", run: { variants } }]);

test("a row shows how long a flow was silent, when it recovered, and what was lost", () => {
  setLang("en");
  const [back, never, unaffected, done] = rows(variant("sim",
    { silence_ms: 4350, caused_silence: true, recovery_ms: 4340.4 },
    { silence_ms: 9000, caused_silence: true, lost_packets: 125 },
    { silence_ms: 20, ordinary_silence_ms: 20, caused_silence: false, lost_packets: 0 },
    {}));
  assert.deepEqual(back, { variant: "v", fault: "cut: link radio, 5.00 s + 2.50 s", flow: "f0", silence: "4350", back: "4340", never: false, lost: "–" });
  assert.deepEqual([never.silence, never.back, never.never, never.lost], ["9000", "never", true, "125"]);
  assert.deepEqual([unaffected.silence, unaffected.back, unaffected.never, unaffected.lost], ["20", "–", false, "0"]);
  assert.deepEqual([done.silence, done.back, done.never], ["–", "–", false]);
  assert.deepEqual(rows({ name: "v", clock: "sim", flows: [{ name: "f" }] }), []);
});

test("rows name the clock if there are two", () => {
  const names = rows(variant("sim", {}), variant("kernel", {})).map((r) => r.variant);
  assert.deepEqual(names, ["v (simulated)", "v (on the kernel)"]);
});

test("plots mark a fault from its beginning to its end", () => {
  const [span] = spansOf({ faults: [cut] });
  assert.deepEqual([span.label, span.from, span.to], ["cut: link radio, 5.00 s + 2.50 s", 5, 7.5]);
  assert.deepEqual(spansOf({}), []);
});
