//! Classic pcap files (draft-ietf-opsawg-pcap), and the variant of Alexey Kuznetzov's patched libpcap.

use super::format::{self, Record};
use super::info::FileDamage;
use super::source::ByteSource;
use units::Time;

/// Length of the file header, bytes.
pub(super) const HEADER: usize = 24;

/// Layout of a classic file.
pub(super) struct Classic {
    big: bool,
    /// Nanoseconds per unit of the second time field.
    unit: u64,
    /// Length of a record header, bytes.
    head: usize,
    /// Whether the two lengths may be in either order, as in versions up to 2.3.
    either: bool,
    /// Maximum credible record length, bytes.
    most: u32,
    pub(super) link: u16,
}

impl Classic {
    /// Parses the file header; `None` unless its magic number is that of a classic capture.
    pub(super) fn new(h: &[u8; HEADER]) -> Option<Classic> {
        let magic = format::u32_at(h, 0, false);
        let (big, magic) = if magic as u8 == 0xa1 { (true, magic.swap_bytes()) } else { (false, magic) };
        let (unit, head) = match magic {
            0xa1b2_c3d4 => (1_000, 16),
            0xa1b2_3c4d => (1, 16),
            // Each record also has its interface, protocol and packet type.
            0xa1b2_cd34 => (1_000, 24),
            _ => return None,
        };
        let version = (format::u16_at(h, 4, big), format::u16_at(h, 6, big));
        let snaplen = format::u32_at(h, 16, big);
        Some(Classic {
            big,
            unit,
            head,
            either: version <= (2, 3),
            most: format::longest(snaplen),
            // The upper bits hold the length of the frame check sequence.
            link: format::u32_at(h, 20, big) as u16,
        })
    }

    /// The next record if it is buffered as a whole, which is nearly always the case.
    #[inline(always)]
    pub(super) fn at_hand(&self, bytes: &[u8]) -> Option<Record> {
        let head: &[u8; 16] = bytes.first_chunk()?;
        let [seconds, part, captured, wire] = format::u32s_at(head, 0, self.big);
        let held = self.head + captured as usize;
        (captured <= self.most && held <= bytes.len() && !self.either).then(|| Record {
            time: Some(self.time(seconds, part)),
            wire: wire.max(captured),
            link: self.link,
            from: self.head,
            to: held,
            held,
        })
    }

    #[inline]
    fn time(&self, seconds: u32, part: u32) -> Time {
        Time::from_nanos(seconds as u64 * 1_000_000_000 + part as u64 * self.unit)
    }

    /// The next record; `None` at the end of the file.
    #[inline(never)]
    pub(super) fn next(&self, source: &mut ByteSource) -> Result<Option<Record>, FileDamage> {
        if !source.ensure(self.head) {
            return format::end(source, self.head);
        }
        let [seconds, part, mut captured, mut wire] = format::u32s_at(source.bytes(), 0, self.big);
        if self.either && captured > wire {
            (captured, wire) = (wire, captured);
        }
        if captured > self.most {
            let what = format!("a record claims {captured} captured bytes, the maximum is {}", self.most);
            return Err(FileDamage { offset: source.offset(), what });
        }
        let total = self.head + captured as usize;
        let held = format::whole(source, total as u64)?;
        Ok(Some(Record {
            time: Some(self.time(seconds, part)),
            wire: wire.max(captured),
            link: self.link,
            from: self.head,
            to: total.min(held),
            held,
        }))
    }
}
