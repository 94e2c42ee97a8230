//! What holds a variant's flows, found by counterfactual: the scenario is simulated again with the same seed and one
//! suspect's effect switched off, and what that gains is what the suspect costs. Drops are not counted for it: 507 packets
//! of five bursts may cost less than 27 single ones.
//!
//! A suspect is one file in `suspects/` and one line of the registry there. What "switched off" means:
//!
//! | kind | what takes the suspect's place | why that |
//! |---|---|---|
//! | `loss`, `outage`, `handover`, `radio-errors`, `duplication`, `fault` | nothing: the packet passes, the rate and the delay stay | the effect has no use of its own |
//! | `jitter` | its mean delay | the path stays as long |
//! | `reordering` | the same delays, in order | the same |
//! | `policer` | a shaper of the same rate with a queue of one bandwidth-delay product; of a policer that is per flow one shaper for each flow | the contract's rate stays, only dropping goes |
//! | `mtu` | any size passes | – |
//! | `queue-limit` | a queue as deep as it needs; what drops early becomes a FIFO; a delay holds half as many packets again as its flows could have in flight | nothing is dropped for want of room |
//! | `standing-queue` | CoDel of the same length, of queues for each flow FQ-CoDel, at the same rate | it keeps the line busy without standing |
//! | `rate` | twice the rate with twice the queue | a faster line is always faster; so it is a suspect only where the flows reach [`NEARLY`] of it, or where the ACKs queue |
//! | `receive-window`, `send-buffer`, `relay-buffer`, `buffers` | up to 1 GiB | no path has a longer product |
//! | `sack` | SACK | – |
//! | `slow-start` | an initial window of the bandwidth-delay product, paced | a flow that is at its rate already |
//! | `pacing-cap` | none | – |
//! | `application` | bulk without pauses; of datagrams twice the rate | a suspect only where goodput is the goal |
//! | `competing-flow` | the flow begins when the run ends | the others have the path alone. The measure stays that of all TCP flows, so that two that share a line fairly do not hold each other; datagrams that offer more than an equal share are suspects |
//! | `congestion-control` | BBR for what answers losses, CUBIC for BBR; for fairness the same control for all | not the removal of an effect but another sender, so it is tried last, where nothing else gains anything |
//!
//! Where no suspect alone gains anything, all of a kind are switched off together, and all buffers: of two limits of one
//! rate in a row neither gains alone.
//!
//! All suspects are tried with the variant's first seed (of a small scenario with two), the best few with further seeds and
//! restless hosts. What does not gain beyond chance over all of them (Student's t, 95 %) is not named.
//!
//! Flows that share no direction of a link with others are looked at apart: the same runs, each part by its own goodput. What a
//! line's rate gains counts as no more than twice, which is what flows have of it that have the line to themselves; where twice
//! the rate gives more, another flow took most of the line.
//!
//! Where the whole search would exceed the budget, its runs are cut short (`length.rs`).
//!
//! The budget is [`MAX_RUNS`] runs and [`MAX_STAGE_PACKETS`] of work, counted in packets times stages and never by the
//! clock: the same scenario has the same holders on every machine.

mod budget;
mod case;
mod change;
mod length;
mod measured;
mod part;
mod search;
mod silence;
mod suspects;

use budget::Budget;
use result::{Holder, HolderSearch};
use scenario::{Scenario, Variant};
use search::{Finder, weight};
use std::num::NonZeroUsize;
use units::Goal;

