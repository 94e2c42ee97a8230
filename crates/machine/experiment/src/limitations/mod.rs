//! Finds what holds a variant's flows by counterfactual simulation: the scenario is run again with the same
//! seed and one suspect's effect switched off. The gain shows how much the suspect costs. Counting drops
//! would not work: 507 packets lost in five bursts may cost less than 27 single losses.
//!
//! Each suspect is one file in `suspects/` and one line in its registry. What "switched off" means for each
//! kind:
//!
//! * `loss`, `outage`, `handover`, `radio-errors`, `duplication`, `fault`: the effect is removed. Packets
//!   pass unharmed; the rate and the delay stay the same.
//! * `jitter`: a constant delay equal to its mean, so the path stays as long.
//! * `reordering`: the same delays, but packets stay in order.
//! * `policer`: a shaper with the same rate and a queue of one bandwidth-delay product, or one such shaper
//!   per flow for a per-flow policer. The contracted rate stays; only the dropping ends.
//! * `mtu`: packets of any size pass.
//! * `queue-limit`: a queue as deep as needed, so no packet is dropped for lack of space. AQM becomes a FIFO.
//!   A delay with a packet limit holds 1.5 times the packets that its flows could have in flight.
//! * `standing-queue`: CoDel with the same capacity and rate (FQ-CoDel if flows have separate queues). It
//!   keeps the link busy without a standing queue.
//! * `rate`: twice the rate and twice the queue. A faster link is always faster, so this is a suspect only if
//!   flows reach [`HELD_SHARE`] of the rate or ACKs queue up.
//! * `receive-window`, `send-buffer`, `relay-buffer`, `buffers`: up to 1 GiB, more than the bandwidth-delay
//!   product of any path.
//! * `sack`: SACK enabled.
//! * `slow-start`: a paced initial window of one bandwidth-delay product, as if the flow had already reached
//!   its rate.
//! * `pacing-cap`: no cap.
//! * `application`: bulk data without pauses, or twice the rate for datagrams. A suspect only if the goal is
//!   goodput.
//! * `competing-flow`: the flow starts only when the run ends, so the others have the path to themselves. The
//!   measure remains that of all TCP flows, so two flows that share a link fairly do not hold each other.
//!   Datagram flows that offer more than an equal share are suspects.
//! * `congestion-control`: BBR replaces loss-based controls, and CUBIC replaces BBR. For fairness all flows
//!   use the same control. This does not remove an effect but changes the sender, so it is tried last, if
//!   nothing else has a gain.
//!
//! If no single suspect has a gain, all suspects of a kind are switched off together, and all buffers
//! together: with two equal rate limits in a row, removing only one has no effect.
//!
//! All suspects are tried with the variant's first seed (two seeds for a small scenario). The best few are
//! tried with further seeds and with host jitter. A gain that could be chance across the seeds (Student's t,
//! 95 %) is not reported.
//!
//! Flows that share no link direction with the others form separate parts. All parts use the same runs, but
//! each is judged by its own goodput. The gain of a link's rate counts as at most a factor of two, which is
//! what flows gain that have the link to themselves. If doubling the rate gains more, another flow took most
//! of the link.
//!
//! If the full search would exceed the budget, its runs are shortened (see `length.rs`).
//!
//! The budget is [`MAX_RUNS`] runs and [`MAX_STAGE_PACKETS`] of work, in packets times stages. It does not
//! depend on elapsed time, so the same scenario has the same limitations on every machine.

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
use result::{Limitation, LimitationSearch};
use scenario::{Scenario, Variant};
use search::{Finder, weight};
use std::num::NonZeroUsize;
use units::Goal;

