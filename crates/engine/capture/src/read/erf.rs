//! ERF files of Endace's cards (Extensible Record Format, EDM11-01): Ethernet, HDLC and PPP, IP.
//!
//! ERF files have no header and no magic number: they are recognised by the file name's extension and a
//! plausible first record.

use super::format::{self, Record};
use super::info::FileDamage;
use super::link;
use super::source::ByteSource;
use units::Time;

/// Length of a record header: time, type, flags, record length, loss counter or color, length on the wire.
pub(super) const HEAD: usize = 16;
/// Bit of a record's type, and of an extension header's first byte: an extension header follows.
const EXTENDED: u8 = 0x80;
const EXTENSION: usize = 8;
const META: u8 = 27;
const PAD: u8 = 48;
/// Bytes before an Ethernet frame (offset and padding) and before a channel of HDLC.
const BEFORE_ETHERNET: usize = 2;
const BEFORE_CHANNEL: usize = 4;
/// Link types: HDLC (Cisco's or PPP's framing), raw IP, and ERF itself for records that are not read.
const HDLC: u16 = 50;
const RAW: u16 = 101;
const UNREAD: u16 = 197;

/// State of reading an ERF file.
#[derive(Default)]
pub(super) struct Erf {
    pub(super) links: Vec<u16>,
    /// Packets lost between records, as far as records count them.
    pub(super) dropped: Option<u64>,
}

/// Link type of a record type, bytes before the packet, and whether the record has a loss counter instead of
/// a color.
fn kind(kind: u8) -> (u16, usize, bool) {
    match kind {
        1 => (HDLC, 0, true),
        10 | 15 | 19 => (HDLC, 0, false),
        2 => (link::ETHERNET, BEFORE_ETHERNET, true),
        11 | 16 | 20 => (link::ETHERNET, BEFORE_ETHERNET, false),
        5 => (HDLC, BEFORE_CHANNEL, true),
        17 => (HDLC, BEFORE_CHANNEL, false),
        22 | 23 => (RAW, 0, true),
        _ => (UNREAD, 0, false),
    }
}

/// Whether the bytes may be a first record: a known type, a length that covers the header, a nonzero time.
pub(super) fn plausible(b: &[u8]) -> bool {
    let Some(h) = b.first_chunk::<HEAD>() else { return false };
    let extended = h[8] & EXTENDED != 0;
    let least = HEAD + if extended { EXTENSION } else { 0 };
    let seconds = format::u32_at(h, 4, false);
    matches!(h[8] & !EXTENDED, 1..=25 | META | PAD)
        && format::u16_at(h, 10, true) as usize >= least
        && seconds > 0
}

impl Erf {
    /// The next record with a packet; `None` at the end of the file.
    pub(super) fn next(&mut self, source: &mut ByteSource) -> Result<Option<Record>, FileDamage> {
        loop {
            if !source.ensure(HEAD) {
                return format::end(source, HEAD);
            }
            let total = format::u16_at(source.bytes(), 10, true) as usize;
            if total < HEAD {
                return Err(wrong(source, total));
            }
            let held = format::whole(source, total as u64)?;
            match self.record(&source.bytes()[..held]) {
                Some(Some(record)) => return Ok(Some(record)),
                Some(None) => source.advance(held),
                None => return Err(wrong(source, total)),
            }
        }
    }

    /// Parses a record. `None`: the headers exceed the record; `Some(None)`: the record is not a packet.
    fn record(&mut self, b: &[u8]) -> Option<Option<Record>> {
        let number = b[8] & !EXTENDED;
        let (mut from, mut more) = (HEAD, b[8] & EXTENDED != 0);
        while more {
            more = b.get(from..from + EXTENSION)?[0] & EXTENDED != 0;
            from += EXTENSION;
        }
        if matches!(number, META | PAD) {
            return Some(None);
        }
        let (link, before, counts) = kind(number);
        from += before;
        if from > b.len() {
            return None;
        }
        if !self.links.contains(&link) {
            self.links.push(link);
        }
        if counts {
            let lost = format::u16_at(b, 12, true) as u64;
            self.dropped = Some(self.dropped.unwrap_or(0).saturating_add(lost));
        }
        let wire = format::u16_at(b, 14, true) as u32;
        // Records are padded at the end.
        let to = b.len().min(from + wire as usize);
        Some(Some(Record { time: Some(time(b)), wire, link, from, to, held: b.len() }))
    }
}

/// A record's time: seconds with a 32-bit fraction, little-endian; rounded to the nearest nanosecond.
fn time(b: &[u8]) -> Time {
    let (part, seconds) = (format::u32_at(b, 0, false) as u64, format::u32_at(b, 4, false) as u64);
    Time::from_nanos(seconds * 1_000_000_000 + ((part * 1_000_000_000 + (1 << 31)) >> 32))
}

#[cold]
fn wrong(source: &ByteSource, total: usize) -> FileDamage {
    let what = format!("a record claims {total} bytes, less than its headers");
    FileDamage { offset: source.offset(), what }
}
