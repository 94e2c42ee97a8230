// The page of a capture: its values compared with the Parquet files, mouse and keyboard, accessibility.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { PHONE, TALL, area, capture, drawn, range, ranges, real, visit, withBrowser } from "./browser.mjs";
import { diagnosis, flowRows, packetsOf } from "./captures.mjs";
import { MARKUP, folder } from "./reports.mjs";
import { along, random, rowAt } from "./tables.mjs";

withBrowser();

const TALLER = { viewport: { width: 1400, height: 5000 } };

const readouts = (page, side = "a") =>
  page.$$eval(`.plot[data-side=${side}]`, (plots) =>
    plots.map((p) => ({
      kind: p.dataset.kind,
      time: Number(p.querySelector(".at")?.dataset.time),
      bin: Number(p.querySelector(".canvas").dataset.bin),
      values: [...p.querySelectorAll("output[data-series]")].map((o) => [o.dataset.series, o.dataset.value]),
    })),
  );

/** Returns the last known value at or before a time. */
function last(rows, column, time) {
  const known = rows.filter((r) => r[column] !== null);
  const i = rowAt(known.map((r) => r.time), time);
  return i < 0 ? null : known[i][column];
}

const FACTOR = { sent_bytes: 1e-6, acked_bytes: 1e-6, edge_bytes: 1e-6, inflight_bytes: 1e-3, window_bytes: 1e-3, rtt_ms: 1 };

/** Compares a plot's values at the cursor with the packets; returns the number of compared values. */
function compare({ kind, time, bin, values }, { sent, acked }, flow, end) {
  for (const [series, value] of values) {
    const where = `${kind} ${series} at ${time}`;
    if (kind === "causes") {
      const span = flow.timeline.findLast((s) => s.from_s <= time + 1e-6);
      assert.equal(value, span?.cause ?? "", where);
    } else if (kind === "throughput") {
      const from = Math.floor(time / bin + 1e-9) * bin;
      const to = Math.min(from + bin, end);
      const at = (t) => along(acked.map((r) => r.time), acked.map((r) => r.acked_bytes), t);
      const truth = ((at(from + bin) - at(from)) * 8e-6) / (to - from);
      // Times are rounded to microseconds, so a packet may move to the next bin.
      assert.ok(Math.abs(Number(value) - truth) <= 0.02 * Math.max(truth, 1), `${where}: ${value}, not ${truth}`);
    } else {
      const rows = series in sent[0] ? sent : acked;
      // A packet in the cursor's microsecond may be before or after it.
      const around = [last(rows, series, time - 1e-6), last(rows, series, time + 1e-6)].map((v) => (v === null ? "" : v * FACTOR[series]));
      assert.ok(around.some((truth) => (truth === "" ? value === "" : Math.abs(Number(value) - truth) < 6e-4)), `${where}: ${value}, not ${around}`);
    }
  }
  return values.length;
}

for (const [what, folder] of Object.entries({ "made up": capture, "of a host": real })) {
  test(`the values at the cursor are those of the packets: ${what}`, async () => {
    const draw = random(20261122);
    const d = diagnosis(folder);
    await visit(folder, TALLER, async (page) => {
      for (const id of [d.flows[0].id, d.flows[2].id]) {
        await page.click(`tr[data-flow="${id}"] button[data-pick=a]`);
        await drawn(page);
        const flow = d.flows.find((f) => f.id === id);
        const packets = await packetsOf(folder, id);
        let compared = 0;
        for (let i = 0; i < 6; i++) {
          // The second half with a closer zoom.
          if (i === 3) await page.click("[data-zoom=in]"), await page.click("[data-zoom=in]");
          const box = await area(page, "plot-throughput-a");
          await page.mouse.move(box.x + (0.02 + 0.96 * draw()) * box.width, box.y + box.height / 2);
          await page.waitForSelector(".plot .at[data-time]", { state: "attached" });
          for (const one of await readouts(page)) compared += compare(one, packets, flow, flow.start_s + flow.duration_s);
        }
        assert.equal(compared, 6 * 8, `${compared} values`);
      }
    });
  });
}

