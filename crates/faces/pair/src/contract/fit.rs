//! Finds the rate and bucket that explain which packets were lost.

use super::log::{SentLog, SentOutcome, SentRecord, replay};
use super::{ContractTerms, MAX_BUCKET_S};
use units::Time;

/// The fewest drops that prove anything. For a bucket of ten packets, eight random drops are all within two
/// packets of its top once in 400,000 times (0.2^8).
const MIN_DROPS: usize = 8;
/// The fewest drops if the log does not start with a full bucket. Random drops at constant speed deviate from
/// the line between the first and the last by the square root of a twelfth of their number (a Brownian
/// bridge): 1.4 packets for 24 drops, so fewer than half are within the tolerance.
const MIN_DROPS_PARTIAL: usize = 24;
/// The error of a rate is the tolerance divided by the bytes that passed between the first drop and the last.
/// With this many tolerances it is 0.8 %, half of the margin that is kept below the rate
/// ([`super::PACE_BELOW`]).
const SURE_TOLERANCES: f64 = 128.0;
/// A run counts if at least this many packets passed in it.
const MIN_RUN_PACKETS: f64 = 16.0;
/// Enough tolerances for a suspicion: the rate is known to 1/8.
const SUSPICION_TOLERANCES: f64 = 8.0;
/// A drop is explained if its deficit is within this many packets of the bucket: one for the packet that
/// found no room, and half a packet for the error of the rate over the log,
const TOLERANCE_PACKETS: f64 = 1.5;
/// plus what the rate brings in this time. Timers and schedulers between this clock and the policer delay
/// packets by some milliseconds (docs/lab.md), and the deficit does not include that.
const TOLERANCE_S: f64 = 0.002;
/// The share of drops that must be explained. Startup exceeds the rate several times, so most drops come from
/// the policer even if another 5 % are random.
const MIN_EXPLAINED: f64 = 0.8;
/// At some time the sender must have been faster than the rate by this factor. It is less than BBR's probing
/// gain of 1.25, the smallest of all senders that probe for more.
const MIN_OVERSPEED: f64 = 1.15;
/// At least this share of the excess must have been lost. With 5 % random loss, a sender that is 25 % too
/// fast loses a quarter of what a policer would drop.
const MIN_OVERFLOW_LOST: f64 = 0.5;
/// If the round trip grows by more than this share of the delay that a queue as long as the deficit would
/// add, there is a queue: halfway between no queue (a policer) and the whole.
const MAX_RTT_SLOPE: f64 = 0.5;
/// A rate this much higher or lower must not explain the drops as well. Over [`SURE_TOLERANCES`] its deficits
/// drift by four tolerances, so at most half of evenly spread drops stay within the tolerance.
const RATE_OFFSET: f64 = 1.0 / 32.0;
/// The loss that this pacer allows: the largest share of the packets sent within the contract.
const MAX_LOSS: f64 = 0.005;
/// Each candidate rate is also tried this many steps higher and lower. A step is half a packet over the log.
const NEIGHBOUR_STEPS: i32 = 6;

/// A rate and a bucket, and how well they explain the drops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContractFit {
    /// Bytes per second.
    pub rate: f64,
    /// Bytes.
    pub bucket: f64,
    /// The share of drops that are explained.
    pub explained: f64,
    /// The distance between the quartiles of the drops' deficits, bytes.
    pub spread: f64,
}

/// A dropped packet: when it was sent, and how many bytes had passed until then.
struct Drop {
    at: Time,
    passed: f64,
}

/// The contract that a log shows, and how certain it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContractEvidence {
    /// No contract.
    Nothing,
    /// A contract whose rate, bytes per second, is known to 1/8.
    Suspected(f64),
    /// A contract with these terms.
    Found(ContractTerms),
}

/// How certain a fit must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FitStrictness {
    /// Certain enough to pace packets by it.
    Sure,
    /// Certain enough for a survey.
    Suspicion,
}

