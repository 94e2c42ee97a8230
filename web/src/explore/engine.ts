// The engine answers the page's questions. It is `longfat explore` if that served the page
// (served-engine.ts), else the simulator as WebAssembly in the page itself (static-engine.ts).

export interface Answer {
  pieces: Uint8Array<ArrayBuffer>[];
  /** Milliseconds that the engine took. */
  ms: number;
}

export interface Job {
  done: Promise<Answer>;
  /** Cancels the job; `done` is then rejected with `CANCELLED`. */
  cancel(): void;
}

export const CANCELLED = "cancelled";

/**
 * Called with the part done and the total of a run or search; with bytes, and `reading` true, while a file is
 * read.
 */
export type OnProgress = (done: number, total: number, reading: boolean) => void;

export interface Engine {
  /** Answers a question; `file` is its capture, if it is about one. */
  ask(question: unknown, onProgress?: OnProgress, file?: File): Job;
}
