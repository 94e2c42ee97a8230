//! Flows of a few packets: events are reported, but no cause and no change to the path.

use crate::link::{Growth, Transfer};
use crate::talk::{CLIENT, MSS, SERVER, Talk, client};
use result::{Cause, FlowDiagnosis};

/// Asserts that the flow has no cause and no remedy, and is marked as too short.
fn assert_too_short(f: &FlowDiagnosis) {
    assert_eq!((f.cause, f.has_few_packets()), (Cause::Unknown, true), "{:?}", f.causes);
    assert!(f.remedies.is_empty() && f.limiter.is_none(), "{:?}", f.remedies);
    assert!(f.proofs.iter().all(|p| p.cause.is_none()), "{:?}", f.proofs);
}

/// A request is lost and retransmitted after a timeout; the response comes at once.
#[test]
fn one_lost_request_gives_no_loss_rate() {
    for (segments, wait) in [(1, 410_000), (3, 250_000), (8, 1_050_000)] {
        let mut t = Talk::opened(50_000);
        for i in 0..segments {
            t.data(100_000 + i * 20, CLIENT, 400, true);
        }
        t.retransmit(100_000 + wait, CLIENT, 400 * segments as u32, 400);
        t.ack(150_000 + wait, SERVER);
        t.data(151_000 + wait, SERVER, 1200, true);
        t.ack(151_100 + wait, CLIENT);
        let d = t.diagnose();
        assert_eq!(d.flows.len(), 2);
        d.flows.iter().for_each(assert_too_short);
        let m = &client(&d).measures;
        // A tail loss probe waits nearly as long (RFC 8985 section 7.2).
        assert_eq!((m.retransmitted_packets, m.timeouts + m.tlp), (1, 1), "the timeout is reported: {m:?}");
        assert!((m.timeout_s - wait as f64 * 1e-6).abs() < 0.06, "{} s", m.timeout_s);
    }
}

/// A response fits into the initial window, of ten segments or a server's thirty.
#[test]
fn a_response_within_the_initial_window_has_no_cause() {
    for segments in [1, 2, 10, 30] {
        for at_receiver in [false, true] {
            let t = Transfer {
                segments,
                initial_window: segments,
                at_receiver,
                packet_us: 12,
                ..Transfer::default()
            };
            assert_too_short(&t.talk().client());
        }
    }
    // Here the second and third flight wait for the window to grow.
    let t = Transfer {
        segments: 70,
        initial_window: 10,
        packet_us: 12,
        growth: Growth::SlowStart,
        ..Transfer::default()
    };
    let f = t.talk().client();
    assert_eq!((f.cause, f.has_few_packets()), (Cause::SlowStart, false), "{:?}", f.causes);
}

/// Causes that need no statistics are reported of few packets as well.
#[test]
fn a_zero_window_and_a_long_pause_are_found_in_few_packets() {
    let mut t = Talk::opened(30_000);
    for i in 0..7u64 {
        t.data(100_000 + i * 20_000_000, CLIENT, 13, true);
        t.ack(130_000 + i * 20_000_000, SERVER);
    }
    assert_eq!(t.client().cause, Cause::Application);
    let mut t = Talk::opened(30_000);
    t.windows(100_000, 1, 4, 30_000);
    t.announce(131_000, SERVER, 0);
    t.announce(9_000_000, SERVER, 512);
    t.data(9_000_100, CLIENT, MSS, false);
    t.ack(9_030_100, SERVER);
    assert_eq!(t.client().cause, Cause::ReceiverStalled);
}

/// The server resets the connection after a request.
#[test]
fn a_reset_after_a_request_is_reported() {
    let mut t = Talk::opened(30_000);
    t.data(100_000, CLIENT, 500, true);
    let mut p = t.packet(131_000, SERVER);
    p.flags = capture::TcpFlags::RST;
    t.packets.push(p);
    let f = t.client();
    assert_too_short(&f);
    assert!(f.reset.is_some());
}
