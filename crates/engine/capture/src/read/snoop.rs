//! snoop files of Solaris (RFC 1761): version 2, Ethernet only.

use super::format::{self, Record};
use super::info::FileDamage;
use super::link;
use super::open::OpenCause;
use super::source::ByteSource;
use units::Time;

/// Length of the file header, bytes: identification, version, datalink type.
pub(super) const HEADER: usize = 16;
/// Length of a record header: original length, included length, record length, drops so far, seconds,
/// microseconds.
const HEAD: usize = 24;
pub(super) const MAGIC: [u8; 8] = *b"snoop\0\0\0";
/// Datalink types that are read: IEEE 802.3 and Ethernet.
const SUPPORTED_LINKS: [u32; 2] = [0, 4];

/// State of reading a snoop file.
#[derive(Default)]
pub(super) struct Snoop {
    /// Packets dropped up to the last record.
    pub(super) dropped: Option<u64>,
}

impl Snoop {
    /// Checks the file header, whose identification is known to match.
    pub(super) fn new(h: &[u8; HEADER]) -> Result<Snoop, OpenCause> {
        if format::u32_at(h, 8, true) != 2 {
            return Err(OpenCause::Foreign { kind: "snoop with a version other than 2" });
        }
        if !SUPPORTED_LINKS.contains(&format::u32_at(h, 12, true)) {
            return Err(OpenCause::Foreign { kind: "snoop with a link layer other than Ethernet" });
        }
        Ok(Snoop::default())
    }

    /// The next record; `None` at the end of the file.
    pub(super) fn next(&mut self, source: &mut ByteSource) -> Result<Option<Record>, FileDamage> {
        if !source.ensure(HEAD) {
            return format::end(source, HEAD);
        }
        let b = source.bytes();
        let [wire, captured, total, dropped] = format::u32s_at(b, 0, true);
        let (seconds, micros) = (format::u32_at(b, 16, true), format::u32_at(b, 20, true));
        let most = format::longest(0);
        let wrong = |what| Err(FileDamage { offset: source.offset(), what });
        if captured > most {
            return wrong(format!("a record claims {captured} included bytes, the maximum is {most}"));
        }
        // The rest of a record is padding.
        if total < HEAD as u32 + captured || total > HEAD as u32 + most + 8 {
            return wrong(format!(
                "a record claims {total} bytes, which does not fit its {captured} included bytes"
            ));
        }
        let held = format::whole(source, total as u64)?;
        self.dropped = self.dropped.max(Some(dropped.into()));
        Ok(Some(Record {
            time: Some(Time::from_nanos(seconds as u64 * 1_000_000_000 + micros as u64 * 1_000)),
            wire: wire.max(captured),
            link: link::ETHERNET,
            from: HEAD,
            to: held.min(HEAD + captured as usize),
            held,
        }))
    }
}
