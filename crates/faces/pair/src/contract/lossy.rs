//! Detects a path that loses packets at any speed. Its losses do not show how much it can carry.
//!
//! A full policer or queue drops what is too fast: a policer with rate R drops the share 1 - R / S at speed
//! S, a queue all that finds no room. A slower sender loses less. A path with random loss drops the same
//! share at every speed. So the stretches of the log are sorted by speed, and the slower half is compared
//! with the faster half.

use super::{SentOutcome, SentRecord};

/// Packets per stretch.
const STRETCH_PACKETS: f64 = 32.0;
/// The slower half must have this many losses: with 16 its share is known to a quarter (1/√16).
const MIN_LOSSES: f64 = 16.0;
/// The faster half must be faster by this factor, as BBR is when it probes.
const MIN_SPEED_RATIO: f64 = 1.15;
/// The halves may differ by this many standard deviations if nothing is believed yet, and by the second
/// number if a share is believed. The test runs twenty times per second, so two deviations would be exceeded
/// every other second.
const MAX_DEVIATIONS: f64 = 2.0;
const MAX_DEVIATIONS_BELIEVED: f64 = 4.0;
/// A larger share is not taken for random loss. Hysteria gives up at 20 %, and lines count as broken well
/// below that.
const MAX_SHARE: f64 = 0.1;
/// Losses come from a queue if the packets before them had longer round trips than the others, by more than
/// this share of the difference between the shortest and the longest. Random losses come at any time, those
/// of a full queue when it is full.
const MIN_DELAY_SHARE: f64 = 0.25;

/// A stretch of the log.
struct SpeedStretch {
    speed: f64,
    packets: f64,
    lost: f64,
}

/// The share of packets that is lost at any speed, if the log shows one. `believed` is the share believed so
/// far, which is kept if the log does not contradict it.
pub fn share<'a>(
    packets: impl Iterator<Item = &'a SentRecord> + Clone,
    packet: f64,
    believed: Option<f64>,
) -> Option<f64> {
    let mut stretches = stretches(packets.clone(), packet);
    stretches.sort_by(|a, b| a.speed.total_cmp(&b.speed));
    let (slow, fast) = stretches.split_at(stretches.len() / 2);
    let sum = |half: &[SpeedStretch], value: fn(&SpeedStretch) -> f64| half.iter().map(value).sum::<f64>();
    let (n, m) = (sum(slow, |s| s.packets), sum(fast, |s| s.packets));
    let (lost, more) = (sum(slow, |s| s.lost), sum(fast, |s| s.lost));
    if n == 0.0 || m == 0.0 {
        return believed;
    }
    let speed = |half: &[SpeedStretch]| sum(half, |s| s.speed) / half.len() as f64;
    let both = (lost + more) / (n + m);
    let deviation = (both * (1.0 - both) * (1.0 / n + 1.0 / m)).sqrt();
    let deviations = if believed.is_some() { MAX_DEVIATIONS_BELIEVED } else { MAX_DEVIATIONS };
    let is_same = more / m - lost / n <= deviations * deviation;
    let is_shown = believed.is_some() || lost >= MIN_LOSSES && speed(fast) >= MIN_SPEED_RATIO * speed(slow);
    Some(lost / n).filter(|share| is_shown && is_same && *share <= MAX_SHARE && !follow_a_queue(packets))
}

fn stretches<'a>(packets: impl Iterator<Item = &'a SentRecord>, packet: f64) -> Vec<SpeedStretch> {
    let mut all = Vec::new();
    let (mut begin, mut bytes, mut lost) = (None, 0.0, 0.0);
    for record in packets {
        let from = *begin.get_or_insert(record.from);
        let time = record.at.since(from).as_secs_f64();
        if bytes >= STRETCH_PACKETS * packet && time > 0.0 {
            all.push(SpeedStretch { speed: bytes / time, packets: bytes / packet, lost: lost / packet });
            (begin, bytes, lost) = (Some(record.from), 0.0, 0.0);
        }
        bytes += f64::from(record.bytes);
        lost += if record.outcome == SentOutcome::Lost { f64::from(record.bytes) } else { 0.0 };
    }
    all
}

/// Whether round trips were long just before the losses.
fn follow_a_queue<'a>(packets: impl Iterator<Item = &'a SentRecord>) -> bool {
    let (mut last, mut n, mut sum, mut before, mut losses) = (None, 0.0, 0.0, 0.0, 0.0);
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for record in packets {
        match record.outcome {
            SentOutcome::Passed(rtt) => {
                let rtt = rtt.as_secs_f64();
                (n, sum, last) = (n + 1.0, sum + rtt, Some(rtt));
                (least, most) = (least.min(rtt), most.max(rtt));
            }
            SentOutcome::Lost => {
                let Some(rtt) = last else { continue };
                (losses, before) = (losses + 1.0, before + rtt);
            }
            SentOutcome::Pending => {}
        }
    }
    n > 0.0 && losses > 0.0 && before / losses - sum / n > MIN_DELAY_SHARE * (most - least)
}
