// The same run read another way: from its Parquet files, with a library that shares nothing with the page.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet/src/node.js";

const read = new Map();

/** All rows of a file's first repeats: columns by variant, clock and name. */
async function grouped(path) {
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path) });
  const groups = new Map();
  for (const row of rows) {
    if (row.repeat !== 1n) continue;
    const of = `${row.clock} ${row.variant}`;
    if (!groups.has(of)) groups.set(of, new Map());
    const variant = groups.get(of);
    if (!variant.has(row.name)) variant.set(row.name, Object.fromEntries(Object.keys(row).map((k) => [k, []])));
    const columns = variant.get(row.name);
    for (const [key, value] of Object.entries(row)) columns[key].push(typeof value === "bigint" ? Number(value) : value);
  }
  return groups;
}

/** What is in `file` of the result's variant: a Map from the name of a flow or element to its columns, an array each. */
export async function columns(dir, file, variant) {
  const path = join(dir, `${file}.parquet`);
  if (!read.has(path)) read.set(path, grouped(path));
  return (await read.get(path)).get(`${variant.clock} ${variant.name}`) ?? new Map();
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
