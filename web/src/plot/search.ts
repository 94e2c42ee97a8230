// Binary search in ascending times.

/** Returns the number of `times` < `t`. */
export function before(times: ArrayLike<number>, t: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (times[mid] < t) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** Returns the number of `times` <= `t`; minus one, this is the index of the last sample at or before `t`. */
export function upTo(times: ArrayLike<number>, t: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (times[mid] <= t) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** Returns a cumulative column's value at `t` as a step function; 0 before the first sample. */
export function stepAt({ time, value }: { time: Float64Array; value: Float64Array }, t: number): number {
  const n = upTo(time, t);
  return n === 0 ? 0 : value[n - 1];
}

/** Returns a cumulative column's value at `t` with linear interpolation; 0 before the first sample. */
export function slopeAt({ time, value }: { time: Float64Array; value: Float64Array }, t: number): number {
  const n = upTo(time, t);
  if (n === 0) return 0;
  if (n === time.length) return value[n - 1];
  const part = (t - time[n - 1]) / (time[n] - time[n - 1]);
  return value[n - 1] + (value[n] - value[n - 1]) * part;
}
