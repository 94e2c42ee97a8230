//! Pauses in which a sender waits for ACKs are its window's, wherever the capture was taken and whatever it lacks.

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
