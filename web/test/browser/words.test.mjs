// Language, theme and printing.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { TALL, drawn, reports, show, visit, withBrowser } from "./browser.mjs";
import { root } from "./reports.mjs";

withBrowser();

const strings = JSON.parse(readFileSync(join(root, "crates/answers/report/strings.json"), "utf8"));

/**
 * Returns all visible texts, labels and tooltips of the page, without names of the result: `bdi`, settings,
 * the description, and elements marked with another language.
 */
function words() {
  const own = "bdi, .about, .settings, script, style, noscript, #report [lang], .brand, .row-value";
  const texts = [];
  const walk = document.createTreeWalker(document.querySelector("#report"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const el = walk.currentNode.parentElement;
    if (!el.closest(own) && el.checkVisibility()) texts.push(walk.currentNode.data.trim());
  }
  for (const el of document.querySelectorAll("#report [aria-label], #report [title]")) {
    if (el.closest(own) || !el.checkVisibility()) continue;
    texts.push(el.getAttribute("aria-label") ?? "", el.getAttribute("title") ?? "");
  }
  return texts.filter(Boolean);
}

/** The table's English texts as patterns in which `{x}` matches anything. */
const english = Object.entries(strings)
  .filter(([, s]) => s.en !== s.zh && /[a-z]{3}/.test(s.en.replace(/\{\w+\}/g, "")))
  .map(([key, s]) => [key, new RegExp(`^${s.en.split(/\{\w+\}/).map((p) => p.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`, "s")]);

test("all texts are in the chosen language, including the headline", async () => {
  await visit(reports.policer, TALL, async (page) => {
    const story = () => page.innerText("#story");
    const en = await story();
    assert.match(en, /Mbit\/s/);
    assert.doesNotMatch(en, /\p{Script=Han}/u);
    const spoken = await page.evaluate(words);
    assert.ok(spoken.length > 100, `${spoken.length} texts`);
    for (const text of spoken) assert.doesNotMatch(text, /\p{Script=Han}/u, text);
    await page.click("#lang-zh");
    await drawn(page);
    assert.match(await page.getAttribute("html", "lang"), /^zh/);
    const zh = await story();
    assert.match(zh, /\p{Script=Han}{4}/u);
    // Both languages have the same figures.
    const figures = (s) => [...s.matchAll(/\d+(\.\d+)?/g)].map((m) => m[0]).sort();
    assert.deepEqual(figures(zh), figures(en));
    const said = await page.evaluate(words);
    assert.ok(said.length > 100, `${said.length} texts`);
    for (const text of said) {
      const left = english.find(([, pattern]) => pattern.test(text));
      assert.ok(!left, `${left?.[0]} in English: ${text}`);
      // No two English words in a row; single ones may be names.
      assert.doesNotMatch(text.replace(/Shift|Ctrl|Esc/g, ""), /[a-z]{3,} [a-z]{3,}/, text);
    }
    await page.click("#lang-en");
    await drawn(page);
    assert.equal(await page.getAttribute("html", "lang"), "en");
    assert.equal(await story(), en);
  });
});

/** Returns the brightness of the page's background, 0 (black) to 255 (white). */
const ground = (page) =>
  page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
    return 0.3 * r + 0.6 * g + 0.1 * b;
  });

/** Returns the brightness of a plot's brightest text, which is light on a dark background. */
const ink = (page) =>
  page.$eval("#plot-rtt-a canvas", (c) => {
    const { data } = c.getContext("2d").getImageData(0, 0, 40 * devicePixelRatio, c.height);
    let most = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) most = Math.max(most, data[i] + data[i + 1] + data[i + 2]);
    return most / 3;
  });

test("the theme applies to page and plots, follows the system, and is remembered", async () => {
  await visit(reports.policer, { ...TALL, colorScheme: "light" }, async (page) => {
    const inkOnLight = await ink(page);
    assert.ok((await ground(page)) > 200);
    await page.click("#theme-dark");
    await drawn(page);
    assert.ok((await ground(page)) < 60);
    await page.waitForFunction((c) => document.querySelector("#plot-rtt-a canvas") && c, true);
    assert.ok((await ink(page)) > inkOnLight);
    await page.reload();
    await drawn(page);
    assert.ok((await ground(page)) < 60, "forgotten");
    await page.click("#theme-auto");
    await drawn(page);
    assert.ok((await ground(page)) > 200);
    await page.emulateMedia({ colorScheme: "dark" });
    await drawn(page);
    assert.ok((await ground(page)) < 60);
    await page.click("#theme-light");
    assert.ok((await ground(page)) > 200);
  });
});

test("a printed page is light, without controls, with every plot", async () => {
  await visit(reports.policer, { viewport: { width: 1400, height: 900 }, colorScheme: "dark" }, async (page) => {
    await show(page, 0, 3);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    assert.ok((await ground(page)) > 240);
    for (const hidden of [".controls", ".toolbar", "[data-save]", ".expand"]) {
      assert.equal(await page.locator(hidden).first().isVisible(), false, hidden);
    }
    for (const shown of ["#story", "#variants", "#plots", "#path"]) assert.ok(await page.isVisible(shown), shown);
    await page.waitForFunction(() => [...document.querySelectorAll(".plot .canvas")].every((c) => c.querySelector("canvas")));
    const pdf = await page.pdf({ format: "A4" });
    assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
    await page.emulateMedia({ media: "screen", colorScheme: "dark" });
    await drawn(page);
    assert.ok((await ground(page)) < 60);
  });
});
