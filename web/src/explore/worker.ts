// The worker of a page without a server: it instantiates the simulator as WebAssembly when it gets the
// module, then answers each question with pieces of bytes (the interface is in
// crates/faces/explore/src/abi.rs).

import { pieces } from "./pieces";

interface Module {
  memory: WebAssembly.Memory;
  reserve(length: number): number;
  ask(): number;
}

let engine: Module | null = null;
/** The engine's last panic message. */
let panicMessage = "";
/** Id of the question that is being answered. */
let current = 0;

/** The capture that is read, the position in it, and the chunk in memory. */
let file: File | null = null;
let offset = 0;
let chunk = { from: 0, bytes: new Uint8Array(0) };
/** Size of a chunk of the capture, bytes. */
const CHUNK = 4 << 20;

/** Copies the capture's next bytes to the engine's memory and returns their number; 0 at the end. */
function read(at: number, length: number): number {
  if (!file) return 0;
  if (offset >= chunk.from + chunk.bytes.length || offset < chunk.from) {
    const part = file.slice(offset, offset + CHUNK);
    chunk = { from: offset, bytes: new Uint8Array(new FileReaderSync().readAsArrayBuffer(part)) };
    postMessage({ id: current, progress: [offset, file.size, true] });
  }
  const some = chunk.bytes.subarray(offset - chunk.from, offset - chunk.from + length);
  new Uint8Array(engine!.memory.buffer, at, some.length).set(some);
  offset += some.length;
  return some.length;
}

const text = (at: number, length: number): string => new TextDecoder().decode(new Uint8Array(engine!.memory.buffer, at, length));

const page = {
  progress: (done: number, total: number) => postMessage({ id: current, progress: [done, total] }),
  read,
  panicked: (at: number, length: number) => { panicMessage = text(at, length); },
};

function ask(question: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const { memory, reserve, ask } = engine!;
  const room = reserve(question.length);
  new Uint8Array(memory.buffer, room, question.length).set(question);
  // The engine may have grown its memory, which then has another buffer.
  const at = ask();
  return pieces(memory.buffer as ArrayBuffer, at);
}

self.onmessage = async ({ data }: MessageEvent) => {
  if (data.module) {
    engine = (await WebAssembly.instantiate(data.module as WebAssembly.Module, { page })).exports as unknown as Module;
    postMessage({ ready: true });
    return;
  }
  current = data.id;
  file = data.file ?? null;
  offset = 0;
  chunk = { from: 0, bytes: new Uint8Array(0) };
  const began = performance.now();
  try {
    const answer = ask(data.question);
    postMessage({ id: current, pieces: answer, ms: performance.now() - began }, { transfer: answer.map((p) => p.buffer) });
  } catch (e) {
    postMessage({ id: current, failed: panicMessage || String(e) });
  }
};
