// Debian's Chromium, headless.
import { chromium } from "playwright-core";

export function launch() {
  // As root it cannot make its sandbox.
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
}
