// Accessibility: no serious violation found by axe, everything usable by keyboard, nothing cut off on a
// phone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { PHONE, drawn, range, reports, show, visit, withBrowser } from "./browser.mjs";

withBrowser();

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

for (const [width, height] of [[1400, 900], [390, 844]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe finds nothing serious: ${width} px, ${colorScheme}`, async (t) => {
      await visit(reports.policer, { viewport: { width, height }, colorScheme }, async (page) => {
        await page.click('tr[data-row="0"] button.expand');
        await page.evaluate(axe);
        const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document));
        assert.ok(passes.length > 20, "axe checked nothing");
        const list = violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 120)}`);
        for (const line of list) t.diagnostic(line);
        assert.deepEqual(violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => v.id), [], list.join("\n"));
      });
    });
  }
}

for (const [name, dir] of Object.entries(reports)) {
  test(`${name}: a phone shows it without scrolling sideways`, async () => {
    await visit(dir, PHONE, async (page) => {
      const fits = async (when) => {
        const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.deepEqual(wide, [390, 390], when);
      };
      await fits("at first");
      await show(page, 0, 1);
      await page.click('tr[data-row="0"] button.expand');
      await fits("with flows");
      for (const plot of await page.$$(".plot .canvas")) {
        await plot.scrollIntoViewIfNeeded();
        await drawn(page);
        const { width } = await (await plot.$("canvas")).boundingBox();
        assert.ok(width > 250 && width <= 390, `${width} px`);
      }
      await page.click("#lang-zh");
      await drawn(page);
      await fits("in Chinese");
    });
  });
}

/** Describes the focused element. */
const focused = (page) =>
  page.evaluate(() => {
    const el = document.activeElement;
    if (!el || el === document.body) return "";
    const { dataset: d } = el;
    const plot = el.closest(".plot");
    const where = plot ? `${plot.dataset.kind}-${plot.dataset.side}:` : "";
    const style = getComputedStyle(el);
    const seen = style.outlineStyle !== "none" || style.boxShadow !== "none";
    const what = el.id || (d.row && `row ${d.row}`) || (d.zoom && `zoom ${d.zoom}`) || (d.save && `save ${d.save}`) || (d.pick && `pick ${d.pick}`) || el.tagName;
    return `${where}${what}${seen ? "" : " WITHOUT A MARK"}`;
  });

test("the Tab key reaches every control, the focus is visible, and it leaves the page again", async () => {
  await visit(reports.policer, {}, async (page) => {
    const met = [];
    for (let i = 0; i < 200; i++) {
      await page.keyboard.press("Tab");
      const at = await focused(page);
      if (at === "") break;
      met.push(at);
    }
    assert.ok(met.length < 200, "the focus does not leave the page");
    assert.deepEqual(met.filter((m) => m.includes("WITHOUT")), []);
    const wanted = ["lang-en", "lang-zh", "theme-auto", "theme-light", "theme-dark", "print", "row 0", "zoom in", "zoom out", "zoom whole"];
    const plots = await page.$$eval(".plot", (all) => all.map((p) => `${p.dataset.kind}-${p.dataset.side}`));
    assert.ok(plots.length >= 14, `${plots}`);
    for (const plot of plots) wanted.push(`${plot}:plot-${plot}`, `${plot}:save csv`, `${plot}:save png`);
    for (const w of wanted) assert.ok(met.includes(w), `${w} not among ${met.join(", ")}`);
  });
});

/** Presses Tab until `wanted` has the focus. */
async function tabTo(page, wanted) {
  for (let i = 0; i < 120; i++) {
    if ((await focused(page)) === wanted) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`no ${wanted}`);
}

test("language, theme, variants, zoom and the cursor's values work by keyboard", async () => {
  await visit(reports.policer, { colorScheme: "light" }, async (page) => {
    await tabTo(page, "lang-zh");
    await page.keyboard.press("Enter");
    await page.waitForSelector("html[lang^=zh]");
    await drawn(page);
    assert.equal(await focused(page), "lang-zh");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Space");
    await page.waitForSelector("html[lang=en]");
    await drawn(page);
    await tabTo(page, "theme-dark");
    await page.keyboard.press("Enter");
    await page.waitForSelector("html[data-theme=dark]");
    await tabTo(page, "row 0");
    for (const key of ["ArrowDown", "ArrowDown", "a", "ArrowDown", "b"]) await page.keyboard.press(key);
    await page.waitForSelector('tr[data-row="2"][data-side=a]');
    await page.waitForSelector('tr[data-row="3"][data-side=b]');
    await drawn(page);
    await tabTo(page, "rtt-a:plot-rtt-a");
    await page.keyboard.press("+");
    await drawn(page);
    assert.deepEqual(await range(page), [5, 15]);
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Shift+ArrowRight");
    const said = await page.textContent("#speech");
    assert.match(said, /^5\.\d+ s: .*tcp-1 \d/);
    const time = await page.getAttribute("#plots .plot[data-kind=rtt] .at", "data-time");
    assert.ok(Number(time) > 5 && Number(time) < 5.1, time);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector(".plot .at[data-time]"));
    await page.keyboard.press("0");
    assert.deepEqual(await range(page), [0, 20]);
  });
});
