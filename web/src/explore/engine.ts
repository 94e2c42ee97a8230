// What answers the page's questions: `longfat explore` on this machine where it served the page (served-engine.ts), else the
// simulator as WebAssembly, which the page then holds (static-engine.ts).

/** What came of a question. */
export interface Answer {
  pieces: Uint8Array<ArrayBuffer>[];
  /** Milliseconds that the engine took. */
  ms: number;
}

export interface Job {
  done: Promise<Answer>;
  /** Ends it: `done` is then rejected with `CANCELLED`. */
  cancel(): void;
}

export const CANCELLED = "cancelled";

/** Called with how far a run or a search is, and all; with bytes, and true, while a file is read. */
export type OnProgress = (now: number, all: number, reading: boolean) => void;

export interface Engine {
  /** Answers a question; `file` is the capture that it is about. */
  ask(question: unknown, onProgress?: OnProgress, file?: File): Job;
}
