//! A segment as the payload of a UDP datagram, for ends that live outside of the kernel.
//!
//! With timestamps it is as long on the wire as the segment is as TCP over IPv4: 28 bytes of IP and UDP headers, 24 of these:
//!
//! | bytes | |
//! |---|---|
//! | 6, 6 | sequence and ACK number, of the stream's bytes |
//! | 4, 4 | timestamp value and echo |
//! | 2 | receive window in KiB, rounded down |
//! | 1 | flags |
//! | 1 | SACK blocks (3 bits), SACK permitted, ECN-capable |
//!
//! Behind them 4 bytes and 8 for each SACK block, or what a SYN offers (8); then the payload, all zero. Marks of ECN are
//! not carried.

use transport::{Flags, HEADER, Segment, SynOptions, TIMESTAMP_OPTION, UDP_HEADER};

const FIXED: usize = (HEADER + TIMESTAMP_OPTION - UDP_HEADER) as usize;
/// Before SACK blocks, as in TCP: two NOPs, kind and length.
const SACK_HEAD: usize = 4;
const SACK_BLOCK: usize = 8;
const SYN: usize = 8;
const SACK_OK: u8 = 0x08;
const ECT: u8 = 0x10;
const KIB: u32 = 1024;

/// Writes it over what is in `out`.
pub fn encode_segment(s: &Segment, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&s.seq.to_be_bytes()[2..]);
    out.extend_from_slice(&s.ack.to_be_bytes()[2..]);
    out.extend_from_slice(&s.ts_val.to_be_bytes());
    out.extend_from_slice(&s.ts_ecr.to_be_bytes());
    let kib = u16::try_from(s.window / KIB).unwrap_or(u16::MAX);
    out.extend_from_slice(&kib.to_be_bytes());
    out.push(s.flags.0);
    let sack_ok = if s.sack_ok { SACK_OK } else { 0 };
    out.push(s.sacks | sack_ok | if s.ect { ECT } else { 0 });
    debug_assert_eq!(out.len(), FIXED);
    if s.flags.has(Flags::SYN) {
        let offered = s.syn_options();
        out.extend_from_slice(&offered.mss.unwrap_or(0).to_be_bytes());
        // A shift is 14 at most (RFC 7323 section 2.3).
        out.push(offered.scale.unwrap_or(u8::MAX));
        out.resize(FIXED + SYN, 0);
        return;
    }
    if s.sacks > 0 {
        out.resize(FIXED + SACK_HEAD, 0);
        for (begin, end) in &s.sack[..usize::from(s.sacks)] {
            out.extend_from_slice(&begin.to_be_bytes());
            out.extend_from_slice(&end.to_be_bytes());
        }
    }
    out.resize(out.len() + s.len as usize, 0);
}

/// Reads one; `None`: it is none.
pub fn decode_segment(bytes: &[u8]) -> Option<Segment> {
    let (fixed, rest) = bytes.split_first_chunk::<FIXED>()?;
    let wide = |at: usize| fixed[at..at + 6].iter().fold(0, |n, &b| n << 8 | u64::from(b));
    let narrow = |at: usize| fixed[at..at + 4].iter().fold(0, |n, &b| n << 8 | u32::from(b));
    let bits = fixed[23];
    let mut s = Segment {
        seq: wide(0),
        ack: wide(6),
        ts_val: narrow(12),
        ts_ecr: narrow(16),
        window: u32::from(u16::from_be_bytes([fixed[20], fixed[21]])) * KIB,
        flags: Flags(fixed[22]),
        sack_ok: bits & SACK_OK != 0,
        ect: bits & ECT != 0,
        ..Segment::BLANK
    };
    let sacks = usize::from(bits & 0x07);
    if s.flags.has(Flags::SYN) {
        let &[high, low, scale, ..] = rest.first_chunk::<SYN>()?;
        let mss = Some(u16::from_be_bytes([high, low])).filter(|&mss| mss > 0);
        s.set_syn_options(SynOptions { mss, scale: Some(scale).filter(|&scale| scale <= 14) });
        return (sacks == 0).then_some(s);
    }
    let mut payload = rest.len();
    if sacks > 0 {
        let blocks = rest.get(SACK_HEAD..SACK_HEAD + SACK_BLOCK * sacks)?;
        for (to, block) in s.sack.get_mut(..sacks)?.iter_mut().zip(blocks.chunks_exact(SACK_BLOCK)) {
            let half = |at: usize| block[at..at + 4].iter().fold(0, |n, &b| n << 8 | i32::from(b));
            *to = (half(0), half(4));
        }
        s.sacks = sacks as u8;
        payload -= SACK_HEAD + SACK_BLOCK * sacks;
    }
    s.len = u32::try_from(payload).ok()?;
    Some(s)
}
