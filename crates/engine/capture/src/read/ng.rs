//! pcapng files (draft-ietf-opsawg-pcapng).

use super::clock::PcapClock;
use super::format::{self, Record, u16_at, u32_at, u64_at};
use super::info::FileDamage;
use super::source::ByteSource;
use units::Time;

/// Block types: section header, interface description, packet (obsolete), simple packet, interface
/// statistics, enhanced packet.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED: u32 = 6;
/// Maximum number of interfaces per section.
const MAX_INTERFACES: usize = 65_536;
/// Maximum number of link types listed.
const MAX_LINKS: usize = 64;

/// An interface of the current section.
struct Interface {
    link: u16,
    snaplen: u32,
    clock: PcapClock,
    /// Drops as counted per packet.
    dropped: Option<u64>,
    dropped_total: Option<u64>,
}

/// State of reading a pcapng file.
#[derive(Default)]
pub(super) struct Ng {
    big: bool,
    interfaces: Vec<Interface>,
    links: Vec<u16>,
    /// Drops of sections that have ended.
    dropped: Option<u64>,
    /// Offset of the block being read.
    offset: u64,
}

/// Result of reading a block.
enum NgBlock {
    Packet(Record),
    /// Any other block, with the number of its bytes that are buffered.
    Other(usize),
}

impl Ng {
    pub(super) fn links(&self) -> &[u16] {
        &self.links
    }

