// Debian's Chromium, headless, and when a page in it is drawn.
import { chromium } from "playwright-core";

export function launch() {
  // As root it cannot make its sandbox.
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
}

/** Until every plot that the window shows is drawn for the range that the page is at. */
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
      // Flows of UDP have plots and a range of their own.
      const { from, to } = c.closest(".plots").querySelector(".range").dataset;
      return c.dataset.from === from && c.dataset.to === to;
    };
    return (all.length > 0 || none) && shown.every((c) => c.dataset.drawn && inRange(c));
  });
}

/** The same after another language, theme or window: what these make anew is begun with the next frame. */
async function settled(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await drawn(page);
}

/** Makes the window as high as its page, in which then all plots are drawn. A long table's part of the page grows with the window. */
export async function wholeInView(page) {
  const height = () => page.evaluate(() => document.documentElement.scrollHeight);
  while ((await height()) > page.viewportSize().height) {
    await page.setViewportSize({ ...page.viewportSize(), height: await height() });
  }
  await settled(page);
}
