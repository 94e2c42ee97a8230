//! Common parts of the capture file formats.

use super::classic::Classic;
use super::erf::Erf;
use super::info::FileDamage;
use super::link;
use super::ng::Ng;
use super::snoop::Snoop;
use super::source::ByteSource;
use units::Time;

/// Longest record that capture programs write by default.
const DEFAULT_MAX_RECORD: u32 = 262_144;
/// Maximum credible record length, whatever the file's header says.
const ABSOLUTE_MAX_RECORD: u32 = 128 << 20;

/// Maximum credible record length of a file with this snap length; 0 means no limit.
pub(super) fn longest(snaplen: u32) -> u32 {
    snaplen.clamp(DEFAULT_MAX_RECORD, ABSOLUTE_MAX_RECORD)
}

/// Position of a packet in [`ByteSource::bytes`].
pub(super) struct Record {
    /// Capture time, if the record has one.
    pub(super) time: Option<Time>,
    /// Length on the wire.
    pub(super) wire: u32,
    /// Link type.
    pub(super) link: u16,
    /// Offset of the packet's first byte.
    pub(super) from: usize,
    /// Offset after the packet's last byte.
    pub(super) to: usize,
    /// Bytes to skip to reach the next record.
    pub(super) held: usize,
}

/// A capture file format, with its reading state.
pub(super) enum Format {
    Classic(Classic),
    Ng(Box<Ng>),
    Snoop(Snoop),
    Erf(Erf),
}

impl Format {
    /// The next record if it is entirely in `bytes`, the buffered bytes, and needs no further checks.
    #[inline(always)]
    pub(super) fn at_hand(&self, bytes: &[u8]) -> Option<Record> {
        match self {
            Format::Classic(classic) => classic.at_hand(bytes),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn next(&mut self, source: &mut ByteSource) -> Result<Option<Record>, FileDamage> {
        match self {
            Format::Classic(classic) => classic.next(source),
            Format::Ng(ng) => ng.next(source),
            Format::Snoop(snoop) => snoop.next(source),
            Format::Erf(erf) => erf.next(source),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Format::Classic(_) => "pcap",
            Format::Ng(_) => "pcapng",
            Format::Snoop(_) => "snoop",
            Format::Erf(_) => "erf",
        }
    }

    /// Link types, without duplicates.
    pub(super) fn links(&self) -> &[u16] {
        match self {
            Format::Classic(classic) => std::slice::from_ref(&classic.link),
            Format::Ng(ng) => ng.links(),
            Format::Snoop(_) => &[link::ETHERNET],
            Format::Erf(erf) => &erf.links,
        }
    }

    /// Packets that the capturing program reports as dropped.
    pub(super) fn dropped(&self) -> Option<u64> {
        match self {
            Format::Classic(_) => None,
            Format::Ng(ng) => ng.dropped(),
            Format::Snoop(snoop) => snoop.dropped,
            Format::Erf(erf) => erf.dropped,
        }
    }
}

/// Buffers a whole record; returns how many of its bytes are buffered.
#[inline]
pub(super) fn whole(source: &mut ByteSource, total: u64) -> Result<usize, FileDamage> {
    let offset = source.offset();
    source.record(total).map_err(|there| cut(source, offset, total, there))
}

/// Handles the end of the file where a header of `head` bytes should follow.
#[cold]
pub(super) fn end(source: &ByteSource, head: usize) -> Result<Option<Record>, FileDamage> {
    let there = source.bytes().len() as u64;
    if there == 0 && source.failure().is_none() {
        return Ok(None);
    }
    Err(cut(source, source.offset(), head as u64, there))
}

#[cold]
fn cut(source: &ByteSource, offset: u64, total: u64, there: u64) -> FileDamage {
    let what = match source.failure() {
        Some(failure) => failure.to_string(),
        None => format!("the file ends within a record: {there} of {total} bytes"),
    };
    FileDamage { offset, what }
}

/// A 16-bit integer at `at`, which must exist.
#[inline]
pub(super) fn u16_at(b: &[u8], at: usize, big: bool) -> u16 {
    let bytes = [b[at], b[at + 1]];
    if big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

/// A 32-bit integer at `at`, which must exist.
#[inline]
pub(super) fn u32_at(b: &[u8], at: usize, big: bool) -> u32 {
    let bytes = [b[at], b[at + 1], b[at + 2], b[at + 3]];
    if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

/// Four consecutive 32-bit integers, starting at `at`, which must exist.
#[inline]
pub(super) fn u32s_at(b: &[u8], at: usize, big: bool) -> [u32; 4] {
    let b = &b[at..at + 16];
    let numbers = [u32_at(b, 0, false), u32_at(b, 4, false), u32_at(b, 8, false), u32_at(b, 12, false)];
    if big { numbers.map(u32::swap_bytes) } else { numbers }
}

/// A 64-bit integer at `at`, which must exist.
pub(super) fn u64_at(b: &[u8], at: usize, big: bool) -> u64 {
    let [first, second] = [u32_at(b, at, big) as u64, u32_at(b, at + 4, big) as u64];
    if big { first << 32 | second } else { second << 32 | first }
}
