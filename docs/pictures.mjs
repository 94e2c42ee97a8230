// Draws the pictures of the pages in docs/ from the pages as they are: `make pictures`.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { drawn, launch, wholeInView } from "../web/test/browser/chromium.mjs";
import { root, target } from "../web/test/browser/reports.mjs";

const docs = fileURLToPath(new URL(".", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "longfat-pictures-"));
const browser = await launch();

/** Opens a report in a window as high as its page, and hands it to `take`. */
async function open(file, options, take) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, colorScheme: "light", reducedMotion: "reduce", ...options });
  await page.goto(pathToFileURL(file).href);
  await drawn(page);
  await wholeInView(page);
  await take(page);
  await page.close();
}

/** Its first `height` pixels. */
const top = (name, width, height) => (page) => page.screenshot({ path: join(docs, name), clip: { x: 0, y: 0, width, height } });

/** Three pieces of a phone's page side by side, each beginning a little above one of these. */
async function pieces(page, name, starts) {
  const [width, height, gap] = [390, 1100, 20];
  const cut = [];
  for (const start of starts) {
    const y = start ? (await page.locator(start).first().boundingBox()).y - 12 : 0;
    cut.push(await page.screenshot({ clip: { x: 0, y, width, height } }));
  }
  const sheet = await browser.newPage({ viewport: { width: starts.length * (width + gap) - gap, height } });
  const images = cut.map((png) => `<img src="data:image/png;base64,${png.toString("base64")}">`).join("");
  await sheet.setContent(`<body style="margin:0;display:flex;gap:${gap}px;background:#fff">${images}</body>`);
  await sheet.screenshot({ path: join(docs, name) });
}

/** The command line, as if typed in a folder of its own: pages name files as they were asked for. */
const longfat = (...args) => execFileSync(join(target, "release", "longfat"), [...args, "--no-progress"], { cwd: work, stdio: ["ignore", "ignore", "inherit"] });

const run = (name, scenario, ...args) => {
  longfat("run", join(root, scenario), "--out", name, ...args);
  return join(work, name, "report.html");
};

try {
  const policer = run("policer", "scenarios/policer-or-shaper.toml");
  await open(policer, {}, top("report.png", 1400, 2100));
  await open(policer, { viewport: { width: 390, height: 844 }, colorScheme: "dark" }, async (page) => {
    await page.click("#lang-zh");
    await wholeInView(page);
    await pieces(page, "report-phone.png", ["", "section:has(#variants)", "section.group[data-kind=cwnd]"]);
  });
  const variants = ["--variant", "policing-cubic", "--variant", "policing-bbr"];
  const repeats = run("repeats", "scenarios/sdwan-limiter.toml", "--repeat", "20", ...variants);
  await open(repeats, { viewport: { width: 1100, height: 900 } }, (page) =>
    page.locator("section.group[data-kind=throughput]").screenshot({ path: join(docs, "report-repeats.png") }));
  run("sdwan", "scenarios/sdwan-limiter.toml", "--pcap", "pcap");
  longfat("diagnose", "pcap/policing-cubic-up/pc.pcap", "--report", "why.html");
  await open(join(work, "why.html"), {}, top("diagnose.png", 1400, 1940));
} finally {
  await browser.close();
  rmSync(work, { recursive: true, force: true });
}
