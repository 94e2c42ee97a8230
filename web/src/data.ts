// A variant's series, or a flow's packets: inflated when first asked for, each column decoded when first drawn.

import { decode, inflate, unbase64 } from "./decode";
import type { Column, FlowSeries, Series, Table as Columns } from "./model";

/** Something with columns. */
export type Table = Pick<Columns, "columns">;

export class Data<S extends { blob: string } = Series> {
  private bytes: Uint8Array | null = null;
  private loading: Promise<void> | null = null;
  private columns = new Map<Column, Float64Array>();

  /** `inflated`: the columns, where they are not in the page. */
  constructor(
    readonly series: S,
    inflated: Uint8Array | null = null,
  ) {
    this.bytes = inflated;
    if (inflated) this.loading = Promise.resolve();
  }

  /** Inflates the blob; afterwards columns come at once. */
  load(): Promise<void> {
    this.loading ??= (async () => {
      const text = document.getElementById(this.series.blob)?.textContent ?? "";
      this.bytes = await inflate(unbase64(text));
    })();
    return this.loading;
  }

  /** A column's values; null where the series has no such column. Only after `load`. */
  column(of: Table, name: string): Float64Array | null {
    return this.values(of.columns[name]);
  }

  /** As `column`, of the list of retransmissions. */
  resent(of: FlowSeries, name: string): Float64Array | null {
    return this.values(of.resent?.[name]);
  }

  /** As `column`, of the list of answers and pages: when each was asked for, how long it took, and whether it is a page. */
  responses(of: FlowSeries, name: string): Float64Array | null {
    return this.values(of.responses?.[name]);
  }

  private values(column: Column | undefined): Float64Array | null {
    if (!column || !this.bytes) return null;
    let values = this.columns.get(column);
    if (!values) this.columns.set(column, (values = decode(this.bytes, column)));
    return values;
  }
}
