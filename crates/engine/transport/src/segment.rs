//! What the simulated endpoints put on the wire.
//!
//! Sequence numbers are 64-bit stream offsets: a run never wraps. SACK blocks are kept relative
//! to the ACK number, so that a segment stays small enough to be moved by value.

use units::Time;

/// IPv4 and TCP header without options.
pub const HEADER: u32 = 40;
/// Timestamps with their padding (RFC 7323 appendix A).
pub const TIMESTAMP_OPTION: u32 = 12;
/// IPv4 and UDP header.
pub const UDP_HEADER: u32 = 28;

/// The TCP flags the model uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data: takes a sequence number.
    pub const FIN: Flags = Flags(0x01);
    /// Reset: the connection is no more.
    pub const RST: Flags = Flags(0x04);
    /// Synchronise.
    pub const SYN: Flags = Flags(0x02);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// Acknowledge.
    pub const ACK: Flags = Flags(0x10);
    /// ECN echo.
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(0x80);

    /// Whether all of `other`'s flags are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// With `other`'s flags set too.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One SACK block relative to the segment's ACK number: (start - ack, end - ack).
/// Negative for a D-SACK of data already acknowledged (RFC 2883).
pub type SackBlock = (i32, i32);

/// What a SYN or SYN-ACK tells in options of its own. Timestamps and SACK are told by the segment's
/// [`Segment::ts_val`] and [`Segment::sack_ok`], ECN by its flags (RFC 3168 section 6.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SynOptions {
    /// Largest segment it takes, bytes of payload and options; without it 536 (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// By how many bits its windows are shifted (RFC 7323 section 2.2).
    pub scale: Option<u8>,
}

/// A TCP segment or UDP datagram.
#[derive(Clone, Debug)]
pub struct Segment {
    /// First byte of the payload (UDP: the datagram's number).
    pub seq: u64,
    /// Next byte expected from the peer (UDP: of an answer to a probe the probe's number + 1, else 0).
    pub ack: u64,
    /// When it left the sending host (UDP's delay, in an answer the probe's time; TCP reads only the timestamps).
    pub sent: Time,
    /// Payload bytes.
    pub len: u32,
    /// Receive window, bytes, after scaling.
    pub window: u32,
    /// Timestamp value, milliseconds (RFC 7323); 0 = no timestamps on this segment.
    pub ts_val: u32,
    /// Timestamp echo reply.
    pub ts_ecr: u32,
    /// SACK blocks, the first `sacks` of them.
    pub sack: [SackBlock; 4],
    /// How many SACK blocks.
    pub sacks: u8,
    /// A SYN's "SACK permitted" (RFC 2018 section 2).
    pub sack_ok: bool,
    /// Flags.
    pub flags: Flags,
    /// Sent as ECN-capable.
    pub ect: bool,
    /// Arrived marked "congestion experienced"; the path's mark is copied here on arrival.
    pub ce: bool,
}

impl path::Body for Segment {}

impl Segment {
    /// All zero.
    pub const BLANK: Segment = Segment {
        seq: 0,
        ack: 0,
        sent: Time::ZERO,
        len: 0,
        window: 0,
        ts_val: 0,
        ts_ecr: 0,
        sack: [(0, 0); 4],
        sacks: 0,
        sack_ok: false,
        flags: Flags(0),
        ect: false,
        ce: false,
    };

    /// Size on the wire as an IPv4 packet, bytes.
    pub fn ip_bytes(&self) -> u32 {
        let mut n = HEADER + self.len;
        if self.flags.has(Flags::SYN) {
            // MSS 4 and window scale 3 + NOP; Linux lets SACK permitted take the place of the two
            // NOPs before timestamps (10 + 2), else it has two of its own.
            return n + match (self.ts_val != 0, self.sack_ok) {
                (true, _) => 20,
                (false, true) => 12,
                (false, false) => 8,
            };
        }
        if self.ts_val != 0 {
            n += TIMESTAMP_OPTION;
        }
        if self.sacks > 0 {
            n += 4 + 8 * self.sacks as u32;
        }
        n
    }

    /// Sequence numbers that it takes: its payload's and a FIN's.
    #[inline]
    pub fn room(&self) -> u64 {
        self.len as u64 + self.flags.has(Flags::FIN) as u64
    }

    /// Makes a SYN tell this. It lies where a SYN has no SACK blocks, so that segments stay small.
    pub fn set_syn_options(&mut self, options: SynOptions) {
        debug_assert!(self.flags.has(Flags::SYN) && self.sacks == 0);
        self.sack[0] = (options.mss.unwrap_or(0) as i32, options.scale.map_or(0, |n| n as i32 + 1));
    }

    /// What a SYN tells; nothing for other segments.
    pub fn syn_options(&self) -> SynOptions {
        if !self.flags.has(Flags::SYN) {
            return SynOptions::default();
        }
        let (mss, scale) = self.sack[0];
        SynOptions { mss: (mss != 0).then_some(mss as u16), scale: (scale != 0).then_some((scale - 1) as u8) }
    }

    /// The SACK blocks as stream offsets.
    pub fn sack_ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack[..self.sacks as usize]
            .iter()
            .map(|&(s, e)| (self.ack.wrapping_add_signed(s as i64), self.ack.wrapping_add_signed(e as i64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9293 section 3.1, RFC 7323 appendix A, RFC 2018 section 3, laid out as Linux does.
    #[test]
    fn sizes_are_those_on_the_wire() {
        let plain = Segment { flags: Flags::ACK, ..Segment::BLANK };
        let stamped = Segment { ts_val: 1, ..plain.clone() };
        assert_eq!(plain.ip_bytes(), 40);
        assert_eq!(stamped.ip_bytes(), 52);
        assert_eq!(Segment { len: 1448, ..stamped.clone() }.ip_bytes(), 1500);
        assert_eq!(Segment { sacks: 1, ..stamped.clone() }.ip_bytes(), 64);
        assert_eq!(Segment { sacks: 4, ..plain.clone() }.ip_bytes(), 76);
        let syn = |s: &Segment, sack_ok| Segment { flags: Flags::SYN, sack_ok, ..s.clone() }.ip_bytes();
        assert_eq!((syn(&stamped, true), syn(&stamped, false)), (60, 60));
        assert_eq!((syn(&plain, true), syn(&plain, false)), (52, 48));
    }
}
