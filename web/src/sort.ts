// Sorting of tables.

/** Greatest number or first letter first, what is not known last; reversed the other way round, but for what is not known. */
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

/** Says of each head whether the table is sorted by it. */
export function tellSort(heads: HTMLElement[], key: string, reversed: boolean): void {
  for (const th of heads) {
    if (th.dataset.by === key) th.setAttribute("aria-sort", reversed ? "ascending" : "descending");
    else th.removeAttribute("aria-sort");
  }
}
