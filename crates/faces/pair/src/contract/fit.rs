//! Which rate and bucket explain what was lost.

use super::log::{SentLog, SentOutcome, SentRecord, replay};
use super::{ContractTerms, LARGEST_BUCKET as MOST};
use units::Time;

/// Fewer drops prove nothing: of eight random ones all stand within two packets of the top of a bucket of ten packets once
/// in 400,000 times (0.2^8).
const FEWEST_DROPS: usize = 8;
/// Where the log does not begin with a full bucket: drops at random while one speed is kept drift by the root of a twelfth of
/// their number from the line between the first and the last (a Brownian bridge), 1.4 packets of 24, so that fewer than half
/// stay near.
const FEWEST_ANEW: usize = 24;
/// A rate is off by what counts as near over the bytes that passed between the first drop and the last: by 0.8 % of so many
/// times that, half of what is left below the rate ([`super::BELOW`]).
const LEAST_NEARS: f64 = 128.0;
/// Packets that pass in a run that counts.
const RUN: f64 = 16.0;
/// For a suspicion, so many times that: the rate is known to an eighth.
const FEW_NEARS: f64 = 8.0;
/// Drops within so many packets of the bucket count as explained: the packet that found no room, and half of one for the
/// rate's error over the log;
const NEAR: f64 = 1.5;
/// and within what the rate brings in so many seconds: timers and schedulers between this clock and the policer are late by
/// some milliseconds (docs/lab.md), which a deficit does not know.
const LATE: f64 = 0.002;
/// The share of drops that have to be explained. Startup overshoots several fold, so most drops are the policer's even where
/// 5 % are lost besides.
const EXPLAINED: f64 = 0.8;
/// The sender must have been faster than the rate by this at some time: slower than a pacing gain of 1.25 (BBR's probe),
/// which is the least by which a sender that looks for more is faster.
const FASTER: f64 = 1.15;
/// So much of what it was faster by must be lost. Where 5 % are lost at random, a sender that is a quarter faster loses a
/// quarter of what a policer would drop.
const OVERFLOW: f64 = 0.5;
/// Where the round trip grows by more than this share of what a queue of the deficit would add, it is a queue: half-way
/// between none (a policer) and all of it.
const QUEUE: f64 = 0.5;
/// A rate so much higher or lower must not explain the drops: over [`LEAST_NEARS`] its deficits drift by four times what
/// is near, so that half of evenly spread drops stays near.
const PINNED: f64 = 1.0 / 32.0;
/// What may be lost of what is sent within a contract: what is promised of this pacer.
const ALLOWED: f64 = 0.005;
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
    /// How far apart the middle half of the drops' deficits stands, bytes.
    pub spread: f64,
}

/// A drop: when, and how many bytes had passed.
struct Drop {
    at: Time,
    passed: f64,
}

/// What the log shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContractEvidence {
    /// No contract.
    Nothing,
    /// One whose rate is known to an eighth, bytes a second.
    Suspected(f64),
    /// This one.
    Found(ContractTerms),
}

/// How sure a fit is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FitStrictness {
    /// As sure as packets are paced by it.
    Sure,
    /// As sure as is worth a survey.
    Suspicion,
}

/// The contract that the log shows, if it shows one.
pub fn find(log: &SentLog, packet: f64, known: Option<&ContractTerms>) -> ContractEvidence {
    let (packets, is_whole) = log.fitted();
    // All of it, and what is newest: after a change the older part tells of another contract.
    let newest = packets.len().saturating_sub(packets.len() / 4);
    let find = |how| {
        let whole = find_in(&packets, is_whole, packet, known, how);
        whole.or_else(|| find_in(&packets[newest..], false, packet, known, how))
    };
    if let Some(fit) = find(FitStrictness::Sure) {
        return ContractEvidence::Found(ContractTerms::of(fit.rate, fit.bucket));
    }
    find(FitStrictness::Suspicion)
        .map_or(ContractEvidence::Nothing, |fit| ContractEvidence::Suspected(fit.rate))
}

/// Whether what is believed stands, by a log that has lost its beginning: of its newest quarter no more was lost within the contract
/// than is allowed. From drop to drop such a log shows what was sent, not what might have been: where the bucket was full in between,
/// what was sent and a larger bucket explain as much as the truth does. Drops beyond the bucket are foretold, and no news.
pub fn still_stands(log: &SentLog) -> bool {
    let (packets, is_whole) = log.fitted();
    let newest = &packets[packets.len() - packets.len() / 4..];
    let bytes = |of: fn(&SentRecord) -> bool| {
        newest.iter().filter(|p| of(p)).map(|p| f64::from(p.bytes)).sum::<f64>()
    };
    !is_whole && bytes(SentRecord::is_lost_within) <= ALLOWED * bytes(|_| true)
}

/// The bytes that pin a rate.
pub fn pinned_by(rate: f64, packet: f64) -> f64 {
    LEAST_NEARS * near_by(rate, packet)
}

