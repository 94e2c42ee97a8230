// A report opened from its file: nothing is fetched, and all plots are drawn.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { TALL, html, kinds, reports, show, visit, withBrowser } from "./browser.mjs";
import { columns, result } from "./tables.mjs";

withBrowser();

/** Returns the plots that must be drawn, from the result and the Parquet files. */
async function expected(dir, variant) {
  const flows = await columns(dir, "flows", variant);
  const elements = [...(await columns(dir, "elements", variant)).values()];
  const tcp = [...flows.values()].some((f) => f.state.some(Boolean));
  const any = (list, column) => list.some((e) => e[column].some((x) => x > 0));
  return {
    throughput: flows.size > 0,
    rates: [...flows.values()].some((f) => Object.keys(f).some((c) => c.endsWith("_mbps") && f[c].some((x) => x !== null))),
    rtt: any([...flows.values()], "rtt_ms"),
    delay: any([...flows.values()], "delay_ms"),
    cwnd: tcp,
    queue: any(elements, "queue_packets") || elements.some((e) => e.tokens_bytes.some((x) => x !== null)),
    drops: any(elements, "dropped"),
    states: tcp,
    sequence: any([...flows.values()], "sent_bytes"),
  };
}

/** Counts for each plot the canvas pixels in each colour of its legend. */
function colours() {
  const parse = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
  return [...document.querySelectorAll(".plot")].map((plot) => {
    const canvas = plot.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const wanted = [...new Set([...plot.querySelectorAll(".swatch")].map((s) => getComputedStyle(s).color))].map(parse);
    const hits = wanted.map(() => 0);
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] < 128) continue;
      wanted.forEach((c, k) => {
        if (Math.abs(data[i] - c[0]) + Math.abs(data[i + 1] - c[1]) + Math.abs(data[i + 2] - c[2]) < 24) hits[k]++;
      });
    }
    return { kind: plot.dataset.kind, side: plot.dataset.side, hits };
  });
}

for (const [name, dir] of Object.entries(reports)) {
  test(`${name}: every variant's plots are drawn and not blank`, async () => {
    const { variants } = result(dir);
    await visit(dir, TALL, async (page) => {
      for (const [row, variant] of variants.entries()) {
        await show(page, row);
        const wanted = await expected(dir, variant);
        const list = Object.keys(wanted).filter((k) => wanted[k]);
        assert.deepEqual(await kinds(page), list, variant.name);
        // A plot is drawn when it is first in the window, on a busy machine a frame later.
        await page.waitForFunction(() => [...document.querySelectorAll(".plot")].every((p) => p.querySelector("canvas")));
        for (const { kind, hits } of await page.evaluate(colours)) {
          const where = `${variant.name} ${variant.clock} ${kind}: ${hits}`;
          assert.ok(hits.length > 0 && Math.max(...hits) > 100, where);
          // A curve may be hidden behind others, e.g. those of similar flows, but at least half of them are
          // visible.
          if (kind !== "sequence") assert.ok(hits.filter((n) => n > 0).length >= Math.ceil(hits.length / 2), where);
        }
      }
    });
  });
}

test("two variants side by side have the same plots at the same heights", async () => {
  await visit(reports.policer, TALL, async (page) => {
    await show(page, 0, 3);
    const tops = async (side) => page.$$eval(`.plot[data-side=${side}] .canvas`, (all) => all.map((c) => Math.round(c.getBoundingClientRect().top)));
    assert.ok((await kinds(page)).length >= 6);
    assert.deepEqual(await kinds(page, "a"), await kinds(page, "b"));
    assert.deepEqual(await tops("a"), await tops("b"));
  });
});

test("the page's Content-Security-Policy forbids to load anything", async () => {
  await visit(reports.policer, {}, async (page) => {
    const policy = await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', "content");
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src 'sha256-[\w+/=]+'(;|$)/);
    assert.match(policy, /style-src 'sha256-[\w+/=]+'(;|$)/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  });
});

test("six variants of twenty seconds take at most 1.5 MB", () => {
  const { size } = statSync(html(reports.policer));
  assert.ok(size <= 1_500_000, `${size} bytes`);
});
