//! Segments encoded as datagrams: decoding restores them, their length on the wire is that of TCP, and noise
//! is rejected or decoded without a panic.

use proptest::prelude::*;
use sim::world::{decode_segment, encode_segment};
use transport::{Flags, Segment, SynOptions, UDP_HEADER};

fn segments() -> impl Strategy<Value = Segment> {
    let numbers = (0..1u64 << 48, 0..1u64 << 48, 0..1448u32, 0..60_000u32, any::<[(i32, i32); 4]>());
    let small = (1..u32::MAX, any::<u32>(), 0..=4u8, any::<[bool; 3]>(), 0..0x40u8);
    (numbers, small).prop_map(
        |((seq, ack, len, kib, sack), (ts_val, ts_ecr, sacks, [syn, sack_ok, ect], flags))| {
            let rest =
                Segment { seq, ack, ts_val, ts_ecr, window: kib << 10, sack_ok, ect, ..Segment::BLANK };
            if syn {
                let mut syn = Segment { flags: Flags(flags).with(Flags::SYN), ..rest };
                let mss = (sack[0].0 as u16 > 0).then_some(sack[0].0 as u16);
                syn.set_syn_options(SynOptions { mss, scale: Some(sacks).filter(|&scale| scale > 0) });
                return syn;
            }
            let mut blocks = [(0, 0); 4];
            blocks[..usize::from(sacks)].copy_from_slice(&sack[..usize::from(sacks)]);
            Segment { flags: Flags(flags & !Flags::SYN.0), sack: blocks, sacks, len, ..rest }
        },
    )
}

proptest! {
    #[test]
    fn a_segment_survives_encoding_and_is_as_long_as_tcp(segment in segments()) {
        let mut bytes = vec![1; 9];
        encode_segment(&segment, &mut bytes);
        let read = decode_segment(&bytes).expect("a segment");
        prop_assert_eq!(format!("{read:?}"), format!("{segment:?}"));
        prop_assert_eq!(read.syn_options(), segment.syn_options());
        // The encoding of a SYN's options is shorter.
        if !segment.flags.has(Flags::SYN) {
            prop_assert_eq!(bytes.len() as u32 + UDP_HEADER, segment.ip_bytes());
        }
    }

    #[test]
    fn noise_is_rejected_or_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        if let Some(read) = decode_segment(&bytes) {
            prop_assert!(read.sacks <= 4 && read.len < 80);
        }
    }
}
