// Starts `longfat explore` and sends questions to it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root, target } from "./reports.mjs";

/** Returns a scenario of `scenarios/` for a question. */
export function scenario(name, sets = [], variant = null) {
  const text = readFileSync(join(root, "scenarios", `${name}.toml`), "utf8");
  return { file: `${name}.toml`, text, sets, variant };
}

/** Returns the pieces of an answer that begins at byte `at`. */
export function pieces(answer, at = 0) {
  const count = answer.readUInt32LE(at);
  let from = at + 4 + 4 * count;
  return Array.from({ length: count }, (_, i) => {
    const length = answer.readUInt32LE(at + 4 + 4 * i);
    from += length;
    return Buffer.from(answer.subarray(from - length, from));
  });
}

/** Starts `longfat explore`; returns its address, and functions that ask a question and stop it. */
export async function serve() {
  const served = spawn(join(target, "release", "longfat"), ["explore", "--json"], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const line of createInterface({ input: served.stdout })) {
    text += line;
    if (line === "}") break;
  }
  const { url } = JSON.parse(text);
  let number = 0;
  return {
    url,
    end: () => served.kill(),
    /** `capture`: the path of the question's capture. */
    async ask(question, capture = null) {
      const body = Buffer.concat([Buffer.from(`${JSON.stringify(question)}\n`), capture ? readFileSync(capture) : Buffer.alloc(0)]);
      const answer = await fetch(`${url}ask?${++number}`, { method: "POST", headers: { Origin: url.slice(0, -1) }, body });
      if (!answer.ok) throw new Error(await answer.text());
      return pieces(Buffer.from(await answer.arrayBuffer()));
    },
  };
}