fn find_in(
    packets: &[SentRecord],
    is_whole: bool,
    packet: f64,
    known: Option<&ContractTerms>,
    how: FitStrictness,
) -> Option<ContractFit> {
    // Without knowing what the bucket held, the first drop says it: nothing.
    let from = if is_whole { 0 } else { packets.iter().position(|p| p.fate == SentOutcome::Lost)? };
    let packets = &packets[from..];
    let drops = drops(packets);
    if drops.len() < if is_whole { FEWEST_DROPS } else { FEWEST_ANEW } {
        return None;
    }
    let span = drops.last()?.at.since(drops.first()?.at).as_secs_f64();
    let mut fits = Vec::new();
    let nears = if how == FitStrictness::Sure { LEAST_NEARS } else { FEW_NEARS };
    let is_long = |slope: &f64| span * slope >= nears * near_by(*slope, packet);
    let slopes = slopes(&drops);
    let runs = slopes.iter().filter_map(|rate| full_runs(packets, *rate, packet));
    // Of what runs say the longest say it best.
    let runs = runs.max_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let pinned = runs.filter(|runs| runs.error(packet) <= PINNED / 2.0);
    let own = pinned.map(|runs| runs.rate);
    for slope in slopes.into_iter().filter(is_long).chain(own) {
        let near = (-STEPS..=STEPS).map(|k| slope + f64::from(k) * 0.5 * packet / span);
        fits.extend(near.filter(|rate| *rate > 0.0).map(|rate| judge(packets, rate, packet, is_whole)));
    }
    let most = fits.iter().map(|fit| fit.explained).fold(0.0, f64::max);
    // Of those that explain as much, the one whose drops stand closest together.
    let best = fits.into_iter().filter(|fit| fit.explained >= most.max(EXPLAINED));
    let fit = best.min_by(|a, b| a.spread.total_cmp(&b.spread))?;
    // Runs all through which packets came faster than the rate say it by themselves.
    let is_pinned = pinned.is_some_and(|runs| (runs.rate / fit.rate - 1.0).abs() <= runs.error(packet));
    // A bucket that was full before each drop leaves the rate open: no other one may do as well.
    let is_open = |by: f64| judge(packets, fit.rate * by, packet, is_whole).explained >= EXPLAINED;
    if how == FitStrictness::Sure && !is_pinned && (is_open(1.0 + PINNED) || is_open(1.0 - PINNED)) {
        return None;
    }
    let fits = (known.is_some() || overflows(packets, &fit, packet, is_whole)) && !is_queue(packets, &fit);
    // A log that does not begin with a full bucket shows a part of the bucket only.
    let known = known.map_or(0.0, |known| if is_whole { 0.0 } else { known.bucket });
    let bucket = fit.bucket.max(known).min(MOST * fit.rate).max(packet);
    fits.then_some(ContractFit { bucket, ..fit })
}

