//! Captures that lack packets: sampled, filtered, or written by a machine that was too slow.
//!
//! The capture missed data that was acknowledged and never seen. Where no ACKs were captured, it also missed
//! data that was never seen and never retransmitted, because TCP retransmits data that does not arrive (RFC
//! 9293 section 3.8.1). ACKs are missing where new data follows for longer than a timeout without one: a sender
//! that gets no ACK only retransmits (RFC 6298 section 5). Round trips, windows and losses of such a flow are
//! artefacts of the capture and show no cause.

use super::cc;
use super::outages::{first_timeout, rtt};
use result::FlowDiagnosis;
use result::diagnosis::{Cause, CauseShare, CauseSpan};
use track::{Bin, Track};

/// Greatest missing share of a flow's payload for which a cause is named. Verdicts on drawn flows are as good
/// with 5 % missing as with none, but only 7 of 10 are right with 10 % missing (`longfat-diagnose-test
/// cuts`).
const MAX_MISSING_SHARE: f64 = 0.07;

/// Returns the share of the payload that the capture lacks, 0 to 1; `None` where it lacks none, or has no
/// data at all.
pub(super) fn missing_share(t: &Track) -> Option<f64> {
    let (captured, missed) = (t.counts.unique_bytes as f64, t.counts.missed_bytes as f64);
    (captured > 0.0 && missed > 0.0).then(|| missed / (captured + missed))
}

/// Returns the seconds in which new data passed although no ACK had been captured for a timeout, since the
/// first data that such an ACK would acknowledge.
fn without_acks(t: &Track) -> f64 {
    let timeout = first_timeout(rtt(t));
    let new_data = |run: &[Bin]| {
        let mut new = run.iter().take_while(|b| b.resent == 0).filter(|b| b.sent > 0);
        let first = new.next()?;
        Some(f64::from(new.last()?.index - first.index) * t.bin.as_secs_f64())
    };
    t.bins.split(|b| b.acks > 0).filter_map(new_data).filter(|s| *s > timeout).sum()
}

/// Whether ACKs are missing for too long to name a cause. A capture without any ACK is one of one direction.
pub(super) fn lacks_acks(t: &Track) -> bool {
    t.counts.acks > 0 && without_acks(t) > MAX_MISSING_SHARE * t.last.since(t.first).as_secs_f64()
}

/// Whether too much is missing to name a cause.
pub(super) fn has_too_many(t: &Track) -> bool {
    missing_share(t).is_some_and(|share| share > MAX_MISSING_SHARE) || lacks_acks(t)
}

/// Returns the diagnosis without a cause, with its counts.
pub(super) fn cannot_tell(f: FlowDiagnosis) -> FlowDiagnosis {
    let cause = Cause::Unknown;
    FlowDiagnosis {
        cause,
        confidence: 0.0,
        causes: vec![CauseShare { cause, share: 1.0, seconds: f.duration_s }],
        timeline: vec![CauseSpan { from_s: f.start_s, to_s: f.start_s + f.duration_s, cause }],
        limiter: None,
        cc: cc::none(),
        proofs: Vec::new(),
        ..f
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Span, Time};

    /// Ten seconds of data each tenth of a second, with ACKs until 2 s, and retransmissions from `resends` on.
    fn track(resends: u32) -> Track {
        let bin = |index: u32| {
            let mut b = Bin::default();
            (b.index, b.acks) = (index, u32::from(index < 20));
            (b.sent, b.resent) = if index < resends { (1448, 0) } else { (0, 1448) };
            b
        };
        let mut t =
            Track { bin: Span::from_millis(100), bins: (0..100).map(bin).collect(), ..Track::default() };
        t.last = Time::ZERO + Span::from_secs(10);
        t.counts.acks = 20;
        t
    }

    #[test]
    fn a_sender_of_new_data_gets_acks() {
        assert!((without_acks(&track(100)) - 7.9).abs() < 0.01, "{}", without_acks(&track(100)));
        assert!(has_too_many(&track(100)));
        // It retransmits before the timeout has passed.
        assert_eq!(without_acks(&track(22)), 0.0);
        // An application that pauses and goes on gets its ACK at once.
        let mut pauses = track(100);
        pauses.bins.retain(|b| b.index < 20 || b.index >= 90);
        pauses.bins.iter_mut().filter(|b| b.index > 90).for_each(|b| b.acks = 1);
        assert!(!has_too_many(&pauses));
    }
}
