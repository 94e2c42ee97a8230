// A headless Chromium for the tests, and pages that record every forbidden action.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before } from "node:test";
import { drawn, launch } from "./chromium.mjs";
import { folder } from "./reports.mjs";

/** Folders of the results by name; `both` exists only if root runs the tests. */
export const reports = JSON.parse(readFileSync(join(folder, "reports.json"), "utf8"));
/** Folder of a made-up capture (captures.mjs). */
export const capture = join(folder, "capture");
/** Folder of a capture taken by a host in a run. */
export const real = join(folder, "real-capture");
export { drawn };
export const html = (dir) => (dir.endsWith(".html") ? dir : join(dir, "report.html"));

let browser;

/** Starts a browser for the tests of this file. */
export function withBrowser() {
  before(async () => (browser = await launch()));
  after(() => browser?.close());
}

/**
 * Opens a report from its file, or the explorer at its address, in its own context, waits until the plots in
 * view are drawn, and runs `body`. Asserts that the page made no request except to its own server, logged
 * nothing and opened no dialog.
 */
export async function visit(dir, options, body) {
  const isServed = dir.startsWith("http:");
  const file = isServed ? null : html(dir);
  assert.ok(isServed || existsSync(file), file);
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, acceptDownloads: true, ...options });
  context.setDefaultTimeout(30_000); // generous, for a busy machine
  const misdeeds = [];
  const address = isServed ? dir : pathToFileURL(file).href;
  context.on("request", (r) => {
    const own = r.url() === address || (isServed && new URL(r.url()).origin === new URL(address).origin) || /^(data|blob):/.test(r.url());
    if (!own) misdeeds.push(`request ${r.url().slice(0, 200)}`);
  });
  context.on("console", (m) => misdeeds.push(`console ${m.type()}: ${m.text()}`));
  context.on("weberror", (e) => misdeeds.push(`error ${e.error().stack}`));
  context.on("dialog", (d) => (misdeeds.push(`dialog ${d.message()}`), d.dismiss()));
  try {
    const page = await context.newPage();
    await page.goto(address);
    await drawn(page);
    await body(page, context);
    assert.deepEqual(misdeeds, []);
  } finally {
    await context.close();
  }
}

/** A window so high that every plot is drawn. */
export const TALL = { viewport: { width: 1400, height: 9000 } };
export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** Shows the table's row `a` alone or with row `b`. */
export async function show(page, a, b = null) {
  const press = async (row, side, on) => {
    const button = page.locator(`tr[data-row="${row}"] button[data-pick=${side}]`);
    if (((await button.getAttribute("aria-pressed")) === "true") !== on) await button.click();
    // A busy page may still be rebuilding the table and the plots.
    await page.waitForSelector(`tr[data-row="${row}"] button[data-pick=${side}][aria-pressed=${on}]`);
  };
  await press(a, "a", true);
  const shownB = page.locator("button[data-pick=b][aria-pressed=true]");
  if (b !== null) await press(b, "b", true);
  else if (await shownB.count()) await shownB.click();
  const sides = b === null ? 1 : 2;
  await page.waitForFunction((n) => new Set([...document.querySelectorAll(".plot")].map((p) => p.dataset.side)).size === n, sides);
  await drawn(page);
}

/** Returns the kinds of the plots on a side, from top to bottom. */
export const kinds = (page, side = "a") =>
  page.$$eval(`.plot[data-side=${side}]`, (all) => all.map((p) => p.dataset.kind));

/** Returns the time range of the plots, in seconds, from the toolbar. */
export const range = (page) => page.$eval("#range", (r) => [Number(r.dataset.from), Number(r.dataset.to)]);

/** Returns the time range of each drawn plot, in seconds. */
export const ranges = (page) =>
  page.$$eval(".plot .canvas[data-drawn]", (all) => all.map((c) => [Number(c.dataset.from), Number(c.dataset.to)]));

/** Returns the box of a plot's curves, in pixels of the window. */
export async function area(page, id) {
  await page.locator(`#${id}`).scrollIntoViewIfNeeded();
  await drawn(page);
  return page.locator(`#${id} .u-over`).boundingBox();
}