/// Runs that are simulated at most for one variant: some twenty suspects of a path of a dozen stages with two seeds, six of
/// them with up to eight more.
pub const MAX_RUNS: u64 = 120;
/// Work of all these runs together, packets times stages: some three seconds of one core.
pub const MAX_STAGE_PACKETS: u64 = 30_000_000;
/// Flows that reach this share of a rate are held by it. TCP in steady state through a queue of a quarter of the
/// bandwidth-delay product keeps about 95 %, and a start takes some percent of a short run; below nine tenths something else
/// has a part.
pub const NEARLY: f64 = 0.9;
/// What gains less is not named: runs of the same path with other seeds differ by as much.
pub const NOTICED: f64 = 1.05;
/// Of suspects whose gains are within this factor the more specific one comes first, in the order of the registry: a loss
/// before the rate.
const TIE: f64 = 1.05;
/// Holders that are named at most.
const MAX_HOLDERS: usize = 4;
/// Seeds that all suspects of a small scenario are tried with; of a large one it is the first.
const SCREENING: usize = 2;
/// What gains as much with these is tried with further seeds.
const CANDIDATE: f64 = 1.03;
/// Suspects of which so many are expected to be candidates, when the length of a run is chosen.
const LIKELY: usize = 3;
/// What a line of twice the rate gives to flows that have it to themselves.
const DOUBLED: f64 = 2.0;
/// How many candidates, the best first.
const MAX_CANDIDATES: usize = 6;
/// Seeds that a holder is compared with; of a large scenario [`FEW_CONFIRMATIONS`].
const CONFIRMATIONS: usize = 5;
const FEW_CONFIRMATIONS: usize = 3;
/// Seeds at most, as long as the largest gain of a small scenario may be chance: else a smaller one that is sure would be named.
const MAX_SEEDS: usize = 10;
/// A scenario is small where all suspects once are expected to be less than this part of the budget.
const SMALL: u64 = 6;
/// Runs of a batch: a constant, so that the budget ends at the same suspect whatever the number of cores.
const BATCH: usize = 4;
/// Where flows are measured one at a time: holders are looked for of the first ones.
const MAX_SUBJECTS: usize = 3;
/// Gains are bounded: a transfer that ends gains no factor over one that does not.
const MAX_GAIN: f64 = 1e6;
/// From nothing to something has no factor either: goodput of less than this, Mbit/s, counts as this.
const LEAST_MBPS: f64 = 0.001;
/// Samples of the run that loss events are counted in.
const MAX_SAMPLES: u64 = 20_000;

/// What holders are looked for of.
#[derive(Clone, Debug)]
pub struct HolderWish<'a> {
    /// The variant, usually the baseline.
    pub variant: &'a Variant,
    /// The seeds that it ran with.
    pub seeds: &'a [u64],
    /// What it is judged by, the most important first.
    pub goals: &'a [Goal],
    /// How many runs at a time; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
}

/// Looks for what holds the variant's flows: holders, the largest gain first, and how they were looked for.
pub fn find_holders(wish: &HolderWish<'_>) -> (Vec<Holder>, HolderSearch) {
    let mut search = HolderSearch::default();
    let scenario = &wish.variant.scenario;
    if scenario.flows.is_empty() {
        search.unknown = Some("the scenario has no flows".into());
        return (Vec::new(), search);
    }
    let mut budget = Budget::new(MAX_RUNS, MAX_STAGE_PACKETS);
    let mut holders = Vec::new();
    let subjects = subjects(scenario);
    for (i, &only) in subjects.iter().enumerate() {
        let work = budget.work_left() / (subjects.len() - i) as u64;
        holders.extend(Finder::new(wish, only).find(work, &mut budget, &mut search));
    }
    (search.runs, search.stage_packets) = (budget.runs, budget.stage_packets);
    holders.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    search.tried.sort_by(|a, b| b.gain.unwrap_or(0.0).total_cmp(&a.gain.unwrap_or(0.0)));
    if holders.is_empty() && search.tried.is_empty() && !search.left_out.is_empty() {
        search.unknown = Some("the scenario is too large for the budget".into());
    }
    (holders, search)
}

/// `None`: all flows together. Where flows are measured one at a time the first few.
fn subjects(scenario: &Scenario) -> Vec<Option<usize>> {
    if !scenario.one_at_a_time {
        return vec![None];
    }
    (0..scenario.flows.len().min(MAX_SUBJECTS)).map(Some).collect()
}
