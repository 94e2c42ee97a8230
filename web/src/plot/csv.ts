// Writes columns as CSV (RFC 4180) that is safe to open in a spreadsheet.

import type { CsvColumn } from "./track";

/**
 * Formats a text field: quoted if necessary; a text that a spreadsheet would take for a formula gets an
 * apostrophe.
 */
export function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Makes a column of numbers in full precision; NaN is empty. */
export function numbers(name: string, time: Float64Array, values: Float64Array): CsvColumn {
  return { name, time, cell: (row) => (Number.isNaN(values[row]) ? "" : String(values[row])) };
}

/**
 * Writes one row for each time that occurs in a column; a time that occurs several times gets several rows.
 */
export function csv(columns: CsvColumn[]): Blob {
  const lines = [["time_s", ...columns.map((c) => field(c.name))].join(",")];
  const at = columns.map(() => 0);
  const parts: string[] = [];
  for (;;) {
    let now = Infinity;
    columns.forEach((c, i) => {
      if (at[i] < c.time.length) now = Math.min(now, c.time[at[i]]);
    });
    if (now === Infinity) break;
    // Only names of states may need quotes.
    const cells = columns.map((c, i) => (at[i] < c.time.length && c.time[at[i]] === now ? textCell(c.cell(at[i]++)) : ""));
    lines.push(`${now},${cells.join(",")}`);
    if (lines.length >= 10_000) parts.push(lines.splice(0).join("\r\n") + "\r\n");
  }
  if (lines.length) parts.push(lines.join("\r\n") + "\r\n");
  return new Blob(parts, { type: "text/csv;charset=utf-8" });
}

/** Formats a cell; a negative number is not taken for a formula. */
const textCell = (cell: string): string => (cell === "" || Number.isFinite(Number(cell)) ? cell : field(cell));


/** Makes a file name from arbitrary words. */
export function fileName(words: string[], ending: string): string {
  const safe = words.map((w) => w.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|-+$/g, "").slice(0, 60));
  return `${safe.filter(Boolean).join("_") || "longfat"}.${ending}`;
}

/** Downloads a file. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