test("the table and the shares are those of the Parquet file, and can be sorted and filtered", async () => {
  const rows = await flowRows(capture);
  await visit(capture, {}, async (page) => {
    const shown = () => page.$$eval("#flows tr.variant", (all) => all.map((tr) => [Number(tr.dataset.flow), tr.querySelector("[data-col=rate]").textContent, tr.querySelector("[data-col=cause] [data-state]").dataset.state]));
    const first = await shown();
    assert.equal(first.length, rows.size);
    for (const [id, rate, cause] of first) {
      assert.ok(Math.abs(Number(rate) - rows.get(id).goodput_mbps) < 0.051, `${id}: ${rate}`);
      assert.equal(cause, rows.get(id).cause);
    }
    await page.click("th[data-by=rate] .sort");
    const fastest = (await shown()).map(([id]) => rows.get(id).goodput_mbps);
    assert.deepEqual(fastest, [...fastest].sort((a, b) => b - a));
    assert.equal(await page.getAttribute("th[data-by=rate]", "aria-sort"), "descending");
    await page.click("th[data-by=rate] .sort");
    assert.deepEqual((await shown()).map(([id]) => rows.get(id).goodput_mbps), fastest.reverse());
    await page.selectOption("#cause-filter", "policed");
    const policed = [...rows.values()].filter((f) => f.cause === "policed").length;
    assert.equal((await shown()).length, policed);
    const [id] = (await shown())[0];
    await page.click(`tr[data-flow="${id}"] button[data-pick=a]`);
    const shares = await page.$$eval("#why [data-side=a] .stripe [data-state]", (all) => all.map((s) => [s.dataset.state, Number(s.style.flexGrow)]));
    assert.ok(shares.length > 1);
    for (const [cause, share] of shares) assert.ok(Math.abs(share - rows.get(id)[`share_${cause.replaceAll("-", "_")}`]) < 1e-6, cause);
  });
});

for (const [what, folder, kinds] of [["made up", capture, ["fast recovery", "after a timeout"]], ["of a host", real, ["fast recovery"]]]) {
  test(`retransmissions are marked by kind, and all of them are in the CSV: ${what}`, async () => {
    const { id } = diagnosis(folder).flows[0];
    const { again } = await packetsOf(folder, id);
    assert.ok(again.length > 50, `${again.length}`);
    await visit(folder, TALLER, async (page) => {
      await page.click(`tr[data-flow="${id}"] button[data-pick=a]`);
      await drawn(page);
      const legend = await page.innerText(".plot[data-kind=sequence] .legend");
      for (const kind of kinds) assert.ok(legend.includes(kind), legend);
      const [download] = await Promise.all([page.waitForEvent("download"), page.click(".plot[data-kind=sequence] [data-save=csv]")]);
      const lines = readFileSync(await download.path(), "utf8").trim().split("\r\n");
      const [byte, kind] = ["again_byte", "again_kind"].map((c) => lines[0].split(",").indexOf(c));
      const marked = lines.slice(1).map((l) => l.split(",")).filter((c) => c[byte] !== "").map((c) => `${c[byte]} ${c[kind]}`);
      assert.deepEqual(marked.sort(), again.map((a) => `${a.byte} ${a.kind}`).sort());
    });
  });
}

test("two flows are shown side by side; one without packets shows its causes and the option to get its packets", async () => {
  const d = diagnosis(capture);
  await visit(capture, TALLER, async (page) => {
    const poor = d.flows[20].id;
    await page.click(`tr[data-flow="${poor}"] button[data-pick=b]`);
    await drawn(page);
    assert.equal(await page.getAttribute("#plots", "data-columns"), "2");
    assert.deepEqual(await page.$$eval(".plot[data-side=b]", (all) => all.map((p) => p.dataset.kind)), ["causes"]);
    assert.match(await page.innerText(".plots-head[data-side=b]"), new RegExp(`--flow ${poor}`));
    assert.equal(await page.locator(".plot[data-side=a]").count(), 5);
    assert.equal(await page.locator("#why article").count(), 2);
  });
});

