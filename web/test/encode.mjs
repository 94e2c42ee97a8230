// An independent implementation of the page's encoding, to test the decoder.

import { deflateRawSync } from "node:zlib";

const zigzag = (n) => (n >= 0 ? 2 * n : -2 * n - 1);

/** Writes an unsigned LEB128 number up to 2^53. */
function varint(n, out) {
  while (n >= 128) {
    out.push((n % 128) + 128);
    n = Math.floor(n / 128);
  }
  out.push(n);
}

/** Appends a column to `out` and returns its description; NaN is encoded as null. */
export function column(out, values, { per = 1, order = 1 } = {}) {
  const at = out.length;
  const nulls = values.some(Number.isNaN);
  let value = 0;
  let step = 0;
  for (const x of values) {
    if (Number.isNaN(x)) {
      varint(0, out);
      continue;
    }
    const n = Math.round(x * per);
    let d = n - value;
    if (order === 2) [d, step] = [d - step, d];
    value = n;
    varint(zigzag(d) + (nulls ? 1 : 0), out);
  }
  return { at, rows: values.length, per, order, ...(nulls ? { nulls: true } : {}) };
}

export const base64 = (bytes) => deflateRawSync(Uint8Array.from(bytes)).toString("base64");

/** A growing array of bytes, without the length limit of argument lists. */
export class Bytes {
  constructor() {
    this.buffer = new Uint8Array(1 << 16);
    this.length = 0;
  }
  push(b) {
    if (this.length === this.buffer.length) {
      const larger = new Uint8Array(this.length * 2);
      larger.set(this.buffer);
      this.buffer = larger;
    }
    this.buffer[this.length++] = b;
  }
  all() {
    return this.buffer.subarray(0, this.length);
  }
}

/** Rounding and order of the columns. */
const LOOK = {
  time_s: { per: 1e6, order: 2 },
  delivered_bytes: { order: 1 },
  sent_bytes: { order: 1 },
  acked_bytes: { order: 1 },
  rtt_ms: { per: 1000 },
  srtt_ms: { per: 1000 },
  delay_ms: { per: 1000 },
  tokens_bytes: { per: 10 },
};

function columns(out, table) {
  const list = {};
  for (const [name, values] of Object.entries(table)) {
    // A column without any value is left out.
    if (values.length && values.every(Number.isNaN)) continue;
    list[name] = column(out, values, LOOK[name]);
  }
  return list;
}

/**
 * Encodes a variant's series: `{flows: [{name, states, table, resent}], elements: [{name, table}]}` to
 * `[Series, base64]`.
 */
export function series(blob, { flows, elements }) {
  const out = new Bytes();
  const list = {
    blob,
    flows: flows.map((f) => ({ name: f.name, states: f.states, columns: columns(out, f.table), resent: columns(out, f.resent) })),
    elements: elements.map((e) => ({ name: e.name, columns: columns(out, e.table) })),
  };
  return [{ ...list, bytes: out.length }, base64(out.all())];
}

const html = (s) => s.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Fills in the built page like the Rust code. */
export function fill(template, page, blobs) {
  const data = JSON.stringify(page).replaceAll("<", "\\u003c");
  const parts = {
    lang: page.lang === "zh" ? "zh-Hans" : "en",
    title: html(page.results[0]?.label ?? "longfat"),
    noscript: html(page.story.en),
    data,
    series: blobs.map(([id, text]) => `<script type="text/plain" id="${id}">${text}</script>`).join("\n"),
  };
  // In one pass, as the inserted text may contain markers.
  return template.replace(/\{\{(lang|title|noscript|data|series)\}\}/g, (_, key) => parts[key]);
}
