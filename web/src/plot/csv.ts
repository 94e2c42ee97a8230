// CSV of full columns (RFC 4180), safe to open in a spreadsheet.

import type { CsvColumn } from "./track";

/** A text field: quoted where it must be; what a spreadsheet would take for a formula gets an apostrophe. */
export function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A column of numbers, all their digits; NaN is empty. */
export function numbers(name: string, time: Float64Array, values: Float64Array): CsvColumn {
  return { name, time, cell: (row) => (Number.isNaN(values[row]) ? "" : String(values[row])) };
}

/** One row a moment at which any column has one; rows of one moment follow each other. */
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
    // Cells begin with digits, a state's name with a letter: quoting is for names of states.
    const cells = columns.map((c, i) => (at[i] < c.time.length && c.time[at[i]] === now ? textCell(c.cell(at[i]++)) : ""));
    lines.push(`${now},${cells.join(",")}`);
    if (lines.length >= 10_000) parts.push(lines.splice(0).join("\r\n") + "\r\n");
  }
  if (lines.length) parts.push(lines.join("\r\n") + "\r\n");
  return new Blob(parts, { type: "text/csv;charset=utf-8" });
}

/** A number stays one, minus sign and all. */
const textCell = (cell: string): string => (cell === "" || Number.isFinite(Number(cell)) ? cell : field(cell));


/** A name for a file, from words that may hold anything. */
export function fileName(words: string[], ending: string): string {
  const safe = words.map((w) => w.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|-+$/g, "").slice(0, 60));
  return `${safe.filter(Boolean).join("_") || "longfat"}.${ending}`;
}

/** Hands a file to the browser to keep. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
