//! Duplicate records in a capture: made by a bridge, the `any` device, a mirror port that copies a packet
//! where it enters and where it leaves, or a hub behind a router.
//!
//! Two records are the same packet if all their headers agree, the IP identification included: a sender gives
//! a retransmission a new one (RFC 6864 section 4.1). This does not depend on how late the second record
//! comes, or on whether the first was acknowledged in between; only the size of the table limits it. Where
//! identifications are zero (RFC 6864: atomic datagrams) or constant, only the time between the records can
//! decide.

use capture::TcpPacket;
use units::{Span, Time};

/// Packets remembered: sets of one cache line each. The oldest entry of a set is replaced.
const SETS: usize = 2048;
const SET: usize = 4;
/// Maximum time between duplicates if all packets of a sender have the same identification.
const DUPLICATE_WITHIN: Span = Span::from_millis(2);
/// Maximum time between duplicates if the identification is zero.
const DUPLICATE_WITHIN_NO_ID: Span = Span::from_micros(200);

/// How one end uses the IP identification.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdUse {
    last: Option<(u16, u64)>,
    /// Different packets had the same identification.
    same: bool,
}

/// Packets with equal low fingerprint bits, the latest first.
#[derive(Clone, Debug)]
#[repr(align(64))] // one cache line each, not parts of two
struct DuplicateSet {
    fingerprints: [u64; SET],
    /// When each of them passed.
    times: [Time; SET],
}

/// Fingerprints of the most recent packets of a capture.
#[derive(Debug)]
pub struct DuplicateTable {
    sets: Vec<DuplicateSet>,
}

impl DuplicateTable {
    pub fn new() -> DuplicateTable {
        DuplicateTable { sets: vec![DuplicateSet { fingerprints: [0; SET], times: [Time::ZERO; SET] }; SETS] }
    }

    /// Returns the fingerprints of the next packets. Also reads the sets in which they will be looked up, so
    /// that the cache misses overlap.
    #[inline]
    pub fn fingerprints<const N: usize>(&self, packets: &[TcpPacket]) -> [u64; N] {
        let mut fingerprints = [0; N];
        let mut sum = 0;
        for (to, p) in fingerprints.iter_mut().zip(packets) {
            *to = fingerprint(p);
            sum ^= self.sets[*to as usize % SETS].fingerprints[0];
        }
        std::hint::black_box(sum);
        fingerprints
    }

    /// Returns whether the packet was already recorded. `fingerprint` is the packet's own, `ids` its sender's
    /// state in this connection.
    #[inline]
    pub fn is_duplicate(&mut self, p: &TcpPacket, fingerprint: u64, now: Time, ids: &mut IdUse) -> bool {
        let set = &mut self.sets[fingerprint as usize % SETS];
        ids.same |= ids.last.is_some_and(|(id, last)| id == p.id && last != fingerprint);
        ids.last = Some((p.id, fingerprint));
        let is_near = |at: Time| match p.id {
            // Two equal ACKs may be genuine duplicate ACKs; nothing distinguishes them.
            0 => p.len > 0 && now.since(at) < DUPLICATE_WITHIN_NO_ID,
            _ => !ids.same || now.since(at) < DUPLICATE_WITHIN,
        };
        if set.fingerprints.contains(&fingerprint) {
            let mut equal =
                set.fingerprints.iter().zip(set.times).filter(|(before, _)| **before == fingerprint);
            if equal.any(|(_, at)| at > Time::ZERO && is_near(at)) {
                return true;
            }
        }
        set.fingerprints = [fingerprint, set.fingerprints[0], set.fingerprints[1], set.fingerprints[2]];
        set.times = [now, set.times[0], set.times[1], set.times[2]];
        false
    }
}

/// Hash of all header fields that distinguish a packet.
#[inline]
pub fn fingerprint(p: &TcpPacket) -> u64 {
    let mix =
        |fingerprint: u64, n: u64| (fingerprint ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (tsval, tsecr) = p.options.timestamps.unwrap_or((0, 0));
    let mut fingerprint =
        mix((p.seq as u64) << 32 | p.ack as u64, p.src.addr.0 as u64 ^ (p.dst.addr.0 as u64).rotate_left(32));
    fingerprint = mix(fingerprint, (p.src.port as u64) << 48 | (p.dst.port as u64) << 32 | p.window as u64);
    fingerprint = mix(fingerprint, (p.id as u64) << 48 | (p.flags.0 as u64) << 40 | p.len as u64);
    fingerprint = mix(fingerprint, (tsval as u64) << 32 | tsecr as u64);
    for &(from, to) in p.options.sack_blocks() {
        fingerprint = mix(fingerprint, (from as u64) << 32 | to as u64);
    }
    // The last step rotated the well-mixed high bits to the low end.
    fingerprint
}
