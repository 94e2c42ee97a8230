//! Which rate and bucket explain what was lost.

use super::{ContractTerms, LoggedPacket, PacketFate, PacketLog};
use units::Time;

/// Fewer drops prove nothing: of eight random ones all stand within two packets of the top of a bucket of ten packets once
/// in 400,000 times (0.2^8).
const FEWEST_DROPS: usize = 8;
/// Where the log does not begin with a full bucket: drops at random while one speed is kept drift by the root of a twelfth of
/// their number from the line between the first and the last (a Brownian bridge), 1.4 packets of 24, so that fewer than half
/// stay near.
const FEWEST_ANEW: usize = 24;
/// A rate is off by [`NEAR`] over the time between the first drop and the last: by 0.6 % in 256 packets' time, less than what
/// is left below the rate ([`super::BELOW`]).
const LEAST_PACKETS: f64 = 256.0;
/// Drops within so many packets of the bucket count as explained: the packet that found no room, and half of one for the
/// rate's error over the log.
const NEAR: f64 = 1.5;
/// The share of drops that have to be explained. Startup overshoots several fold, so most drops are the policer's even where
/// 5 % are lost besides.
const EXPLAINED: f64 = 0.8;
/// The sender must have been faster than the rate by this at some time: slower than a pacing gain of 1.25 (BBR's probe),
/// which is the least by which a sender that looks for more is faster.
const FASTER: f64 = 1.15;
/// Where the round trip grows by more than this share of what a queue of the deficit would add, it is a queue: half-way
/// between none (a policer) and all of it.
const QUEUE: f64 = 0.5;
/// A rate so much higher or lower must not explain the drops: over [`LEAST_PACKETS`] its deficits drift by eight packets, so
/// that a fifth of evenly spread drops stays near.
const PINNED: f64 = 1.0 / 32.0;
/// Candidates' neighbours: so many steps of half a packet over the log, to either side.
const STEPS: i32 = 6;

/// A rate and a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContractFit {
    /// Bytes a second.
    pub rate: f64,
    /// Bytes.
    pub bucket: f64,
    /// The share of drops that stand at the bucket.
    pub explained: f64,
}

/// One packet's step through the recurrence.
pub struct DeficitStep<'a> {
    /// The packet.
    pub packet: &'a LoggedPacket,
    /// The deficit that it found.
    pub before: f64,
    /// The deficit with it, had it passed.
    pub after: f64,
}

/// The deficit of a bucket that fills at `rate`, packet by packet; `step` says what it is afterwards.
pub fn replay<'a>(
    packets: impl Iterator<Item = &'a LoggedPacket>,
    rate: f64,
    begin: f64,
    mut step: impl FnMut(DeficitStep<'a>) -> f64,
) {
    let mut deficit = begin;
    let mut last: Option<Time> = None;
    for packet in packets {
        let gone = last.map_or(0.0, |last| packet.from.since(last).as_secs_f64());
        last = Some(packet.at);
        let before = (deficit - rate * gone).max(0.0);
        // Several at once: the bucket fills while they leave.
        let filled = rate * packet.at.since(packet.from).as_secs_f64();
        let after = (before + f64::from(packet.bytes) - filled).max(0.0);
        deficit = step(DeficitStep { packet, before, after });
    }
}

/// A drop: when, and how many bytes had passed.
struct Drop {
    at: Time,
    passed: f64,
}

/// The contract that the log shows, if it shows one.
pub fn find(log: &PacketLog, packet: f64, known: Option<&ContractTerms>) -> Option<ContractFit> {
    let packets: Vec<LoggedPacket> = log.resolved().copied().collect();
    // All of it, and what is newest: after a change the older part tells of another contract.
    let newest = packets.len().saturating_sub(packets.len() / 4);
    let whole = find_in(&packets, log.is_whole(), packet, known);
    whole.or_else(|| find_in(&packets[newest..], false, packet, known))
}

fn find_in(
    packets: &[LoggedPacket],
    is_whole: bool,
    packet: f64,
    known: Option<&ContractTerms>,
) -> Option<ContractFit> {
    // Without knowing what the bucket held, the first drop says it: nothing.
    let from = if is_whole { 0 } else { packets.iter().position(|p| p.fate == PacketFate::Lost)? };
    let packets = &packets[from..];
    let drops = drops(packets);
    if drops.len() < if is_whole { FEWEST_DROPS } else { FEWEST_ANEW } {
        return None;
    }
    let span = drops.last()?.at.since(drops.first()?.at).as_secs_f64();
    let mut fits = Vec::new();
    for slope in slopes(&drops).into_iter().filter(|slope| span * slope >= LEAST_PACKETS * packet) {
        let near = (-STEPS..=STEPS).map(|k| slope + f64::from(k) * 0.5 * packet / span);
        fits.extend(near.filter(|rate| *rate > 0.0).map(|rate| judge(packets, rate, packet, is_whole)));
    }
    let most = fits.iter().map(|fit| fit.explained).fold(0.0, f64::max);
    fits.retain(|fit| fit.explained == most);
    fits.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    // Of those that explain as much, the one in the middle.
    let fit = *fits.get(fits.len() / 2).filter(|fit| fit.explained >= EXPLAINED)?;
    // A bucket that was full before each drop leaves the rate open: no other one may do as well.
    let is_open = |by: f64| judge(packets, fit.rate * by, packet, is_whole).explained >= EXPLAINED;
    if is_open(1.0 + PINNED) || is_open(1.0 - PINNED) {
        return None;
    }
    let fits = (known.is_some() || was_faster(packets, fit.rate, packet)) && !is_queue(packets, &fit);
    // A log that does not begin with a full bucket shows a part of the bucket only.
    let known = known.map_or(0.0, |known| if is_whole { 0.0 } else { known.bucket });
    fits.then_some(ContractFit { bucket: fit.bucket.max(known), ..fit })
}

