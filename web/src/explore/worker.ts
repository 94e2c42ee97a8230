// In a worker of a page without a server: the simulator as WebAssembly. Told a module it makes an instance; asked a question it answers with pieces of
// bytes (crates/faces/explore/src/abi.rs says how).

import { pieces } from "./pieces";

interface Module {
  memory: WebAssembly.Memory;
  reserve(length: number): number;
  ask(): number;
}

let engine: Module | null = null;
let trouble = "";
/** The question that is being answered. */
let current = 0;

/** The capture that is read, and the stretch of it that is here. */
let file: File | null = null;
let offset = 0;
let held = { from: 0, bytes: new Uint8Array(0) };
/** Bytes of a capture that are held at a time. */
const STRETCH = 4 << 20;

/** The capture's next bytes into the engine's memory; how many, none at its end. */
function read(at: number, length: number): number {
  if (!file) return 0;
  if (offset >= held.from + held.bytes.length || offset < held.from) {
    const part = file.slice(offset, offset + STRETCH);
    held = { from: offset, bytes: new Uint8Array(new FileReaderSync().readAsArrayBuffer(part)) };
    postMessage({ id: current, told: [offset, file.size, true] });
  }
  const some = held.bytes.subarray(offset - held.from, offset - held.from + length);
  new Uint8Array(engine!.memory.buffer, at, some.length).set(some);
  offset += some.length;
  return some.length;
}

const text = (at: number, length: number): string => new TextDecoder().decode(new Uint8Array(engine!.memory.buffer, at, length));

const page = {
  told: (seconds: number, all: number) => postMessage({ id: current, told: [seconds, all] }),
  read,
  trouble: (at: number, length: number) => { trouble = text(at, length); },
};

function ask(question: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const { memory, reserve, ask } = engine!;
  const room = reserve(question.length);
  new Uint8Array(memory.buffer, room, question.length).set(question);
  // The memory's buffer is another one once the engine has grown it.
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
  held = { from: 0, bytes: new Uint8Array(0) };
  const began = performance.now();
  try {
    const answer = ask(data.question);
    postMessage({ id: current, pieces: answer, ms: performance.now() - began }, { transfer: answer.map((p) => p.buffer) });
  } catch (e) {
    postMessage({ id: current, failed: trouble || String(e) });
  }
};
