//! What the headline says, as data: each number with its unit, each name whole. `words.rs` makes sentences of it.

use super::change::Change;
use result::{Holder, Measure, TriedSuspect};
use units::Goal;

/// A value of a measure in two variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// What is measured, and of what.
    pub measure: Measure,
    /// In the baseline, in the measure's unit.
    pub was: f64,
    /// In the variant.
    pub is: f64,
}

/// What one variant is better at than the baseline, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Better {
    /// What it is judged by.
    pub goal: Goal,
    /// Its name.
    pub variant: String,
    /// Index of its result, and of it in there.
    pub at: [usize; 2],
    /// What it changed of the baseline, as far as a result tells; empty where it does not.
    pub changes: Vec<Change>,
    /// The goal's value in both.
    pub effect: Effect,
    /// What else it gains to speak of, two things at most.
    pub gains: Vec<Effect>,
    /// All that is worse to speak of.
    pub costs: Vec<Effect>,
}

/// What flows that share a direction of a link carried together.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The first of them.
    pub flow: String,
    /// How many more there are.
    pub more: usize,
    /// They are datagrams.
    pub datagrams: bool,
    /// Goodput of them all, Mbit/s.
    pub mbps: f64,
    /// The limit of a flow that has its path to itself, Mbit/s.
    pub limit: Option<f64>,
    /// What holds them, where that was found of them alone.
    pub holder: Option<Holder>,
}

