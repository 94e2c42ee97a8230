//! Options learned from the peer's SYN. The tests write the peer's segments themselves.

use crate::pair::*;
use transport::{Flags, Segment, Stack, SynOptions, Tcp};
use units::Bytes;

const ECN_SETUP: Flags = Flags(Flags::ECE.0 | Flags::CWR.0);
const NOTHING: Flags = Flags(0);

/// A SYN or SYN/ACK of the peer.
fn syn(flags: Flags, mss: Option<u16>, scale: Option<u8>, stamped: bool, sack_ok: bool) -> Segment {
    let flags = flags.with(Flags::SYN);
    let mut seg = Segment { flags, sack_ok, window: 60_000, ..Segment::BLANK };
    (seg.ts_val, seg.ts_ecr) = if stamped { (9, 1) } else { (0, 0) };
    seg.set_syn_options(SynOptions { mss, scale });
    seg
}

/// Connects a client that has much to write, and answers its SYN with `answer`; returns its SYN, its further
/// segments and the client.
fn answered(stack: &Stack, answer: Segment) -> (Segment, Vec<Segment>, Tcp) {
    let mut client = tcp(stack, "reno");
    let mut out = Vec::new();
    client.connect(at(0), &mut out);
    let first = out.remove(0);
    client.handle_segment(at(50), &answer, &mut out);
    client.write(at(50), 1 << 20, false, &mut out);
    client.check();
    (first, out, client)
}

/// Options of a SYN: RFC 9293 section 3.7.1, RFC 7323 sections 2.2 and 3.2, RFC 2018 section 2, RFC 3168
/// section 6.1.1.
#[test]
fn a_syn_offers_all_options_of_the_stack() {
    let syn = |stack: &Stack| answered(stack, syn(Flags::ACK, None, None, false, false)).0;
    let plain = syn(&Stack::default());
    assert_eq!(plain.syn_options(), SynOptions { mss: Some(1460), scale: Some(7) });
    assert!(plain.ts_val != 0 && plain.sack_ok && plain.flags == Flags::SYN && plain.ip_bytes() == 60);
    let other = syn(&Stack {
        mss: Some(1000),
        timestamps: Some(false),
        sack: Some(false),
        ecn: Some(true),
        receive_buffer: Some(Bytes::new(64 << 20)),
        ..Stack::default()
    });
    assert_eq!(other.syn_options(), SynOptions { mss: Some(1000), scale: Some(11) });
    assert!(other.ts_val == 0 && !other.sack_ok && other.flags == Flags::SYN.with(ECN_SETUP));
}

/// A peer without options accepts segments of 536 bytes, sends no SACK, and gets no window that exceeds 16
/// bits.
#[test]
fn a_peer_without_options_gets_none() {
    let (_, out, mut client) = answered(&Stack::default(), syn(Flags::ACK, None, None, false, false));
    let data: Vec<u32> = out.iter().map(|s| s.len).filter(|&n| n > 0).collect();
    assert_eq!(data, [536; 10]);
    assert!(out.iter().all(|s| s.ts_val == 0 && s.window <= 65_535));
    // Much data arrives, with a hole: neither a SACK nor a larger window is sent.
    let mut replies = Vec::new();
    for n in (0..400u64).filter(|n| *n != 300) {
        let flags = Flags::ACK;
        let seg = Segment { seq: n * 536, len: 536, flags, window: 60_000, ..Segment::BLANK };
        client.handle_segment(at(60 + n), &seg, &mut replies);
    }
    assert!(replies.len() > 200 && replies.iter().all(|s| s.sacks == 0 && s.window <= 65_535));
}

/// The smaller MSS applies, minus the length of timestamps; each option requires both ends.
#[test]
fn options_of_both_ends_are_used() {
    for (mss, stamped, sack, len) in [
        (Some(1460), true, true, 1448),
        (Some(1460), false, true, 1460),
        (Some(1200), true, false, 1188),
        (Some(9000), true, true, 1448),
        (None, true, true, 524),
    ] {
        let (_, out, client) = answered(&Stack::default(), syn(Flags::ACK, mss, Some(7), stamped, sack));
        let first = out.iter().find(|s| s.len > 0).expect("a data segment");
        assert_eq!((first.len, first.ts_val != 0), (len, stamped));
        assert_eq!(client.tx.s.sack, sack);
        // Without timestamps of the peer, this end sends none.
        let own = Stack { timestamps: Some(false), ..Stack::default() };
        let (_, out, _) = answered(&own, syn(Flags::ACK, mss, Some(7), stamped, sack));
        assert!(out.iter().all(|s| s.ts_val == 0));
    }
}

/// A request for ECN sets ECE and CWR, an agreement only ECE (RFC 3168 section 6.1.1).
#[test]
fn ecn_requires_both_ends() {
    for (own, flags, agreed) in [
        (true, Flags::ECE, true),
        (true, NOTHING, false),
        (true, ECN_SETUP, false),
        (false, Flags::ECE, false),
    ] {
        let stack = Stack { ecn: Some(own), ..Stack::default() };
        let answer = syn(flags.with(Flags::ACK), Some(1460), Some(7), true, true);
        let (_, out, _) = answered(&stack, answer);
        assert!(out.iter().filter(|s| s.len > 0).all(|s| s.ect == agreed), "{own} {flags:?}");
        let mut server = tcp(&stack, "reno");
        let mut out = Vec::new();
        server.handle_segment(at(0), &syn(flags, Some(1460), Some(7), true, true), &mut out);
        assert_eq!(out[0].flags.has(Flags::ECE), own && flags == ECN_SETUP);
    }
}

/// A SYN/ACK has a window scale only if the SYN had one (RFC 7323 section 2.2), and of the other options only
/// the requested ones.
#[test]
fn a_syn_ack_has_only_requested_options() {
    for (scale, stamped, sack) in [(Some(2), true, true), (None, true, true), (None, false, false)] {
        let mut server = tcp(&Stack::default(), "reno");
        let mut out = Vec::new();
        server.handle_segment(at(0), &syn(NOTHING, Some(1000), scale, stamped, sack), &mut out);
        let options = out[0].syn_options();
        assert_eq!((options.mss, options.scale), (Some(1460), scale.map(|_| 7)));
        assert_eq!((out[0].ts_val != 0, out[0].sack_ok), (stamped, sack));
    }
}
