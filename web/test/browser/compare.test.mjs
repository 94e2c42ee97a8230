// Several results on one page, made by `longfat report`.
import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { test } from "node:test";
import { TALL, kinds, reports, show, visit, withBrowser } from "./browser.mjs";
import { cli, folder } from "./reports.mjs";
import { columns, result } from "./tables.mjs";

withBrowser();

test("two results are shown in one table, with plots of both side by side", async () => {
  const dirs = [reports.policer, reports.sdwan];
  const file = join(folder, "compared.html");
  cli("report", ...dirs, "-o", file);
  const all = dirs.flatMap((dir) => result(dir).variants.map((v) => [basename(dir), v.name]));
  await visit(file, TALL, async (page) => {
    const cell = (column) => page.$$eval(`tr.variant td[data-col=${column}]`, (cells) => cells.map((c) => c.textContent));
    assert.deepEqual(await cell("variant"), all.map((v) => v[1]));
    assert.deepEqual(await cell("result"), all.map((v) => v[0]));
    const first = result(dirs[0]).variants.length;
    await show(page, 0, first);
    assert.ok((await kinds(page, "a")).includes("throughput"));
    assert.ok((await kinds(page, "b")).includes("throughput"));
    // Each side shows the flows of its own result.
    for (const [side, dir] of [["a", dirs[0]], ["b", dirs[1]]]) {
      const flows = await columns(dir, "flows", result(dir).variants[0]);
      const series = await page.$$eval(`.plot[data-kind=rtt][data-side=${side}] [data-series]`, (list) => list.map((o) => o.dataset.series));
      assert.deepEqual(series, [...flows.keys()].map((f) => `${f} rtt_ms`));
    }
  });
});
