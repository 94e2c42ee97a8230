//! Opening of captures. The format is recognised by the file's first bytes; ERF has no magic number and is
//! recognised by its file name.

use super::classic::{self, Classic};
use super::erf::{self, Erf};
use super::format::Format;
use super::ng::SECTION;
use super::snoop::{self, Snoop};
use super::source::ByteSource;
use super::unpack::{Packing, unpack};
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An error on opening a capture.
#[derive(Debug)]
pub struct OpenError {
    /// Name of the file as given; `-` for standard input.
    pub name: String,
    /// Cause of the error.
    pub cause: OpenCause,
}

/// Why a capture could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenCause {
    /// The file could not be read or decompressed.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file ends within its header.
    #[error("the file ends after {bytes} bytes, within its header")]
    Short {
        /// Length of the file, bytes.
        bytes: usize,
    },
    /// The compression is not supported.
    #[error("compressed with {with}: decompress it first (gzip, zstd and xz are supported)")]
    Packed {
        /// Name of the compression.
        with: &'static str,
    },
    /// The capture format is not supported.
    #[error("a capture of {kind}: convert it first, with Wireshark's editcap -F pcapng")]
    Foreign {
        /// Name of the format.
        kind: &'static str,
    },
    /// The file is not a capture.
    #[error(
        "not a pcap, pcapng, snoop or .erf capture: it begins with the bytes {:02x} {:02x} {:02x} {:02x}",
        .magic[0], .magic[1], .magic[2], .magic[3]
    )]
    NotACapture {
        /// The first bytes of the file.
        magic: [u8; 4],
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.cause)
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}

/// An opened capture, ready to be read.
pub(super) struct OpenedCapture {
    pub(super) packing: Option<&'static str>,
    pub(super) source: ByteSource,
    pub(super) format: Format,
    /// Bytes of the file read so far.
    pub(super) taken: Arc<AtomicU64>,
    /// Length of the file, bytes; `None` if unknown.
    pub(super) length: Option<u64>,
}

/// Opens a file, or standard input for `-`.
pub(super) fn file(path: &Path) -> Result<OpenedCapture, OpenCause> {
    if path == Path::new("-") {
        return any(Box::new(io::stdin()), "-", None);
    }
    let file = File::open(path).map_err(OpenCause::Io)?;
    let about = file.metadata().map_err(OpenCause::Io)?;
    any(Box::new(file), &path.to_string_lossy(), about.is_file().then_some(about.len()))
}

/// Recognises the format of `input`; `name` is its file name.
pub(super) fn any(
    input: Box<dyn Read + Send>,
    name: &str,
    length: Option<u64>,
) -> Result<OpenedCapture, OpenCause> {
    let taken = Arc::new(AtomicU64::new(0));
    let mut input = CountingReader { input, taken: taken.clone() };
    let head = head(&mut input).map_err(OpenCause::Io)?;
    let packing = Packing::of(&head);
    let whole: Box<dyn Read + Send> = Box::new(io::Cursor::new(head).chain(input));
    let mut source = match packing {
        Some(packing) => ByteSource::new(unpack(whole, packing).map_err(OpenCause::Io)?),
        None => ByteSource::new(whole),
    };
    let format = format(&mut source, name, packing.is_some())?;
    Ok(OpenedCapture { packing: packing.map(Packing::name), source, format, taken, length })
}

/// The first six bytes, the length of the longest magic number, or fewer if the file is shorter.
fn head(input: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(6).read_to_end(&mut head)?;
    Ok(head)
}

fn format(source: &mut ByteSource, name: &str, unpacked: bool) -> Result<Format, OpenCause> {
    let whole = source.ensure(classic::HEADER);
    let b = source.bytes();
    if let (false, Some(failure)) = (whole, source.failure()) {
        return Err(OpenCause::Io(io::Error::other(failure.to_string())));
    }
    let Some(&magic) = b.first_chunk::<4>() else {
        return Err(if b.is_empty() { OpenCause::Empty } else { OpenCause::Short { bytes: b.len() } });
    };
    if unpacked && let Some(again) = Packing::of(b) {
        return Err(OpenCause::Packed { with: again.twice_name() });
    }
    if let Some(cause) = unsupported(b) {
        return Err(cause);
    }
    if magic == SECTION.to_be_bytes() {
        return Ok(Format::Ng(Box::default()));
    }
    if b.starts_with(&snoop::MAGIC) {
        let header = b.first_chunk().ok_or(OpenCause::Short { bytes: b.len() })?;
        let snoop = Snoop::new(header)?;
        source.advance(snoop::HEADER);
        return Ok(Format::Snoop(snoop));
    }
    let header = b.first_chunk::<{ classic::HEADER }>();
    let mut padded = [0; classic::HEADER];
    padded[..4].copy_from_slice(&magic);
    match Classic::new(header.unwrap_or(&padded)) {
        None if is_erf(name) && erf::plausible(b) => Ok(Format::Erf(Erf::default())),
        None => Err(OpenCause::NotACapture { magic }),
        Some(_) if header.is_none() => Err(OpenCause::Short { bytes: b.len() }),
        Some(classic) => {
            source.advance(classic::HEADER);
            Ok(Format::Classic(classic))
        }
    }
}

/// Whether a file name, with or without a compression's suffix, is that of an ERF capture.
fn is_erf(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = [".gz", ".zst", ".xz"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    plain.ends_with(".erf")
}

/// Recognises unsupported files that a user may take for a capture.
fn unsupported(b: &[u8]) -> Option<OpenCause> {
    let packed = |with| Some(OpenCause::Packed { with });
    let foreign = |kind| Some(OpenCause::Foreign { kind });
    match b {
        [b'B', b'Z', b'h', ..] => packed("bzip2"),
        [0x04, 0x22, 0x4d, 0x18, ..] => packed("lz4"),
        [b'P', b'K', 3, 4, ..] => packed("zip"),
        [b'7', b'z', 0xbc, 0xaf, ..] => packed("7-Zip"),
        [b'L', b'Z', b'I', b'P', ..] => packed("lzip"),
        [0x1f, 0x9d, ..] => packed("compress"),
        [b'G', b'M', b'B', b'U', ..] => foreign("Network Monitor"),
        [b'T', b'R', b'S', b'N', ..] => foreign("a Sniffer"),
        [0xac, 0x01, 0x00, 0x1c, ..] | [0x1c, 0x00, 0x01, 0xac, ..] => foreign("IXIA"),
        _ => None,
    }
}

/// Counts the bytes that are read.
struct CountingReader {
    input: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(out)?;
        self.taken.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
