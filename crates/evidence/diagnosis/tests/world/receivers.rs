//! Receivers whose application does not read, or reads slowly.

use crate::talk::{CLIENT, MSS, SERVER, Talk};
use result::Cause;

/// Repeats `times`: data are acknowledged with a window of zero, the sender probes it, and after 5 s it
/// opens.
fn stalls(times: u64, probe: impl Fn(&mut Talk, u64)) -> Talk {
    let mut t = Talk::opened(30_000);
    let mut at = 100_000;
    for _ in 0..times {
        at = t.windows(at, 4, 10, 30_000);
        t.announce(at + 400, SERVER, 0);
        for wait in [230_000, 660_000, 1_500_000, 3_200_000] {
            probe(&mut t, at + wait);
            t.announce(at + wait + 30_000, SERVER, 0);
        }
        at += 5_000_000;
        t.announce(at, SERVER, 512);
        at += 100;
    }
    t.windows(at, 4, 10, 30_000);
    t
}

fn assert_receiver_stalled(t: &Talk) {
    let f = t.client();
    assert_eq!(f.cause, Cause::ReceiverStalled);
    assert!(f.share(Cause::ReceiverStalled) > 0.9, "{:?}", f.causes);
    let m = &f.measures;
    assert_eq!((m.retransmitted_packets, m.timeouts, m.lost_up + m.lost_down), (0, 0, 0));
    assert!(f.remedies.iter().any(|r| r.kind == result::change::ChangeKind::ReceivingApplication));
}

/// RFC 9293 section 3.8.6.1; Linux probes with an empty packet before the next byte (`tcp_xmit_probe_skb`).
#[test]
fn a_zero_window_is_a_stalled_receiver_though_all_data_are_acknowledged() {
    assert_receiver_stalled(&stalls(3, |t, at| {
        let mut p = t.packet(at, CLIENT);
        p.seq -= 1;
        t.packets.push(p);
    }));
}

/// Other stacks probe with the next byte repeatedly.
#[test]
fn a_byte_beyond_a_zero_window_is_a_probe_not_a_retransmission() {
    assert_receiver_stalled(&stalls(3, |t, at| {
        let mut p = t.packet(at, CLIENT);
        p.len = 1;
        t.packets.push(p);
    }));
}

/// The receiver accepts and acknowledges the probe's byte.
#[test]
fn an_accepted_zero_window_probe_counts_as_data() {
    let t = stalls(3, |t, at| {
        t.data(at, CLIENT, 1, false);
        t.acked[SERVER] = t.sent[CLIENT];
    });
    assert_receiver_stalled(&t);
    assert_eq!(t.client().measures.bytes, u64::from(t.sent[CLIENT] - 1));
}

/// The sender does not probe while the window is zero, and sends at once when it opens.
#[test]
fn a_sender_that_resumes_when_the_window_opens_had_waited_for_it() {
    assert_receiver_stalled(&stalls(3, |_, _| {}));
}

/// The window opens after 50 ms, and the sender sends nothing for 3 s: that time is the application's.
#[test]
fn a_sender_without_data_does_not_wait_for_the_receiver() {
    let mut t = Talk::opened(30_000);
    let mut at = 100_000;
    for _ in 0..4 {
        at = t.windows(at, 2, 10, 30_000);
        t.announce(at + 400, SERVER, 0);
        t.announce(at + 50_000, SERVER, 512);
        at += 3_000_000;
    }
    t.windows(at, 2, 10, 30_000);
    let f = t.client();
    assert_eq!(f.cause, Cause::Application);
    assert_eq!(f.share(Cause::ReceiverStalled), 0.0);
}

/// The application reads two segments every 20 ms, so the buffer of 64 KiB stays full and the reading rate is
/// the rate of the flow.
#[test]
fn a_slow_reader_is_neither_a_link_nor_a_shaper() {
    let mut t = Talk::opened(10_000);
    t.window = [512; 2];
    let (mut at, mut unread) = (100_000, 0i64);
    let full = 512 * 128i64;
    // The buffer fills.
    while unread + 2 * i64::from(MSS) < full {
        t.data(at, CLIENT, MSS, false);
        t.data(at + 20, CLIENT, MSS, false);
        unread += 2 * i64::from(MSS);
        t.window[SERVER] = ((full - unread) / 128) as u16;
        t.ack(at + 10_000, SERVER);
        at += 10_100;
    }
    for _ in 0..400 {
        at += 10_000;
        t.announce(at, SERVER, 24); // two segments were read
        t.data(at + 30, CLIENT, MSS, false);
        t.data(at + 50, CLIENT, MSS, false);
        t.window[SERVER] = 1;
        t.ack(at + 10_040, SERVER);
        at += 10_060;
    }
    let f = t.client();
    assert_eq!(f.cause, Cause::ReceiverStalled);
    assert!(t.diagnose().limiters.is_empty(), "{:?}", t.diagnose().limiters);
}

/// A small buffer that is read at once announces a constant window: its size is the limit.
#[test]
fn a_constant_window_is_limited_by_the_receive_buffer() {
    let mut t = Talk::opened(50_000);
    t.window[SERVER] = (10 * MSS / 128 + 1) as u16;
    t.windows(100_000, 100, 10, 50_000);
    let f = t.client();
    assert_eq!((f.cause, f.share(Cause::ReceiverStalled)), (Cause::ReceiveWindow, 0.0));
}

/// Captured at the receiver: a hole exhausts the window, its retransmission opens it again, and a long pause
/// follows. The window is open during that pause.
#[test]
fn a_pause_after_a_repair_opened_the_window_is_the_applications() {
    let delay = 20_000;
    let mut t = Talk { window: [512, 100], ..Talk::default() };
    t.open(2 * delay, [Some(7); 2], [1460; 2]);
    for (i, at) in [0, 20, 2 * delay + 20].into_iter().enumerate() {
        t.packets[i].time = units::Time::ZERO + units::Span::from_micros(t.start + at);
    }
    let mut at = 100_000;
    for _ in 0..6 {
        // The first of eight segments is lost upstream of the capture.
        t.sent[CLIENT] += MSS;
        for i in 0..7 {
            t.data(at + i * 100, CLIENT, MSS, false);
            t.announce(at + i * 100 + 20, SERVER, 100);
        }
        t.retransmit(at + 2 * delay, CLIENT, 8 * MSS, MSS);
        t.ack(at + 2 * delay + 20, SERVER);
        at += 700_000;
    }
    let f = t.client();
    assert_eq!(f.share(Cause::ReceiverStalled), 0.0, "{:?}", f.causes);
    assert!(f.share(Cause::Application) > 0.5, "{:?}", f.causes);
}
