// The columns of a variant's series or a flow's packets. The blob is inflated on first use, each column
// decoded on first use.

import { decode, inflate, unbase64 } from "./decode";
import type { Column, FlowSeries, Series, Table as Columns } from "./model";

export type Table = Pick<Columns, "columns">;

export class Data<S extends { blob: string } = Series> {
  private bytes: Uint8Array | null = null;
  private loading: Promise<void> | null = null;
  private columns = new Map<Column, Float64Array>();

  /** `inflated`: the columns, if the page's HTML does not contain them. */
  constructor(
    readonly series: S,
    inflated: Uint8Array | null = null,
  ) {
    this.bytes = inflated;
    if (inflated) this.loading = Promise.resolve();
  }

  /** Inflates the blob; afterwards columns can be read synchronously. */
  load(): Promise<void> {
    this.loading ??= (async () => {
      const text = document.getElementById(this.series.blob)?.textContent ?? "";
      this.bytes = await inflate(unbase64(text));
    })();
    return this.loading;
  }

  /** Values of a table's column; null if there is no such column. Call `load` first. */
  column(table: Table, name: string): Float64Array | null {
    return this.values(table.columns[name]);
  }

  /** Values of a column of the flow's retransmissions; null if there is no such column. Call `load` first. */
  resent(flow: FlowSeries, name: string): Float64Array | null {
    return this.values(flow.resent?.[name]);
  }

  /**
   * Values of a column of the flow's responses and pages (request time, duration, whether it is a page); null
   * if there is no such column. Call `load` first.
   */
  responses(flow: FlowSeries, name: string): Float64Array | null {
    return this.values(flow.responses?.[name]);
  }

  private values(column: Column | undefined): Float64Array | null {
    if (!column || !this.bytes) return null;
    let values = this.columns.get(column);
    if (!values) this.columns.set(column, (values = decode(this.bytes, column)));
    return values;
  }
}
