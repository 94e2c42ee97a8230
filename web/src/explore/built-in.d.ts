// Declarations of modules that build.mjs provides, and of a type that exists in workers only.

/** Exists in workers only (File API, section 6.4). */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** A worker's script. */
declare module "worker:*" {
  const source: string;
  export default source;
}

/** Texts of the built-in scenarios by name. */
declare module "scenarios:" {
  const texts: Record<string, string>;
  export default texts;
}
