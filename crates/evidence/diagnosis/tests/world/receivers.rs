//! Receivers that do not read.

use crate::talk::{CLIENT, MSS, SERVER, Talk};
use result::Cause;

/// Four segments are sent and acknowledged, with a window of zero; the sender probes it; then it opens.
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

fn is_the_receiver(t: &Talk) {
    let f = t.client();
    assert_eq!(f.cause, Cause::ReceiverStalled);
    assert!(f.share(Cause::ReceiverStalled) > 0.9, "{:?}", f.causes);
    let m = &f.measures;
    assert_eq!((m.retransmitted_packets, m.timeouts, m.lost_up + m.lost_down), (0, 0, 0));
    assert!(f.remedies.iter().any(|r| r.kind == result::change::ChangeKind::ReceivingApplication));
}

/// RFC 9293 section 3.8.6.1; Linux probes with an empty packet before the next byte (`tcp_xmit_probe_skb`).
#[test]
fn a_window_of_zero_is_the_receivers_though_all_is_acknowledged() {
    is_the_receiver(&stalls(3, |t, at| {
        let mut p = t.packet(at, CLIENT);
        p.seq -= 1;
        t.packets.push(p);
    }));
}

/// Other stacks probe with the next byte, again and again.
#[test]
fn a_byte_beyond_a_window_of_zero_is_a_probe_and_no_retransmission() {
    is_the_receiver(&stalls(3, |t, at| {
        let mut p = t.packet(at, CLIENT);
        p.len = 1;
        t.packets.push(p);
    }));
}

/// The receiver takes the byte, and acknowledges it.
#[test]
fn a_byte_that_a_full_receiver_takes_is_data() {
    let t = stalls(3, |t, at| {
        t.data(at, CLIENT, 1, false);
        t.has[SERVER] = t.sent[CLIENT];
    });
    is_the_receiver(&t);
    assert_eq!(t.client().measures.bytes, u64::from(t.sent[CLIENT] - 1));
}

/// It was not asked for while the window was shut, and comes at once when it opens.
#[test]
fn who_sends_as_soon_as_the_window_opens_had_waited_for_it() {
    is_the_receiver(&stalls(3, |_, _| {}));
}

/// The window opens, and nothing comes for as long again: that time is the application's.
#[test]
fn who_has_nothing_to_send_does_not_wait_for_the_receiver() {
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

/// The reader takes two segments every 20 ms of a buffer of 64 KiB: it stays full, and what passes is what
/// was read.
#[test]
fn a_slow_reader_is_no_link_and_no_shaper() {
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
    assert!(t.said().limiters.is_empty(), "{:?}", t.said().limiters);
}

/// A small buffer that is read at once is a matter of its size.
#[test]
fn a_window_that_stays_as_it_was_is_the_buffers() {
    let mut t = Talk::opened(50_000);
    t.window[SERVER] = (10 * MSS / 128 + 1) as u16;
    t.windows(100_000, 100, 10, 50_000);
    let f = t.client();
    assert_eq!((f.cause, f.share(Cause::ReceiverStalled)), (Cause::ReceiveWindow, 0.0));
}

/// A hole fills the window, at whose receiver the capture is. Its repair opens the window, and nothing comes
/// for long: the sender learns of both at the same time.
#[test]
fn a_window_that_a_repair_opened_is_not_shut_in_the_pause_behind_it() {
    let way = 20_000;
    let mut t = Talk { window: [512, 100], ..Talk::default() };
    t.open(2 * way, [Some(7); 2], [1460; 2]);
    for (i, at) in [0, 20, 2 * way + 20].into_iter().enumerate() {
        t.packets[i].time = units::Time::ZERO + units::Span::from_micros(t.start + at);
    }
    let mut at = 100_000;
    for _ in 0..6 {
        // The first of eight segments is lost before the capture.
        t.sent[CLIENT] += MSS;
        for i in 0..7 {
            t.data(at + i * 100, CLIENT, MSS, false);
            t.announce(at + i * 100 + 20, SERVER, 100);
        }
        t.again(at + 2 * way, CLIENT, 8 * MSS, MSS);
        t.ack(at + 2 * way + 20, SERVER);
        at += 700_000;
    }
    let f = t.client();
    assert_eq!(f.share(Cause::ReceiverStalled), 0.0, "{:?}", f.causes);
    assert!(f.share(Cause::Application) > 0.5, "{:?}", f.causes);
}
