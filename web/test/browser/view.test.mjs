// Views of the page: sorting, groups, many flows, links. On a made-up result with many flows, repeats, a call
// and warnings (test/sample.mjs, `crowd`).
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { sample } from "../sample.mjs";
import { PHONE, TALL, area, drawn, kinds, range, reports, show, visit, withBrowser } from "./browser.mjs";
import { folder } from "./reports.mjs";

withBrowser();

const crowd = join(folder, "crowd.html");
writeFileSync(crowd, sample("crowd"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const column = (page, key) => page.$$eval(`tr.variant td[data-col=${key}]`, (all) => all.map((td) => td.innerText.trim()));
const rows = (page) => page.$$eval("tr.variant", (all) => all.map((tr) => Number(tr.dataset.row)));

test("a column's head sorts the table, a second time in reverse, by keyboard too", async () => {
  await visit(reports.policer, {}, async (page) => {
    const before = await rows(page);
    await page.click('th[data-by="goodput"] .sort');
    const goodputs = (await column(page, "goodput")).map(Number);
    assert.deepEqual(goodputs, [...goodputs].sort((a, b) => b - a));
    assert.equal(await page.getAttribute('th[data-by="goodput"]', "aria-sort"), "descending");
    await page.focus('th[data-by="goodput"] .sort');
    await page.keyboard.press("Enter");
    assert.equal(await page.getAttribute('th[data-by="goodput"]', "aria-sort"), "ascending");
    assert.deepEqual((await column(page, "goodput")).map(Number), goodputs.reverse());
    await page.click('th[data-by="variant"] .sort');
    const names = await column(page, "variant");
    assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b)));
    assert.equal(await page.locator("th[aria-sort]").count(), 1);
    await page.click('th[data-by="variant"] .sort');
    assert.deepEqual(await column(page, "variant"), names.reverse());
    // Arrow keys follow the visible order, and details stay below their variant.
    const now = await rows(page);
    assert.notDeepEqual(now, before);
    await page.focus(`tr.variant[data-row="${now[0]}"]`);
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.evaluate(() => Number(document.activeElement.dataset.row)), now[1]);
    await page.click(`tr.variant[data-row="${now[1]}"] button.expand`);
    await page.click('th[data-by="goodput"] .sort');
    const after = await page.$eval(`#details-${now[1]}`, (el) => Number(el.previousElementSibling.dataset.row));
    assert.equal(after, now[1]);
  });
});

test("flows are grouped by the chosen property", async () => {
  await visit(crowd, TALL, async (page) => {
    const groups = () => page.$$eval("tr.group-row", (all) => all.map((tr) => tr.dataset.group));
    assert.deepEqual(await groups(), ["cubic", "bbr", "cubic", "bbr"], "the default for many flows");
    const sum = await page.$$eval("tr.group-row td[data-col=goodput]", (all) => all.slice(0, 2).reduce((s, td) => s + Number(td.innerText), 0));
    assert.ok(Math.abs(sum - Number((await column(page, "goodput"))[0].split(" ")[0])) < 0.1, `${sum}`);
    const outputs = () => page.$$eval('.plot[data-kind=throughput][data-side=a] output[data-series]', (all) => all.map((o) => o.dataset.series));
    assert.deepEqual(await outputs(), ["total", "group cubic", "group bbr"]);
    await page.selectOption("#group-by", "none");
    await drawn(page);
    assert.deepEqual([await groups(), await outputs()], [[], ["total"]]);
  });
});

test("many flows are drawn as bands with the worst flow by name", async () => {
  await visit(crowd, TALL, async (page) => {
    await show(page, 0);
    for (const kind of ["each", "rtt"]) {
      const box = await area(page, `plot-${kind}-a`);
      await page.mouse.move(box.x + 0.4 * box.width, box.y + box.height / 2);
      await page.waitForSelector(`.plot[data-kind=${kind}] .at[data-time]`, { state: "attached" });
      const values = await page.$$eval(`.plot[data-kind=${kind}] output[data-series]`, (all) => Object.fromEntries(all.map((o) => [o.dataset.series, Number(o.dataset.value)])));
      const [p95, p75, p50, p25, p5] = ["p95", "p75", "p50", "p25", "p5"].map((q) => values[q]);
      assert.ok(p95 >= p75 && p75 >= p50 && p50 >= p25 && p25 >= p5 && p5 > 0, JSON.stringify(values));
      assert.match(await page.innerText(`.plot[data-kind=${kind}] .legend`), /worst: tcp-\d+/);
    }
    // Chosen flows replace the worst one.
    await page.click(".picker summary");
    await page.click(".picker-list label:nth-child(3) input");
    await drawn(page);
    assert.doesNotMatch(await page.innerText(".plot[data-kind=each] .legend"), /worst/);
  });
});

test("only a variant with a call has a plot of delays", async () => {
  await visit(crowd, TALL, async (page) => {
    await show(page, 0);
    assert.ok(!(await kinds(page)).includes("delay"));
    await show(page, 2);
    assert.ok((await kinds(page)).includes("delay"));
    assert.equal(await page.innerText('tr.variant[data-row="2"] td[data-col=mos]'), "4.2");
  });
});

