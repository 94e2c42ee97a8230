// Builds the report page: crates/report/assets/page.html, which Rust fills in.
//   node build.mjs           writes it, and src/types.ts, the types of its data
//   node build.mjs --check   fails when a committed file is not what its sources give
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { types } from "./types.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const page = join(here, "../crates/report/assets/page.html");
/** Types of the page's data, made of the JSON Schemas. */
const generated = join(here, "src/types.ts");
/** Without data; a page that grows beyond it needs a reason. */
const MOST_BYTES = 195_000;

/** Of the shared tables only what the page shows. */
export const strings = {
  name: "strings",
  setup(b) {
    b.onLoad({ filter: /(strings|names)\.json$/ }, async ({ path }) => {
      const all = Object.entries(JSON.parse(await readFile(path, "utf8")));
      const own = all.filter(([key]) => /^(ui|plot|diag\.(page|cause|kind)|name\.element)\./.test(key));
      return { contents: JSON.stringify(Object.fromEntries(own)), loader: "json" };
    });
  },
};

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["chrome123", "firefox120", "safari17.5"],
    charset: "utf8",
    legalComments: "none",
    absWorkingDir: here,
    plugins: [strings],
  });
  return result.outputFiles[0].text.trim();
}

/** What a CSP names an inline script or style by. */
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

export async function html() {
  const [script, style] = await Promise.all([bundle("src/main.ts"), bundle("src/style/main.css")]);
  if (/<\/(script|style)|\{\{(lang|title|noscript|data|series)\}\}/i.test(script + style)) {
    throw new Error("the bundle holds an end tag or a marker");
  }
  const csp = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="{{lang}}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<title>{{title}}</title>
<style>${style}</style></head><body>
<noscript>{{noscript}}</noscript>
<main id="report"></main>
<script type="application/json" id="data">{{data}}</script>
{{series}}
<script>${script}</script></body></html>
`;
}

/** Writes a file that is made of others, or with --check holds it against them. */
async function put(file, text) {
  if (!process.argv.includes("--check")) return writeFile(file, text);
  const committed = await readFile(file, "utf8").catch(() => "");
  if (committed !== text) throw new Error(`${relative(process.cwd(), file)} is not what its sources give: npm run build, and commit`);
}

async function main() {
  // Before the bundle, which the types are part of.
  await put(generated, await types());
  const text = await html();
  const bytes = Buffer.byteLength(text);
  if (bytes > MOST_BYTES) throw new Error(`the page has ${bytes} bytes, more than ${MOST_BYTES}`);
  await put(page, text);
  console.log(`${relative(process.cwd(), page)}: ${bytes} bytes`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((e) => {
    console.error(e.message);
    process.exitCode = 1;
  });
}
