// The explored scenario: its text, overrides and variant, which is all that a link contains.

import { inflate, unbase64 } from "../decode";
import type { Lang } from "../model";
import texts from "scenarios:";
import type { ScenarioText } from "./model";

/** Names of the built-in scenarios. */
export const BUILT_IN = Object.keys(texts);
/** The scenario that the page opens with. */
const FIRST = "policer-or-shaper";

export class Source {
  /** Name of the built-in scenario; null for the reader's own. */
  example: string | null = FIRST;
  text = texts[FIRST];
  variant: string | null = null;
  /** Overrides by key, in the order in which they were set. */
  readonly sets = new Map<string, string>();

  get file(): string {
    return `${this.example ?? "scenario"}.toml`;
  }

  open(example: string): void {
    this.example = example;
    this.text = texts[example];
    this.variant = null;
    this.sets.clear();
  }

  /** Uses a text as the scenario. */
  take(text: string): void {
    this.example = BUILT_IN.find((name) => texts[name] === text) ?? null;
    this.text = text;
    this.variant = null;
    this.sets.clear();
  }

  /** Overrides a key, and removes overrides of keys below it. */
  set(key: string, value: string): void {
    for (const other of [...this.sets.keys()]) if (other.startsWith(`${key}.`)) this.sets.delete(other);
    this.sets.set(key, value);
  }

  /** Returns the scenario as a question to the engine has it. */
  request(): ScenarioText {
    const sets = [...this.sets].map(([key, value]) => `${key}=${value}`);
    return { file: this.file, text: this.text, sets, variant: this.variant };
  }

  /** Returns the command line that gives the same numbers. */
  command(): string {
    const quoted = (word: string) => (/^[\w./:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
    const { sets, variant, file } = this.request();
    const words = ["longfat", "run", this.example ?? file];
    if (variant !== null) words.push("--variant", variant);
    for (const set of sets) words.push("--set", set);
    return words.map(quoted).join(" ");
  }
}

const base64url = (bytes: Uint8Array): string => {
  let binary = "";
  for (const b of bytes) binary += String.fromCharCode(b);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

async function deflate(text: string): Promise<Uint8Array> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Encodes the scenario for the address, after the #. */
export async function written(source: Source, lang: Lang): Promise<string> {
  const params = new URLSearchParams();
  if (source.example !== null) params.set("s", source.example);
  else params.set("z", base64url(await deflate(source.text)));
  if (source.variant !== null) params.set("v", source.variant);
  for (const [key, value] of source.sets) params.append("set", `${key}=${value}`);
  params.set("lang", lang);
  return params.toString();
}

/** The largest compressed text that is accepted, bytes: the parser's own limit. */
const MAX_TEXT = 1 << 20;

/** Sets the scenario from an address; returns false if the address has none. */
export async function read(source: Source, hash: string): Promise<boolean> {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const example = params.get("s");
  const packed = params.get("z");
  if (example !== null && BUILT_IN.includes(example)) {
    source.open(example);
  } else if (packed !== null) {
    try {
      const bytes = await inflate(unbase64(packed.replaceAll("-", "+").replaceAll("_", "/")));
      if (bytes.length > MAX_TEXT) return false;
      source.take(new TextDecoder().decode(bytes));
    } catch {
      return false;
    }
  } else {
    return false;
  }
  source.variant = params.get("v");
  for (const set of params.getAll("set")) {
    const at = set.indexOf("=");
    if (at > 0) source.sets.set(set.slice(0, at), set.slice(at + 1));
  }
  return true;
}
