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

/// A TCP segment or UDP datagram.
#[derive(Clone, Debug)]
pub struct Segment {
    /// First byte of the payload (UDP: the datagram's number).
    pub seq: u64,
    /// Next byte expected from the peer.
    pub ack: u64,
    /// When it left the sending host (UDP's one-way delay; TCP reads only the timestamps).
    pub sent: Time,
    /// Payload bytes.
    pub len: u32,
    /// Receive window, bytes, after scaling.
    pub window: u32,
    /// Timestamp value, milliseconds (RFC 7323); 0 = no timestamps.
    pub ts_val: u32,
    /// Timestamp echo reply.
    pub ts_ecr: u32,
    /// SACK blocks, the first `sacks` of them.
    pub sack: [SackBlock; 4],
    /// How many SACK blocks.
    pub sacks: u8,
    /// Flags.
    pub flags: Flags,
    /// Sent as ECN-capable.
    pub ect: bool,
    /// Arrived marked "congestion experienced"; the path's mark is copied here on arrival.
    pub ce: bool,
}

impl path::Body for Segment {}

impl Segment {
    /// Size on the wire as an IPv4 packet, bytes.
    pub fn ip_bytes(&self) -> u32 {
        let mut n = HEADER + self.len;
        if self.flags.has(Flags::SYN) {
            return n + 20; // MSS, SACK permitted, timestamps, window scale: 4 + 2 + 10 + 1 + 3
        }
        if self.ts_val != 0 {
            n += TIMESTAMP_OPTION;
        }
        if self.sacks > 0 {
            n += 4 + 8 * self.sacks as u32;
        }
        n
    }

    /// The SACK blocks as stream offsets.
    pub fn sack_ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack[..self.sacks as usize]
            .iter()
            .map(|&(s, e)| (self.ack.wrapping_add_signed(s as i64), self.ack.wrapping_add_signed(e as i64)))
    }
}
