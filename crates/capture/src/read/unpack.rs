//! Unpacking compressed captures, on a thread of its own so that it runs beside what reads them.

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Bytes handed over at once; of a fuzzer's files, which are small, few.
const CHUNK: usize = if cfg!(fuzzing) { 2 << 10 } else { 256 << 10 };
/// Chunks that wait to be read, at most: all that a decompression bomb gets, beside the decoder's window.
const CHUNKS: usize = 4;
/// The most memory an xz stream may ask for, KiB: four times what `xz -9` asks for.
const XZ_MEMORY: u32 = 256 << 10;

/// A kind of compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// The .xz file format, 1.2.1.
    Xz,
}

impl Packing {
    /// By the first bytes of a file.
    pub(super) fn of(head: &[u8]) -> Option<Packing> {
        match head {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            // A frame, or one to be skipped (section 3.1.2).
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Packing::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
            _ => None,
        }
    }

    /// As [`super::FileInfo::format`] has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Xz => "xz",
        }
    }

    /// What is said where one is inside another.
    pub(super) fn twice(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip and then once more",
            Packing::Zstd => "zstd and then once more",
            Packing::Xz => "xz and then once more",
        }
    }

    fn decoder(self, input: Box<dyn Read + Send>) -> Box<dyn Read> {
        let input = BufReader::with_capacity(128 << 10, input);
        match self {
            Packing::Gzip => Box::new(MultiGzDecoder::new(input)),
            Packing::Zstd => Box::new(Zstd { input, decoder: FrameDecoder::new(), in_frame: false }),
            Packing::Xz => Box::new(XzReader::new_mem_limit(input, true, XZ_MEMORY)),
        }
    }
}

/// Reads what `input` holds, unpacked by another thread. That thread ends with the input, or soon after
/// what is returned is dropped.
pub(super) fn unpack(input: Box<dyn Read + Send>, packing: Packing) -> io::Result<Box<dyn Read + Send>> {
    let (send, chunks) = sync_channel(CHUNKS);
    let (spare, returned) = sync_channel(CHUNKS);
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

/// Sends chunk by chunk until the data ends or nobody wants it; what was unpacked before an error is sent.
fn send_all(
    decoder: &mut dyn Read,
    send: &SyncSender<UnpackedChunk>,
    returned: &Receiver<Vec<u8>>,
) -> io::Result<()> {
    loop {
        let mut chunk = returned.try_recv().unwrap_or_default();
        chunk.resize(CHUNK, 0);
        let (filled, end) = fill(decoder, &mut chunk);
        chunk.truncate(filled);
        if filled > 0 && send.send(Ok(chunk)).is_err() {
            return Ok(());
        }
        match end {
            Ok(()) if filled == CHUNK => {}
            end => return end,
        }
    }
}

/// Reads until `chunk` is full, the data ends or an error.
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
    /// The next chunk, none at the end. At the end and after an error the other thread has nothing left to
    /// do, so waiting for it is short; before, it may itself be waiting for a pipe.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let next = self.chunks.recv().ok().transpose();
        if !matches!(next, Ok(Some(_)))
            && let Some(worker) = self.worker.take()
            && worker.join().is_err()
        {
            return Err(io::Error::new(ErrorKind::InvalidData, "the packed data is damaged"));
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

/// Frame after frame of a zstd file.
struct Zstd<R> {
    input: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    /// Begins the next frame; false at the end.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.input.by_ref().take(length as u64), &mut io::sink())?;
                }
                Err(e) => return Err(io::Error::new(ErrorKind::InvalidData, e.to_string())),
            }
        }
        Ok(false)
    }

    fn check(&self) -> io::Result<()> {
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(ErrorKind::InvalidData, "the checksum of a frame is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                if !self.begin()? {
                    return Ok(0);
                }
            } else if self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            } else if self.decoder.is_finished() {
                self.check()?;
                self.in_frame = false;
            } else {
                self.decoder
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|e| io::Error::new(ErrorKind::InvalidData, e.to_string()))?;
            }
        }
    }
}
