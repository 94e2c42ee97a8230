//! Slow start ends when delivery stops growing, even if the window keeps growing: from then on the link is
//! the bottleneck.

use crate::link::{Growth, Transfer};
use result::Cause;

/// Asserts that the link limits nearly all of the time, and slow start no longer than the doubling takes.
fn assert_limited_by_link(t: Transfer) {
    let f = t.talk().client();
    if t.at_receiver && !t.timestamps {
        // A capture at the receiver without timestamps shows neither the window nor the queue.
        assert!(matches!(f.cause, Cause::Unknown | Cause::Bottleneck), "{t:?}: {:?}", f.causes);
        assert!(f.share(Cause::SlowStart) < 0.15, "{t:?}: {:?}", f.causes);
        return;
    }
    let link = f.share(Cause::Bottleneck) + f.share(Cause::Shaped);
    assert!(matches!(f.cause, Cause::Bottleneck | Cause::Shaped), "{t:?}: {:?}", f.causes);
    assert!(link > 0.8, "{t:?}: {:?}", f.causes);
    assert!(f.share(Cause::SlowStart) < 0.15, "{t:?}: {:?}", f.causes);
}

#[test]
fn a_link_filled_by_a_window_that_keeps_growing_is_a_bottleneck() {
    for growth in [Growth::SlowStart, Growth::OnePerRoundTrip(20)] {
        for (rtt, packet_us) in [(2_000, 120), (20_000, 1200)] {
            for at_receiver in [false, true] {
                for timestamps in [true, false] {
                    for push_every in [0, 11] {
                        let t = Transfer {
                            growth,
                            rtt,
                            packet_us,
                            at_receiver,
                            timestamps,
                            push_every,
                            ..Transfer::default()
                        };
                        assert_limited_by_link(t);
                    }
                }
            }
        }
    }
}