/// The contract that the log shows, if any.
pub fn find(log: &SentLog, packet: f64, known: Option<&ContractTerms>) -> ContractEvidence {
    let (packets, starts_full) = log.fitted();
    // The whole log, then its newest part: after a change the older part shows the old contract.
    let newest = packets.len().saturating_sub(packets.len() / 4);
    let find = |strictness| {
        let whole = find_in(&packets, starts_full, packet, known, strictness);
        whole.or_else(|| find_in(&packets[newest..], false, packet, known, strictness))
    };
    if let Some(fit) = find(FitStrictness::Sure) {
        return ContractEvidence::Found(ContractTerms::of(fit.rate, fit.bucket));
    }
    find(FitStrictness::Suspicion)
        .map_or(ContractEvidence::Nothing, |fit| ContractEvidence::Suspected(fit.rate))
}

/// Whether the believed contract still holds, for a log that no longer starts with a full bucket: in its
/// newest quarter, no more was lost within the contract than is allowed. Such a log only shows what was sent
/// between drops, not what could have been sent. If the bucket was full in between, the rate sent with a
/// larger bucket explains as much as the true terms. Drops beyond the bucket are expected and prove nothing.
pub fn still_stands(log: &SentLog) -> bool {
    let (packets, starts_full) = log.fitted();
    let newest = &packets[packets.len() - packets.len() / 4..];
    let bytes = |is_counted: fn(&SentRecord) -> bool| {
        newest.iter().filter(|p| is_counted(p)).map(|p| f64::from(p.bytes)).sum::<f64>()
    };
    !starts_full && bytes(SentRecord::is_lost_within_contract) <= MAX_LOSS * bytes(|_| true)
}

/// The bytes that must pass to determine a rate.
pub fn bytes_to_pin(rate: f64, packet: f64) -> f64 {
    SURE_TOLERANCES * tolerance(rate, packet)
}

fn find_in(
    packets: &[SentRecord],
    starts_full: bool,
    packet: f64,
    known: Option<&ContractTerms>,
    strictness: FitStrictness,
) -> Option<ContractFit> {
    // If the initial level of the bucket is unknown, the log starts at the first drop, where the bucket was
    // empty.
    let from = if starts_full { 0 } else { packets.iter().position(|p| p.outcome == SentOutcome::Lost)? };
    let packets = &packets[from..];
    let drops = drops(packets);
    if drops.len() < if starts_full { MIN_DROPS } else { MIN_DROPS_PARTIAL } {
        return None;
    }
    let span = drops.last()?.at.since(drops.first()?.at).as_secs_f64();
    let mut fits = Vec::new();
    let tolerances = if strictness == FitStrictness::Sure { SURE_TOLERANCES } else { SUSPICION_TOLERANCES };
    let is_long = |slope: &f64| span * slope >= tolerances * tolerance(*slope, packet);
    let slopes = slopes(&drops);
    let runs = slopes.iter().filter_map(|rate| full_runs(packets, *rate, packet));
    // The longest runs are the most accurate.
    let runs = runs.max_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let pinned = runs.filter(|runs| runs.error(packet) <= RATE_OFFSET / 2.0);
    let own = pinned.map(|runs| runs.rate);
    for slope in slopes.into_iter().filter(is_long).chain(own) {
        let near = (-NEIGHBOUR_STEPS..=NEIGHBOUR_STEPS).map(|k| slope + f64::from(k) * 0.5 * packet / span);
        fits.extend(near.filter(|rate| *rate > 0.0).map(|rate| judge(packets, rate, packet, starts_full)));
    }
    let most = fits.iter().map(|fit| fit.explained).fold(0.0, f64::max);
    // Among the fits that explain the most, the one with the smallest spread.
    let best = fits.into_iter().filter(|fit| fit.explained >= most.max(MIN_EXPLAINED));
    let fit = best.min_by(|a, b| a.spread.total_cmp(&b.spread))?;
    // Runs in which packets always came faster than the rate determine it on their own.
    let is_pinned = pinned.is_some_and(|runs| (runs.rate / fit.rate - 1.0).abs() <= runs.error(packet));
    // If the bucket was full before each drop, several rates explain the drops equally well: then none is
    // certain.
    let is_open = |by: f64| judge(packets, fit.rate * by, packet, starts_full).explained >= MIN_EXPLAINED;
    if strictness == FitStrictness::Sure
        && !is_pinned
        && (is_open(1.0 + RATE_OFFSET) || is_open(1.0 - RATE_OFFSET))
    {
        return None;
    }
    let fits = (known.is_some() || overflows(packets, &fit, packet, starts_full)) && !is_queue(packets, &fit);
    // A log that does not start with a full bucket only shows part of the bucket.
    let known = known.map_or(0.0, |known| if starts_full { 0.0 } else { known.bucket });
    let bucket = fit.bucket.max(known).min(MAX_BUCKET_S * fit.rate).max(packet);
    fits.then_some(ContractFit { bucket, ..fit })
}

