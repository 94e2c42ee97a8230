//! Whether the path loses packets however little is sent: then losses say nothing of how much it carries.
//!
//! Whatever is full drops what comes too fast: a policer the share 1 - R / S of what comes at S, a queue all that finds no room.
//! Both spare whoever is slower. A path that loses at random takes the same share at every speed. So stretches of the log are
//! put in the order of their speeds, and the slower half is held against the faster.

use super::{SentOutcome, SentRecord};

/// Packets of one stretch.
const STRETCH: f64 = 32.0;
/// Fewer losses in the slower half do not tell its share: 16 are known to a quarter (1/√16).
const FEWEST: f64 = 16.0;
/// The faster half must be faster by this: BBR's probe is, against its cruise.
const FASTER: f64 = 1.15;
/// Standard deviations by which the halves may differ where nothing is believed yet, and where it is: asked twenty times a
/// second, two would be exceeded every other second.
const SAME: f64 = 2.0;
const STILL_SAME: f64 = 4.0;
/// Where more is lost than this, it is not the path's own. Hysteria gives up at a fifth; lines are called broken well below.
const MOST: f64 = 0.1;
/// Losses are a queue's where the packets before them waited longer than others by more than this share of the difference
/// between the shortest and the longest round trip: random ones come anywhere, those of a full queue at its end.
const LATER: f64 = 0.25;

/// A stretch of the log.
struct SpeedStretch {
    speed: f64,
    packets: f64,
    lost: f64,
}

/// The share that is lost at any speed, if that is what the log shows; of what is believed, if that may stay.
pub fn share<'a>(
    packets: impl Iterator<Item = &'a SentRecord> + Clone,
    packet: f64,
    believed: Option<f64>,
) -> Option<f64> {
    let mut stretches = stretches(packets.clone(), packet);
    stretches.sort_by(|a, b| a.speed.total_cmp(&b.speed));
    let (slow, fast) = stretches.split_at(stretches.len() / 2);
    let sum = |half: &[SpeedStretch], of: fn(&SpeedStretch) -> f64| half.iter().map(of).sum::<f64>();
    let (n, m) = (sum(slow, |s| s.packets), sum(fast, |s| s.packets));
    let (lost, more) = (sum(slow, |s| s.lost), sum(fast, |s| s.lost));
    if n == 0.0 || m == 0.0 {
        return believed;
    }
    let speed = |half: &[SpeedStretch]| sum(half, |s| s.speed) / half.len() as f64;
    let both = (lost + more) / (n + m);
    let deviation = (both * (1.0 - both) * (1.0 / n + 1.0 / m)).sqrt();
    let deviations = if believed.is_some() { STILL_SAME } else { SAME };
    let is_same = more / m - lost / n <= deviations * deviation;
    let is_shown = believed.is_some() || lost >= FEWEST && speed(fast) >= FASTER * speed(slow);
    Some(lost / n).filter(|share| is_shown && is_same && *share <= MOST && !follow_a_queue(packets))
}

fn stretches<'a>(packets: impl Iterator<Item = &'a SentRecord>, packet: f64) -> Vec<SpeedStretch> {
    let mut all = Vec::new();
    let (mut begin, mut bytes, mut lost) = (None, 0.0, 0.0);
    for record in packets {
        let from = *begin.get_or_insert(record.from);
        let time = record.at.since(from).as_secs_f64();
        if bytes >= STRETCH * packet && time > 0.0 {
            all.push(SpeedStretch { speed: bytes / time, packets: bytes / packet, lost: lost / packet });
            (begin, bytes, lost) = (Some(record.from), 0.0, 0.0);
        }
        bytes += f64::from(record.bytes);
        lost += if record.fate == SentOutcome::Lost { f64::from(record.bytes) } else { 0.0 };
    }
    all
}

/// Whether round trips were long just before the losses.
fn follow_a_queue<'a>(packets: impl Iterator<Item = &'a SentRecord>) -> bool {
    let (mut last, mut n, mut sum, mut before, mut losses) = (None, 0.0, 0.0, 0.0, 0.0);
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for record in packets {
        match record.fate {
            SentOutcome::Passed(rtt) => {
                let rtt = rtt.as_secs_f64();
                (n, sum, last) = (n + 1.0, sum + rtt, Some(rtt));
                (least, most) = (least.min(rtt), most.max(rtt));
            }
            SentOutcome::Lost => {
                let Some(rtt) = last else { continue };
                (losses, before) = (losses + 1.0, before + rtt);
            }
            SentOutcome::Open => {}
        }
    }
    n > 0.0 && losses > 0.0 && before / losses - sum / n > LATER * (most - least)
}
