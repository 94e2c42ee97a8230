// Hostile names are shown as text.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PHONE, TALL, drawn, reports, show, visit, withBrowser } from "./browser.mjs";
import { ALLOWED, LONG, MARKS, allowed, renamedPage } from "./hostile.mjs";

withBrowser();

/** Asserts that no name became markup and that nothing is wider than the window. */
async function harmless(page) {
  const seen = await page.evaluate(() => ({
    pwned: window.pwned,
    foreign: document.querySelectorAll("#report img, #report script, #report iframe, #report a[href], #report [onerror]").length,
    scripts: document.querySelectorAll("script:not([type])").length,
    wide: document.documentElement.scrollWidth - innerWidth,
  }));
  assert.deepEqual(seen, { pwned: undefined, foreign: 0, scripts: 1, wide: 0 });
}

for (const [device, options] of Object.entries({ desk: TALL, phone: PHONE })) {
  test(`names that a scenario may have are shown unchanged: ${device}`, async () => {
    const dir = allowed();
    await visit(dir, options, async (page) => {
      await harmless(page);
      assert.equal(await page.innerText("h1"), ALLOWED[0]);
      const names = await page.$$eval("tr.variant td[data-col=variant]", (all) => all.map((td) => td.textContent));
      assert.deepEqual(names, [ALLOWED[0], ALLOWED[4], ALLOWED[2]]);
      const about = (await page.textContent(".about")).replace(/…$/, "");
      assert.ok(about.length >= 200 && (MARKS + LONG).startsWith(about), `${about.length} characters`);
      await show(page, 1, 2);
      await page.click('tr[data-row="0"] button.expand');
      const flows = await page.$$eval("#details-0 tr[data-flow]", (all) => all.map((tr) => tr.dataset.flow));
      assert.deepEqual(flows, [ALLOWED[0], ALLOWED[2], ALLOWED[3]]);
      assert.ok((await page.locator(".plot").count()) >= 12);
      await harmless(page);
    });
  });

  test(`names that no scenario may have are harmless: ${device}`, async () => {
    await visit(renamedPage(reports.policer), options, async (page) => {
      await harmless(page);
      for (const row of await page.$$("tr.variant")) {
        await (await row.$("[data-pick=b], .expand")).scrollIntoViewIfNeeded();
        await (await row.$("button.expand")).click();
      }
      await show(page, 1, 2);
      await harmless(page);
      await page.click("#lang-zh");
      await drawn(page);
      await harmless(page);
      assert.ok((await page.locator(".plot").count()) >= 12);
    });
  });
}

test("downloaded files have harmless names, and no cell is a formula", async () => {
  await visit(renamedPage(reports.policer), TALL, async (page) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(".plot[data-kind=rtt] [data-save=csv]")]);
    assert.match(download.suggestedFilename(), /^[\p{L}\p{N}._-]+\.csv$/u);
    const text = readFileSync(await download.path(), "utf8");
    assert.doesNotMatch(text, /(^|[,\n])"?[=+@]/);
  });
});

test("the terminal's lines fit, and have no control or bidirectional character", async () => {
  const { cli, folder } = await import("./reports.mjs");
  allowed();
  const text = cli("run", join(folder, "hostile.toml"), "--out", join(folder, "hostile-text"), "--no-progress");
  const lines = text.split("\n").filter((l) => !l.startsWith("results in"));
  // East Asian characters take two columns.
  const width = (line) => [...line].reduce((w, c) => w + (/\p{Script=Han}/u.test(c) ? 2 : 1), 0);
  for (const line of lines) assert.ok(width(line) <= 80, `${width(line)}: ${line}`);
  assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u202a-\u202e\u2066-\u2069]/);
});
