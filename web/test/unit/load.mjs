// Sources as modules that Node can import.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// What theme.ts asks the browser for.
globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} });
globalThis.document ??= { documentElement: { dataset: {} } };

/** Everything the named source files export. */
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