fn drops(packets: &[SentRecord]) -> Vec<Drop> {
    let mut passed = 0.0;
    let mut drops = Vec::new();
    for packet in packets {
        match packet.fate {
            SentOutcome::Lost => drops.push(Drop { at: packet.at, passed }),
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

/// Packets from one drop to another between which the bucket was never full, in one run or several.
#[derive(Clone, Copy, Debug)]
struct FullRuns {
    /// What passed over the time: the policer's rate.
    rate: f64,
    /// What passed.
    bytes: f64,
    /// How many there are.
    count: f64,
}

impl FullRuns {
    /// The share by which the rate may be wrong: a packet at the ends of each, and what is late.
    fn error(&self, packet: f64) -> f64 {
        (near_by(self.rate, packet) + (self.count - 1.0) * packet) / self.bytes
    }
}

/// The runs of drops from each of which to the next as much was sent as a rate brings, or more: what is dropped from an empty
/// bucket finds it no fuller than that. Deficits need not be known for it, so they tell the rate of the smallest bucket.
fn full_runs(packets: &[SentRecord], rate: f64, packet: f64) -> Option<FullRuns> {
    let (mut passed, mut sent) = (0.0, 0.0);
    // Where the run began, and its last drop; what was sent by then.
    let mut run: Option<(Drop, Drop, f64)> = None;
    let (mut bytes, mut time, mut count) = (0.0, 0.0, 0.0);
    let mut end = |run: &Option<(Drop, Drop, f64)>| {
        let Some((from, to, _)) = run else { return };
        if to.passed - from.passed >= RUN * packet {
            bytes += to.passed - from.passed;
            time += to.at.since(from.at).as_secs_f64();
            count += 1.0;
        }
    };
    for record in packets {
        sent += f64::from(record.bytes);
        if record.fate != SentOutcome::Lost {
            passed += f64::from(record.bytes);
            continue;
        }
        let here = Drop { at: record.at, passed };
        let goes_on = run.as_ref().is_some_and(|(_, last, before)| {
            sent - before + packet >= rate * record.at.since(last.at).as_secs_f64()
        });
        if !goes_on {
            end(&run);
        }
        run = match run.filter(|_| goes_on) {
            Some((from, ..)) => Some((from, here, sent)),
            None => Some((Drop { at: record.at, passed }, here, sent)),
        };
    }
    end(&run);
    (time > 0.0).then(|| FullRuns { rate: bytes / time, bytes, count })
}

/// How far from the bucket is near, bytes.
fn near_by(rate: f64, packet: f64) -> f64 {
    NEAR * packet + LATE * rate
}

/// How well a rate explains the drops, and the bucket that goes with it: the share of drops whose deficit stands near the
/// bucket, less the share of packets that passed above it.
///
/// What delays packets on their way to the policer makes deficits look larger than they are, never smaller: the bucket is the
/// lower quartile of the drops' deficits, and half a packet, since a drop stands up to a packet below.
fn judge(packets: &[SentRecord], rate: f64, packet: f64, is_whole: bool) -> ContractFit {
    // Where the bucket was empty at first, deficits are counted from there: only their differences matter.
    let begin = if is_whole { 0.0 } else { EMPTY };
    let (mut at_drops, mut passed) = (Vec::new(), Vec::new());
    replay(packets.iter(), rate, begin, |step| match step.packet.fate {
        SentOutcome::Lost => {
            at_drops.push(step.before);
            step.before
        }
        _ => {
            passed.push(step.after);
            step.after
        }
    });
    let quartile = at_drops.len() / 4;
    let (_, low, _) = at_drops.select_nth_unstable_by(quartile, f64::total_cmp);
    let low = *low;
    let top = low + 0.5 * packet;
    let upper = 3 * quartile;
    let (_, high, _) = at_drops.select_nth_unstable_by(upper, f64::total_cmp);
    let spread = *high - low;
    let near = at_drops
        .iter()
        .filter(|deficit| (**deficit + 0.5 * packet - top).abs() <= near_by(rate, packet))
        .count();
    let above = passed.iter().filter(|deficit| **deficit > top + near_by(rate, packet)).count();
    let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
    let explained = share(near, at_drops.len()) - share(above, passed.len());
    // The deficit comes back to zero where the bucket was full again; what it rose to from there is the bucket.
    let bucket = if is_whole { top } else { rise(packets, rate) };
    ContractFit { rate, bucket: bucket.max(packet), explained, spread }
}

/// Larger than any bucket that is met (2 s of 1 Gbit/s), so that a deficit counted from it does not reach zero.
const EMPTY: f64 = 250e6;

/// The most that the deficit fell below its top and rose again: a bucket holds that at least. Counted without an end, it falls on
/// while the bucket is full, below the rate for as long as one likes; of that nothing rises, and the next drop stands lower by it.
fn rise(packets: &[SentRecord], rate: f64) -> f64 {
    let (mut top, mut low, mut most) = (EMPTY, EMPTY, 0.0f64);
    replay(packets.iter(), rate, EMPTY, |step| {
        low = low.min(step.before);
        if step.packet.fate == SentOutcome::Lost {
            most = most.max(top.min(step.before) - low);
            (top, low) = (step.before, step.before);
            return step.before;
        }
        step.after
    });
    most
}

/// Whether it was lost where the sender was faster than the rate, and as much as a policer drops then, the share 1 - R / S:
/// in stretches that begin with an empty bucket.
fn overflows(packets: &[SentRecord], fit: &ContractFit, packet: f64, is_whole: bool) -> bool {
    const STRETCH: f64 = 32.0;
    let top = if is_whole { fit.bucket } else { EMPTY } - near_by(fit.rate, packet) - packet;
    let (mut due, mut lost) = (0.0, 0.0);
    let (mut begin, mut bytes, mut gone) = (None, 0.0, 0.0);
    replay(packets.iter(), fit.rate, if is_whole { 0.0 } else { EMPTY }, |step| {
        let size = f64::from(step.packet.bytes);
        let is_lost = step.packet.fate == SentOutcome::Lost;
        if let Some(from) = begin {
            bytes += size;
            gone += if is_lost { size } else { 0.0 };
            let time = step.packet.at.since(from).as_secs_f64();
            if bytes >= STRETCH * packet {
                if bytes > FASTER * fit.rate * time {
                    due += bytes - fit.rate * time;
                    lost += gone;
                }
                begin = None;
            }
        } else if step.before >= top {
            (begin, bytes, gone) = (Some(step.packet.at), 0.0, 0.0);
        }
        if is_lost { step.before } else { step.after }
    });
    due >= FEWEST_DROPS as f64 * packet && lost >= OVERFLOW * due
}

/// Whether round trips grow with the deficit, as those of packets that wait do.
fn is_queue(packets: &[SentRecord], fit: &ContractFit) -> bool {
    let mut points = Vec::new();
    replay(packets.iter(), fit.rate, 0.0, |step| match step.packet.fate {
        SentOutcome::Passed(rtt) => {
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