fn drops(packets: &[SentRecord]) -> Vec<Drop> {
    let mut passed = 0.0;
    let mut drops = Vec::new();
    for packet in packets {
        match packet.outcome {
            SentOutcome::Lost => drops.push(Drop { at: packet.at, passed }),
            _ => passed += f64::from(packet.bytes),
        }
    }
    drops
}

/// Rates between drops that are far apart.
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

/// Runs: packets between two drops between which the bucket was never full.
#[derive(Clone, Copy, Debug)]
struct FullRuns {
    /// Bytes passed divided by time: the policer's rate.
    rate: f64,
    /// Bytes passed in all runs.
    bytes: f64,
    /// The number of runs.
    count: f64,
}

impl FullRuns {
    /// The relative error of the rate: a packet at the ends of each run, and late packets.
    fn error(&self, packet: f64) -> f64 {
        (tolerance(self.rate, packet) + (self.count - 1.0) * packet) / self.bytes
    }
}

/// The runs of drops between which at least as much was sent as the rate brings: a drop happens at an empty
/// bucket, which then was never full. This needs no deficits, so it finds the rate even for the smallest
/// bucket.
fn full_runs(packets: &[SentRecord], rate: f64, packet: f64) -> Option<FullRuns> {
    let (mut passed, mut sent) = (0.0, 0.0);
    // The first and last drop of the current run, and the bytes sent by then.
    let mut run: Option<(Drop, Drop, f64)> = None;
    let (mut bytes, mut time, mut count) = (0.0, 0.0, 0.0);
    let mut end = |run: &Option<(Drop, Drop, f64)>| {
        let Some((from, to, _)) = run else { return };
        if to.passed - from.passed >= MIN_RUN_PACKETS * packet {
            bytes += to.passed - from.passed;
            time += to.at.since(from.at).as_secs_f64();
            count += 1.0;
        }
    };
    for record in packets {
        sent += f64::from(record.bytes);
        if record.outcome != SentOutcome::Lost {
            passed += f64::from(record.bytes);
            continue;
        }
        let here = Drop { at: record.at, passed };
        let continues = run.as_ref().is_some_and(|(_, last, before)| {
            sent - before + packet >= rate * record.at.since(last.at).as_secs_f64()
        });
        if !continues {
            end(&run);
        }
        run = match run.filter(|_| continues) {
            Some((from, ..)) => Some((from, here, sent)),
            None => Some((Drop { at: record.at, passed }, here, sent)),
        };
    }
    end(&run);
    (time > 0.0).then(|| FullRuns { rate: bytes / time, bytes, count })
}

/// How far from the bucket a drop's deficit may be, bytes.
fn tolerance(rate: f64, packet: f64) -> f64 {
    TOLERANCE_PACKETS * packet + TOLERANCE_S * rate
}

