// Decodes the blob's columns: unsigned LEB128 varints of zigzag-encoded deltas, or of deltas of deltas.

import type { Column } from "./model";

/** Decodes a column; null becomes NaN. Throws a RangeError if the blob ends too early. */
export function decode(bytes: Uint8Array, column: Column): Float64Array {
  const { rows, per, order } = column;
  const nulls = column.nulls === true;
  const out = new Float64Array(rows);
  let at = column.at;
  let value = 0;
  let step = 0;
  for (let i = 0; i < rows; i++) {
    let b = bytes[at++];
    let n = b & 127;
    // JavaScript's shifts are limited to 32 bits, so multiply.
    for (let scale = 128; b > 127; scale *= 128) {
      b = bytes[at++];
      n += (b & 127) * scale;
    }
    if (b === undefined) throw new RangeError("a column ends beyond the data");
    if (nulls) {
      if (n === 0) {
        out[i] = NaN;
        continue;
      }
      n -= 1;
    }
    const d = n < 0x80000000 ? (n >>> 1) ^ -(n & 1) : n % 2 === 0 ? n / 2 : -(n + 1) / 2;
    if (order === 1) {
      value += d;
    } else {
      step += d;
      value += step;
    }
    out[i] = value / per;
  }
  return out;
}

/** Decodes base64. */
export function unbase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Inflates a raw deflate stream with the browser's own decompressor. */
export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
