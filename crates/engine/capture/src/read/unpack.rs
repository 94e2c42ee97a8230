//! Decompression of captures, on a separate thread in parallel with the reader; on the reader's thread where
//! there are no threads (wasm32).

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

#[cfg(not(target_arch = "wasm32"))]
mod ahead;
#[cfg(not(target_arch = "wasm32"))]
pub(super) use ahead::unpack;

/// Maximum memory for an xz stream, KiB: four times that of `xz -9`.
const XZ_MEMORY: u32 = 256 << 10;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// Gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
    /// The .xz file format, version 1.2.1.
    Xz,
}

impl Packing {
    /// Recognises the compression by the first bytes of a file.
    pub(super) fn of(head: &[u8]) -> Option<Packing> {
        match head {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            // A frame, or a skippable frame (section 3.1.2).
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Packing::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
            _ => None,
        }
    }

    /// The name in [`super::FileInfo::format`].
    pub(super) fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Xz => "xz",
        }
    }

    /// The name in messages about a file that is compressed twice.
    pub(super) fn twice_name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip twice",
            Packing::Zstd => "zstd twice",
            Packing::Xz => "xz twice",
        }
    }

    fn decoder(self, input: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        let input = BufReader::with_capacity(128 << 10, input);
        match self {
            Packing::Gzip => Box::new(MultiGzDecoder::new(input)),
            Packing::Zstd => Box::new(Zstd { input, decoder: FrameDecoder::new(), in_frame: false }),
            Packing::Xz => Box::new(XzReader::new_mem_limit(input, true, XZ_MEMORY)),
        }
    }
}

/// Reads `input` decompressed, on the calling thread.
#[cfg(target_arch = "wasm32")]
pub(super) fn unpack(input: Box<dyn Read + Send>, packing: Packing) -> io::Result<Box<dyn Read + Send>> {
    Ok(packing.decoder(input))
}

/// Reads the frames of a zstd file in sequence.
struct Zstd<R> {
    input: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    /// Starts the next frame; `false` at the end of the input.
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
        let expected = self.decoder.get_checksum_from_data();
        if expected.is_some() && expected != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(ErrorKind::InvalidData, "wrong checksum of a frame"));
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
