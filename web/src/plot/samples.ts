// Columns of series for curves and CSV.

import type { Data } from "../data";
import type { ElementSeries, FlowSeries } from "../model";
import { numbers } from "./csv";
import type { CsvColumn, Samples } from "./track";

/** Returns a column with its times; rows without a value are NaN. */
export function samples(data: Data, of: FlowSeries | ElementSeries, name: string): Samples | null {
  const time = data.column(of, "time_s");
  const value = data.column(of, name);
  return time && value ? { time, value } : null;
}

/** Returns zeros at a series' times, for a total that stayed 0 and so has no column. */
export function nothing(data: Data, of: FlowSeries | ElementSeries): Samples | null {
  const time = data.column(of, "time_s");
  return time && { time, value: new Float64Array(time.length) };
}

/** Removes the rows without a value. */
export function known(s: Samples): Samples {
  if (!s.value.some(Number.isNaN)) return s;
  const keep = (_: number, i: number) => !Number.isNaN(s.value[i]);
  return { time: s.time.filter(keep), value: s.value.filter(keep) };
}

/** Makes CSV columns of samples; cumulative ones stay cumulative. */
export function columnsOf(list: [string, Samples | null][]): CsvColumn[] {
  return list.flatMap(([name, s]) => (s ? [numbers(name, s.time, s.value)] : []));
}