/// Maximum number of runs per variant: about 20 suspects for a path with a dozen stages and two seeds, and
/// six suspects with up to eight more seeds.
pub const MAX_RUNS: u64 = 120;
/// Maximum total work of these runs, packets times stages: about three seconds on one core.
pub const MAX_STAGE_PACKETS: u64 = 30_000_000;
/// Flows that reach this share of a rate are held by it. In steady state, TCP keeps a link with a queue of a
/// quarter of the bandwidth-delay product about 95 % busy, and the start costs a few percent of a short run.
/// Below 90 %, something else contributes.
pub const HELD_SHARE: f64 = 0.9;
/// Smaller gains are not reported: runs of the same path differ by as much between seeds.
pub const MIN_GAIN: f64 = 1.05;
/// Limitations with gains within this factor are ordered by the registry, with the more specific one first,
/// such as a loss before the rate.
const TIE_FACTOR: f64 = 1.05;
/// Maximum number of limitations to report.
const MAX_LIMITATIONS: usize = 4;
/// Number of seeds to try all suspects of a small scenario with. A large scenario uses only the first seed.
const SCREENING_SEEDS: usize = 2;
/// Suspects with at least this gain are tried with further seeds.
const MIN_CANDIDATE_GAIN: f64 = 1.03;
/// Expected number of candidates, used to choose the length of a run.
const EXPECTED_CANDIDATES: usize = 3;
/// The gain from twice the rate of a link for flows that have the link to themselves.
const MAX_RATE_GAIN: f64 = 2.0;
/// Maximum number of candidates, best first.
const MAX_CANDIDATES: usize = 6;
/// Number of seeds to confirm a limitation with.
const CONFIRMATION_SEEDS: usize = 5;
/// Number of seeds to confirm a holder with in a large scenario.
const FEW_CONFIRMATION_SEEDS: usize = 3;
/// Maximum number of seeds, used while the largest gain of a small scenario may be chance. Otherwise a
/// smaller but significant gain would be reported instead.
const MAX_SEEDS: usize = 10;
/// A scenario is small if trying all suspects once is expected to take less than this fraction (one in …) of
/// the budget.
const SMALL_FRACTION: u64 = 6;
/// Number of runs in a batch. It is constant, so the budget ends at the same suspect for any number of cores.
const BATCH_RUNS: usize = 4;
/// If flows are measured one at a time, limitations are searched only for this many flows, starting with the
/// first.
const MAX_SUBJECTS: usize = 3;
/// Upper bound for gains: there is no finite factor between a transfer that ends and one that does not.
const MAX_GAIN: f64 = 1e6;
/// Goodput below this counts as this, Mbit/s, since no finite factor leads from zero to something.
const MIN_GOODPUT_MBPS: f64 = 0.001;
/// Maximum number of samples in the run that counts loss events.
const MAX_SAMPLES: u64 = 20_000;

/// The input of a search for limitations.
#[derive(Clone, Debug)]
pub struct LimitationSearchOptions<'a> {
    /// The variant to search, usually the baseline.
    pub variant: &'a Variant,
    /// The seeds that the variant ran with.
    pub seeds: &'a [u64],
    /// The goals to judge by, most important first.
    pub goals: &'a [Goal],
    /// Number of parallel runs; `None`: one per core.
    pub threads: Option<NonZeroUsize>,
}

/// Finds what holds the variant's flows. Returns the limitations, largest gain first, and how the search
/// went.
pub fn find_limitations(options: &LimitationSearchOptions<'_>) -> (Vec<Limitation>, LimitationSearch) {
    let mut search = LimitationSearch::default();
    let scenario = &options.variant.scenario;
    if scenario.flows.is_empty() {
        search.unknown = Some("the scenario has no flows".into());
        return (Vec::new(), search);
    }
    let mut budget = Budget::new(MAX_RUNS, MAX_STAGE_PACKETS);
    let mut limitations = Vec::new();
    let subjects = subjects(scenario);
    for (i, &only) in subjects.iter().enumerate() {
        let work = budget.work_left() / (subjects.len() - i) as u64;
        limitations.extend(Finder::new(options, only).find(work, &mut budget, &mut search));
    }
    (search.runs, search.stage_packets) = (budget.runs, budget.stage_packets);
    limitations.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    search.tried.sort_by(|a, b| b.gain.unwrap_or(0.0).total_cmp(&a.gain.unwrap_or(0.0)));
    if limitations.is_empty() && search.tried.is_empty() && !search.untried.is_empty() {
        search.unknown = Some("the scenario is too large for the budget".into());
    }
    (limitations, search)
}

/// The subjects to search: `None` stands for all flows together. If flows are measured one at a time: the
/// first few flows.
fn subjects(scenario: &Scenario) -> Vec<Option<usize>> {
    if !scenario.one_at_a_time {
        return vec![None];
    }
    (0..scenario.flows.len().min(MAX_SUBJECTS)).map(Some).collect()
}
