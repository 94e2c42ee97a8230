//! The rate of a line that was never full for long, from the spacing of packets that came to it together.
//!
//! Packets of a burst leave a line one behind the other, a packet's time at its rate apart (packet pairs: Keshav 1991, "A
//! control-theoretic approach to flow control", SIGCOMM). Before the line it is how far apart they are acknowledged, if they were sent
//! closer together than that; behind it how far apart they are seen. Each pair gives a rate; that of the line is the commonest, as
//! ACKs that wait, other flows between them and gaps between bursts give all others.

use track::{LoggedPacket, PacketFate, Track};

/// Pairs without which no rate is the commonest.
const LEAST_PAIRS: usize = 20;
/// Width of a bin of rates: two percent, as its logarithm.
const BIN: f64 = 0.02;
/// Share of the pairs that agree, within a bin to either side.
const AGREE: f64 = 0.25;
/// What was sent in less than this share of the time in which it was acknowledged waited for a line.
const CLOSER: f64 = 0.5;
/// Less than so many microseconds apart may be as many clock ticks.
const TICKS: f64 = 5e-6;
/// Share of the round trip before the capture, from which on the spacing there is that of lines before it.
const BEFORE: f64 = 0.2;
/// The rate at which a paced sender sends is no line's: a burst is faster than the flow's mean by more than this.
const FASTER: f64 = 1.5;

/// Rate of IP bytes at which packets of a burst follow each other, bit/s.
pub fn line_rate(t: &Track) -> Option<f64> {
    let log: Vec<&LoggedPacket> = t.log.iter().filter(|p| p.fate == PacketFate::Passed).collect();
    let (first, last) = (log.first()?, log.last()?);
    let bytes: f64 = log.iter().map(|p| f64::from(p.bytes)).sum();
    let mean = bytes * 8.0 / last.time.since(first.time).as_secs_f64().max(1e-6);
    // What the sender sends at the time of an ACK says nothing: it must have come a way first.
    let least = |h: &track::SpanHistogram| h.min().map_or(0.0, |s| s.as_secs_f64());
    let (up, whole) = (least(&t.rtt_up), least(&t.rtt));
    let seen = || commonest(as_seen(&log)).filter(|_| up > BEFORE * whole);
    let rate = commonest(as_acknowledged(&log)).or_else(seen)?;
    (rate > FASTER * mean).then_some(rate)
}

/// The rates of neighbours as they passed the capture, bit/s.
fn as_seen(log: &[&LoggedPacket]) -> Vec<f64> {
    let pair = |w: &[&LoggedPacket]| {
        let gap = w[1].time.since(w[0].time).as_secs_f64();
        (gap > TICKS).then(|| f64::from(w[1].bytes) * 8.0 / gap)
    };
    log.windows(2).filter_map(pair).collect()
}

/// Packets that one ACK acknowledged.
struct AckGroup {
    /// When its last packet was sent, and when it was acknowledged, seconds.
    sent: f64,
    acknowledged: f64,
    /// IP bytes.
    bytes: f64,
}

/// The rates at which packets that waited were acknowledged, bit/s: what an ACK acknowledged, by the time since the ACK before.
fn as_acknowledged(log: &[&LoggedPacket]) -> Vec<f64> {
    let mut rates = Vec::new();
    let (mut before, mut now): (Option<AckGroup>, Option<AckGroup>) = (None, None);
    let mut bytes = 0.0;
    let Some(origin) = log.first().map(|p| p.time) else { return rates };
    for p in log {
        if p.again {
            // It passed, too: those about it are no neighbours.
            (before, now, bytes) = (None, None, 0.0);
            continue;
        }
        bytes += f64::from(p.bytes);
        // Without a sample of its own it was acknowledged with a later one.
        let Some(rtt) = p.rtt.get() else { continue };
        let sent = p.time.since(origin).as_secs_f64();
        let acknowledged = sent + rtt.as_secs_f64();
        match &mut now {
            Some(group) if (acknowledged - group.acknowledged).abs() <= TICKS => {
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

/// The rate of the second, if it was sent soon enough behind the first to wait.
fn rate_of(a: &AckGroup, b: &AckGroup) -> Option<f64> {
    let gap = b.acknowledged - a.acknowledged;
    (gap > 0.0 && b.sent - a.sent < CLOSER * gap).then(|| b.bytes * 8.0 / gap)
}

/// The rate on which most agree.
fn commonest(mut rates: Vec<f64>) -> Option<f64> {
    if rates.len() < LEAST_PAIRS {
        return None;
    }
    rates.sort_by(f64::total_cmp);
    let within = |rate: f64| {
        let from = rates.partition_point(|r| *r < rate * (1.0 - BIN));
        let to = rates.partition_point(|r| *r <= rate * (1.0 + BIN));
        &rates[from..to]
    };
    let most = rates.iter().map(|r| within(*r)).max_by_key(|w| w.len())?;
    (most.len() as f64 >= AGREE * rates.len() as f64).then(|| most[most.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Span, Time};

    /// Bursts of `burst` packets each 50 ms, sent at once, to a line of 10 Mbit/s; every second packet is acknowledged.
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
                again: false,
                delay: Default::default(),
                fate: PacketFate::Passed,
                number: i as u32,
            });
        }
        track
    }

    #[test]
    fn packets_of_a_burst_tell_the_rate_of_a_line_that_is_idle_between_them() {
        let rate = line_rate(&bursts(10, 20)).unwrap_or_default();
        assert!((rate / 10e6 - 1.0).abs() < 0.01, "{rate}");
        // Single packets tell nothing.
        assert_eq!(line_rate(&bursts(1, 200)), None);
    }
}
