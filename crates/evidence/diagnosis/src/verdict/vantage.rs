//! The place of the capture between sender and receiver.

use result::diagnosis::{CapturePlace, Vantage};
use track::Track;

/// The capture is at an end if the delay to it is below this share of the round trip.
const AT_END_SHARE: f64 = 0.1;

pub(super) fn receiver_side(t: &Track) -> bool {
    vantage(t).place == CapturePlace::Receiver
}

pub(super) fn sender_side(t: &Track) -> bool {
    vantage(t).place == CapturePlace::Sender
}

/// Whether waits between sender and capture are unknown: there are no timestamps, and the capture is not at
/// the sender.
pub(super) fn are_waits_unseen(t: &Track) -> bool {
    t.rtt_up.samples() == 0 && !sender_side(t)
}

/// Whether packets wait mostly between sender and capture.
pub(super) fn waits_before_capture(t: &Track) -> bool {
    let over = |h: &track::SpanHistogram| {
        let known = h.mean().zip(h.min());
        known.map_or(units::Span::ZERO, |(mean, least)| mean.saturating_sub(least))
    };
    over(&t.rtt_up) > over(&t.rtt_down) * 2
}

pub(super) fn vantage(t: &Track) -> Vantage {
    let minimum = |h: &track::SpanHistogram| h.min().map(|rtt| rtt.as_millis_f64());
    let to_sender_ms = minimum(&t.rtt_up).or(t.handshake.up.map(|s| s.as_millis_f64()));
    let to_receiver_ms = minimum(&t.rtt_down).or(t.handshake.down.map(|s| s.as_millis_f64()));
    let place = match (to_sender_ms, to_receiver_ms) {
        (Some(up), Some(down)) if up < AT_END_SHARE * (up + down) => CapturePlace::Sender,
        (Some(up), Some(down)) if down < AT_END_SHARE * (up + down) => CapturePlace::Receiver,
        (Some(_), Some(_)) => CapturePlace::Middle,
        _ => CapturePlace::Unknown,
    };
    Vantage { place, to_sender_ms, to_receiver_ms }
}