    /// Dropped packets of all interfaces and sections. Interface statistics count all drops, so they take
    /// precedence over the counts of packets.
    pub(super) fn dropped(&self) -> Option<u64> {
        let drops_of = |i: &Interface| i.dropped_total.max(i.dropped);
        let now = self.interfaces.iter().filter_map(drops_of).reduce(u64::saturating_add);
        match (self.dropped, now) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        }
    }

    /// The next packet; `None` at the end of the file.
    #[inline]
    pub(super) fn next(&mut self, source: &mut ByteSource) -> Result<Option<Record>, FileDamage> {
        loop {
            if !source.ensure(12) {
                return format::end(source, 12);
            }
            self.offset = source.offset();
            match self.block(source)? {
                NgBlock::Packet(record) => return Ok(Some(record)),
                NgBlock::Other(held) => source.advance(held),
            }
        }
    }

    #[inline]
    fn block(&mut self, source: &mut ByteSource) -> Result<NgBlock, FileDamage> {
        let b = source.bytes();
        if b[..4] == SECTION.to_be_bytes() {
            // The section type reads the same in both byte orders; the magic after the length shows the
            // order.
            self.big = match u32_at(b, 8, false) {
                0x1a2b_3c4d => false,
                0x4d3c_2b1a => true,
                other => {
                    let what = "a section header has the byte-order magic";
                    return Err(self.wrong(format!("{what} {other:#010x}, expected 0x1a2b3c4d")));
                }
            };
        }
        let (kind, length) = (u32_at(b, 0, self.big), u32_at(b, 4, self.big));
        // Section 3.1: type, and length twice; blocks are padded to four bytes, which some writers do not
        // count in the length.
        if length < 12 {
            return Err(self.wrong(format!("a block claims {length} bytes, the minimum is 12")));
        }
        let total = (length as u64).next_multiple_of(4);
        let held = format::whole(source, total)?;
        let b = &source.bytes()[..held];
        if held as u64 == total {
            let again = u32_at(b, held - 4, self.big);
            if again != length {
                return Err(
                    self.wrong(format!("a block starts with length {length} and ends with length {again}"))
                );
            }
        }
        // A block that exceeds the buffer has lost its end.
        let body = &b[8..if held as u64 == total { held - 4 } else { held }];
        match kind {
            SECTION => self.section(body)?,
            INTERFACE => self.interface(body)?,
            STATISTICS => self.statistics(body)?,
            ENHANCED | PACKET => return self.packet(kind, body, total, held).map(NgBlock::Packet),
            SIMPLE => return self.simple(body, total, held).map(NgBlock::Packet),
            _ => {}
        }
        Ok(NgBlock::Other(held))
    }

    /// Section header block (section 4.1).
    #[cold]
    fn section(&mut self, body: &[u8]) -> Result<(), FileDamage> {
        self.need(body, 16, "section header")?;
        let major = u16_at(body, 4, self.big);
        if major != 1 {
            return Err(self.wrong(format!("a section of version {major}, expected 1")));
        }
        self.dropped = self.dropped();
        self.interfaces.clear();
        Ok(())
    }

    /// Interface description block (section 4.2).
    #[cold]
    fn interface(&mut self, body: &[u8]) -> Result<(), FileDamage> {
        self.need(body, 8, "interface description")?;
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(self.wrong(format!("a section with more than {MAX_INTERFACES} interfaces")));
        }
        let (mut resolution, mut offset) = (6, 0);
        for_options(&body[8..], self.big, |code, value| match (code, value.len()) {
            (9, 1) => resolution = value[0],
            (14, 8) => offset = u64_at(value, 0, self.big) as i64,
            _ => {}
        });
        let link = u16_at(body, 0, self.big);
        if !self.links.contains(&link) && self.links.len() < MAX_LINKS {
            self.links.push(link);
        }
        self.interfaces.push(Interface {
            link,
            snaplen: u32_at(body, 4, self.big),
            clock: PcapClock::new(resolution, offset),
            dropped: None,
            dropped_total: None,
        });
        Ok(())
    }

    /// Interface statistics block (section 4.6): `isb_ifdrop` and `isb_osdrop`, counted from the start of the
    /// capture.
    #[cold]
    fn statistics(&mut self, body: &[u8]) -> Result<(), FileDamage> {
        self.need(body, 12, "interface statistics")?;
        let big = self.big;
        let interface = self.described_interface(u32_at(body, 0, big))?;
        let mut dropped: Option<u64> = None;
        for_options(&body[12..], big, |code, value| {
            if let (5 | 7, 8) = (code, value.len()) {
                dropped = Some(dropped.unwrap_or(0).saturating_add(u64_at(value, 0, big)));
            }
        });
        interface.dropped_total = interface.dropped_total.max(dropped);
        Ok(())
    }

    /// Enhanced packet block (section 4.3), and the obsolete packet block (section A), which has a 16-bit
    /// interface number and the drops since the last packet, 0xffff if unknown.
    #[inline]
    fn packet(&mut self, kind: u32, body: &[u8], total: u64, held: usize) -> Result<Record, FileDamage> {
        self.need(body, 20, "packet block")?;
        let big = self.big;
        let [high, low, captured, wire] = format::u32s_at(body, 4, big);
        let padded = 20 + (captured as u64).next_multiple_of(4);
        if 20 + captured as u64 > total - 12 {
            return Err(self.wrong(format!("a packet of {captured} captured bytes in a block of {total}")));
        }
        let mut dropped = None;
        let number = if kind == PACKET {
            dropped = Some(u16_at(body, 2, big) as u64).filter(|n| *n != 0xffff);
            u16_at(body, 0, big) as u32
        } else {
            if let Some(options) = body.get(padded as usize..) {
                for_options(options, big, |code, value| {
                    if (code, value.len()) == (4, 8) {
                        dropped = Some(u64_at(value, 0, big));
                    }
                });
            }
            u32_at(body, 0, big)
        };
        let interface = self.described_interface(number)?;
        if let Some(n) = dropped {
            interface.dropped = Some(interface.dropped.unwrap_or(0).saturating_add(n));
        }
        Ok(Record {
            time: Some(interface.clock.time((high as u64) << 32 | low as u64)),
            wire: wire.max(captured),
            link: interface.link,
            from: 28,
            to: held.min(28 + captured as usize),
            held,
        })
    }

    /// Simple packet block (section 4.4): belongs to the first interface, has no time, and is truncated to
    /// the snap length.
    #[cold]
    fn simple(&mut self, body: &[u8], total: u64, held: usize) -> Result<Record, FileDamage> {
        self.need(body, 4, "simple packet block")?;
        let wire = u32_at(body, 0, self.big);
        let interface = self.described_interface(0)?;
        let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        let captured = wire.min(limit) as u64;
        if captured > total - 16 {
            return Err(self.wrong(format!("a packet of {captured} captured bytes in a block of {total}")));
        }
        let to = held.min(12 + captured as usize);
        Ok(Record { time: None::<Time>, wire, link: interface.link, from: 12, to, held })
    }

    #[inline]
    fn described_interface(&mut self, number: u32) -> Result<&mut Interface, FileDamage> {
        let described = self.interfaces.len();
        if number as usize >= described {
            let what = format!("a block refers to interface {number}, but only {described} are described");
            return Err(self.wrong(what));
        }
        Ok(&mut self.interfaces[number as usize])
    }

    #[inline]
    fn need(&self, body: &[u8], least: usize, block: &str) -> Result<(), FileDamage> {
        if body.len() >= least {
            return Ok(());
        }
        let len = body.len();
        Err(self.wrong(format!("a block has {len} bytes of content, a {block} needs {least}")))
    }

    #[cold]
    fn wrong(&self, what: String) -> FileDamage {
        FileDamage { offset: self.offset, what }
    }
}

/// Iterates over options (section 3.5): code, length, value padded to four bytes; code 0 ends them.
fn for_options(mut rest: &[u8], big: bool, mut option: impl FnMut(u16, &[u8])) {
    while rest.len() >= 4 {
        let (code, len) = (u16_at(rest, 0, big), u16_at(rest, 2, big) as usize);
        let Some(value) = rest.get(4..4 + len) else { return };
        if code == 0 {
            return;
        }
        option(code, value);
        rest = rest.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
    }
}
