// The explorer's engine as WebAssembly gives the same numbers as the command line.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scenario } from "../browser/explorer.mjs";
import { cli, folder, root } from "../browser/reports.mjs";
import { engine } from "./engine.mjs";

/** The list that the test of the served explorer uses, too (crates/faces/cli/tests/cli/explore.rs). */
const NUMBERS = JSON.parse(readFileSync(join(root, "crates/faces/explore/tests/numbers.json"), "utf8"));

test("numbers are the command line's to the last bit", async () => {
  const own = await engine();
  for (const [name, variant, sets] of NUMBERS) {
    for (const seed of [null, 20261126]) {
      const more = [...(variant ? ["--variant", variant] : []), ...sets.flatMap((s) => ["--set", s]), ...(seed ? ["--seed", String(seed)] : [])];
      const out = join(folder, "wasm-run");
      const native = JSON.parse(cli("run", `scenarios/${name}.toml`, "--json", "--no-progress", "--repeat", "1", "--force", "--out", out, ...more));
      const pieces = own.ask({ do: "run", scenario: scenario(name, sets, variant), seed });
      const { run } = JSON.parse(pieces[1]).results[0];
      const shown = variant ?? run.variants[0].name;
      // JSON prints a double in the shortest form that reads back to the same bits. The explorer does not
      // search for the flows' limiter, to answer while a slider moves.
      const { limited_by, limitation_search, ...expected } = native.variants.find((v) => v.name === shown);
      assert.deepEqual(run.variants[0], expected, `${name} ${shown} ${sets} ${seed}`);
    }
  }
});

test("a capture is diagnosed as on the command line", async () => {
  const out = join(folder, "wasm-pcap");
  cli("run", "scenarios/sdwan-limiter.toml", "--variant", "policing-cubic", "--set", "duration=8s", "--pcap", out, "--no-progress", "--force", "--out", join(folder, "wasm-run"));
  const pcap = join(out, "policing-cubic-up", "pc.pcap");
  const native = JSON.parse(cli("diagnose", pcap, "--json", "--no-progress"));
  const own = await engine();
  const [head, data] = own.ask({ do: "diagnose", file: pcap }, { capture: pcap });
  assert.equal(head.toString(), "{}");
  const flows = JSON.parse(data).flows.map(({ figures, ribbon, packets, ...flow }) => flow);
  assert.deepEqual(flows, native.flows.map(({ timeline, ...flow }) => flow));
});