test("distributions and box plots show the figures", async () => {
  await visit(crowd, TALL, async (page) => {
    await page.waitForSelector("figure.cdf svg");
    assert.match(await page.getAttribute("figure.cdf svg", "aria-label"), /p50 \/ p95 6\.95 \/ 11\.5 s/);
    assert.equal(await page.locator("figure.cdf[data-of=completion] path.curve").count(), 2);
    // Every sample of every flow: the median and the tail that the table has, of the summary.
    const rtt = /p50 \/ p95 ([\d.]+) \/ ([\d.]+) ms;/.exec(await page.getAttribute("figure.cdf[data-of=rtt] svg", "aria-label"));
    const shown = (await page.innerText('tr.variant[data-row="0"] td[data-col=rtt]')).split("/").map(Number);
    shown.forEach((ms, i) => assert.ok(Math.abs(rtt[i + 1] - ms) <= 0.05 * ms, `${rtt[0]} is not ${shown}`));
    assert.equal(await page.locator("figure.boxes[data-of=goodput] tbody tr").count(), 3);
    const edges = await page.$eval("figure.boxes[data-of=goodput] tbody svg", (svg) => {
      const [whisker] = svg.querySelectorAll(".whisker");
      const box = svg.querySelector("rect");
      const of = (el, key) => Number(el.getAttribute(key));
      return [of(whisker, "x1"), of(box, "x"), of(svg.querySelector(".median"), "x1"), of(box, "x") + of(box, "width"), of(whisker, "x2")];
    });
    assert.deepEqual(edges, [...edges].sort((a, b) => a - b));
  });
});

test("warnings and what was not run stand on top", async () => {
  await visit(crowd, {}, async (page) => {
    const notes = await page.$$eval("#notice li", (all) => all.map((li) => li.textContent));
    assert.match(notes[0], /^Incomplete/);
    assert.deepEqual(notes.slice(1), ["flows.tcp: the buffer is smaller than the BDP", "variant call: 3 flows"]);
    const [notice, story] = await page.$$eval("#notice, #story", (all) => all.map((el) => el.getBoundingClientRect().top));
    assert.ok(notice < story);
    // In the page's language; a text without a translation stays as it is, and says which language it is.
    await page.click("#lang-zh");
    const told = await page.$$eval("#notice li", (all) => all.map((li) => [li.textContent, li.lang]));
    assert.deepEqual(told.slice(1), [["flows.tcp：缓冲区小于 BDP", ""], ["variant call: 3 flows", "en"]]);
  });
  await visit(reports.sdwan, {}, async (page) => assert.equal(await page.locator("#notice").count(), 0));
});

test("what was expected stands below the story, and what did not hold is marked", async () => {
  await visit(crowd, {}, async (page) => {
    const rows = await page.$$eval("#expectations tbody tr", (all) => all.map((tr) => [tr.dataset.met, ...[...tr.cells].map((c) => c.textContent)]));
    assert.deepEqual(rows, [
      ["true", "pass", "call", "goodput > 1Mbit/s", "4.12345 Mbit/s"],
      ["false", "FAIL", "call", "jain > 0.9", "0.5"],
      ["false", "FAIL", "call", "mos > 4", "–"],
    ]);
    assert.equal(await page.textContent("#expectations p"), "2 of 3 not met.");
    await page.click("#lang-zh");
    assert.equal(await page.textContent("#expectations p"), "3 项中有 2 项未满足。");
  });
  await visit(reports.sdwan, {}, async (page) => assert.equal(await page.locator("#expectations").count(), 0));
});

test("a link restores the view", async () => {
  await visit(crowd, { permissions: ["clipboard-read", "clipboard-write"] }, async (page, context) => {
    await show(page, 2, 1);
    await page.click("#lang-zh");
    await page.click('th[data-by="rtt"] .sort');
    await page.selectOption("#group-by", "none");
    await page.click("[data-zoom=in]");
    await drawn(page);
    const shown = await range(page);
    await page.click("#copy-link");
    await page.waitForFunction(() => document.querySelector("#copy-link").textContent === "已复制");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(link, /^file:.*crowd\.html#a=call&b=/);
    await page.waitForFunction((wanted) => location.href === wanted, link);
    await page.evaluate(() => localStorage.clear());
    const other = await context.newPage();
    await other.goto(link);
    await drawn(other);
    assert.deepEqual(await range(other), shown);
    assert.equal(await other.getAttribute("html", "lang"), "zh-Hans");
    assert.equal(await other.getAttribute('th[data-by="rtt"]', "aria-sort"), "descending");
    assert.equal(await other.locator("tr.group-row").count(), 0);
    const sides = await other.$$eval("tr.variant[data-side]", (all) => all.map((tr) => [tr.dataset.row, tr.dataset.side]).sort());
    assert.deepEqual(sides, [["1", "b"], ["2", "a"]]);
  });
});

for (const [device, options] of Object.entries({ desk: { viewport: { width: 1400, height: 900 } }, phone: PHONE })) {
  test(`axe finds nothing serious with many flows: ${device}`, async (t) => {
    for (const colorScheme of ["light", "dark"]) {
      await visit(crowd, { ...options, colorScheme }, async (page) => {
        await page.waitForSelector("figure.cdf svg");
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document));
        const list = violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 160)}`);
        for (const line of list) t.diagnostic(line);
        assert.deepEqual(violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => v.id), [], list.join("\n"));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.equal(wide, 0);
      });
    }
  });
}
