// The explorer's engine in Node: the WebAssembly of the page that `make site` leaves, asked as that page's worker asks it.
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { pieces } from "../browser/explorer.mjs";
import { target } from "../browser/reports.mjs";

/** The page that needs no server. */
export const site = join(target, "site", "index.html");

/** The engine that it holds. */
function held() {
  const [, text] = /<script type="text\/plain" id="engine">([^<]+)</.exec(readFileSync(site, "utf8"));
  return inflateRawSync(Buffer.from(text, "base64"));
}

/** An engine: a question in, the pieces of its answer out. */
export async function engine() {
  const module = await WebAssembly.compile(held());
  let told = () => {};
  let file = null;
  let trouble = "";
  let own;
  const page = {
    told: (seconds, all) => told(seconds, all),
    read: (at, length) => (file ? readSync(file, new Uint8Array(own.memory.buffer, at, length)) : 0),
    trouble: (at, length) => (trouble = Buffer.from(own.memory.buffer, at, length).toString()),
  };
  own = (await WebAssembly.instantiate(module, { page })).exports;
  return {
    memory: () => own.memory.buffer.byteLength,
    /** `capture`: the file of one that is asked about. */
    ask(question, { watch = () => {}, capture = null } = {}) {
      told = watch;
      file = capture && openSync(capture);
      const bytes = Buffer.from(JSON.stringify(question));
      const room = own.reserve(bytes.length);
      Buffer.from(own.memory.buffer, room, bytes.length).set(bytes);
      let at;
      try {
        at = own.ask();
      } catch (e) {
        throw new Error(trouble || e.message);
      } finally {
        if (file) closeSync(file);
      }
      return pieces(Buffer.from(own.memory.buffer), at);
    },
  };
}