test("plots zoom together, within the flow's own time, by keyboard too", async () => {
  const d = diagnosis(capture);
  const flow = d.flows[1];
  await visit(capture, TALLER, async (page) => {
    await page.click(`tr[data-flow="${flow.id}"] button[data-pick=a]`);
    await drawn(page);
    const [from, to] = await range(page);
    assert.ok(Math.abs(from - flow.start_s) < 0.01 && Math.abs(to - flow.start_s - flow.duration_s) < 0.01, `${from} ${to}`);
    await page.focus("#plot-rtt-a");
    // Each step moves by a fifth of the view, up to the beginning of the flow.
    for (const key of ["+", "+", ...Array(9).fill("ArrowLeft")]) await page.keyboard.press(key);
    await drawn(page);
    const [left, right] = await range(page);
    assert.ok(Math.abs(left - from) < 1e-9 && Math.abs(right - left - (to - from) / 4) < 1e-9, `${left} ${right}`);
    for (const shown of await ranges(page)) assert.deepEqual(shown, [left, right]);
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Shift+ArrowRight");
    assert.match(await page.textContent("#speech"), /^[\d.]+ s: RTT [\d.]+/);
    await page.keyboard.press("0");
    await drawn(page);
    assert.deepEqual(await range(page), [from, to]);
    // Rows are selected by keyboard, too.
    await page.focus(`tr[data-flow="${flow.id}"]`);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("b");
    assert.equal(await page.getAttribute(`tr[data-flow="${d.flows[2].id}"]`, "data-side"), "b");
  });
});

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

for (const [width, height] of [[1400, 900], [390, 844]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe finds nothing serious: ${width} px, ${colorScheme}`, async (t) => {
      await visit(capture, { viewport: { width, height }, colorScheme }, async (page) => {
        await page.click('tr[data-row="1"] button[data-pick=b]');
        await page.evaluate(axe);
        const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document));
        assert.ok(passes.length > 20, "axe checked nothing");
        const list = violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 120)}`);
        for (const line of list) t.diagnostic(line);
        assert.deepEqual(violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => v.id), [], list.join("\n"));
      });
    });
  }
}

test("a phone shows it without scrolling sideways, in both languages", async () => {
  await visit(capture, PHONE, async (page) => {
    for (const lang of ["en", "zh"]) {
      await page.click(`#lang-${lang}`);
      for (const plot of await page.$$(".plot .canvas")) {
        await plot.scrollIntoViewIfNeeded();
        await drawn(page);
      }
      assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]), [390, 390], lang);
    }
    assert.match(await page.innerText("#story"), /流量监管/);
  });
});

for (const [device, options] of Object.entries({ desk: TALL, phone: PHONE })) {
  test(`a hostile file name is shown as text: ${device}`, async () => {
    await visit(join(folder, "hostile-capture"), options, async (page) => {
      const seen = await page.evaluate(() => ({
        pwned: window.pwned,
        foreign: document.querySelectorAll("#report img, #report script, #report iframe, #report a[href], #report [onerror]").length,
        scripts: document.querySelectorAll("script:not([type])").length,
        wide: document.documentElement.scrollWidth - innerWidth,
      }));
      assert.deepEqual(seen, { pwned: undefined, foreign: 0, scripts: 1, wide: 0 });
      assert.ok((await page.innerText("h1")).includes(MARKUP.slice(0, 30)));
      const [download] = await Promise.all([page.waitForEvent("download"), page.click(".plot[data-kind=rtt] [data-save=csv]")]);
      assert.match(download.suggestedFilename(), /^[\p{L}\p{N}._-]+\.csv$/u);
    });
  });
}

test("a printed page has all plots and no controls", async () => {
  await visit(capture, {}, async (page) => {
    await page.emulateMedia({ media: "print" });
    await page.waitForFunction(() => [...document.querySelectorAll(".plot .canvas")].every((c) => c.dataset.drawn));
    assert.equal(await page.locator(".toolbar:visible, .controls:visible, .filter:visible").count(), 0);
    assert.equal(await page.locator(".plot canvas").count(), 5);
  });
});