/// How well a rate explains the drops, and the bucket that fits it. `explained` is the share of drops whose
/// deficit is within the tolerance of the bucket, minus the share of packets that passed above it.
///
/// Delays on the path to the policer make deficits look larger than they are, never smaller. So the bucket is
/// the lower quartile of the drops' deficits plus half a packet, as a drop is up to one packet below the
/// bucket.
fn judge(packets: &[SentRecord], rate: f64, packet: f64, starts_full: bool) -> ContractFit {
    // If the bucket was empty at first, deficits are counted from there: only their differences matter.
    let begin = if starts_full { 0.0 } else { EMPTY_DEFICIT };
    let (mut at_drops, mut passed) = (Vec::new(), Vec::new());
    replay(packets.iter(), rate, begin, |step| match step.packet.outcome {
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
        .filter(|deficit| (**deficit + 0.5 * packet - top).abs() <= tolerance(rate, packet))
        .count();
    let above = passed.iter().filter(|deficit| **deficit > top + tolerance(rate, packet)).count();
    let share = |n: usize, all: usize| n as f64 / all.max(1) as f64;
    let explained = share(near, at_drops.len()) - share(above, passed.len());
    // The deficit returns to zero when the bucket is full again. The bucket is how far it rose from there.
    let bucket = if starts_full { top } else { rise(packets, rate) };
    ContractFit { rate, bucket: bucket.max(packet), explained, spread }
}

/// Larger than any real bucket (2 s at 1 Gbit/s), so a deficit counted from here never reaches zero.
const EMPTY_DEFICIT: f64 = 250e6;

/// The largest rise of the deficit after it fell below its maximum: the bucket is at least that large. The
/// deficit here has no lower bound, so it keeps falling while the real bucket is full; that fall does not
/// come back, and the next drop's deficit is lower by it.
fn rise(packets: &[SentRecord], rate: f64) -> f64 {
    let (mut top, mut low, mut most) = (EMPTY_DEFICIT, EMPTY_DEFICIT, 0.0f64);
    replay(packets.iter(), rate, EMPTY_DEFICIT, |step| {
        low = low.min(step.before);
        if step.packet.outcome == SentOutcome::Lost {
            most = most.max(top.min(step.before) - low);
            (top, low) = (step.before, step.before);
            return step.before;
        }
        step.after
    });
    most
}

/// Whether packets were lost while the sender was faster than the rate R, and as many as a policer drops at
/// speed S, the share 1 - R / S. Only stretches that start with an empty bucket count.
fn overflows(packets: &[SentRecord], fit: &ContractFit, packet: f64, starts_full: bool) -> bool {
    const STRETCH_PACKETS: f64 = 32.0;
    let top = if starts_full { fit.bucket } else { EMPTY_DEFICIT } - tolerance(fit.rate, packet) - packet;
    let (mut due, mut lost) = (0.0, 0.0);
    let (mut begin, mut bytes, mut lost_bytes) = (None, 0.0, 0.0);
    replay(packets.iter(), fit.rate, if starts_full { 0.0 } else { EMPTY_DEFICIT }, |step| {
        let size = f64::from(step.packet.bytes);
        let is_lost = step.packet.outcome == SentOutcome::Lost;
        if let Some(from) = begin {
            bytes += size;
            lost_bytes += if is_lost { size } else { 0.0 };
            let time = step.packet.at.since(from).as_secs_f64();
            if bytes >= STRETCH_PACKETS * packet {
                if bytes > MIN_OVERSPEED * fit.rate * time {
                    due += bytes - fit.rate * time;
                    lost += lost_bytes;
                }
                begin = None;
            }
        } else if step.before >= top {
            (begin, bytes, lost_bytes) = (Some(step.packet.at), 0.0, 0.0);
        }
        if is_lost { step.before } else { step.after }
    });
    due >= MIN_DROPS as f64 * packet && lost >= MIN_OVERFLOW_LOST * due
}

/// Whether round trips grow with the deficit, as they do if packets are queued.
fn is_queue(packets: &[SentRecord], fit: &ContractFit) -> bool {
    let mut points = Vec::new();
    replay(packets.iter(), fit.rate, 0.0, |step| match step.packet.outcome {
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
    own > 0.0 && both / own > MAX_RTT_SLOPE
}
