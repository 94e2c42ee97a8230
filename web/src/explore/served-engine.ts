// Questions to the `longfat explore` that served this page (crates/faces/cli/src/explore/): a request is a question, and the
// server ends the run whose request is aborted.

import { t } from "../i18n";
import { CANCELLED, type Answer, type Engine, type Job, type OnProgress } from "./engine";
import { pieces } from "./pieces";

/** Milliseconds between two looks at how far a run is. */
const LOOK_MS = 100;

export class ServedEngine implements Engine {
  ask(question: unknown, onProgress?: OnProgress, file?: File): Job {
    // Tabs choose their numbers apart from each other.
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
    const looks = onProgress && setInterval(() => void look(number, onProgress, signal), LOOK_MS);
    const done = answer()
      .catch((e) => {
        if (signal.aborted) throw new Error(CANCELLED);
        throw e instanceof TypeError ? new Error(t("explore.unreachable")) : e;
      })
      .finally(() => {
        clearInterval(looks);
        // A look that is under way must not report after the answer.
        aborter.abort();
      });
    return { done, cancel: () => aborter.abort() };
  }
}

/** Reports how far a run is, if it is under way. */
async function look(number: bigint, onProgress: OnProgress, signal: AbortSignal): Promise<void> {
  try {
    const response = await fetch(`progress?${number}`, { signal });
    const progress = (await response.json()) as [number, number, boolean] | null;
    if (progress && !signal.aborted) onProgress(...progress);
  } catch {
    // The answer says what is wrong.
  }
}
