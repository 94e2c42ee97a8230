// The same run read another way: from its Parquet files, with a library that shares nothing with the page.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet/src/node.js";

/** Rows of the variant's clock and name, by what they are of: a Map from name to columns, one array each. */
export async function columns(dir, file, variant) {
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(join(dir, `${file}.parquet`)) });
  const found = new Map();
  for (const row of rows) {
    if (row.variant !== variant.name || row.clock !== variant.clock || row.repeat !== 1n) continue;
    let of = found.get(row.name);
    if (!of) found.set(row.name, (of = Object.fromEntries(Object.keys(row).map((k) => [k, []]))));
    for (const [key, value] of Object.entries(row)) of[key].push(typeof value === "bigint" ? Number(value) : value);
  }
  return found;
}

/** The row that holds at `time`: the last at or before it, -1 before the first. */
export function rowAt(times, time) {
  return times.findLastIndex((t) => t <= time);
}

/** A cumulative column at `time`, straight between samples. */
export function along(times, values, time) {
  const i = rowAt(times, time);
  if (i < 0) return 0;
  if (i + 1 >= times.length) return values[i];
  return values[i] + ((time - times[i]) / (times[i + 1] - times[i])) * (values[i + 1] - values[i]);
}

export const result = (dir) => JSON.parse(readFileSync(join(dir, "result.json"), "utf8"));

/** The same numbers from 0 to 1 every time (mulberry32). */
export function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
