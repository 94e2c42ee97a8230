//! Records that stand in a capture more than once: a bridge, the `any` device, a mirror port that shows a packet where it
//! comes and where it goes, a hub behind a router.
//!
//! A packet is the same as another if nothing of its headers differs, the IP identification included: who sends bytes
//! again gives them another one (RFC 6864 section 4.1). That holds however late the second record comes, and whether the
//! first was acknowledged meanwhile; what is remembered is bounded by the table alone. Where identifications are zero
//! (RFC 6864: atomic datagrams) or all the same, only the time tells.

use capture::TcpPacket;
use units::{Span, Time};

/// Packets remembered: sets of a cache line each, of which the oldest is forgotten.
const SETS: usize = 2048;
const SET: usize = 4;
/// Where every packet has the same identification, a record is another's double within this.
const DOUBLE_WITHIN: Span = Span::from_millis(2);
/// Without one within less.
const DOUBLE_WITHOUT_ID: Span = Span::from_micros(200);

/// How one end uses the IP identification.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdUse {
    last: Option<(u16, u64)>,
    /// Packets that differ had the same.
    same: bool,
}

/// Packets whose signs end alike, the latest first.
#[derive(Clone, Debug)]
#[repr(align(64))] // one cache line each, not parts of two
struct DoubleSet([(u64, Time); SET]);

/// The last packets of a capture, by what tells them apart.
#[derive(Debug)]
pub struct DoubleTable {
    sets: Vec<DoubleSet>,
}

impl DoubleTable {
    pub fn new() -> DoubleTable {
        DoubleTable { sets: vec![DoubleSet([(0, Time::ZERO); SET]); SETS] }
    }

    /// The signs of packets that come next. Reads from where each is looked for: one after the other each would be waited
    /// for, as no two lie side by side.
    #[inline]
    pub fn signs<const N: usize>(&self, packets: &[TcpPacket]) -> [u64; N] {
        let mut signs = [0; N];
        let mut sum = 0;
        for (to, p) in signs.iter_mut().zip(packets) {
            *to = sign(p);
            sum ^= self.sets[*to as usize % SETS].0[0].0;
        }
        std::hint::black_box(sum);
        signs
    }

    /// Whether the record stood in the capture before. `sign`: its own; `ids`: those of its sender in this connection.
    #[inline]
    pub fn is_double(&mut self, p: &TcpPacket, sign: u64, now: Time, ids: &mut IdUse) -> bool {
        let DoubleSet(set) = &mut self.sets[sign as usize % SETS];
        ids.same |= ids.last.is_some_and(|(id, of)| id == p.id && of != sign);
        ids.last = Some((p.id, sign));
        let tells = |at: Time| match p.id {
            // Two ACKs of the same may be two duplicate ACKs, and nothing tells them apart.
            0 => p.len > 0 && now.since(at) < DOUBLE_WITHOUT_ID,
            _ => !ids.same || now.since(at) < DOUBLE_WITHIN,
        };
        if set.iter().any(|&(before, at)| before == sign && at > Time::ZERO && tells(at)) {
            return true;
        }
        *set = [(sign, now), set[0], set[1], set[2]];
        false
    }
}

/// What tells a packet apart.
#[inline]
pub fn sign(p: &TcpPacket) -> u64 {
    let mix = |sign: u64, n: u64| (sign ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (tsval, tsecr) = p.options.timestamps.unwrap_or((0, 0));
    let mut sign =
        mix((p.seq as u64) << 32 | p.ack as u64, p.src.addr.0 as u64 ^ (p.dst.addr.0 as u64).rotate_left(32));
    sign = mix(sign, (p.src.port as u64) << 48 | (p.dst.port as u64) << 32 | p.window as u64);
    sign = mix(sign, (p.id as u64) << 48 | (p.flags.0 as u64) << 40 | p.len as u64);
    sign = mix(sign, (tsval as u64) << 32 | tsecr as u64);
    for &(from, to) in p.options.sack_blocks() {
        sign = mix(sign, (from as u64) << 32 | to as u64);
    }
    // The last step moved the high bits, which know all of it, to the low end.
    sign
}
