// Formats numbers with the digits that matter, in the same way as crates/answers/report.

/** Formats three significant digits: `0.123`, `4.10`, `19.1`, `941`, `12.3k`, `1.20M`. */
export function short(x: number | null | undefined): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const a = Math.abs(x);
  // The bounds are where rounding adds a digit: 9.996 is `10.0`, not `10.00`.
  if (a < 0.0005) return "0";
  if (a < 0.9995) return x.toFixed(3);
  if (a < 9.995) return x.toFixed(2);
  if (a < 99.95) return x.toFixed(1);
  if (a < 9_999.5) return x.toFixed(0);
  if (a < 99_950) return (x / 1e3).toFixed(1) + "k";
  if (a < 999_500) return (x / 1e3).toFixed(0) + "k";
  if (a < 9_995_000) return (x / 1e6).toFixed(2) + "M";
  if (a < 99_950_000) return (x / 1e6).toFixed(1) + "M";
  if (a < 999_500_000) return (x / 1e6).toFixed(0) + "M";
  return x.toExponential(1).replace("e+", "e");
}

/** Returns exponent and mantissa (1 to 10) of a number's absolute value; null for zero. */
function place(x: number): [number, number] | null {
  if (x === 0) return null;
  const [digits, power] = Math.abs(x).toExponential().split("e");
  return [Number(power), Number(digits)];
}

/**
 * Formats a mean and half its confidence interval to the same decimal place: at most three significant digits
 * of the mean, and no digits that the interval does not support. The interval has two digits if they are 10
 * to 35, else one: `33.2`, `3.2`; `270`, `70`.
 */
export function withInterval(mean: number, half: number): [string, string] {
  if (!Number.isFinite(mean) || !Number.isFinite(half)) return [short(mean), short(half)];
  const [ofMean, ofHalf] = [place(mean), place(half)];
  const places = [ofMean && ofMean[0] - 2, ofHalf && (ofHalf[1] < 3.545 ? ofHalf[0] - 1 : ofHalf[0])];
  const known = places.filter((p) => p !== null);
  const last = known.length ? Math.max(...known) : 0;
  const step = 10 ** last;
  const size = Math.abs(mean);
  const [scale, unit] = size < 9_999.5 ? [0, ""] : size < 999_500 ? [3, "k"] : [6, "M"];
  const text = (x: number): string =>
    ((last > 0 ? Math.round(x / step) * step : x) / 10 ** scale).toFixed(Math.max(0, scale - last)) + unit;
  return [text(mean), text(half)];
}

/** Formats a count, exactly up to 9999. */
export const count = (n: number): string => (n < 10_000 ? String(Math.round(n)) : short(n));

/** Formats bytes: `847 B`, `64.0 kB`, `1.25 MB` (k = 1000). */
export function bytes(n: number): string {
  if (n < 999.5) return `${Math.round(n)} B`;
  if (n < 999_500) return `${short(n / 1e3)} kB`;
  if (n < 999_500_000) return `${short(n / 1e6)} MB`;
  return `${short(n / 1e9)} GB`;
}

/** Formats milliseconds: whole from 10 up, else with one decimal. */
export const millis = (x: number): string => (x < 9.95 ? x.toFixed(1) : count(Math.round(x)));

/** Formats a range, or one number if both look the same. */
export function range(low: number, high: number): string {
  const [l, h] = [short(low), short(high)];
  return l === h ? l : `${l}–${h}`;
}

/** Formats a share as a percentage: `0`, `0.04`, `1.25`, `12.5`, `100`. */
export function percent(share: number): string {
  const p = share * 100;
  if (!Number.isFinite(p)) return "–";
  if (p === 0) return "0";
  if (p < 0.01) return "<.01";
  if (p < 9.995) return p.toFixed(2);
  return p.toFixed(p < 99.95 ? 1 : 0);
}

/** Formats a value read off a plot: integers in full, others with six significant digits. */
export function precise(x: number): string {
  if (!Number.isFinite(x)) return "–";
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return String(x);
  return String(Number(x.toPrecision(6)));
}

/** Formats seconds to 0.1 ms, without trailing zeros. */
export const seconds = (x: number): string => String(Number(x.toFixed(4)));

/** Formats an axis's ticks, all with the decimals that the step needs. */
export function ticks(values: number[]): string[] {
  const max = Math.max(...values.map(Math.abs));
  const [per, unit] = max >= 1e6 ? [1e6, "M"] : max >= 1e4 ? [1e3, "k"] : [1, ""];
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) / per : 1;
  // The step's decimals: 2.5 has one.
  let decimals = 0;
  while (decimals < 9 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6 * step * 10 ** decimals) decimals++;
  return values.map((v) => (v === 0 ? "0" : (v / per).toFixed(decimals) + unit));
}
