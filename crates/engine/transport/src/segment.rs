//! Segments and datagrams of the simulated endpoints.
//!
//! Sequence numbers are 64-bit stream offsets, which never wrap. SACK blocks are stored relative to the ACK
//! number, to keep segments small enough to be moved by value.

use units::Time;

/// Length of IPv4 and TCP header without options, bytes.
pub const HEADER: u32 = 40;
/// Length of the timestamp option with padding, bytes (RFC 7323 appendix A).
pub const TIMESTAMP_OPTION: u32 = 12;
/// Length of IPv4 and UDP header, bytes.
pub const UDP_HEADER: u32 = 28;

/// TCP flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data; takes a sequence number.
    pub const FIN: Flags = Flags(0x01);
    /// Reset of the connection.
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

    /// Whether all flags of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// These flags with those of `other` added.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// A SACK block relative to the segment's ACK number: (start - ack, end - ack). Negative for a D-SACK of data
/// already acknowledged (RFC 2883).
pub type SackBlock = (i32, i32);

/// Options of a SYN or SYN/ACK. The options timestamps and SACK permitted are represented by
/// [`Segment::ts_val`] and [`Segment::sack_ok`], ECN by the flags (RFC 3168 section 6.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SynOptions {
    /// Maximum segment size, bytes of payload and options; `None`: 536 (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale (RFC 7323 section 2.2).
    pub scale: Option<u8>,
}

/// A TCP segment or UDP datagram.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Stream offset of the first payload byte; for UDP, the number of the datagram.
    pub seq: u64,
    /// Next byte expected from the peer; for UDP, the number of the probe + 1 in an answer, else 0.
    pub ack: u64,
    /// Time at which the sending host sent it; for UDP answers, the time of the probe. Used for UDP delays
    /// only: TCP reads the timestamps.
    pub sent: Time,
    /// Payload bytes.
    pub len: u32,
    /// Receive window, bytes, with the scale applied.
    pub window: u32,
    /// Timestamp value, ms (RFC 7323); 0: the segment has no timestamps.
    pub ts_val: u32,
    /// Timestamp echo reply.
    pub ts_ecr: u32,
    /// SACK blocks; the first `sacks` elements are valid.
    pub sack: [SackBlock; 4],
    /// Number of SACK blocks.
    pub sacks: u8,
    /// The "SACK permitted" option of a SYN (RFC 2018 section 2).
    pub sack_ok: bool,
    pub flags: Flags,
    /// Whether the packet was sent as ECN-capable.
    pub ect: bool,
    /// Whether the packet arrived with a "congestion experienced" mark; copied from the packet on arrival.
    pub ce: bool,
}

impl path::Body for Segment {}

impl Segment {
    /// A segment with all fields zero.
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
            // MSS takes 4 bytes, window scale 3 + NOP. In Linux, SACK permitted replaces the two NOPs before
            // timestamps (10 + 2); without timestamps it has two NOPs of its own.
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

    /// Number of sequence numbers that the segment takes: those of payload and FIN.
    #[inline]
    pub fn room(&self) -> u64 {
        self.len as u64 + self.flags.has(Flags::FIN) as u64
    }

    /// Sets the options of a SYN. They are stored in place of SACK blocks, which a SYN does not have, so that
    /// segments stay small.
    pub fn set_syn_options(&mut self, options: SynOptions) {
        debug_assert!(self.flags.has(Flags::SYN) && self.sacks == 0);
        self.sack[0] = (options.mss.unwrap_or(0) as i32, options.scale.map_or(0, |n| n as i32 + 1));
    }

    /// The options of a SYN; none for other segments.
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

    /// Sizes according to RFC 9293 section 3.1, RFC 7323 appendix A and RFC 2018 section 3, with the layout
    /// of Linux.
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
