// Results with hostile names: those that the scenario parser accepts, and worse ones in a manipulated result
// file.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, run } from "./reports.mjs";

export const SCRIPT = "</script><script>window.pwned=1</script>";
export const IMAGE = '"><img src=x onerror=window.pwned=1>';
export const MARKS = `${SCRIPT}${IMAGE}<!--'&{{data}}{{series}}\u202Edesrever`;
export const LONG = "W".repeat(10_000);
/** Names that a scenario may have; the longest have 64 bytes. */
export const ALLOWED = ["__proto__", "constructor", "مسار-العودة", "长".repeat(21), "W".repeat(64)];

/** A scenario with the worst names and description that the parser accepts. */
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

/** Runs this scenario and returns the result's folder. */
export function allowed() {
  const file = join(folder, "hostile.toml");
  writeFileSync(file, scenario());
  return run("hostile", file);
}

/** Returns the distinct names in a page's data. */
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

/** Returns a name that no scenario may have. */
function worse(i) {
  const kinds = [SCRIPT, IMAGE, MARKS, LONG, "__proto__", `"'\`\\`, "\u202Egnp.exe", "{{data}}", "", "=1+1", "\u0000\n\t"];
  const n = Math.floor(i / kinds.length);
  return kinds[i % kinds.length] + (n ? ` ${n}` : "");
}

/** Replaces `names` in all strings that are a name or of the form `link.direction.stage@flow`. */
function renamed(value, names) {
  if (Array.isArray(value)) return value.map((v) => renamed(v, names));
  if (value === null || typeof value !== "object") {
    if (typeof value !== "string") return value;
    if (names.has(value)) return names.get(value);
    const parts = /^(.+)\.(forward|backward)\.([^@]+)(?:@(.+))?$/.exec(value);
    if (!parts) return value;
    const [, link, direction, stage, flow] = parts;
    const to = (n) => names.get(n) ?? n;
    return `${to(link)}.${direction}.${to(stage)}${flow ? `@${to(flow)}` : ""}`;
  }
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, renamed(v, names)]));
}

const DATA = /(<script type="application\/json" id="data">)(.*?)(<\/script>)/s;

/** Writes the report of `dir` with every name replaced by a hostile one; returns the file's path. */
export function renamedPage(dir) {
  const text = readFileSync(join(dir, "report.html"), "utf8");
  const page = JSON.parse(DATA.exec(text)[2]);
  const names = new Map(namesOf(page).map((n, i) => [n, worse(i)]));
  const bad = renamed(page, names);
  for (const r of bad.results) [r.label, r.run.description] = [MARKS, MARKS + LONG];
  bad.story = { en: MARKS + LONG, zh: MARKS + LONG, facts: { en: [MARKS + LONG], zh: [MARKS] }, goals: { en: [], zh: [] }, about: [] };
  const json = JSON.stringify(bad).replaceAll("<", "\\u003c");
  const file = join(folder, "renamed.html");
  writeFileSync(file, text.replace(DATA, (_, open, __, close) => open + json + close));
  return file;
}
