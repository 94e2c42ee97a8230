// Runs the scenario that the page shows. If the exact run would take too long to follow a slider, its
// beginning is run first as a coarse run. A run that is no longer wanted is cancelled.

import type { Page } from "../model";
import { CANCELLED, type Engine, type Job } from "./engine";
import type { PinnedRun, Refusal, RunReply, ScenarioText } from "./model";

/**
 * Target duration of a coarse run, ms: a slider's reaction is late after 60 ms, and drawing takes a part of
 * them.
 */
const COARSE_MS = 20;
/** Up to this duration in ms the exact run is made at once: a coarse run would be nearly as long. */
const EXACT_MS = 25;
/** Time without a change after which the exact run follows a coarse one, ms. */
const REST_MS = 140;
/** Simulated time of a scenario's first run, whose cost is unknown, s. */
const FIRST_S = 2;

export interface Result {
  head: RunReply;
  page: Page;
  /** Columns of each series, in the order of the series' ids. */
  series: Uint8Array[];
  exact: boolean;
  /** Milliseconds that the engine took. */
  ms: number;
}

export interface RunRequest {
  scenario: ScenarioText;
  duration: number;
  label: string;
  pinned: PinnedRun[];
}

export interface LiveEvents {
  result(result: Result, request: RunRequest): void;
  refused(why: Refusal): void;
  /** Share of an exact run that is done; null if no run is in progress. */
  progress(share: number | null): void;
}

const json = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes));

export class Live {
  /** Milliseconds of work per simulated second, as last measured; null if unknown. */
  private cost: number | null = null;
  private current: RunRequest | null = null;
  private running: { job: Job; short: boolean; request: RunRequest } | null = null;
  private resting = 0;

  constructor(
    private engine: Engine,
    private events: LiveEvents,
  ) {}

  /** Forgets the cost of a run, as the scenario is another one. */
  forget(): void {
    this.cost = null;
  }

  request(request: RunRequest): void {
    this.current = request;
    clearTimeout(this.resting);
    // A short run is not cancelled: its result is shown until the next one.
    if (this.running && !this.running.short) this.running.job.cancel();
    if (!this.running?.short) this.begin();
  }

  private begin(): void {
    const { current } = this;
    if (!current) return;
    const { cost } = this;
    const seconds = cost === null ? FIRST_S : cost * current.duration <= EXACT_MS ? current.duration : COARSE_MS / cost;
    this.run(current, seconds >= current.duration ? null : seconds);
  }

  private run(request: RunRequest, until: number | null): void {
    const question = { do: "run", scenario: request.scenario, until_s: until, label: request.label, pinned: request.pinned };
    const expected = this.cost === null ? 0 : this.cost * (until ?? request.duration);
    const short = until !== null || expected <= EXACT_MS;
    // A short run needs no progress bar.
    const onProgress = (seconds: number, all: number): void => { if (!short && this.running?.job === job) this.events.progress(seconds / all); };
    const job = this.engine.ask(question, onProgress);
    const running = { job, short, request };
    this.running = running;
    job.done.then(
      ({ pieces, ms }) => {
        if (this.running === running) this.running = null;
        this.done(request, until, pieces, ms);
      },
      (e: Error) => {
        if (this.running === running) this.running = null;
        if (e.message === CANCELLED) return;
        this.events.progress(null);
        this.events.refused({ message: e.message, text: e.message, line: 0, key: "" });
        if (this.current !== request) this.begin();
      },
    );
  }

  private done(request: RunRequest, until: number | null, pieces: Uint8Array[], ms: number): void {
    const head = json(pieces[0]) as RunReply & { refused?: Refusal };
    const isCurrent = this.current === request;
    if (head.refused) {
      this.events.progress(null);
      if (isCurrent) this.events.refused(head.refused);
    } else {
      this.cost = ms / (until ?? head.duration_s);
      this.events.progress(null);
      this.events.result({ head, page: json(pieces[1]) as Page, series: pieces.slice(2), exact: until === null, ms }, request);
    }
    if (!isCurrent) return this.begin();
    if (until !== null && !head.refused) this.resting = setTimeout(() => this.run(request, null), REST_MS);
  }
}
