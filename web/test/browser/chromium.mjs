// Starts Debian's Chromium, headless, and waits until a page is drawn.
import { chromium } from "playwright-core";

export function launch() {
  // Chromium's sandbox does not work as root.
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
}

/** Waits until every plot in the window is drawn for the page's time range. */
export async function drawn(page) {
  await page.waitForSelector("#report[data-ready=true]");
  await page.waitForFunction(() => {
    const all = [...document.querySelectorAll(".plot .canvas")];
    const shown = all.filter((c) => {
      const { top, bottom } = c.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    });
    const none = document.querySelector("#not-drawn, #report > .none");
    const inRange = (c) => {
      // Plots of UDP flows have their own range.
      const { from, to } = c.closest(".plots").querySelector(".range").dataset;
      return c.dataset.from === from && c.dataset.to === to;
    };
    return (all.length > 0 || none) && shown.every((c) => c.dataset.drawn && inRange(c));
  });
}

/**
 * Waits until the page is drawn after a change of language, theme or window, which is drawn from the next
 * frame on.
 */
async function settled(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await drawn(page);
}

/** Makes the window as high as the page, so that all plots are drawn. A long table grows with the window. */
export async function wholeInView(page) {
  const height = () => page.evaluate(() => document.documentElement.scrollHeight);
  while ((await height()) > page.viewportSize().height) {
    await page.setViewportSize({ ...page.viewportSize(), height: await height() });
  }
  await settled(page);
}
