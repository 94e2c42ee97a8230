// The page's numbers: values at the cursor compared with the Parquet files, the table with the result.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TALL, area, drawn, range, reports, show, visit, withBrowser } from "./browser.mjs";
import { along, columns, random, result, rowAt } from "./tables.mjs";

withBrowser();

/**
 * Half the precision of a column in the page: milliseconds to a microsecond, whole bytes; rates to a kilobit
 * per second.
 */
const HALF = { rtt_ms: 0.5e-3, tokens_bytes: 0.5e-3, delivered: 1e-9 };

/** Returns the values at the cursor of one side: kind, time, bin and the values by series. */
const readouts = (page, side) =>
  page.$$eval(`.plot[data-side=${side}]`, (plots) =>
    plots.map((p) => ({
      kind: p.dataset.kind,
      time: Number(p.querySelector(".at")?.dataset.time),
      bin: Number(p.querySelector(".canvas").dataset.bin),
      values: [...p.querySelectorAll("output[data-series]")].map((o) => [o.dataset.series, o.dataset.value, o.textContent]),
    })),
  );

function near(shown, truth, within, where) {
  if (truth === null || truth === undefined) return assert.equal(shown, "", where);
  assert.notEqual(shown, "", where);
  assert.ok(Math.abs(Number(shown) - truth) <= within + 1e-9 * Math.abs(truth), `${where}: ${shown}, not ${truth}`);
}

/** Returns the goodput of `flow` in the bin of `time`, Mbit/s, up to the end of the run. */
function rate(flow, time, bin, end) {
  const from = Math.floor(time / bin + 1e-9) * bin;
  const to = Math.min(from + bin, end);
  return ((along(flow.time_s, flow.delivered_bytes, from + bin) - along(flow.time_s, flow.delivered_bytes, from)) * 8e-6) / (to - from);
}

/** Compares a plot's values at the cursor with the series; returns the number of compared values. */
function compare({ kind, time, bin, values }, flows, elements, end, where) {
  for (const [series, value, text] of values) {
    const at = `${where} ${kind} at ${time}: ${series}`;
    if (kind === "throughput") {
      const list = series === "total" ? [...flows.values()] : [flows.get(series)];
      near(value, list.reduce((sum, f) => sum + rate(f, time, bin, end), 0), 1e-9, at);
    } else if (kind === "states") {
      const f = flows.get(series);
      assert.equal(value, f.state[rowAt(f.time_s, time)], at);
    } else if (kind === "drops") {
      const [, name, column] = /^(.*) (dropped|marked)$/.exec(series);
      const e = elements.get(name);
      const from = Math.floor(time / bin + 1e-9) * bin;
      const upTo = (t) => e[column][rowAt(e.time_s, t)] ?? 0;
      near(value, upTo(from + bin + 1e-9) - upTo(from + 1e-9), 1e-9, at);
    } else {
      const [, name, column] = /^(.*) (\w+)$/.exec(series);
      const s = (kind === "queue" ? elements : flows).get(name);
      const row = rowAt(s.time_s, time);
      const truth = row < 0 ? null : s[column][row];
      const factor = { tokens_bytes: 1e-3, sent_bytes: 1e-6, acked_bytes: 1e-6 }[column] ?? 1;
      near(value, truth === null ? null : truth * factor, HALF[column] ?? (column.endsWith("_mbps") ? 0.5e-3 : 0), at);
    }
    assert.ok(text.trim().length > 0, at);
  }
  return values.length;
}

async function hover(page, dir, variant, side, part) {
  const box = await area(page, `plot-throughput-${side}`);
  const [from, to] = await range(page);
  await page.mouse.move(box.x + part * box.width, box.y + box.height / 2);
  await page.waitForSelector(`.plot[data-side=${side}] .at[data-time]`, { state: "attached" });
  const all = await readouts(page, side);
  const flows = await columns(dir, "flows", variant);
  const elements = await columns(dir, "elements", variant);
  let compared = 0;
  for (const one of all) {
    assert.ok(Math.abs(one.time - (from + part * (to - from))) <= (1.5 * (to - from)) / box.width, `the cursor is at ${one.time}`);
    compared += compare(one, flows, elements, variant.duration_s, `${variant.name} ${variant.clock}`);
  }
  return compared;
}

for (const [name, dir] of Object.entries(reports)) {
  test(`${name}: the values at the cursor are those of the data`, async () => {
    const draw = random(20261121);
    const { variants } = result(dir);
    await visit(dir, TALL, async (page) => {
      // Values over repeats are tested in repeats.test.mjs.
      const first = page.locator("[data-repeats=first]");
      if (await first.count()) await first.click();
      for (const [row, variant] of variants.entries()) {
        await show(page, row);
        let compared = 0;
        for (let i = 0; i < 3; i++) compared += await hover(page, dir, variant, "a", 0.02 + 0.96 * draw());
        // Once more with a closer zoom, which has narrower bins.
        await page.click("[data-zoom=in]");
        await page.click("[data-zoom=in]");
        await drawn(page);
        compared += await hover(page, dir, variant, "a", 0.02 + 0.96 * draw());
        assert.ok(compared >= 4 * 7, `${compared} values`);
      }
    });
  });
}

