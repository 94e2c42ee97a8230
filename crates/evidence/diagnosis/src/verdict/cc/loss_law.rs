//! The bytes that a control can keep in flight if it responds to losses.
//!
//! Reno halves its window at each loss event and adds a segment each round trip (RFC 5681 section 3.1), so
//! with a loss event in the share `q` of the round trips its window peaks at 2 / q segments. CUBIC regains
//! what it gave up, the share `1 - β` of its window, within `∛((1 - β) W / C)` seconds (RFC 9438 section
//! 4.2), so with `T` seconds between loss events it peaks at `C T³ / (1 - β)`. A sender that keeps more than
//! both in flight does not respond to losses: BBR version 1 follows what is delivered
//! (draft-cardwell-iccrg-bbr-congestion-control-00).

use super::super::round_trips::RoundTripSpan;
use super::candidate::{CUBIC_BETA, CUBIC_C};

/// Round trips of a loss event. A control responds once to all losses of a window (RFC 5681 section 4.3), and
/// recovery takes a round trip, so every second of several round trips with losses may be a loss event.
const ROUNDS_PER_EVENT: usize = 2;
/// Least number of loss events. Fewer may have come by chance while the window was still that of slow start.
const MIN_EVENTS: usize = 8;
/// Greatest number of round trips between loss events. Scalable TCP gives up an eighth of its window and
/// regains it in thirteen round trips (Kelly 2003), so the law holds for every known control only where
/// losses come more often.
const MAX_ROUNDS_BETWEEN_EVENTS: f64 = 8.0;
/// Factor by which inflight must exceed the law: loss events are known to a factor of two, and the mean may
/// be as high as the peak.
const EXCESS_FACTOR: f64 = 3.0;
/// Least number of segments in flight: recovery and probes send fewer.
const MIN_INFLIGHT: f64 = 8.0;

/// Whether the mean inflight since the first loss exceeds what a control could keep that responds to these
/// losses. `mss` is in bytes.
pub(super) fn holds_more(rounds: &[RoundTripSpan], mss: f64) -> bool {
    let Some(first) = rounds.iter().position(|r| r.lost > 0) else { return false };
    let sending = |r: &&RoundTripSpan| r.packets > 0 && r.timeout == 0.0 && r.silence == 0.0;
    let after: Vec<&RoundTripSpan> = rounds[first + 1..].iter().filter(sending).collect();
    let events: usize = after
        .chunk_by(|a, b| (a.lost > 0) == (b.lost > 0))
        .filter(|run| run[0].lost > 0)
        .map(|run| run.len().div_ceil(ROUNDS_PER_EVENT))
        .sum();
    if events < MIN_EVENTS || after.len() as f64 > MAX_ROUNDS_BETWEEN_EVENTS * events as f64 {
        return false;
    }
    let (count, seconds) = (after.len() as f64, after.iter().map(|r| r.width).sum::<f64>());
    let mean_inflight = after.iter().map(|r| r.inflight / mss).sum::<f64>() / count;
    let reno = 2.0 * count / events as f64;
    let cubic = CUBIC_C * (seconds / events as f64).powi(3) / (1.0 - CUBIC_BETA);
    mean_inflight > EXCESS_FACTOR * reno.max(cubic).max(MIN_INFLIGHT)
}
