// Diagnoses a capture that was dropped into the page, and shows it like the page of `longfat diagnose`. The
// capture is read in pieces and does not leave this machine.

import { Data } from "../data";
import { button, h } from "../dom";
import { diagnosis } from "../diagnosis/main";
import type { DiagnosisPage } from "../diagnosis/model";
import { t } from "../i18n";
import type { View } from "../main";
import type { Packets } from "../model";
import type { Controls } from "../view/header";
import type { Engine, Job } from "./engine";
import type { Refusal } from "./model";

export interface Diagnosed {
  view: View;
  ms: number;
}

/** Diagnoses a capture; `onProgress` gets the share that has been read. */
export function diagnose(engine: Engine, file: File, onProgress: (share: number) => void): { job: Job; done: Promise<Diagnosed> } {
  const job = engine.ask({ do: "diagnose", file: file.name }, (done, total) => onProgress(done / total), file);
  const done = job.done.then(({ pieces, ms }) => {
    const text = (i: number): unknown => JSON.parse(new TextDecoder().decode(pieces[i]));
    const head = text(0) as { refused?: Refusal };
    if (head.refused) throw new Error(head.refused.message);
    const page = text(1) as DiagnosisPage;
    // The pieces are in the order of the flows that have columns.
    const shown = page.flows.flatMap((flow) => flow.packets ?? []);
    const columns = new Map<Packets, Uint8Array>(shown.map((packets, i) => [packets, pieces[2 + i]]));
    return { view: diagnosis(page, (packets) => new Data(packets, columns.get(packets) ?? null)), ms };
  });
  return { job, done };
}

/**
 * Shows a capture's page with a button back to the simulator and one that fits a scenario. Returns its plots.
 */
export function show(root: HTMLElement, { view, ms }: Diagnosed, controls: Controls, back: () => void, fit: HTMLElement): ReturnType<View["make"]>["plots"] {
  const { copyLink: _, ...own } = controls;
  const made = view.make(own);
  root.replaceChildren(h("div", { class: "back" }, button({ id: "back" }, back, t("explore.capture.back")), fit), ...made.parts);
  Object.assign(root.dataset, { ready: "true", capture: "true", ms: ms.toFixed(0) });
  return made.plots;
}

/** Calls `take` with a file that is dropped anywhere on the page. */
export function onDrop(take: (file: File) => void): void {
  addEventListener("dragover", (e) => e.preventDefault());
  addEventListener("drop", (e) => {
    e.preventDefault();
    const file = e.dataTransfer?.files[0];
    if (file) take(file);
  });
}