test("both sides show values at the same time, each of its own variant", async () => {
  const { variants } = result(reports.policer);
  await visit(reports.policer, TALL, async (page) => {
    await show(page, 0, 3);
    await hover(page, reports.policer, variants[0], "a", 0.37);
    const [a, b] = [await readouts(page, "a"), await readouts(page, "b")];
    assert.deepEqual(a.map((r) => r.time), b.map((r) => r.time));
    const flows = await columns(reports.policer, "flows", variants[3]);
    const elements = await columns(reports.policer, "elements", variants[3]);
    for (const one of b) compare(one, flows, elements, variants[3].duration_s, "side b");
  });
});

test("the cursor disappears when the pointer leaves the plot", async () => {
  await visit(reports.policer, TALL, async (page) => {
    const box = await area(page, "plot-rtt-a");
    await page.mouse.move(box.x + 100, box.y + 50);
    await page.waitForSelector(".plot .at[data-time]", { state: "attached" });
    await page.mouse.move(box.x + 100, box.y - 400);
    await page.waitForFunction(() => !document.querySelector(".plot .at[data-time]"));
  });
});

/** Asserts that the text, e.g. `12.3k`, is `truth` rounded to the text's digits. */
function says(text, truth, where) {
  const m = /^(-?[\d.]+)([kM]?)$/.exec(text.trim());
  assert.ok(m, `${where}: ${text}`);
  const unit = { "": 1, k: 1e3, M: 1e6 }[m[2]];
  const last = unit * 10 ** -(m[1].split(".")[1]?.length ?? 0);
  assert.ok(Math.abs(Number(m[1]) * unit - truth) <= 0.5 * last * (1 + 1e-9) + 1e-12, `${where}: ${text}, not ${truth}`);
}

const sum = (list, of) => list.reduce((s, x) => s + of(x), 0);

for (const [name, dir] of Object.entries(reports)) {
  test(`${name}: the table has the values of the result`, async () => {
    const { variants } = result(dir);
    await visit(dir, {}, async (page) => {
      const rows = await page.$$eval("tr.variant", (all) =>
        all.map((tr) => Object.fromEntries([...tr.querySelectorAll("td[data-col]")].map((td) => [td.dataset.col, td.textContent]))),
      );
      assert.equal(rows.length, variants.length);
      for (const [i, v] of variants.entries()) {
        const tcp = v.flows.filter((f) => f.cc !== "udp");
        const row = rows[i];
        const is = (column, truth) => says(row[column], truth, `${v.name} ${column}`);
        assert.equal(row.variant, v.name);
        if (v.one_at_a_time) assert.equal(row.goodput, "–");
        else {
          const [mean, interval] = row.goodput.split("±");
          says(mean, v.total_goodput_mbps, `${v.name} goodput`);
          if (interval) says(interval, v.repeats.total_goodput_mbps.ci95, `${v.name} interval`);
        }
        if (row.share && row.share !== "–") is("share", (100 * v.total_goodput_mbps) / v.limit_mbps);
        // Flows that cannot be compared have no index, and an empty column is left out.
        if (v.jain_index === undefined || v.flows.length < 2) assert.ok([undefined, "–"].includes(row.jain), `${v.name}: ${row.jain}`);
        else is("jain", v.jain_index);
        if (tcp.length > 0 && tcp.every((f) => f.lost_packets !== undefined)) {
          is("lost", (100 * sum(tcp, (f) => f.lost_packets)) / sum(tcp, (f) => f.sent_packets));
        }
        is("resent", sum(v.flows, (f) => f.retransmitted_packets));
        is("rto", sum(v.flows, (f) => f.timeouts));
        is("drops", sum(v.elements, (e) => e.dropped_packets));
        is("queue", Math.max(...v.elements.map((e) => e.max_queue_packets)));
        const [p50, p95] = row.rtt.split("/");
        // The flow with the longest RTT.
        says(p50, Math.max(...tcp.map((f) => f.rtt_ms.p50)), `${v.name} p50`);
        says(p95, Math.max(...tcp.map((f) => f.rtt_ms.p95)), `${v.name} p95`);
        const [low, high = low] = row.each.split("–");
        says(low, Math.min(...tcp.map((f) => f.goodput_mbps)), `${v.name} minimum`);
        says(high, Math.max(...tcp.map((f) => f.goodput_mbps)), `${v.name} maximum`);
      }
    });
  });
}

test("a row opens to its flows", async () => {
  const [variant] = result(reports.policer).variants;
  await visit(reports.policer, {}, async (page) => {
    await page.click('tr[data-row="0"] button.expand');
    const rows = await page.$$eval("#details-0 tr[data-flow]", (all) => all.map((tr) => [tr.dataset.flow, tr.textContent]));
    assert.deepEqual(rows.map((r) => r[0]), variant.flows.map((f) => f.name));
    variant.flows.forEach((f, i) => assert.ok(rows[i][1].includes(f.goodput_mbps.toPrecision(3)), rows[i][1]));
    await page.click('tr[data-row="0"] button.expand');
    assert.equal(await page.isVisible("#details-0"), false);
  });
});
