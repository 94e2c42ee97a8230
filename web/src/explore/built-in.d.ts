// What build.mjs puts in.

/** Of workers alone (File API, 6.4). */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** A worker's script. */
declare module "worker:*" {
  const source: string;
  export default source;
}

/** The scenarios that are built in: their texts by name. */
declare module "scenarios:" {
  const texts: Record<string, string>;
  export default texts;
}