/// A statement about the result.
#[derive(Clone, Debug, PartialEq)]
pub enum Clause {
    /// No payload arrived in the baseline.
    Nothing {
        /// Its name.
        variant: String,
    },
    /// What the baseline carried.
    Carries {
        /// Its name.
        variant: String,
        /// Goodput of TCP, Mbit/s.
        tcp: Option<f64>,
        /// Goodput of datagrams, Mbit/s.
        udp: Option<f64>,
        /// The limit that all of it met, Mbit/s.
        limit: Option<f64>,
        /// A rate on the path varies: the limit is a mean, which a short run may exceed.
        varies: bool,
    },
    /// What the baseline carried over paths that share no direction of a link: a sum of these would be of nothing.
    CarriesApart {
        /// Its name.
        variant: String,
        /// Goodput by path, in the order of the flows: two at least.
        parts: Vec<Part>,
    },
    /// The baseline's value of a goal other than goodput.
    Has {
        /// Its name.
        variant: String,
        /// What is measured.
        measure: Measure,
        /// In its unit.
        value: f64,
    },
    /// A flow, or several, carried nothing or next to nothing beside others that carried.
    Starved {
        /// The one that carried least.
        flow: String,
        /// How many more.
        more: usize,
        /// The most that any of them carried, Mbit/s.
        mbps: f64,
        /// Where none of them carried anything: how long, the shortest of their times, s.
        seconds: Option<f64>,
        /// Who carried most, and its goodput, Mbit/s.
        most: (String, f64),
    },
    /// Of several flows that were measured one at a time only the worst and the best are told.
    Extremes {
        /// How many there are.
        flows: usize,
        /// By what they are the worst and the best.
        goal: Goal,
    },
    /// Of several transfers some did not come to their end.
    Unfinished {
        /// How many.
        unfinished: u64,
        /// Of how many.
        all: u64,
    },
    /// What holds the baseline's flows, as a run without it measured; the first is what the headline names.
    Held {
        /// What it is, and what it costs.
        holder: Holder,
        /// It is the one that costs most; of flows that share nothing with others, that costs them most.
        most: bool,
        /// The numbers are of a part of the flows, which [`Holder::flow`] names.
        of_part: bool,
    },
    /// Without this the goal was met noticeably better on average, but its runs differ by as much.
    Perhaps {
        /// What was switched off, and its mean gain.
        suspect: TriedSuspect,
    },
    /// Every suspect was switched off, and none gained anything beyond chance.
    Unheld {
        /// How many.
        tried: usize,
    },
    /// The stage of the path that dropped most.
    Dropped {
        /// Its name.
        element: String,
        /// Its kind.
        kind: String,
        /// Packets that it dropped.
        dropped: u64,
        /// Packets that came to it.
        came: u64,
    },
    /// Data packets were lost at places that are not known.
    Lost {
        /// Their share, %.
        share: f64,
    },
    /// Packets were too big for a stage, and their senders never heard of it.
    BlackHole {
        /// The stage's name.
        element: String,
        /// Its kind.
        kind: String,
        /// The largest that did not fit, bytes.
        size_bytes: u32,
        /// The largest that fits.
        mtu_bytes: u32,
    },
    /// Packets were too big for a stage, and senders keep to what fits.
    CutSegments {
        /// The largest packet that fits, bytes.
        mtu_bytes: u32,
        /// Payload of the segments that are sent.
        mss_bytes: u32,
    },
    /// A stage cut packets into fragments.
    Fragmented {
        /// Its name.
        element: String,
        /// Its kind.
        kind: String,
        /// Packets that it cut.
        cut: u64,
        /// Packets that came to it.
        came: u64,
        /// What the cut ones became.
        fragments: u64,
    },
    /// Time in which nothing moved until a timeout fired.
    Waited {
        /// The congestion control of the flows that waited most.
        cc: String,
        /// Their time, its share, mean, 0 to 1.
        share: f64,
    },
    /// Time in which losses were repaired.
    Repaired {
        /// The congestion control of the flows that did so most.
        cc: String,
        /// Their time, its share, mean, 0 to 1.
        share: f64,
    },
    /// Round trips grew far beyond the shortest, and a queue stood.
    Queued {
        /// The shortest round trip, ms, averaged over the TCP flows as `p95_ms` is.
        least_ms: f64,
        /// The 95th percentile, ms ([`Measure::Rtt`]).
        p95_ms: f64,
        /// The stage with the longest queue of those that held packets long enough to be the reason.
        element: String,
        /// Its kind.
        kind: String,
        /// The longest that queue was, packets.
        packets: u64,
    },
    /// Flows of the same direction and limit got unlike shares.
    Unfair {
        /// Who got most, and its goodput, Mbit/s.
        most: (String, f64),
        /// Who got least.
        least: (String, f64),
    },
    /// Next to nothing was lost, no queue stood, and each flow is at a bound of its own: its limit, or what its application
    /// sends.
    Clean,
    /// Flows got less than their limit, and nothing that was looked at says why.
    Unexplained {
        /// The scenario was too large to be simulated without each suspect.
        too_large: bool,
    },
    /// A variant that does better by the goal.
    Better(Better),
    /// A variant that does as well by the goal and better by something else, at no cost.
    AsGood(Better),
    /// A variant that is the best by something else than the goal: its gains are what it is the best by.
    Leads(Better),
    /// Variants that differ from the baseline by the goal's mean, but not beyond what chance does.
    Open {
        /// The goal.
        goal: Goal,
        /// What is measured.
        measure: Measure,
        /// The baseline's mean.
        was: Option<f64>,
        /// Their names and means.
        variants: Vec<(String, f64)>,
        /// How often each was run.
        repeats: usize,
    },
    /// Variants whose numbers are the baseline's to the last digit.
    Same {
        /// The baseline's name.
        baseline: String,
        /// Theirs.
        variants: Vec<String>,
        /// What the first of them changed.
        changes: Vec<Change>,
    },
    /// A variant with other flows: what a flow that both have gets.
    OtherFlows {
        /// The variant's name.
        variant: String,
        /// The flow's goodput.
        effect: Effect,
    },
    /// No other variant does better by the goal.
    Best {
        /// The goal.
        goal: Goal,
        /// How many others were compared.
        others: usize,
        /// Those are all that there are.
        all: bool,
    },
    /// Simulator and kernel, at the flow whose goodputs differ most.
    ClocksGoodput {
        /// The variant's name.
        variant: String,
        /// The flow's.
        flow: String,
        /// Goodput on the first clock, Mbit/s.
        first: f64,
        /// On the second.
        second: f64,
    },
    /// Simulator and kernel, where they differ much in what was dropped or sent again.
    ClocksCount {
        /// The variant's name.
        variant: String,
        /// What is counted: packets dropped by all elements, or packets sent again.
        resent: bool,
        /// On the first clock.
        first: u64,
        /// On the second.
        second: u64,
    },
}
