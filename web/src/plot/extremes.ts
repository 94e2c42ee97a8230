// Finds minimum and maximum of any range of a column quickly, with the extremes of blocks cached.

const BLOCK = 128;

/** Indices of minimum and maximum; -1 if all values are NaN. */
export interface Extremes {
  least: number;
  most: number;
}

interface Blocks {
  least: Int32Array;
  most: Int32Array;
}

const known = new WeakMap<Float64Array, Blocks>();

function scan(values: Float64Array, from: number, to: number, e: Extremes): void {
  let { least, most } = e;
  let low = least < 0 ? Infinity : values[least];
  let high = most < 0 ? -Infinity : values[most];
  for (let i = from; i < to; i++) {
    const v = values[i];
    // Comparisons with NaN are false.
    if (v < low) {
      low = v;
      least = i;
    }
    if (v > high) {
      high = v;
      most = i;
    }
  }
  e.least = least;
  e.most = most;
}

function blocks(values: Float64Array): Blocks {
  let b = known.get(values);
  if (!b) {
    const n = Math.ceil(values.length / BLOCK);
    b = { least: new Int32Array(n), most: new Int32Array(n) };
    for (let k = 0; k < n; k++) {
      const e = { least: -1, most: -1 };
      scan(values, k * BLOCK, Math.min((k + 1) * BLOCK, values.length), e);
      b.least[k] = e.least;
      b.most[k] = e.most;
    }
    known.set(values, b);
  }
  return b;
}

/** Returns the extremes of `values[from..to]`. */
export function extremes(values: Float64Array, from: number, to: number): Extremes {
  const e: Extremes = { least: -1, most: -1 };
  if (to - from < 3 * BLOCK) {
    scan(values, from, to, e);
    return e;
  }
  const b = blocks(values);
  const [first, last] = [Math.ceil(from / BLOCK), Math.floor(to / BLOCK)];
  scan(values, from, first * BLOCK, e);
  for (let k = first; k < last; k++) {
    const [l, m] = [b.least[k], b.most[k]];
    if (l >= 0 && (e.least < 0 || values[l] < values[e.least])) e.least = l;
    if (m >= 0 && (e.most < 0 || values[m] > values[e.most])) e.most = m;
  }
  scan(values, last * BLOCK, to, e);
  return e;
}
