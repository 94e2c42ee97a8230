// Makes screenshots for reviewers, in LONGFAT_SHOTS or target/shots.
import assert from "node:assert/strict";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture, reports, visit, withBrowser } from "./browser.mjs";
import { wholeInView } from "./chromium.mjs";
import { target } from "./reports.mjs";

withBrowser();

const shots = process.env.LONGFAT_SHOTS ?? join(target, "shots");
mkdirSync(shots, { recursive: true });

/** All combinations of language and theme for one report, the two most different ones for others. */
const looks = (name) => ["en", "zh"].flatMap((lang) => ["light", "dark"].map((theme) => [lang, theme])).filter(
  ([lang, theme]) => name === "policer" || (lang === "en") === (theme === "light"),
);

for (const [name, dir] of Object.entries({ ...reports, capture })) {
  for (const width of [1400, 390]) {
    test(`${name} at ${width} px`, async () => {
      const options = { viewport: { width, height: 900 }, colorScheme: "light", reducedMotion: "reduce" };
      await visit(dir, options, async (page) => {
        for (const [lang, theme] of looks(name)) {
          await page.click(`#lang-${lang}`);
          await page.click(`#theme-${theme}`);
          await wholeInView(page);
          const path = join(shots, `${name}-${width}-${theme}-${lang}.png`);
          await page.screenshot({ path, fullPage: true });
          assert.ok(statSync(path).size > 50_000, path);
        }
      });
    });
  }
}
