//! A track's bins of time, gathered into round trips.

use crate::limiter::micros;
use track::{MAX_BINS, PauseKind, SpanHistogram, Track};

/// Sums over about one round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RoundTripSpan {
    /// Start, seconds since the connection's first packet.
    pub from: f64,
    /// Length, seconds.
    pub width: f64,
    /// Payload bytes sent for the first time.
    pub sent: f64,
    /// Payload bytes retransmitted.
    pub resent: f64,
    /// Payload bytes acknowledged.
    pub acked: f64,
    /// Data packets.
    pub packets: u32,
    pub lost: u32,
    pub acks: u32,
    /// Data packets below the MSS with PSH.
    pub short: u32,
    /// Most bytes in flight.
    pub inflight: f64,
    /// Least receive window, bytes; `None` where unknown.
    pub window: Option<f64>,
    /// Least RTT, seconds; `None` where there was no sample.
    pub rtt_min: Option<f64>,
    /// Mean RTT, seconds; `None` where there was no sample.
    pub rtt: Option<f64>,
    /// Least delay of data from the sender to the capture, seconds; `None` where unknown.
    pub data_delay: Option<f64>,
    /// Least delay of ACKs from the receiver to the capture, seconds; `None` where unknown.
    pub ack_delay: Option<f64>,
    /// Least wait of a packet between sender and receiver, seconds: its RTT above the least, less its ACK's
    /// wait; `None` where timestamps do not show it.
    pub data_wait: Option<f64>,
    /// Seconds with nothing outstanding.
    pub idle: f64,
    /// Further seconds in which all written data was sent.
    pub ended: f64,
    /// Seconds with the receive window full.
    pub window_full: f64,
    /// Seconds with the receive window shut although all data was acknowledged.
    pub window_shut: f64,
    /// Seconds with a small segment held back until a delayed ACK came.
    pub held: f64,
    /// Seconds until a timeout.
    pub timeout: f64,
    /// Seconds of silence.
    pub silence: f64,
}

impl RoundTripSpan {
    /// Returns the seconds that no wait explains.
    pub fn moving(&self) -> f64 {
        let waits = self.window_full + self.window_shut + self.held + self.timeout + self.silence;
        (self.width - self.idle - self.ended - waits).max(0.0)
    }
}

/// Returns the sum of a quantity over round trips. Without any it is 0, where `Iterator::sum` gives -0.
pub(crate) fn total(rounds: &[RoundTripSpan], quantity: fn(&RoundTripSpan) -> f64) -> f64 {
    rounds.iter().map(quantity).fold(0.0, |sum, x| sum + x)
}

/// Spans of equal length from the first to the last data. Times are seconds since the connection's first
/// packet.
struct RoundGrid {
    /// First and last data.
    begin: f64,
    end: f64,
    /// Begin of the first span: that of a bin.
    first: f64,
    /// Length of a span: a whole number of bins, so that no bin belongs to two round trips.
    width: f64,
    count: usize,
}

impl RoundGrid {
    /// Returns spans of about `rtt` seconds, no more than a track has bins; `None` without data.
    fn new(track: &Track, rtt: f64) -> Option<RoundGrid> {
        let since = |t: units::Time| t.as_nanos().saturating_sub(track.first.as_nanos()) as f64 * 1e-9;
        let (begin, end) = (since(track.first_data?), since(track.last_data?));
        let bin = bin_width(track);
        let duration = (end - begin).max(bin);
        let width = (rtt.max(duration / MAX_BINS as f64) / bin).ceil().max(1.0) * bin;
        let first = (begin / bin).floor() * bin;
        let count = ((end - first) / width).floor() as usize + 1;
        Some(RoundGrid { begin, end, first, width, count })
    }

    /// Returns the index of the span that contains a time.
    fn index(&self, at: f64) -> Option<usize> {
        let spans = (at - self.first) / self.width;
        (spans >= 0.0 && spans < self.count as f64).then_some(spans as usize)
    }
}

/// Returns the width of a track's bins, seconds.
fn bin_width(track: &Track) -> f64 {
    track.bin.as_secs_f64().max(1e-6)
}

/// Cuts the time from the first to the last data into spans of about `rtt` seconds, without gaps, and into no
/// more than a track has bins.
pub(crate) fn rounds(track: &Track, rtt: f64) -> Vec<RoundTripSpan> {
    let Some(grid) = RoundGrid::new(track, rtt) else { return Vec::new() };
    let mut out = gathered(track, &grid);
    for (at, wait) in data_waits(track) {
        if let Some(i) = grid.index(at) {
            out[i].data_wait = least(out[i].data_wait, Some(wait));
        }
    }
    out
}

