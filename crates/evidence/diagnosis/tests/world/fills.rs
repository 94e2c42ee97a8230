//! Slow start ends where delivery stops growing, whatever the window does, and a queue is drained by its
//! link.

use crate::link::{Growth, Transfer};
use result::Cause;

/// By the link, for nearly all of the time; slow start for no more than doubling needs.
fn is_the_links(t: Transfer) {
    let f = t.talk().client();
    if t.at_receiver && !t.timestamps {
        // Neither the window nor the queue shows there.
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
    for growth in [Growth::SlowStart, Growth::OneEach(20)] {
        for (rtt, packet_us) in [(2_000, 120), (20_000, 1200)] {
            for at_receiver in [false, true] {
                for timestamps in [true, false] {
                    for push_each in [0, 11] {
                        let t = Transfer {
                            growth,
                            rtt,
                            packet_us,
                            at_receiver,
                            timestamps,
                            push_each,
                            ..Transfer::default()
                        };
                        is_the_links(t);
                    }
                }
            }
        }
    }
}
