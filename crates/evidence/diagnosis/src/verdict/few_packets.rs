//! Flows of a few packets, which are described without a cause.
//!
//! Congestion control lets an initial window of segments leave before any of them is acknowledged (RFC 6928
//! section 2). A flow of no more than that, or one that left in a single flight, met no window and filled no
//! link. It shows nothing about the rates, queues and losses of the path, and one loss among ten packets is
//! not a loss rate. Such a flow shows only causes that need no statistics: a closed receive window, an
//! outage, packets that are too big, a connection that was never set up, and an application that was silent
//! for many round trips.

use super::UNKNOWN_RTT;
use crate::limiter::seconds;
use result::diagnosis::Cause;
use track::Track;

/// Code of such a flow in its notes.
pub(super) const NOTE: &str = result::diagnosis::FEW_PACKETS;

/// Segments that may leave before the first ACK (RFC 6928 section 2).
pub(super) const INITIAL_WINDOW: u64 = 10;
/// A flight that is sent within this share of a round trip ended before its first ACK could release more.
const ONE_FLIGHT_SHARE: f64 = 0.9;
/// Round trips over which a share of the time is known to a tenth.
const MIN_ROUND_TRIPS: f64 = 10.0;

/// Least number of timeouts of an outage; a single lost packet has fewer.
const MIN_OUTAGE_TIMEOUTS: u64 = 2;

/// Whether a flow that lasts `duration` seconds has too few packets to show `cause`.
pub(super) fn are_too_few(t: &Track, cause: Cause, duration: f64) -> bool {
    use Cause::{Application, BlackHole, Nagle, Outage, PacketTooBig, ReceiverStalled, SetupFailed};
    let few = segments(t) <= INITIAL_WINDOW || is_one_flight(t, duration);
    match cause {
        BlackHole | Nagle | PacketTooBig | ReceiverStalled | SetupFailed => false,
        // One lost packet is not an outage, no matter how long its sender's first timeout is.
        Outage => few && t.counts.timeouts + t.counts.tlp < MIN_OUTAGE_TIMEOUTS,
        Application => few && duration < MIN_ROUND_TRIPS * rtt(t),
        _ => few && t.counts.data_packets > 0,
    }
}

/// Returns the least known RTT of the path, seconds.
fn rtt(t: &Track) -> f64 {
    t.rtt.min().or(t.handshake.rtt).map_or(UNKNOWN_RTT, |rtt| rtt.as_secs_f64())
}

/// Returns the number of segments of the stream, without retransmissions.
fn segments(t: &Track) -> u64 {
    let mss = u64::from(t.mss.unwrap_or(1).max(1));
    let sent_once = t.counts.data_packets.saturating_sub(t.counts.retransmitted_packets);
    sent_once.max(t.counts.unique_bytes.max(t.counts.acked_bytes).div_ceil(mss))
}

/// Whether all data left before the first ACK came, arrived, and was acknowledged at once.
fn is_one_flight(t: &Track, duration: f64) -> bool {
    let Some(least) = t.rtt.min().map(|rtt| rtt.as_secs_f64()) else { return false };
    let sent = t.log.first().zip(t.log.last()).map(|(a, b)| seconds(b.time) - seconds(a.time));
    let lost = t.counts.retransmitted_packets + t.counts.lost_up + t.counts.lost_down;
    lost == 0 && sent.is_some_and(|sent| sent < ONE_FLIGHT_SHARE * least) && duration < 2.0 * least
}