fn drops(packets: &[LoggedPacket]) -> Vec<Drop> {
    let mut passed = 0.0;
    let mut drops = Vec::new();
    for packet in packets {
        match packet.fate {
            PacketFate::Lost => drops.push(Drop { at: packet.at, passed }),
            _ => passed += f64::from(packet.bytes),
        }
    }
    drops
}

/// Rates from drop to drop, over the longer stretches.
fn slopes(drops: &[Drop]) -> Vec<f64> {
    let last = drops.len() - 1;
    let at = |share: usize| &drops[last * share / 8];
    let pairs = [(0, 8), (0, 6), (0, 4), (1, 8), (2, 8), (2, 6), (3, 7), (4, 8), (5, 8), (6, 8), (1, 5)];
    let slope = |&(a, b): &(usize, usize)| {
        let (a, b) = (at(a), at(b));
        let time = b.at.since(a.at).as_secs_f64();
        (time > 0.0).then(|| (b.passed - a.passed) / time)
    };
    pairs.iter().filter_map(slope).filter(|slope| *slope > 0.0).collect()
}

/// How well a rate explains the drops, and the bucket that goes with it.
fn judge(packets: &[LoggedPacket], rate: f64, packet: f64, is_whole: bool) -> ContractFit {
    // Where the bucket was empty at first, deficits are counted from there: only their differences matter.
    let begin = if is_whole { 0.0 } else { EMPTY };
    let (mut most, mut at_drops) = (0.0f64, Vec::new());
    replay(packets.iter(), rate, begin, |step| match step.packet.fate {
        PacketFate::Lost => {
            at_drops.push(step.before);
            step.before
        }
        _ => {
            most = most.max(step.after);
            step.after
        }
    });
    let near = at_drops.iter().filter(|deficit| **deficit + NEAR * packet >= most).count();
    let explained = near as f64 / at_drops.len().max(1) as f64;
    // The deficit comes back to zero where the bucket was full again; what it rose to from there is the bucket.
    let bucket = if is_whole { most } else { rise(packets, rate) };
    ContractFit { rate, bucket: bucket.max(packet), explained }
}

/// Larger than any bucket that is met (2 s of 1 Gbit/s), so that a deficit counted from it does not reach zero.
const EMPTY: f64 = 250e6;

/// The most that the deficit fell below its top and rose again: a bucket holds that at least.
fn rise(packets: &[LoggedPacket], rate: f64) -> f64 {
    let (mut top, mut low, mut most) = (EMPTY, EMPTY, 0.0f64);
    replay(packets.iter(), rate, EMPTY, |step| {
        low = low.min(step.before);
        if step.packet.fate == PacketFate::Lost {
            most = most.max(top - low);
            (top, low) = (step.before, step.before);
            return step.before;
        }
        step.after
    });
    most
}

/// Whether some stretch was sent faster than the rate: over 32 packets at least, so that one burst does not count.
fn was_faster(packets: &[LoggedPacket], rate: f64, packet: f64) -> bool {
    const STRETCH: f64 = 32.0;
    let (mut first, mut bytes) = (0, 0.0);
    for (i, last) in packets.iter().enumerate().skip(1) {
        bytes += f64::from(last.bytes);
        while bytes - f64::from(packets[first + 1].bytes) >= STRETCH * packet && first + 1 < i {
            first += 1;
            bytes -= f64::from(packets[first].bytes);
        }
        let time = last.at.since(packets[first].at).as_secs_f64();
        if bytes >= STRETCH * packet && bytes > FASTER * rate * time {
            return true;
        }
    }
    false
}

/// Whether round trips grow with the deficit, as those of packets that wait do.
fn is_queue(packets: &[LoggedPacket], fit: &ContractFit) -> bool {
    let mut points = Vec::new();
    replay(packets.iter(), fit.rate, 0.0, |step| match step.packet.fate {
        PacketFate::Passed(rtt) => {
            points.push((step.before / fit.rate, rtt.as_secs_f64()));
            step.after.min(fit.bucket)
        }
        _ => step.before,
    });
    let n = points.len().max(1) as f64;
    let mean = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / n, sum.1 + p.1 / n));
    let both: f64 = points.iter().map(|p| (p.0 - mean.0) * (p.1 - mean.1)).sum();
    let own: f64 = points.iter().map(|p| (p.0 - mean.0).powi(2)).sum();
    own > 0.0 && both / own > QUEUE
}
