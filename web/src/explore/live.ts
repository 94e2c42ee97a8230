// Runs what the reader wants now. A coarse run first, the beginning of the exact one, where the exact one takes longer than
// the eye waits; a run that is no longer wanted ends.

import type { Page } from "../model";
import { CANCELLED, type Engine, type Job } from "./engine";
import type { Beside, Refusal, RunReply, ScenarioText } from "./model";

/** Milliseconds that a run may take while the slider moves: at 60 a frame is late, and drawing and the screen want their part. */
const FAST_MS = 20;
/** Milliseconds that all of it may take: a beginning that is nearly the whole would only be run twice. */
const WHOLE_MS = 25;
/** Milliseconds of rest after which what is coarse becomes exact. */
const REST_MS = 140;
/** Seconds of the first run of a scenario, whose cost nobody knows. */
const FIRST_S = 2;

export interface Result {
  head: RunReply;
  page: Page;
  /** Columns of each series, in the order of their ids. */
  series: Uint8Array[];
  exact: boolean;
  /** Milliseconds that the engine took. */
  ms: number;
}

export interface Wish {
  scenario: ScenarioText;
  duration: number;
  label: string;
  beside: Beside[];
}

export interface Audience {
  result(of: Result, wish: Wish): void;
  refused(why: Refusal): void;
  /** Share of an exact run that is done; null: nothing is under way. */
  progress(share: number | null): void;
}

const json = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes));

export class Live {
  /** Milliseconds of work a second of the scenario, as last measured; null before. */
  private cost: number | null = null;
  private wish: Wish | null = null;
  private running: { job: Job; fast: boolean; wish: Wish } | null = null;
  private resting = 0;

  constructor(
    private engine: Engine,
    private audience: Audience,
  ) {}

  /** Another scenario: what runs cost is not known any more. */
  forget(): void {
    this.cost = null;
  }

  want(wish: Wish): void {
    this.wish = wish;
    clearTimeout(this.resting);
    // What is soon over is let be: its result is better than none.
    if (this.running && !this.running.fast) this.running.job.cancel();
    if (!this.running?.fast) this.begin();
  }

  private begin(): void {
    const { wish } = this;
    if (!wish) return;
    const { cost } = this;
    const seconds = cost === null ? FIRST_S : cost * wish.duration <= WHOLE_MS ? wish.duration : FAST_MS / cost;
    this.run(wish, seconds >= wish.duration ? null : seconds);
  }

  private run(wish: Wish, until: number | null): void {
    const question = { do: "run", scenario: wish.scenario, until_s: until, label: wish.label, beside: wish.beside };
    const expected = this.cost === null ? 0 : this.cost * (until ?? wish.duration);
    const fast = until !== null || expected <= WHOLE_MS;
    // How far a run is that is soon over nobody sees.
    const told = (seconds: number, all: number): void => { if (!fast && this.running?.job === job) this.audience.progress(seconds / all); };
    const job = this.engine.ask(question, told);
    const running = { job, fast, wish };
    this.running = running;
    job.done.then(
      ({ pieces, ms }) => {
        if (this.running === running) this.running = null;
        this.done(wish, until, pieces, ms);
      },
      (e: Error) => {
        if (this.running === running) this.running = null;
        if (e.message === CANCELLED) return;
        this.audience.progress(null);
        this.audience.refused({ message: e.message, text: e.message, line: 0, key: "" });
        if (this.wish !== wish) this.begin();
      },
    );
  }

  private done(wish: Wish, until: number | null, pieces: Uint8Array[], ms: number): void {
    const head = json(pieces[0]) as RunReply & { refused?: Refusal };
    const current = this.wish === wish;
    if (head.refused) {
      this.audience.progress(null);
      if (current) this.audience.refused(head.refused);
    } else {
      this.cost = ms / (until ?? head.duration_s);
      this.audience.progress(null);
      this.audience.result({ head, page: json(pieces[1]) as Page, series: pieces.slice(2), exact: until === null, ms }, wish);
    }
    if (!current) return this.begin();
    if (until !== null && !head.refused) this.resting = setTimeout(() => this.run(wish, null), REST_MS);
  }
}
