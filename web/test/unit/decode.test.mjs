import assert from "node:assert/strict";
import { test } from "node:test";
import { inflateRawSync } from "node:zlib";
import { base64, column } from "../encode.mjs";
import { load } from "./load.mjs";

const { decode, unbase64 } = await load("decode.ts");

/** Encodes and decodes values, including deflate and base64. */
function around(values, look) {
  const out = [7, 7, 7];
  const where = column(out, values, look);
  const bytes = new Uint8Array(inflateRawSync(unbase64(base64(out))));
  return [...decode(bytes, where)];
}

test("decoding returns the encoded values, for both orders", () => {
  const values = [0, 1, -1, 63, 64, -64, -65, 8191, 8192, 1e6, -1e6, 3, 3, 3];
  for (const order of [1, 2]) assert.deepEqual(around(values, { order }), values);
});

test("numbers up to 2^53 keep their last bit", () => {
  const values = [2 ** 31 - 1, 2 ** 31, 2 ** 32 + 1, 2 ** 40, 5e15, 5e15 + 1];
  assert.deepEqual(around(values, { order: 1 }), values);
  assert.deepEqual(around([2 ** 51 + 1, 2 ** 52 - 1], {}), [2 ** 51 + 1, 2 ** 52 - 1]);
});

test("fractions are stored as integers divided by `per`", () => {
  const times = Array.from({ length: 500 }, (_, i) => i / 100);
  assert.deepEqual(around(times, { per: 1e6, order: 2 }), times);
});

test("nulls become NaN and change neither value nor step", () => {
  const values = [NaN, NaN, 10, 20, NaN, 40, 50, NaN];
  for (const order of [1, 2]) assert.deepEqual(around(values, { order }), values);
});

test("a column without rows is empty, and a blob that ends early is an error", () => {
  assert.deepEqual(around([], {}), []);
  const bytes = Uint8Array.from([2, 2]);
  assert.throws(() => decode(bytes, { at: 0, rows: 3, per: 1, order: 1 }), /beyond the data/);
  assert.throws(() => decode(Uint8Array.from([0x80]), { at: 0, rows: 1, per: 1, order: 1 }), /beyond the data/);
});
