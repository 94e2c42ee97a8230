// Looking things up in ascending times.

/** How many of `times` are < `t`. */
export function before(times: ArrayLike<number>, t: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (times[mid] < t) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** How many of `times` are <= `t`; the last sample at or before `t` is the one before it. */
export function upTo(times: ArrayLike<number>, t: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (times[mid] <= t) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** A cumulative column at `t` as steps: 0 before the first sample. */
export function stepAt({ time, value }: { time: Float64Array; value: Float64Array }, t: number): number {
  const n = upTo(time, t);
  return n === 0 ? 0 : value[n - 1];
}

/** The same joined by straight lines. */
export function slopeAt({ time, value }: { time: Float64Array; value: Float64Array }, t: number): number {
  const n = upTo(time, t);
  if (n === 0) return 0;
  if (n === time.length) return value[n - 1];
  const part = (t - time[n - 1]) / (time[n] - time[n - 1]);
  return value[n - 1] + (value[n] - value[n - 1]) * part;
}
