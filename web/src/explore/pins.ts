// Runs that the reader keeps beside the one that changes.

import { Data } from "../data";
import type { Page, PageStory, Result, Series } from "../model";
import type { Beside } from "./model";
import type { Result as Ran } from "./live";

/** A kept run: its part of the page, and its columns. */
export interface Pin {
  label: string;
  result: Result;
  columns: (Uint8Array | null)[];
}

/** Beside more of them nothing can be told apart. */
export const MOST_PINS = 4;

/** The columns of each of a result's variants. */
function columnsOf(result: Result, series: Uint8Array[]): (Uint8Array | null)[] {
  return result.series.map((s) => (s ? (series[Number(s.blob.replace("series-", ""))] ?? null) : null));
}

export function pinned(ran: Ran, label: string): Pin {
  const result = ran.page.results[0];
  return { label, result: { ...result, label }, columns: columnsOf(result, ran.series) };
}

export const beside = (pins: Pin[]): Beside[] => pins.map(({ label, result }) => ({ label, run: result.run }));

/** The page of a run and of what is kept beside it, and where each series' columns are. */
export function together(ran: Ran, pins: Pin[]): { page: Page; data: (s: Series) => Data } {
  const [live, ...others] = ran.page.results;
  // Of results that were sent along the engine knows no series: they are here.
  const kept = others.slice(0, pins.length).map((result, i) => ({ ...result, series: pins[i].result.series }));
  const of = new Map<Series, Uint8Array | null>();
  const enter = (result: Result, columns: (Uint8Array | null)[]) => result.series.forEach((s, i) => s && of.set(s, columns[i]));
  enter(live, columnsOf(live, ran.series));
  kept.forEach((result, i) => enter(result, pins[i].columns));
  const about: PageStory["about"] = [[0, 0], ...(kept.length ? [[kept.length, 0] as [number, number]] : [])];
  const page = { ...ran.page, results: [live, ...kept], story: { ...ran.page.story, about } };
  return { page, data: (s) => new Data(s, of.get(s) ?? null) };
}
