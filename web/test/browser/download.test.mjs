// Downloads: a plot's data as CSV, a plot as PNG.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { TALL, kinds, reports, show, visit, withBrowser } from "./browser.mjs";
import { columns, random, result } from "./tables.mjs";

withBrowser();

async function save(page, kind, what) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click(`.plot[data-kind=${kind}][data-side=a] [data-save=${what}]`),
  ]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

/** Splits CSV into lines and fields; names of this scenario need no quotes. */
const fields = (bytes) => bytes.toString("utf8").trimEnd().split("\r\n").map((line) => line.split(","));

for (const [kind, file, names] of [
  ["throughput", "flows", ["delivered_bytes"]],
  ["rtt", "flows", ["rtt_ms"]],
  ["cwnd", "flows", ["cwnd", "inflight"]],
  ["queue", "elements", ["queue_packets", "tokens_bytes"]],
  ["states", "flows", ["state"]],
]) {
  test(`the CSV of ${kind} has all data`, async () => {
    const [variant] = result(reports.policer).variants;
    const draw = random(kind.length);
    await visit(reports.policer, TALL, async (page) => {
      await show(page, 0);
      // The file does not depend on the zoom.
      await page.click("[data-zoom=in]");
      const { name, bytes } = await save(page, kind, "csv");
      assert.equal(name, `policer-or-shaper_policer_${kind}.csv`);
      const [head, ...rows] = fields(bytes);
      const data = await columns(reports.policer, file, variant);
      assert.equal(head[0], "time_s");
      assert.ok(head.length > names.length, String(head));
      const times = new Set([...data.values()].flatMap((c) => c.time_s));
      assert.equal(rows.length, times.size);
      for (const [i, title] of head.entries()) {
        if (i === 0) continue;
        const [, of, column] = /^(.*) (\w+)$/.exec(title);
        assert.ok(names.includes(column), title);
        const truth = data.get(of);
        assert.equal(rows.filter((r) => r[i] !== "").length, truth[column].filter((x) => x !== null && x !== "").length, title);
        for (let n = 0; n < 20; n++) {
          const k = Math.floor(draw() * truth.time_s.length);
          const row = rows.find((r) => Math.abs(Number(r[0]) - truth.time_s[k]) < 1e-6);
          const value = truth[column][k];
          if (value === null || value === "") assert.equal(row[i], "");
          else if (typeof value === "string") assert.equal(row[i], value);
          else assert.ok(Math.abs(Number(row[i]) - value) <= (column === "tokens_bytes" ? 0.5 : 0.5e-3), `${title} ${row[0]}: ${row[i]}, not ${value}`);
        }
      }
    });
  });
}

test("every plot's PNG is a picture with curves in it", async () => {
  await visit(reports.policer, TALL, async (page) => {
    await show(page, 0);
    for (const kind of await kinds(page)) {
      const { name, bytes } = await save(page, kind, "png");
      assert.equal(name, `policer-or-shaper_policer_${kind}.png`);
      assert.equal(bytes.subarray(1, 4).toString(), "PNG");
      const seen = await page.evaluate(async (url) => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const ctx = canvas.getContext("2d");
        ctx.drawImage(image, 0, 0);
        const { data } = ctx.getImageData(0, 0, image.width, image.height);
        const colours = new Map();
        for (let i = 0; i < data.length; i += 4) {
          const c = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
          colours.set(c, (colours.get(c) ?? 0) + 1);
        }
        const most = Math.max(...colours.values());
        return { width: image.width, height: image.height, colours: colours.size, drawn: 1 - most / (data.length / 4) };
      }, `data:image/png;base64,${bytes.toString("base64")}`);
      const where = `${kind}: ${JSON.stringify(seen)}, ${bytes.length} bytes`;
      assert.ok(bytes.length > 5_000 && bytes.length < 2_000_000, where);
      assert.ok(seen.width >= 1000 && seen.height >= 300, where);
      assert.ok(seen.colours > 20 && seen.drawn > 0.005 && seen.drawn < 0.9, where);
    }
  });
});
