//! The rate of a link that was never full for long, from the spacing of packets that reached it together.
//!
//! Packets of a burst leave a link one packet's transmission time apart (packet pairs: Keshav 1991, "A
//! control-theoretic approach to flow control", SIGCOMM). A capture before the link shows that time between
//! their ACKs, if the packets were sent closer together; a capture behind it between the packets. Each pair
//! gives a rate, and the commonest one is the link's: delayed ACKs, packets of other flows and gaps between
//! bursts give various others.

use track::{LoggedPacket, PacketFate, Track};

/// Least number of pairs.
const MIN_PAIRS: usize = 20;
/// Rates that differ by at most this share agree.
const RATE_TOLERANCE: f64 = 0.02;
/// Least share of the pairs that agree with the commonest rate.
const MIN_AGREEING_SHARE: f64 = 0.25;
/// Packets waited for a link if they were sent within this share of the time between their ACKs.
const MAX_SENT_SPACING_SHARE: f64 = 0.5;
/// Smaller gaps, seconds, may be the resolution of the clock.
const CLOCK_RESOLUTION: f64 = 5e-6;
/// The spacing of packets in the capture is that of a link if at least this share of the round trip lies
/// between sender and capture.
const MIN_SENDER_SIDE_SHARE: f64 = 0.2;
/// The packets of a burst are faster than the flow's mean rate by more than this factor; slower ones may be
/// paced by the sender.
const MIN_BURST_SPEEDUP: f64 = 1.5;

/// Rate of IP bytes at which the packets of a burst follow each other, bit/s.
pub fn line_rate(t: &Track) -> Option<f64> {
    let log: Vec<&LoggedPacket> = t.log.iter().filter(|p| p.fate == PacketFate::Passed).collect();
    let (first, last) = (log.first()?, log.last()?);
    let bytes: f64 = log.iter().map(|p| f64::from(p.bytes)).sum();
    let mean = bytes * 8.0 / last.time.since(first.time).as_secs_f64().max(1e-6);
    // The spacing at the sender itself is that of its ACKs.
    let least = |h: &track::SpanHistogram| h.min().map_or(0.0, |s| s.as_secs_f64());
    let (up, whole) = (least(&t.rtt_up), least(&t.rtt));
    let seen = || commonest(as_seen(&log)).filter(|_| up > MIN_SENDER_SIDE_SHARE * whole);
    let rate = commonest(as_acknowledged(&log)).or_else(seen)?;
    (rate > MIN_BURST_SPEEDUP * mean).then_some(rate)
}

/// Rates of neighbouring packets as they passed the capture, bit/s.
fn as_seen(log: &[&LoggedPacket]) -> Vec<f64> {
    let pair = |w: &[&LoggedPacket]| {
        let gap = w[1].time.since(w[0].time).as_secs_f64();
        (gap > CLOCK_RESOLUTION).then(|| f64::from(w[1].bytes) * 8.0 / gap)
    };
    log.windows(2).filter_map(pair).collect()
}

/// The packets that one ACK acknowledged.
struct AckGroup {
    /// When the last of them was sent, seconds.
    sent: f64,
    /// When they were acknowledged, seconds.
    acknowledged: f64,
    /// IP bytes.
    bytes: f64,
}

/// Rates at which packets that waited were acknowledged, bit/s: the bytes of an ACK over the time since the
/// ACK before.
fn as_acknowledged(log: &[&LoggedPacket]) -> Vec<f64> {
    let mut rates = Vec::new();
    let (mut before, mut now): (Option<AckGroup>, Option<AckGroup>) = (None, None);
    let mut bytes = 0.0;
    let Some(origin) = log.first().map(|p| p.time) else { return rates };
    for p in log {
        if p.again {
            // A retransmission separates the packets around it.
            (before, now, bytes) = (None, None, 0.0);
            continue;
        }
        bytes += f64::from(p.bytes);
        // A packet without a round trip was acknowledged together with a later one.
        let Some(rtt) = p.rtt.get() else { continue };
        let sent = p.time.since(origin).as_secs_f64();
        let acknowledged = sent + rtt.as_secs_f64();
        match &mut now {
            Some(group) if (acknowledged - group.acknowledged).abs() <= CLOCK_RESOLUTION => {
                group.sent = sent;
                group.bytes += bytes;
            }
            _ => {
                rates.extend(before.as_ref().zip(now.as_ref()).and_then(|(a, b)| rate_of(a, b)));
                before = now.replace(AckGroup { sent, acknowledged, bytes });
            }
        }
        bytes = 0.0;
    }
    rates
}

/// The rate of group `b`, if it was sent soon enough after `a` to wait.
fn rate_of(a: &AckGroup, b: &AckGroup) -> Option<f64> {
    let gap = b.acknowledged - a.acknowledged;
    (gap > 0.0 && b.sent - a.sent < MAX_SENT_SPACING_SHARE * gap).then(|| b.bytes * 8.0 / gap)
}

/// The rate with which most others agree; `None` if too few do.
fn commonest(mut rates: Vec<f64>) -> Option<f64> {
    if rates.len() < MIN_PAIRS {
        return None;
    }
    rates.sort_by(f64::total_cmp);
    let within = |rate: f64| {
        let from = rates.partition_point(|r| *r < rate * (1.0 - RATE_TOLERANCE));
        let to = rates.partition_point(|r| *r <= rate * (1.0 + RATE_TOLERANCE));
        &rates[from..to]
    };
    let most = rates.iter().map(|r| within(*r)).max_by_key(|w| w.len())?;
    (most.len() as f64 >= MIN_AGREEING_SHARE * rates.len() as f64).then(|| most[most.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Span, Time};

    /// Bursts of `burst` packets, sent at once every 50 ms to a link of 10 Mbit/s; every second packet is
    /// acknowledged.
    fn bursts(burst: u64, count: u64) -> Track {
        let packet = Span::from_micros(1200);
        let mut track = Track::default();
        for i in 0..burst * count {
            let (at, k) = (Span::from_millis(50) * (i / burst), i % burst);
            let acknowledged = (k | 1).min(burst - 1) + 1;
            track.log.push(LoggedPacket {
                time: Time::ZERO + at + Span::from_micros(10) * k,
                bytes: 1500,
                rtt: Some(Span::from_millis(20) + packet * acknowledged - Span::from_micros(10) * k).into(),
                segments: 1,
                ..LoggedPacket::default()
            });
        }
        track
    }

    #[test]
    fn bursts_show_the_rate_of_a_link_that_is_idle_between_them() {
        let rate = line_rate(&bursts(10, 20)).unwrap_or_default();
        assert!((rate / 10e6 - 1.0).abs() < 0.01, "{rate}");
        // Single packets show nothing.
        assert_eq!(line_rate(&bursts(1, 200)), None);
    }
}
