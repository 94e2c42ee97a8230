// Reads a run from its Parquet files, with a library that is independent of the page.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet/src/node.js";

const read = new Map();

/** Reads the columns of a file's first repeats by variant, clock and name. */
async function grouped(path) {
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path) });
  const groups = new Map();
  for (const row of rows) {
    if (row.repeat !== 1n) continue;
    const key = `${row.clock} ${row.variant}`;
    if (!groups.has(key)) groups.set(key, new Map());
    const variant = groups.get(key);
    if (!variant.has(row.name)) variant.set(row.name, Object.fromEntries(Object.keys(row).map((k) => [k, []])));
    const columns = variant.get(row.name);
    for (const [name, value] of Object.entries(row)) columns[name].push(typeof value === "bigint" ? Number(value) : value);
  }
  return groups;
}

/**
 * Returns a variant's rows of `file`: a Map from the name of a flow or element to its columns, each an array.
 */
export async function columns(dir, file, variant) {
  const path = join(dir, `${file}.parquet`);
  if (!read.has(path)) read.set(path, grouped(path));
  return (await read.get(path)).get(`${variant.clock} ${variant.name}`) ?? new Map();
}

/** Returns the last row at or before `time`; -1 if there is none. */
export function rowAt(times, time) {
  return times.findLastIndex((t) => t <= time);
}

/** Returns a cumulative column's value at `time` with linear interpolation. */
export function along(times, values, time) {
  const i = rowAt(times, time);
  if (i < 0) return 0;
  if (i + 1 >= times.length) return values[i];
  return values[i] + ((time - times[i]) / (times[i + 1] - times[i])) * (values[i + 1] - values[i]);
}

export const result = (dir) => JSON.parse(readFileSync(join(dir, "result.json"), "utf8"));

/** A generator of pseudo-random numbers from 0 to 1, the same each time (mulberry32). */
export function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
