// The explorer's engine in Node: the committed WebAssembly, asked as the page's worker asks it.
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

const packed = new URL("../../../crates/faces/explore/assets/engine.deflate", import.meta.url);

/** An engine: a question in, the pieces of its answer out. */
export async function engine() {
  const module = await WebAssembly.compile(inflateRawSync(readFileSync(packed)));
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
      const view = new DataView(own.memory.buffer);
      const count = view.getUint32(at, true);
      let from = at + 4 + 4 * count;
      return Array.from({ length: count }, (_, i) => {
        const length = view.getUint32(at + 4 + 4 * i, true);
        from += length;
        return Buffer.from(own.memory.buffer.slice(from - length, from));
      });
    },
  };
}

/** A scenario of `scenarios/` as a question has it. */
export function scenario(name, sets = [], variant = null) {
  const text = readFileSync(new URL(`../../../scenarios/${name}.toml`, import.meta.url), "utf8");
  return { file: `${name}.toml`, text, sets, variant };
}
