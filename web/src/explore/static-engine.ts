// Workers with the simulator in them, for a page without a server. A job that is no longer wanted ends with its worker; a warm
// one stands by.

import { inflate, unbase64 } from "../decode";
import { CANCELLED, type Answer, type Engine, type Job, type OnProgress } from "./engine";
import source from "worker:./worker.ts";

interface Hand {
  worker: Worker;
  ready: Promise<void>;
}

export class StaticEngine implements Engine {
  private idle: Hand[] = [];
  private next = 1;
  private address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));

  private constructor(private module: WebAssembly.Module) {
    this.idle.push(this.hire(), this.hire());
  }

  /** Of what the page holds: base64 of a raw deflate stream. */
  static async load(text: string): Promise<StaticEngine> {
    return new StaticEngine(await WebAssembly.compile((await inflate(unbase64(text))) as BufferSource));
  }

  private hire(): Hand {
    const worker = new Worker(this.address);
    const ready = new Promise<void>((done, failed) => {
      worker.onmessage = () => done();
      worker.onerror = (e) => failed(new Error(e.message));
    });
    worker.postMessage({ module: this.module });
    return { worker, ready };
  }

  ask(question: unknown, onProgress?: OnProgress, file?: File): Job {
    const hand = this.idle.shift() ?? this.hire();
    const id = this.next++;
    let over = false;
    let stop = (_: Error): void => {};
    const done = new Promise<Answer>((answered, failed) => {
      stop = failed;
      const ask = (): void => {
        if (over) return;
        hand.worker.onmessage = ({ data }) => {
          if (data.id !== id || over) return;
          if (data.told) return onProgress?.(data.told[0], data.told[1], data.told[2] === true);
          over = true;
          if (data.failed) {
            // What broke in there may be anywhere.
            this.dismiss(hand);
            failed(new Error(data.failed));
          } else {
            this.rest(hand);
            answered({ pieces: data.pieces, ms: data.ms });
          }
        };
        hand.worker.postMessage({ id, question: new TextEncoder().encode(JSON.stringify(question)), file });
      };
      hand.ready.then(ask, failed);
    });
    return {
      done,
      cancel: () => {
        if (over) return;
        over = true;
        this.dismiss(hand);
        stop(new Error(CANCELLED));
      },
    };
  }

  private rest(hand: Hand): void {
    // Who worked last works next: memory and caches are warm.
    if (this.idle.length < 2) this.idle.unshift(hand);
    else hand.worker.terminate();
  }

  private dismiss(hand: Hand): void {
    hand.worker.terminate();
    if (this.idle.length < 2) this.idle.push(this.hire());
  }
}
