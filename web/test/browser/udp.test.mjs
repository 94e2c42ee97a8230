// UDP flows on the page of two captures of a path: table and plots show the diagnosis.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { PHONE, TALL, drawn, visit, withBrowser } from "./browser.mjs";
import { diagnosis } from "./captures.mjs";
import { folder } from "./reports.mjs";

withBrowser();

const dir = join(folder, "udp-ends");
const video = (d) => d.udp_flows.find((f) => f.rate_mbps > 1);

test("losses of a policed flow are in the table and in a plot", async () => {
  const flow = video(diagnosis(dir));
  const between = flow.between_ends;
  // 5 Mbit/s through a policer of 4 Mbit/s: a fifth is lost, and two captures show every loss.
  const share = between.lost_packets / (between.lost_packets + between.arrived_packets);
  assert.ok(flow.loss === "both-ends" && share > 0.15 && share < 0.25, `${share}`);
  await visit(dir, TALL, async (page) => {
    assert.equal(await page.locator("#udp-flows tr.variant").count(), diagnosis(dir).udp_flows.length);
    const cell = (column) => page.textContent(`#udp-flows tr[data-udp="${flow.id}"] td[data-col=${column}]`);
    assert.ok(Math.abs(Number(await cell("lost")) - 100 * share) < 0.06, await cell("lost"));
    assert.ok(Math.abs(Number(await cell("rate")) - flow.rate_mbps) < 0.01, await cell("rate"));
    assert.ok((await cell("limiter")).includes("policer"), await cell("limiter"));
    await page.click(`#udp-flows tr[data-udp="${flow.id}"] button[data-pick=a]`);
    await drawn(page);
    const kinds = await page.$$eval("#udp-plots .plot[data-side=a]", (all) => all.map((p) => p.dataset.kind));
    assert.deepEqual(kinds, ["udp-rate", "udp-lost", "udp-late"]);
    // The values over time include every lost datagram.
    const lost = flow.over_time.reduce((sum, p) => sum + p.lost_packets, 0);
    assert.equal(lost, between.lost_packets);
    const words = await page.getAttribute("#plot-udp-rate-a", "aria-label");
    assert.match(words, /IP packets/);
  });
});

test("a phone shows UDP flows without scrolling sideways, in both languages, without untranslated keys", async () => {
  await visit(dir, PHONE, async (page) => {
    for (const [lang, word] of [["en", "UDP flows"], ["zh", "UDP 流"]]) {
      await page.click(`#lang-${lang}`);
      for (const plot of await page.$$("#udp-plots .canvas")) {
        await plot.scrollIntoViewIfNeeded();
        await drawn(page);
      }
      assert.equal(await page.innerText("#udp-title"), word);
      assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]), [390, 390], lang);
      assert.doesNotMatch(await page.innerText("#report"), /\bdiag\.[a-z]/);
    }
  });
});
