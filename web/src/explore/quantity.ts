// Conversions between a slider's position, a number in the engine's unit, and the text of a scenario.

import type { Measure, Tunable } from "./model";

/** Steps of a slider. */
export const STEPS = 400;

/** Converts a position from 0 to 1 to a value and back. */
interface Scale {
  value(share: number): number;
  share(value: number): number;
}

const logarithmic = (low: number, high: number): Scale => ({
  value: (share) => low * (high / low) ** share,
  share: (value) => Math.log(Math.max(value, low) / low) / Math.log(high / low),
});

/** A scale from zero that is finer near zero. */
const power = (high: number, exponent: number): Scale => ({
  value: (share) => high * share ** exponent,
  share: (value) => (value / high) ** (1 / exponent),
});

/** A scale from one, linear for small ranges. */
const counts = (high: number): Scale => {
  if (high > 64) return logarithmic(1, high);
  return { value: (share) => 1 + share * (high - 1), share: (value) => (value - 1) / (high - 1) };
};

/**
 * Chooses the scale by the value at first sight; the caller keeps it, so that it does not change while the
 * slider moves.
 */
export function scaleOf(of: Tunable): Scale {
  const { value } = of;
  if (of.what === "window") return power(Math.max(16e6, 4 * value), 3);
  switch (of.measure) {
    case "rate":
      return logarithmic(Math.max(value / 20, 8e3), Math.max(value * 20, 1e6));
    case "bytes":
      return logarithmic(Math.max(Math.min(value / 20, 1500), 1), Math.max(value * 20, 1e6));
    case "time":
      return of.what === "rtt" ? logarithmic(Math.min(1e-3, value / 2), Math.max(0.4, value * 4)) : power(Math.max(0.05, value * 4), 2);
    case "share":
      return power(Math.max(0.1, Math.min(1, value * 4)), 3);
    default:
      // RFC 791: every link must carry 68 bytes.
      if (of.what === "mtu") return logarithmic(68, 9000);
      return counts(of.what === "count" ? Math.max(16, of.value * 2) : Math.max(1000, of.value * 10));
  }
}

const digits = (x: number, n: number): string => String(Number(x.toPrecision(n)));

function unit(x: number, units: [number, string][], n: number): string {
  const [per, name] = units.find(([per]) => x >= per * 0.9995) ?? units[units.length - 1];
  return `${digits(x / per, n)}${name}`;
}

/** Formats a value as in a scenario. */
export function spell(measure: Measure, x: number, n = 6): string {
  switch (measure) {
    case "rate":
      return unit(x, [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]], n);
    case "bytes":
      return x < 1e4 ? `${Math.round(x)}B` : unit(x, [[1e6, "MB"], [1e3, "kB"]], n);
    case "time":
      return x === 0 ? "0s" : unit(x, [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]], n);
    case "share":
      return digits(x, n);
    default:
      return String(Math.round(x));
  }
}

/** Formats a value for the reader. */
export function shown(measure: Measure, x: number): string {
  if (measure === "share") return `${digits(x * 100, 3)} %`;
  return spell(measure, x, 3).replace(/(?<=\d)(?=[a-zA-Z])/, " ");
}

/** Returns the value at a position of the slider, rounded to the width of a step. */
export function at(of: Tunable, scale: Scale, position: number): number {
  const share = position / STEPS;
  const x = scale.value(share);
  if (of.measure === "count") return Math.round(x);
  const step = Math.abs(scale.value(Math.min(1, share + 1 / STEPS)) - scale.value(Math.max(0, share - 1 / STEPS))) / 2;
  const wide = 10 ** Math.floor(Math.log10(step || 1));
  const round = Math.round(x / wide) * wide;
  return of.measure === "bytes" || of.measure === "rate" ? Math.round(round) : Number(round.toPrecision(6));
}

/** Returns the overrides that set a tunable to this value or choice. */
export function overrides(of: Tunable, to: number | string): [string, string][] {
  const whole = of.parts.reduce((sum, p) => sum + p.value, 0);
  const one = (part: Tunable["parts"][0]): [string, string] => {
    // A value made of several keys is scaled in proportion.
    const own = typeof to === "string" ? to : spell(of.measure, of.parts.length > 1 && whole > 0 ? (part.value / whole) * to : to);
    return [part.key, part.template.replaceAll("{}", own)];
  };
  return of.parts.map(one);
}
