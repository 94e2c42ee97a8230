// Sorting of tables.

/** Sorts by the largest number or first letter; `reversed` inverts that. Unknown values are always last. */
export function sorted<E extends { index: number }>(entries: E[], by: (e: E) => number | string | null | undefined, reversed: boolean): E[] {
  const sign = reversed ? -1 : 1;
  const order = (x: number | string, y: number | string) => (typeof x === "string" ? x.localeCompare(String(y)) : Number(y) - x);
  const unknown = (x: unknown): x is null | undefined => x === null || x === undefined || Number.isNaN(x);
  return [...entries].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    if (unknown(x) || unknown(y)) return Number(unknown(x)) - Number(unknown(y)) || a.index - b.index;
    return sign * (order(x, y) || a.index - b.index);
  });
}

/** Marks the head of the column that the table is sorted by. */
export function markSorted(heads: HTMLElement[], key: string, reversed: boolean): void {
  for (const th of heads) {
    if (th.dataset.by === key) th.setAttribute("aria-sort", reversed ? "ascending" : "descending");
    else th.removeAttribute("aria-sort");
  }
}
