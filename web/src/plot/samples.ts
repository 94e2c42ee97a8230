// Columns of series as curves and tables have them.

import type { Data } from "../data";
import type { ElementSeries, FlowSeries } from "../model";
import { numbers } from "./csv";
import type { CsvColumn, Samples } from "./track";

/** A column with its times, rows without a value left in. */
export function samples(data: Data, of: FlowSeries | ElementSeries, name: string): Samples | null {
  const time = data.column(of, "time_s");
  const value = data.column(of, name);
  return time && value ? { time, value } : null;
}

/** Zeros at a series' times: what a total that stayed 0 has instead of a column. */
export function nothing(data: Data, of: FlowSeries | ElementSeries): Samples | null {
  const time = data.column(of, "time_s");
  return time && { time, value: new Float64Array(time.length) };
}

/** Rows that have a value: what cumulative columns are counted from. */
export function known(s: Samples): Samples {
  if (!s.value.some(Number.isNaN)) return s;
  const keep = (_: number, i: number) => !Number.isNaN(s.value[i]);
  return { time: s.time.filter(keep), value: s.value.filter(keep) };
}

/** CSV of the tracks' own columns, cumulative ones as they are. */
export function columnsOf(list: [string, Samples | null][]): CsvColumn[] {
  return list.flatMap(([name, s]) => (s ? [numbers(name, s.time, s.value)] : []));
}
