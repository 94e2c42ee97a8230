//! Handshake: the options and size of SYNs, and the cost of losing one.

use crate::pair::*;
use transport::{Flags, Profile, Segment, Stack, SynOptions};
use units::{Bytes, Span};

fn plain() -> Stack {
    Stack { timestamps: Some(false), ..Stack::default() }
}

/// Timestamps are used if both SYNs carry them; the first SYN offers them (RFC 7323 section 3.2).
#[test]
fn options_are_offered_and_used_if_both_ends_agree() {
    for (client, server, syn, answer, data) in [
        (Stack::default(), Stack::default(), 60, 60, 52 + 100),
        (Stack::default(), plain(), 60, 52, 40 + 100),
        (plain(), Stack::default(), 52, 52, 40 + 100),
        (plain(), Stack { sack: Some(false), ..plain() }, 52, 48, 40 + 100),
    ] {
        let mut pair = Pair::with("reno", &client, &server).sending(100);
        pair.finish();
        let sizes: Vec<u32> = pair.log.iter().map(|s| s.segment.ip_bytes()).collect();
        assert_eq!(sizes[..2], [syn, answer]);
        assert_eq!(pair.data().next().unwrap().segment.ip_bytes(), data);
        let first = &pair.log[0].segment;
        assert_eq!(first.ts_val != 0, syn == 60);
        assert!(pair.log[2..].iter().all(|s| (s.segment.ts_ecr != 0) == (data == 152)));
    }
}

/// Linux sends five SYNs a second apart before it backs off (`tcp_syn_linear_timeouts` = 4); the RFCs back
/// off at once (RFC 6298 section 5.5).
#[test]
fn a_lost_syn_is_retransmitted() {
    for (profile, lost_for, times) in
        [(Profile::Linux, 6, [0, 1, 2, 3, 4, 5, 7]), (Profile::Rfc, 60, [0, 1, 3, 7, 15, 31, 63])]
    {
        let stack = Stack { profile, ..Stack::default() };
        let mut pair = Pair::with("reno", &stack, &stack);
        pair.wire(move |s| if s.at < at(lost_for * 1000) { Fate::Lost } else { Fate::Arrive });
        pair.connect();
        let syns = pair.log.iter().filter(|s| s.forward && s.segment.flags.has(Flags::SYN));
        let seconds: Vec<u64> = syns.map(|s| s.at.as_nanos() / 1_000_000_000).collect();
        assert_eq!(seconds, times);
    }
}

/// After a lost SYN the initial window is one segment (RFC 5681 section 3.1). Linux tolerates one loss, as
/// its timer is only a second (RFC 6298 section 5.7).
#[test]
fn a_lost_syn_reduces_the_initial_window() {
    for (profile, lost, window) in
        [(Profile::Linux, 0, 10), (Profile::Linux, 1, 10), (Profile::Linux, 2, 1), (Profile::Rfc, 1, 1)]
    {
        let stack = Stack { profile, ..Stack::default() };
        let mut pair = Pair::with("reno", &stack, &stack);
        let mut left = lost;
        pair.wire(move |_| {
            left -= 1;
            if left >= 0 { Fate::Lost } else { Fate::Arrive }
        });
        pair.connect();
        assert_eq!(pair.cwnd(), window, "{profile:?}, {lost} lost");
    }
}

/// A SYN sent twice gives no RTT sample (Karn's algorithm), unless a timestamp shows which one was answered.
#[test]
fn the_handshake_measures_the_path() {
    let srtt = |stack: &Stack, lost: bool| {
        let mut pair = Pair::with("reno", stack, stack);
        let mut first = lost;
        pair.wire(move |_| if std::mem::take(&mut first) { Fate::Lost } else { Fate::Arrive });
        pair.connect();
        pair.client.tx.rtt.smoothed()
    };
    for lost in [false, true] {
        let srtt = srtt(&Stack::default(), lost).unwrap();
        assert!(srtt >= RTT && srtt <= RTT + ms(1), "{srtt}");
    }
    assert_eq!(srtt(&plain(), true), None);
}

/// The ACK of the SYN/ACK is lost: data replaces it; without data the SYN/ACK is retransmitted.
#[test]
fn a_lost_last_ack_of_the_handshake_does_no_harm() {
    for bytes in [0, 3000] {
        let mut pair = Pair::new("cubic");
        let mut segments = 0;
        pair.wire(move |s| {
            segments += s.forward as u32;
            if s.forward && segments == 2 { Fate::Lost } else { Fate::Arrive }
        });
        let mut pair = pair.sending(bytes);
        pair.run(Span::from_secs(3));
        assert!(pair.server.is_established());
        assert_eq!(pair.server.rx.copied, bytes);
    }
}

/// The server announces a window of 0 in its SYN/ACK, which sets no limit for segments. When the window opens
/// to 2000 bytes, halves of it are sent, and full-sized segments once it is larger (`tcp_bound_to_half_wnd`,
/// `tcp_sync_mss` by `max_window`).
#[test]
fn a_window_of_zero_in_the_syn_ack_does_not_bound_segments() {
    let mut client = tcp(&Stack::default(), "reno");
    let mut out = Vec::new();
    client.connect(at(0), &mut out);
    let from_server = |ack: u64, window: u32, flags: Flags| {
        let blank = Segment::BLANK;
        let mut seg = Segment { ack, window, flags, ts_val: 1, ts_ecr: 1, sack_ok: true, ..blank };
        if flags.has(Flags::SYN) {
            seg.set_syn_options(SynOptions { mss: Some(1460), scale: Some(7) });
        }
        seg
    };
    let mut lengths = |now: u64, ack: u64, window: u32, flags: Flags| -> Vec<u32> {
        out.clear();
        client.handle_segment(at(now), &from_server(ack, window, flags), &mut out);
        if ack == 0 && window == 0 {
            client.write(at(now), 100_000, true, &mut out);
        }
        client.check();
        out.iter().map(|s| s.len).filter(|&n| n > 0).collect()
    };
    assert!(lengths(50, 0, 0, Flags::SYN.with(Flags::ACK)).is_empty());
    assert_eq!(lengths(100, 0, 2000, Flags::ACK), [1000, 1000]);
    assert_eq!(lengths(150, 2000, 60_000, Flags::ACK)[..4], [1448; 4]);
    // The window shrinks again, but the maximum is remembered.
    assert_eq!(lengths(200, 2000 + 4 * 1448, 20_000, Flags::ACK)[..2], [1448; 2]);
}

/// A window of a few bytes makes segments no smaller than 68 bytes minus the TCP header; they wait until one
/// fits (`tcp_bound_to_half_wnd`).
#[test]
fn segments_have_a_minimum_size_for_tiny_windows() {
    let server = Stack { receive_window: Some(Bytes::new(20)), ..Stack::default() };
    for (stack, floor) in [(Stack::default(), 36), (plain(), 48)] {
        let mut pair = Pair::with("reno", &stack, &server);
        pair.connect();
        assert_eq!(pair.client.tx.s.mss, floor);
    }
}
