// Builds the report page, crates/answers/report/assets/page.html, and the explorer, crates/faces/explore/assets/explore.html, which Rust
// fills in.
//   node build.mjs           writes them, and src/types.ts, the types of their data
//   node build.mjs --check   fails if a committed file differs from a build of its sources
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { types } from "./types.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const page = join(here, "../crates/answers/report/assets/page.html");
/** The explorer; crates/faces/explore/src/page.rs fills in its markers. */
const explorer = join(here, "../crates/faces/explore/assets/explore.html");
/** The scenarios that are built in. */
const scenarios = join(here, "../scenarios");
/** Types of the page's data, made of the JSON Schemas. */
const generated = join(here, "src/types.ts");
/** Without data; a page that grows beyond it needs a reason. Names and colours of causes are in it, and not in its data. */
const MOST_BYTES = 199_000;

/** Of the shared tables only what a page shows: keys of these kinds. */
const shownStrings = (own) => ({
  name: "strings",
  setup(b) {
    b.onLoad({ filter: /report.(strings|names)\.json$/ }, async ({ path }) => {
      const all = Object.entries(JSON.parse(await readFile(path, "utf8")));
      return { contents: JSON.stringify(Object.fromEntries(all.filter(([key]) => own.test(key)))), loader: "json" };
    });
  },
});

/** What the report's page shows; some of `plot.` is on drawings of Rust's alone. */
export const strings = shownStrings(/^(ui|plot(?!\.(compare|limit-line|interval|beyond|axis\.rtt-range)$)|diag\.(page|kind)|cause\.[a-z-]+\.label$|name\.element)/);
/** What the explorer shows besides. */
const exploring = shownStrings(/^(ui|plot|diag\.(page|kind)|cause\.[a-z-]+\.label$|name\.(element|control|queue))/);

/** `worker:FILE`, a worker's script as a text; `scenarios:`, the built-in ones by name. */
const built = {
  name: "built",
  setup(b) {
    b.onResolve({ filter: /^worker:/ }, ({ path, resolveDir }) => ({ path: join(resolveDir, path.slice(7)), namespace: "worker" }));
    b.onLoad({ filter: /.*/, namespace: "worker" }, async ({ path }) => ({ contents: await bundle(relative(here, path)), loader: "text" }));
    b.onResolve({ filter: /^scenarios:$/ }, () => ({ path: "scenarios", namespace: "scenarios" }));
    b.onLoad({ filter: /.*/, namespace: "scenarios" }, async () => {
      const names = (await readdir(scenarios)).filter((n) => n.endsWith(".toml")).sort();
      const texts = await Promise.all(names.map(async (n) => [n.slice(0, -5), await readFile(join(scenarios, n), "utf8")]));
      return { contents: JSON.stringify(Object.fromEntries(texts)), loader: "json" };
    });
  },
};

async function bundle(entry, plugins = [strings]) {
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
    plugins,
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
  if (committed !== text) throw new Error(`${relative(process.cwd(), file)} differs from a build of its sources: run npm run build, and commit it`);
}

/** The explorer: WebAssembly may be compiled; what else the page may reach depends on where its engine is. */
export async function explore() {
  const [script, style] = await Promise.all([bundle("src/explore/main.ts", [exploring, built]), bundle("src/explore/main.css")]);
  if (/<\/(script|style)|\{\{(engine|reach)\}\}/i.test(script + style)) throw new Error("the explorer's bundle holds an end tag or a marker");
  const csp = [
    "default-src 'none'",
    `script-src ${hash(script)} 'wasm-unsafe-eval'`,
    `style-src ${hash(style)}`,
    "{{reach}}",
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<title>longfat explore</title>
<style>${style}</style></head><body>
<noscript>longfat explore needs JavaScript.</noscript>
<main id="report"></main>
<script type="text/plain" id="engine">{{engine}}</script>
<script>${script}</script></body></html>
`;
}

async function main() {
  // Before the bundle, which the types are part of.
  await put(generated, await types());
  const text = await html();
  const bytes = Buffer.byteLength(text);
  if (bytes > MOST_BYTES) throw new Error(`the page has ${bytes} bytes, more than ${MOST_BYTES}`);
  await put(page, text);
  console.log(`${relative(process.cwd(), page)}: ${bytes} bytes`);
  const other = await explore();
  await put(explorer, other);
  console.log(`${relative(process.cwd(), explorer)}: ${Buffer.byteLength(other)} bytes, without the engine`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((e) => {
    console.error(e.message);
    process.exitCode = 1;
  });
}
