// The engine in the `longfat explore` that served this page (crates/faces/cli/src/explore/). Each question is
// an HTTP request; when a request is aborted, the server cancels its run.

import { t } from "../i18n";
import { CANCELLED, type Answer, type Engine, type Job, type OnProgress } from "./engine";
import { pieces } from "./pieces";

/** Time between two progress requests, ms. */
const PROGRESS_MS = 100;

export class ServedEngine implements Engine {
  ask(question: unknown, onProgress?: OnProgress, file?: File): Job {
    // A random number, so that several tabs do not choose the same one.
    const number = crypto.getRandomValues(new BigUint64Array(1))[0];
    const line = `${JSON.stringify(question)}\n`;
    const aborter = new AbortController();
    const { signal } = aborter;
    const answer = async (): Promise<Answer> => {
      const response = await fetch(`ask?${number}`, { method: "POST", body: file ? new Blob([line, file]) : line, signal });
      if (!response.ok) throw new Error(await response.text());
      const took = /dur=([\d.]+)/.exec(response.headers.get("Server-Timing") ?? "");
      return { pieces: pieces(await response.arrayBuffer()), ms: Number(took?.[1]) };
    };
    const timer = onProgress && setInterval(() => void reportProgress(number, onProgress, signal), PROGRESS_MS);
    const done = answer()
      .catch((e) => {
        if (signal.aborted) throw new Error(CANCELLED);
        throw e instanceof TypeError ? new Error(t("explore.unreachable")) : e;
      })
      .finally(() => {
        clearInterval(timer);
        // A pending progress request must not report after the answer.
        aborter.abort();
      });
    return { done, cancel: () => aborter.abort() };
  }
}

/** Requests and reports the progress of a run, if it is in progress. */
async function reportProgress(number: bigint, onProgress: OnProgress, signal: AbortSignal): Promise<void> {
  try {
    const response = await fetch(`progress?${number}`, { signal });
    const progress = (await response.json()) as [number, number, boolean] | null;
    if (progress && !signal.aborted) onProgress(...progress);
  } catch {
    // The answer itself reports the error.
  }
}
