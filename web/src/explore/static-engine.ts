// The engine of a page without a server: workers that contain the simulator. A job is cancelled by
// terminating its worker; idle workers are kept ready.

import { inflate, unbase64 } from "../decode";
import { CANCELLED, type Answer, type Engine, type Job, type OnProgress } from "./engine";
import source from "worker:./worker.ts";

interface ReadyWorker {
  worker: Worker;
  ready: Promise<void>;
}

export class StaticEngine implements Engine {
  private idle: ReadyWorker[] = [];
  private next = 1;
  private address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));

  private constructor(private module: WebAssembly.Module) {
    this.idle.push(this.start(), this.start());
  }

  /** Compiles the module in the page: base64 of a raw deflate stream. */
  static async load(text: string): Promise<StaticEngine> {
    return new StaticEngine(await WebAssembly.compile((await inflate(unbase64(text))) as BufferSource));
  }

  private start(): ReadyWorker {
    const worker = new Worker(this.address);
    const ready = new Promise<void>((done, failed) => {
      worker.onmessage = () => done();
      worker.onerror = (e) => failed(new Error(e.message));
    });
    worker.postMessage({ module: this.module });
    return { worker, ready };
  }

  ask(question: unknown, onProgress?: OnProgress, file?: File): Job {
    const own = this.idle.shift() ?? this.start();
    const id = this.next++;
    let over = false;
    let stop = (_: Error): void => {};
    const done = new Promise<Answer>((answered, failed) => {
      stop = failed;
      const ask = (): void => {
        if (over) return;
        own.worker.onmessage = ({ data }) => {
          if (data.id !== id || over) return;
          if (data.progress) return onProgress?.(data.progress[0], data.progress[1], data.progress[2] === true);
          over = true;
          if (data.failed) {
            // A failed engine may be in any state.
            this.terminate(own);
            failed(new Error(data.failed));
          } else {
            this.release(own);
            answered({ pieces: data.pieces, ms: data.ms });
          }
        };
        own.worker.postMessage({ id, question: new TextEncoder().encode(JSON.stringify(question)), file });
      };
      own.ready.then(ask, failed);
    });
    return {
      done,
      cancel: () => {
        if (over) return;
        over = true;
        this.terminate(own);
        stop(new Error(CANCELLED));
      },
    };
  }

  private release(own: ReadyWorker): void {
    // The last worker is used next, as its memory and caches are warm.
    if (this.idle.length < 2) this.idle.unshift(own);
    else own.worker.terminate();
  }

  private terminate(own: ReadyWorker): void {
    own.worker.terminate();
    if (this.idle.length < 2) this.idle.push(this.start());
  }
}
