// The explorer's engine in Node: the WebAssembly module of the page made by `make site`, called like in that
// page's worker.
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { pieces } from "../browser/explorer.mjs";
import { target } from "../browser/reports.mjs";

/** The page that needs no server. */
export const site = join(target, "site", "index.html");

/** Returns the module in that page. */
function moduleBytes() {
  const [, text] = /<script type="text\/plain" id="engine">([^<]+)</.exec(readFileSync(site, "utf8"));
  return inflateRawSync(Buffer.from(text, "base64"));
}

/** Makes an engine that takes a question and returns the pieces of its answer. */
export async function engine() {
  const module = await WebAssembly.compile(moduleBytes());
  let onProgress = () => {};
  let file = null;
  let panicMessage = "";
  let own;
  const page = {
    progress: (done, total) => onProgress(done, total),
    read: (at, length) => (file ? readSync(file, new Uint8Array(own.memory.buffer, at, length)) : 0),
    panicked: (at, length) => (panicMessage = Buffer.from(own.memory.buffer, at, length).toString()),
  };
  own = (await WebAssembly.instantiate(module, { page })).exports;
  return {
    memory: () => own.memory.buffer.byteLength,
    /** `capture`: the path of the question's capture. */
    ask(question, { watch = () => {}, capture = null } = {}) {
      onProgress = watch;
      file = capture && openSync(capture);
      const bytes = Buffer.from(JSON.stringify(question));
      const room = own.reserve(bytes.length);
      Buffer.from(own.memory.buffer, room, bytes.length).set(bytes);
      let at;
      try {
        at = own.ask();
      } catch (e) {
        throw new Error(panicMessage || e.message);
      } finally {
        if (file) closeSync(file);
      }
      return pieces(Buffer.from(own.memory.buffer), at);
    },
  };
}
