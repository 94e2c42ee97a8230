// Zoom by dragging, wheel, keyboard and buttons; all plots follow.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TALL, area, drawn, range, ranges, reports, show, visit, withBrowser } from "./browser.mjs";

withBrowser();

async function same(page, from, to, tolerance) {
  await drawn(page);
  const [a, b] = await range(page);
  assert.ok(Math.abs(a - from) <= tolerance && Math.abs(b - to) <= tolerance, `${a}..${b}, not ${from}..${to}`);
  const all = await ranges(page);
  assert.ok(all.length >= 12, `${all.length} plots`);
  for (const r of all) assert.deepEqual(r, [a, b]);
}

/** Returns the content of each plot's canvas. */
const pictures = (page) => page.$$eval(".plot canvas", (all) => all.map((c) => c.toDataURL()));

test("dragging in one plot zooms all plots; a double click shows the whole run again", async () => {
  await visit(reports.policer, TALL, async (page) => {
    await show(page, 0, 3);
    const whole = await pictures(page);
    const box = await area(page, "plot-rtt-a");
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + 0.25 * box.width, y);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.4 * box.width, y, { steps: 4 });
    await page.mouse.move(box.x + 0.5 * box.width, y);
    await page.mouse.up();
    const pixel = 20 / box.width;
    await same(page, 5, 10, 1.5 * pixel);
    const zoomed = await pictures(page);
    zoomed.forEach((z, i) => assert.notEqual(z, whole[i], `plot ${i} was not redrawn`));
    await page.mouse.dblclick(box.x + 0.5 * box.width, y);
    await same(page, 0, 20, 0);
  });
});

test("a drag from right to left zooms, too, and a click does not", async () => {
  await visit(reports.policer, TALL, async (page) => {
    await show(page, 0, 3);
    const box = await area(page, "plot-drops-b");
    const y = box.y + box.height / 2;
    await page.mouse.click(box.x + 50, y);
    await same(page, 0, 20, 0);
    // Wait a frame, as the plot follows the pointer once per frame.
    await page.mouse.move(box.x + 0.75 * box.width, y);
    await drawn(page);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.7 * box.width, y, { steps: 4 });
    await page.mouse.move(box.x + 0.5 * box.width, y);
    await drawn(page);
    await page.mouse.up();
    await same(page, 10, 15, 30 / box.width);
  });
});

test("keyboard and buttons zoom and move within the run", async () => {
  await visit(reports.policer, TALL, async (page) => {
    await show(page, 0, 3);
    await page.focus("#plot-cwnd-a");
    await page.keyboard.press("+");
    await same(page, 5, 15, 1e-9);
    await page.keyboard.press("ArrowRight");
    await same(page, 7, 17, 1e-9);
    for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowRight");
    await same(page, 10, 20, 1e-9);
    await page.keyboard.press("-");
    await same(page, 0, 20, 1e-9);
    for (const key of ["+", "+", "+"]) await page.keyboard.press(key);
    await same(page, 8.75, 11.25, 1e-9);
    await page.keyboard.press("0");
    await same(page, 0, 20, 0);
    await page.click("[data-zoom=in]");
    await page.click("[data-zoom=in]");
    await page.click("[data-zoom=left]");
    await same(page, 6.25, 11.25, 1e-9);
    await page.click("[data-zoom=right]");
    await page.click("[data-zoom=out]");
    await same(page, 5, 15, 1e-9);
    await page.click("[data-zoom=whole]");
    await same(page, 0, 20, 0);
  });
});

test("the wheel scrolls the page, and with Ctrl zooms around the pointer", async () => {
  await visit(reports.policer, { viewport: { width: 1400, height: 900 } }, async (page) => {
    const box = await area(page, "plot-throughput-a");
    await page.mouse.move(box.x + 0.25 * box.width, box.y + 20);
    const before = await page.evaluate(() => scrollY);
    await page.mouse.wheel(0, 40);
    await page.waitForFunction((y) => scrollY !== y, before);
    assert.deepEqual(await range(page), [0, 20]);
    const now = await area(page, "plot-throughput-a");
    await page.mouse.move(now.x + 0.25 * now.width, now.y + 20);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -100);
    await page.keyboard.up("Control");
    await page.waitForFunction(() => Number(document.querySelector("#range").dataset.to) < 20);
    const [from, to] = await range(page);
    assert.ok(Math.abs((5 - from) / (to - from) - 0.25) < 0.01, `${from}..${to}`);
    await drawn(page);
  });
});

test("showing another variant resets the zoom", async () => {
  await visit(reports.policer, TALL, async (page) => {
    await show(page, 0, 3);
    await page.click("[data-zoom=in]");
    await show(page, 2, 4);
    await same(page, 0, 20, 0);
  });
});
