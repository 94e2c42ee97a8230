// Curves over repeats compared with the repeats' rows in the Parquet files.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet/src/node.js";
import { TALL, area, drawn, reports, visit, withBrowser } from "./browser.mjs";
import { quantile } from "../figures.mjs";
import { along, result } from "./tables.mjs";

withBrowser();

/** Returns times and values of each repeat of a flow or element. */
async function repeats(dir, file, variant, name, column) {
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(join(dir, `${file}.parquet`)) });
  const all = new Map();
  for (const row of rows) {
    if (row.variant !== variant.name || row.clock !== variant.clock || row.name !== name) continue;
    if (!all.has(row.repeat)) all.set(row.repeat, { times: [], values: [] });
    all.get(row.repeat).times.push(row.time_s);
    all.get(row.repeat).values.push(Number(row[column]));
  }
  return [...all.values()];
}

/** Returns the legend's value and text of each curve with the cursor at `share` of the plot's width. */
async function legend(page, kind, share) {
  const box = await area(page, `plot-${kind}-a`);
  await page.mouse.move(box.x + share * box.width, box.y + box.height / 2);
  await page.waitForSelector(`.plot[data-kind=${kind}][data-side=a] .at[data-time]`, { state: "attached" });
  return page.$eval(`.plot[data-kind=${kind}][data-side=a]`, (plot) => ({
    time: Number(plot.querySelector(".at").dataset.time),
    bin: Number(plot.querySelector(".canvas").dataset.bin),
    note: plot.querySelector("[data-note=repeats]")?.textContent ?? "",
    curves: Object.fromEntries([...plot.querySelectorAll("output[data-series]")].map((o) => [o.dataset.series, { value: Number(o.dataset.value), shown: o.textContent }])),
  }));
}

const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-3 + 1e-3 * Math.abs(b), `${a} is not ${b}`);

/** Returns lower end, median and upper end of the repeats' goodput in a bin. */
function rates(all, from, to, [low, high]) {
  const each = all.map(({ times, values }) => ((along(times, values, to) - along(times, values, from)) * 8e-6) / (to - from));
  return [low, 0.5, high].map((q) => quantile(each, q));
}

for (const [name, between, words] of [["repeats", [0.1, 0.9], "median of 12 repeats; area: 10th to 90th percentile"], ["few", [0, 1], "median of 3 repeats; area: minimum to maximum"]]) {
  test(`${name}: median and band are those of the repeats' rows`, async () => {
    const [variant] = result(reports[name]).variants;
    const [flow] = variant.flows;
    const all = await repeats(reports[name], "flows", variant, flow.name, "delivered_bytes");
    assert.equal(all.length, variant.repeats.n);
    await visit(reports[name], TALL, async (page) => {
      for (const share of [0.2, 0.5, 0.83]) {
        const { time, bin, note, curves } = await legend(page, "throughput", share);
        assert.match(note, new RegExp(words));
        const from = Math.floor(time / bin + 1e-9) * bin;
        const [low, median, high] = rates(all, from, from + bin, between);
        near(curves[flow.name].value, median);
        const said = /\((.+)–(.+)\)/.exec(curves[flow.name].shown);
        for (const [text, end] of [[said[1], low], [said[2], high]]) assert.ok(Math.abs(Number(text) - end) <= 0.005 * end + 1e-3, `${text} is not ${end}`);
      }
    });
  });
}

test("a queue is averaged in each bin, and a button shows the first repeat", async () => {
  const [variant] = result(reports.repeats).variants;
  await visit(reports.repeats, TALL, async (page) => {
    const { time, bin, curves } = await legend(page, "queue", 0.6);
    const [id] = Object.keys(curves).filter((k) => k.endsWith(" queue_packets"));
    const all = await repeats(reports.repeats, "elements", variant, id.replace(/ queue_packets$/, ""), "queue_packets");
    const k = Math.floor(time / bin + 1e-9);
    const each = all.map(({ times, values }) => {
      const own = values.filter((_, i) => Math.floor(times[i] / bin + 1e-9) === k);
      return own.reduce((s, v) => s + v, 0) / own.length;
    });
    near(curves[id].value, quantile(each, 0.5));
    assert.equal(await page.innerText(".plot[data-kind=states][data-side=a] [data-note=repeats]"), "first of 12 repeats");
    await page.click("[data-repeats=first]");
    await drawn(page);
    assert.equal(await page.getAttribute("[data-repeats=first]", "aria-pressed"), "true");
    assert.equal(await page.locator("[data-note=repeats]").count(), 0);
    const first = await legend(page, "queue", 0.6);
    const own = all[0].times.findLastIndex((t) => t <= first.time);
    assert.equal(first.curves[id].value, all[0].values[own]);
  });
});

test("a single run has no choice of repeats", async () => {
  await visit(reports.policer, {}, async (page) => {
    assert.equal(await page.locator("[data-repeats]").count() + (await page.locator("[data-note=repeats]").count()), 0);
  });
});
