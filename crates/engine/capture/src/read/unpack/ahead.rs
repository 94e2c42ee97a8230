//! Decompression on a separate thread, a few chunks ahead of the reader.

use super::Packing;
use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Size of a chunk, bytes; small for fuzzing, since its files are small.
const CHUNK_SIZE: usize = if cfg!(fuzzing) { 2 << 10 } else { 256 << 10 };
/// Maximum number of chunks waiting to be read. They and the decoder's window bound the memory of a
/// decompression bomb.
const MAX_CHUNKS: usize = 4;

/// Reads `input` decompressed by another thread. The thread ends with the input, or soon after the returned
/// reader is dropped.
pub(in crate::read) fn unpack(
    input: Box<dyn Read + Send>,
    packing: Packing,
) -> io::Result<Box<dyn Read + Send>> {
    let (send, chunks) = sync_channel(MAX_CHUNKS);
    let (spare, returned) = sync_channel(MAX_CHUNKS);
    let work = move || {
        let mut decoder = packing.decoder(input);
        if let Err(e) = send_all(&mut decoder, &send, &returned) {
            let what = format!("the {} data is damaged: {e}", packing.name());
            let _ = send.send(Err(io::Error::new(e.kind(), what)));
        }
    };
    let worker = std::thread::Builder::new().name("unpack".into()).spawn(work)?;
    Ok(Box::new(Unpacked { chunks, spare, worker: Some(worker), chunk: Vec::new(), at: 0 }))
}

type UnpackedChunk = io::Result<Vec<u8>>;

/// Sends chunks until the data ends or the receiver is dropped; data decompressed before an error is sent,
/// too.
fn send_all(
    decoder: &mut dyn Read,
    send: &SyncSender<UnpackedChunk>,
    returned: &Receiver<Vec<u8>>,
) -> io::Result<()> {
    loop {
        let mut chunk = returned.try_recv().unwrap_or_default();
        chunk.resize(CHUNK_SIZE, 0);
        let (filled, end) = fill(decoder, &mut chunk);
        chunk.truncate(filled);
        if filled > 0 && send.send(Ok(chunk)).is_err() {
            return Ok(());
        }
        match end {
            Ok(()) if filled == CHUNK_SIZE => {}
            end => return end,
        }
    }
}

/// Reads until `chunk` is full, the data ends, or an error occurs.
fn fill(decoder: &mut dyn Read, chunk: &mut [u8]) -> (usize, io::Result<()>) {
    let mut filled = 0;
    while filled < chunk.len() {
        match decoder.read(&mut chunk[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return (filled, Err(e)),
        }
    }
    (filled, Ok(()))
}

/// The reading end.
struct Unpacked {
    chunks: Receiver<UnpackedChunk>,
    spare: SyncSender<Vec<u8>>,
    worker: Option<JoinHandle<()>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Unpacked {
    /// The next chunk; `None` at the end. At the end and after an error the thread is joined, which is quick
    /// since it has nothing left to do; before that, it may be waiting for a pipe.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let next = self.chunks.recv().ok().transpose();
        if !matches!(next, Ok(Some(_)))
            && let Some(worker) = self.worker.take()
            && worker.join().is_err()
        {
            return Err(io::Error::new(ErrorKind::InvalidData, "the compressed data is damaged"));
        }
        next
    }
}

impl Read for Unpacked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            let Some(next) = self.next()? else { return Ok(0) };
            let used = std::mem::replace(&mut self.chunk, next);
            let _ = self.spare.try_send(used);
            self.at = 0;
        }
        let n = out.len().min(self.chunk.len() - self.at);
        out[..n].copy_from_slice(&self.chunk[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
