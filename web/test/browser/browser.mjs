// A headless Chromium for the tests, and pages that keep count of all they should not do.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before } from "node:test";
import { chromium } from "playwright-core";
import { folder } from "./reports.mjs";

/** Folders of the results, by name; `both` only where root ran the tests. */
export const reports = JSON.parse(readFileSync(join(folder, "reports.json"), "utf8"));
export const html = (dir) => (dir.endsWith(".html") ? dir : join(dir, "report.html"));

let browser;

export function launch() {
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
}

/** A browser for the tests of this file. */
export function withBrowser() {
  before(async () => (browser = await launch()));
  after(() => browser?.close());
}

/**
 * Opens a report from its file in a context of its own, runs `body`, and holds that the page asked nothing of
 * any network, logged nothing and showed no dialog. Waits until the plots in view are drawn.
 */
export async function visit(dir, options, body) {
  const file = html(dir);
  assert.ok(existsSync(file), file);
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, acceptDownloads: true, ...options });
  context.setDefaultTimeout(10_000);
  const misdeeds = [];
  const address = pathToFileURL(file).href;
  context.on("request", (r) => {
    const own = r.url() === address || /^(data|blob):/.test(r.url());
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
