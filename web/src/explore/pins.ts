// Pinned runs, which the reader keeps to compare with the present run.

import { Data } from "../data";
import type { Page, PageStory, Result, Series } from "../model";
import type { PinnedRun } from "./model";
import type { Result as Ran } from "./live";

export interface Pin {
  label: string;
  result: Result;
  columns: (Uint8Array | null)[];
}

/** The largest number of pinned runs; more could not be distinguished in a plot. */
export const MAX_PINS = 4;

/** Returns the columns of each of a result's variants. */
function columnsOf(result: Result, series: Uint8Array[]): (Uint8Array | null)[] {
  return result.series.map((s) => (s ? (series[Number(s.blob.replace("series-", ""))] ?? null) : null));
}

export function pinned(ran: Ran, label: string): Pin {
  const result = ran.page.results[0];
  return { label, result: { ...result, label }, columns: columnsOf(result, ran.series) };
}

/** Returns the pinned runs as a question to the engine has them. */
export const comparedWith = (pins: Pin[]): PinnedRun[] => pins.map(({ label, result }) => ({ label, run: result.run }));

/**
 * Combines a run and the pinned runs into a page's data, with a function that returns each series' columns.
 */
export function pageOf(ran: Ran, pins: Pin[]): { page: Page; data: (s: Series) => Data } {
  const [live, ...others] = ran.page.results;
  // The engine returns pinned runs without series, which are kept here.
  const kept = others.slice(0, pins.length).map((result, i) => ({ ...result, series: pins[i].result.series }));
  const bySeries = new Map<Series, Uint8Array | null>();
  const enter = (result: Result, columns: (Uint8Array | null)[]) => result.series.forEach((s, i) => s && bySeries.set(s, columns[i]));
  enter(live, columnsOf(live, ran.series));
  kept.forEach((result, i) => enter(result, pins[i].columns));
  const about: PageStory["about"] = [[0, 0], ...(kept.length ? [[kept.length, 0] as [number, number]] : [])];
  const page = { ...ran.page, results: [live, ...kept], story: { ...ran.page.story, about } };
  return { page, data: (s) => new Data(s, bySeries.get(s) ?? null) };
}
