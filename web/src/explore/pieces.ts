// The layout of an answer, from a worker or a server: number of pieces, their lengths, the pieces; numbers
// are little-endian u32.

/** Returns copies of the pieces of the answer that begins at byte `at`. */
export function pieces(buffer: ArrayBuffer, at = 0): Uint8Array<ArrayBuffer>[] {
  const view = new DataView(buffer);
  const count = view.getUint32(at, true);
  let from = at + 4 + 4 * count;
  return Array.from({ length: count }, (_, i) => {
    const to = from + view.getUint32(at + 4 + 4 * i, true);
    const piece = new Uint8Array(buffer.slice(from, to));
    from = to;
    return piece;
  });
}