/// Cuts the time as [`rounds`] does, but leaves out [`RoundTripSpan::data_wait`], which is most of the work.
pub(super) fn rounds_without_waits(track: &Track, rtt: f64) -> Vec<RoundTripSpan> {
    RoundGrid::new(track, rtt).map_or_else(Vec::new, |grid| gathered(track, &grid))
}

/// Gathers a track's bins.
fn gathered(track: &Track, grid: &RoundGrid) -> Vec<RoundTripSpan> {
    let mut out: Vec<RoundTripSpan> = (0..grid.count)
        .map(|i| {
            let from = grid.first + i as f64 * grid.width;
            let (low, high) = (from.max(grid.begin), (from + grid.width).min(grid.end));
            RoundTripSpan { from: low, width: (high - low).max(0.0), ..RoundTripSpan::default() }
        })
        .collect();
    let bin = bin_width(track);
    let mut rtts = vec![(0.0f64, 0.0f64); grid.count];
    for b in &track.bins {
        let Some(i) = grid.index((b.index as f64 + 0.5) * bin) else { continue };
        let (r, sum) = (&mut out[i], &mut rtts[i]);
        r.sent += b.sent as f64;
        r.resent += b.resent as f64;
        r.acked += b.acked as f64;
        r.packets += b.packets;
        r.lost += b.lost;
        r.acks += b.acks;
        r.short += b.short;
        r.inflight = r.inflight.max(b.inflight as f64);
        r.window = least(r.window, b.window.get().map(|w| w as f64));
        r.rtt_min = least(r.rtt_min, b.rtts.least.get().map(micros));
        r.data_delay = least(r.data_delay, b.data_delay.get().map(micros));
        r.ack_delay = least(r.ack_delay, b.ack_delay.get().map(micros));
        *sum = (sum.0 + micros(b.rtts.sum()), sum.1 + b.rtts.count as f64);
        let idle = b.paused(PauseKind::Idle);
        r.idle += micros(idle);
        r.ended += micros(b.paused(PauseKind::AppLimited).saturating_sub(idle));
        r.window_full += micros(b.paused(PauseKind::WindowFull));
        r.window_shut += micros(b.paused(PauseKind::WindowShut));
        r.held += micros(b.paused(PauseKind::Held));
        r.timeout += micros(b.paused(PauseKind::Timeout));
        r.silence += micros(b.paused(PauseKind::Silence));
    }
    for (r, (sum, n)) in out.iter_mut().zip(rtts) {
        if n > 0.0 {
            r.rtt = Some(sum / n);
        }
        // Bins at the ends reach beyond the flow, and a sender without data waits for no window and no ACK.
        r.idle = r.idle.min(r.width);
        r.ended = r.ended.min(r.width - r.idle);
        let left = r.width - r.idle - r.ended;
        let parts = [&mut r.window_full, &mut r.window_shut, &mut r.held, &mut r.timeout, &mut r.silence];
        let waits: f64 = parts.iter().map(|w| **w).sum();
        if waits > left {
            for w in parts {
                *w *= left / waits;
            }
        }
    }
    out
}

/// Returns the lesser of two values that may be unknown.
fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (known, None) | (None, known) => known,
    }
}

/// Returns the time of each packet's ACK, seconds since the connection's first packet, and the packet's wait,
/// seconds.
fn data_waits(track: &Track) -> impl Iterator<Item = (f64, f64)> {
    let minimum = |h: &SpanHistogram| h.min().unwrap_or_default().as_secs_f64();
    let (least, up) = (minimum(&track.rtt), minimum(&track.rtt_up));
    let bin = track.bin.as_secs_f64().max(1e-6);
    let mut next = 0;
    track.log.iter().filter_map(move |s| {
        let rtt = micros(s.rtt.get()?);
        let back = s.time.since(track.first).as_secs_f64() + rtt - up;
        let index = (back / bin) as u32;
        while track.bins.get(next).is_some_and(|b| b.index < index) {
            next += 1;
        }
        let ack = track.bins.get(next).filter(|b| b.index == index)?.ack_delay.get()?;
        Some((back, rtt - least - micros(ack)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_no_round_trips_is_not_negative_zero() {
        assert!(total(&[], |r| r.width).is_sign_positive());
    }
}
