//! Pauses in which a sender waits for ACKs are its window's, wherever the capture was taken and whatever it
//! lacks.

use crate::link::Transfer;
use result::{Cause, FlowDiagnosis};

/// Full segments over a path of 50 ms that nothing fills; each `push_each`-th is pushed.
fn flows(segments: u64, most: u64) -> Vec<(Transfer, FlowDiagnosis)> {
    let mut all = Vec::new();
    for at_receiver in [false, true] {
        for timestamps in [false, true] {
            for handshake in [false, true] {
                for push_each in [0, 7] {
                    let (initial, packet_us, rtt) = (10.min(most), 12, 50_000);
                    let t = Transfer {
                        segments,
                        initial,
                        most,
                        at_receiver,
                        timestamps,
                        handshake,
                        push_each,
                        packet_us,
                        rtt,
                        ..Transfer::default()
                    };
                    let d = t.talk().said();
                    let f = d.flows.into_iter().find(|f| f.to.ends_with(":80")).expect("the client's");
                    all.push((t, f));
                }
            }
        }
    }
    all
}

#[test]
fn a_download_in_slow_start_does_not_wait_for_its_application() {
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
fn a_window_that_stays_is_no_application_and_no_link() {
    for (t, f) in flows(800, 20) {
        assert!(matches!(f.cause, Cause::SendBuffer | Cause::Unknown), "{t:?}: {:?}", f.causes);
        assert!(f.share(Cause::Application) + f.share(Cause::Bottleneck) < 0.05, "{t:?}: {:?}", f.causes);
        // Where timestamps are echoed, the RTT is the whole path's.
        assert!(
            !t.timestamps || (49.0..52.0).contains(&f.measures.rtt_ms.min),
            "{t:?}: {:?}",
            f.measures.rtt_ms
        );
    }
}

/// A window that is no whole number of segments ends in a small pushed one each round trip. Without the SYNs
/// its scale is not known, and whether it was full.
#[test]
fn the_small_end_of_an_unknown_window_is_no_end_of_a_write() {
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
