//! Encoding of a segment as the payload of a UDP datagram, for ends in user space.
//!
//! With timestamps, the datagram is as long on the wire as the segment would be as TCP over IPv4: 28 bytes of
//! IP and UDP headers, and 24 bytes of this header:
//!
//! | bytes | field |
//! |---|---|
//! | 6, 6 | sequence and ACK number, as stream offsets in bytes |
//! | 4, 4 | timestamp value and echo |
//! | 2 | receive window in KiB, rounded down |
//! | 1 | flags |
//! | 1 | SACK blocks (3 bits), SACK permitted, ECN-capable |
//!
//! Then follow the SACK blocks (4 bytes, and 8 per block) or the options of a SYN (8 bytes), then the
//! payload, all zero. ECN marks are not carried.

use transport::{Flags, HEADER, Segment, SynOptions, TIMESTAMP_OPTION, UDP_HEADER};

const HEADER_LEN: usize = (HEADER + TIMESTAMP_OPTION - UDP_HEADER) as usize;
/// Bytes before the SACK blocks, as in TCP: two NOPs, kind and length.
const SACK_HEAD_LEN: usize = 4;
const SACK_BLOCK_LEN: usize = 8;
const SYN_LEN: usize = 8;
const SACK_OK: u8 = 0x08;
const ECT: u8 = 0x10;
const KIB: u32 = 1024;

/// Encodes a segment, replacing the contents of `out`.
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
    debug_assert_eq!(out.len(), HEADER_LEN);
    if s.flags.has(Flags::SYN) {
        let offered = s.syn_options();
        out.extend_from_slice(&offered.mss.unwrap_or(0).to_be_bytes());
        // The window scale is at most 14 (RFC 7323 section 2.3).
        out.push(offered.scale.unwrap_or(u8::MAX));
        out.resize(HEADER_LEN + SYN_LEN, 0);
        return;
    }
    if s.sacks > 0 {
        out.resize(HEADER_LEN + SACK_HEAD_LEN, 0);
        for (begin, end) in &s.sack[..usize::from(s.sacks)] {
            out.extend_from_slice(&begin.to_be_bytes());
            out.extend_from_slice(&end.to_be_bytes());
        }
    }
    out.resize(out.len() + s.len as usize, 0);
}

/// Decodes a segment; `None` if the bytes are not a valid one.
pub fn decode_segment(bytes: &[u8]) -> Option<Segment> {
    let (fixed, rest) = bytes.split_first_chunk::<HEADER_LEN>()?;
    let read_48_bits = |at: usize| fixed[at..at + 6].iter().fold(0, |n, &b| n << 8 | u64::from(b));
    let read_32_bits = |at: usize| fixed[at..at + 4].iter().fold(0, |n, &b| n << 8 | u32::from(b));
    let bits = fixed[23];
    let mut s = Segment {
        seq: read_48_bits(0),
        ack: read_48_bits(6),
        ts_val: read_32_bits(12),
        ts_ecr: read_32_bits(16),
        window: u32::from(u16::from_be_bytes([fixed[20], fixed[21]])) * KIB,
        flags: Flags(fixed[22]),
        sack_ok: bits & SACK_OK != 0,
        ect: bits & ECT != 0,
        ..Segment::BLANK
    };
    let sacks = usize::from(bits & 0x07);
    if s.flags.has(Flags::SYN) {
        let &[high, low, scale, ..] = rest.first_chunk::<SYN_LEN>()?;
        let mss = Some(u16::from_be_bytes([high, low])).filter(|&mss| mss > 0);
        s.set_syn_options(SynOptions { mss, scale: Some(scale).filter(|&scale| scale <= 14) });
        return (sacks == 0).then_some(s);
    }
    let mut payload = rest.len();
    if sacks > 0 {
        let blocks = rest.get(SACK_HEAD_LEN..SACK_HEAD_LEN + SACK_BLOCK_LEN * sacks)?;
        for (to, block) in s.sack.get_mut(..sacks)?.iter_mut().zip(blocks.chunks_exact(SACK_BLOCK_LEN)) {
            let read_bound = |at: usize| block[at..at + 4].iter().fold(0, |n, &b| n << 8 | i32::from(b));
            *to = (read_bound(0), read_bound(4));
        }
        s.sacks = sacks as u8;
        payload -= SACK_HEAD_LEN + SACK_BLOCK_LEN * sacks;
    }
    s.len = u32::try_from(payload).ok()?;
    Some(s)
}
