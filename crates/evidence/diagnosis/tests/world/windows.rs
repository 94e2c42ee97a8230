//! Pauses in which a sender waits for ACKs are attributed to its window, regardless of where the capture was
//! taken and of what it lacks.

use crate::link::Transfer;
use result::{Cause, FlowDiagnosis};

/// Diagnoses transfers of full segments over an uncongested path of 50 ms, for all combinations of vantage,
/// timestamps, handshake and PSH.
fn flows(segments: u64, max_window: u64) -> Vec<(Transfer, FlowDiagnosis)> {
    let mut all = Vec::new();
    for at_receiver in [false, true] {
        for timestamps in [false, true] {
            for handshake in [false, true] {
                for push_every in [0, 7] {
                    let (initial_window, packet_us, rtt) = (10.min(max_window), 12, 50_000);
                    let t = Transfer {
                        segments,
                        initial_window,
                        max_window,
                        at_receiver,
                        timestamps,
                        handshake,
                        push_every,
                        packet_us,
                        rtt,
                        ..Transfer::default()
                    };
                    let d = t.talk().diagnose();
                    let f = d.flows.into_iter().find(|f| f.to.ends_with(":80")).expect("the client's");
                    all.push((t, f));
                }
            }
        }
    }
    all
}

#[test]
fn slow_start_is_not_taken_for_the_application() {
    for segments in [40, 150] {
        for (t, f) in flows(segments, u64::MAX) {
            assert!(matches!(f.cause, Cause::SlowStart | Cause::Unknown), "{t:?}: {:?}", f.causes);
            assert!(f.share(Cause::Application) < 0.05, "{t:?}: {:?}", f.causes);
            let shown = !t.at_receiver || t.handshake;
            assert!(f.cause == Cause::SlowStart || !shown, "{t:?}: {:?}", f.causes);
        }
    }
}

#[test]
fn a_constant_window_is_neither_the_application_nor_a_link() {
    for (t, f) in flows(800, 20) {
        assert!(matches!(f.cause, Cause::SendBuffer | Cause::Unknown), "{t:?}: {:?}", f.causes);
        assert!(f.share(Cause::Application) + f.share(Cause::Bottleneck) < 0.05, "{t:?}: {:?}", f.causes);
        // With timestamps, the RTT covers the whole path even at the receiver.
        assert!(
            !t.timestamps || (49.0..52.0).contains(&f.measures.rtt_ms.min),
            "{t:?}: {:?}",
            f.measures.rtt_ms
        );
    }
}

/// A window that is not a multiple of the MSS ends in a small segment with PSH each round trip. Without the
/// SYNs the window scale is unknown, and so is whether the window was full.
#[test]
fn a_partial_segment_at_the_end_of_an_unknown_window_is_not_the_end_of_a_write() {
    use crate::talk::{CLIENT, MSS, SERVER, Talk, client, read};
    let rtt = 50_000;
    let mut t = Talk::opened(rtt);
    t.window[SERVER] = ((20 * MSS + 500) / 128) as u16;
    let mut at = 100_000;
    for _ in 0..60 {
        for i in 0..20 {
            t.data(at + i * 20, CLIENT, MSS, false);
        }
        t.data(at + 400, CLIENT, 500, true);
        for i in 0..10 {
            t.ack_but(at + rtt - 500 + i * 40, SERVER, (18 - 2 * i as u32) * MSS + 500);
        }
        t.ack(at + rtt - 100, SERVER);
        at += rtt;
    }
    let whole = t.client();
    assert_eq!(whole.cause, Cause::ReceiveWindow, "{:?}", whole.causes);
    let begun = t.packets[3].time + units::Span::from_millis(500);
    let late = client(&read(t.pcap(|p| p.time > begun)));
    assert!(late.share(Cause::Application) + late.share(Cause::SendBuffer) < 0.1, "{:?}", late.causes);
}
