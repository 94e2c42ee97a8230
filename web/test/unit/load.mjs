// Loads TypeScript sources as modules in Node.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// The parts of a browser that theme.ts uses.
globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} });
globalThis.document ??= { documentElement: { dataset: {} } };

/** Returns all exports of the source files. */
export async function load(...files) {
  const contents = files.map((f) => `export * from "./${f}";`).join("\n");
  const resolveDir = fileURLToPath(new URL("../../src", import.meta.url));
  const { outputFiles } = await build({
    stdin: { contents, resolveDir, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    target: "node18",
    logLevel: "error",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
