// What is being explored: a scenario's text, overrides, a variant. It is all that a link needs to hold.

import { inflate, unbase64 } from "../decode";
import type { Lang } from "../model";
import texts from "scenarios:";
import type { ScenarioText } from "./model";

/** Names of the scenarios that are built in. */
export const BUILT_IN = Object.keys(texts);
/** What the page begins with. */
const FIRST = "policer-or-shaper";

export class Source {
  /** Which of the built-in scenarios it is; null: the reader's own. */
  example: string | null = FIRST;
  text = texts[FIRST];
  variant: string | null = null;
  /** Overrides by key, in the order in which they are made. */
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

  /** A text of the reader's own. */
  take(text: string): void {
    this.example = BUILT_IN.find((name) => texts[name] === text) ?? null;
    this.text = text;
    this.variant = null;
    this.sets.clear();
  }

  /** Overrides a key; what was set of the value below it is gone. */
  set(key: string, value: string): void {
    for (const other of [...this.sets.keys()]) if (other.startsWith(`${key}.`)) this.sets.delete(other);
    this.sets.set(key, value);
  }

  /** As the engine, and the command line, takes them. */
  asked(): ScenarioText {
    const sets = [...this.sets].map(([key, value]) => `${key}=${value}`);
    return { file: this.file, text: this.text, sets, variant: this.variant };
  }

  /** The command that gives the same numbers. */
  command(): string {
    const quoted = (word: string) => (/^[\w./:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
    const { sets, variant, file } = this.asked();
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

/** The source as an address holds it, behind the #. */
export async function written(source: Source, lang: Lang): Promise<string> {
  const of = new URLSearchParams();
  if (source.example !== null) of.set("s", source.example);
  else of.set("z", base64url(await deflate(source.text)));
  if (source.variant !== null) of.set("v", source.variant);
  for (const [key, value] of source.sets) of.append("set", `${key}=${value}`);
  of.set("lang", lang);
  return of.toString();
}

/** The most that a packed text may hold: as much as the parser reads. */
const MOST_TEXT = 1 << 20;

/** Takes up what an address holds; false where it holds nothing that can be used. */
export async function read(source: Source, hash: string): Promise<boolean> {
  const of = new URLSearchParams(hash.replace(/^#/, ""));
  const example = of.get("s");
  const packed = of.get("z");
  if (example !== null && BUILT_IN.includes(example)) {
    source.open(example);
  } else if (packed !== null) {
    try {
      const bytes = await inflate(unbase64(packed.replaceAll("-", "+").replaceAll("_", "/")));
      if (bytes.length > MOST_TEXT) return false;
      source.take(new TextDecoder().decode(bytes));
    } catch {
      return false;
    }
  } else {
    return false;
  }
  source.variant = of.get("v");
  for (const set of of.getAll("set")) {
    const at = set.indexOf("=");
    if (at > 0) source.sets.set(set.slice(0, at), set.slice(at + 1));
  }
  return true;
}
