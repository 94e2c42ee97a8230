// Results with names that mean harm: what the scenario parser lets through, and, of a result file that nobody checked,
// what it does not.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, run } from "./reports.mjs";

export const SCRIPT = "</script><script>window.pwned=1</script>";
export const IMAGE = '"><img src=x onerror=window.pwned=1>';
export const MARKS = `${SCRIPT}${IMAGE}<!--'&{{data}}{{series}}\u202Edesrever`;
export const LONG = "W".repeat(10_000);
/** 64 bytes are the most a scenario allows. */
export const ALLOWED = ["__proto__", "constructor", "مسار-العودة", "长".repeat(21), "W".repeat(64)];

/** A scenario whose names and description are as bad as the parser lets them be. */
function scenario() {
  const [proto, constructor, arabic, han, wide] = ALLOWED;
  // A JSON string is a TOML string.
  const q = JSON.stringify;
  const flow = (name) => `[flows.${q(name)}]\nfrom = ${q(proto)}\nto = ${q(constructor)}\n`;
  return `name = ${q(proto)}
description = ${q(MARKS + LONG)}
duration = "2s"
[links.${q(constructor)}]
between = [${q(proto)}, ${q(constructor)}]
forward = [
    { kind = "policer", name = ${q(proto)}, rate = "20Mbit/s", burst = "60kB" },
    { kind = "link", name = ${q(wide)}, rate = "100Mbit/s", delay = "10ms" },
]
${[proto, arabic, han].map(flow).join("")}
[variants.${q(proto)}]
[variants.${q(wide)}]
${q(`flows.${proto}.cc`)} = "bbr"
[variants.${q(arabic)}]
`;
}

/** Runs it, and returns its folder. */
export function allowed() {
  const file = join(folder, "hostile.toml");
  writeFileSync(file, scenario());
  return run("hostile", file);
}

/** The names of a page's data, each once. */
function namesOf(page) {
  const names = new Set();
  for (const { run: r } of page.results) {
    names.add(r.scenario);
    for (const v of r.variants) {
      names.add(v.name);
      for (const f of v.flows) [f.name, f.from, f.to, f.cc].forEach((n) => names.add(n));
      for (const l of v.path?.links ?? []) {
        [l.name, ...l.between].forEach((n) => names.add(n));
        for (const s of [...l.forward, ...l.backward]) names.add(s.name);
      }
    }
  }
  return [...names];
}
