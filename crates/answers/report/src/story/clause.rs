//! The statements of the story as data. `words.rs` puts them into sentences.

use super::change::Change;
use result::{Limitation, Measure, TriedSuspect};
use units::Goal;

/// A value of a measure in two variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The quantity that is measured, and its flows.
    pub measure: Measure,
    /// The baseline's value, in the measure's unit.
    pub was: f64,
    /// The variant's value.
    pub is: f64,
}

/// A variant compared with the baseline: what it changes, gains and costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Better {
    pub goal: Goal,
    pub variant: String,
    /// Index of the result, and of the variant in it.
    pub at: [usize; 2],
    /// The changes from the baseline, as far as the result records them.
    pub changes: Vec<Change>,
    /// The goal's value in the baseline and the variant.
    pub effect: Effect,
    /// Noticeable gains by other measures.
    pub gains: Vec<Effect>,
    /// Noticeable losses by other measures.
    pub costs: Vec<Effect>,
}

/// The goodput of flows that share a direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name of the first flow.
    pub flow: String,
    /// The number of further flows.
    pub more: usize,
    pub datagrams: bool,
    /// Goodput of all flows, Mbit/s.
    pub mbps: f64,
    /// The limit of a single flow that has its path to itself, Mbit/s.
    pub limit: Option<f64>,
    /// The limit of these flows, if it was found for them alone.
    pub limitation: Option<Limitation>,
}

/// A statement about the result.
#[derive(Clone, Debug, PartialEq)]
pub enum Clause {
    /// No payload arrived in the baseline.
    Nothing { variant: String },
    /// The baseline's goodput.
    Carries {
        variant: String,
        /// Goodput of TCP, Mbit/s.
        tcp: Option<f64>,
        /// Goodput of datagrams, Mbit/s.
        udp: Option<f64>,
        /// The limit that all payload shared, Mbit/s.
        limit: Option<f64>,
        /// A rate on the path varies: the limit is a mean, which a short run may exceed.
        varies: bool,
    },
    /// The baseline's goodput by path, for paths that share no direction of a link: their sum would be
    /// meaningless.
    CarriesByPath {
        variant: String,
        /// Goodput by path, in the order of the flows; at least two.
        parts: Vec<Part>,
    },
    /// The baseline's value of a goal other than goodput.
    Has {
        variant: String,
        measure: Measure,
        /// In the measure's unit.
        value: f64,
    },
    /// One or more flows carried nothing or next to nothing while others carried payload.
    Starved {
        /// The starved flow with the least goodput.
        flow: String,
        /// The number of further starved flows.
        more: usize,
        /// The largest goodput of the starved flows, Mbit/s.
        mbps: f64,
        /// If none of them carried anything: the shortest of their active times, s.
        seconds: Option<f64>,
        /// The flow with the largest goodput, and its goodput, Mbit/s.
        most: (String, f64),
    },
    /// Many flows were measured one at a time; only the worst and the best are reported.
    Extremes {
        /// The number of flows.
        flows: usize,
        /// The goal by which they are the worst and the best.
        goal: Goal,
    },
    /// Some transfers did not finish.
    Unfinished {
        unfinished: u64,
        /// All transfers.
        all: u64,
    },
    /// A limit of the baseline's flows, as measured by a run without it. The headline names the first one.
    Held {
        /// The limiting factor and its cost.
        limitation: Limitation,
        /// The limit is the most costly of all; for flows with paths of their own, of theirs.
        most: bool,
        /// The numbers are those of a part of the flows, which [`Limitation::flow`] names.
        of_part: bool,
    },
    /// Without this suspect the mean was noticeably better, but the difference is within the runs' spread.
    Perhaps {
        /// The removed suspect, and the mean gain.
        suspect: TriedSuspect,
    },
    /// Every suspect was removed in turn, and none gained anything beyond chance.
    NoSuspectHelps {
        /// The number of suspects.
        tried: usize,
    },
    /// The stage of the path that dropped the most packets.
    Dropped {
        element: String,
        kind: String,
        /// Packets that the stage dropped.
        dropped: u64,
        /// Packets that reached the stage.
        came: u64,
    },
    /// Data packets were lost at unknown places.
    Lost {
        /// Their share, %.
        share: f64,
    },
    /// Packets were too big for a stage, and their senders were not notified.
    BlackHole {
        element: String,
        kind: String,
        /// The largest packet that did not fit, bytes.
        size_bytes: u32,
        mtu_bytes: u32,
    },
    /// Packets were too big for a stage, and senders reduced their segments.
    CutSegments {
        mtu_bytes: u32,
        /// Payload of the reduced segments, bytes.
        mss_bytes: u32,
    },
    /// A stage split packets into fragments.
    Fragmented {
        element: String,
        kind: String,
        /// Packets that the stage split.
        cut: u64,
        /// Packets that reached the stage.
        came: u64,
        /// Fragments that the split packets became.
        fragments: u64,
    },
    /// Time that flows spent waiting for retransmission timeouts.
    Waited {
        /// The congestion control of the flows that waited most.
        cc: String,
        /// Mean share of the flows' time, 0 to 1.
        share: f64,
    },
    /// Time that flows spent in loss recovery.
    Repaired {
        /// The congestion control of the flows that spent the most time.
        cc: String,
        /// Mean share of the flows' time, 0 to 1.
        share: f64,
    },
    /// The RTT grew far above its minimum, and a queue stood.
    Queued {
        /// The minimum RTT of the flow with the largest 95th percentile, ms.
        min_delay_ms: f64,
        /// The 95th percentile of that flow's RTT, ms.
        p95_ms: f64,
        /// The stage with the longest queue of those that delayed packets enough to explain the growth.
        element: String,
        kind: String,
        /// The maximum length of that queue, packets.
        packets: u64,
    },
    /// Flows with the same direction and limit got unequal shares.
    Unfair {
        /// The flow with the largest share, and its goodput, Mbit/s.
        most: (String, f64),
        /// The flow with the smallest share, and its goodput, Mbit/s.
        least: (String, f64),
    },
    /// Almost no loss, no standing queue, and each flow is at its bound: its limit, or what its application
    /// sends.
    Clean,
    /// Flows got less than their limit, and the reason is unknown.
    Unexplained {
        /// The scenario was too large to simulate without each suspect.
        too_large: bool,
    },
    /// A variant that does better by the goal.
    Better(Better),
    /// A variant that is as good by the goal and better by another measure, at no cost.
    AsGood(Better),
    /// A variant that is the best by a measure other than the goal; its gains hold those measures.
    Leads(Better),
    /// Variants whose mean of the goal differs from the baseline's, but not significantly.
    Open {
        goal: Goal,
        measure: Measure,
        /// The baseline's mean.
        was: Option<f64>,
        /// The variants' names and means.
        variants: Vec<(String, f64)>,
        /// Runs of each variant.
        repeats: usize,
    },
    /// Variants with results identical to the baseline's.
    Same {
        baseline: String,
        variants: Vec<String>,
        /// The changes of the first of them.
        changes: Vec<Change>,
    },
    /// A variant with other flows, and the effect on a flow that both have.
    OtherFlows {
        variant: String,
        /// The effect on that flow's goodput.
        effect: Effect,
    },
    /// Other variants in which no payload arrived.
    Idle { variants: Vec<String> },
    /// No other variant does better by the goal.
    Best {
        goal: Goal,
        /// The number of variants that were compared.
        others: usize,
        /// All other variants were comparable.
        all: bool,
    },
    /// Simulator and kernel compared by the flow whose goodput differs most.
    ClocksGoodput {
        variant: String,
        flow: String,
        /// Goodput on the first clock, Mbit/s.
        first: f64,
        /// Goodput on the second clock, Mbit/s.
        second: f64,
    },
    /// Simulator and kernel, if their drops or retransmissions differ much.
    ClocksCount {
        variant: String,
        /// The count is of retransmissions, not of drops.
        resent: bool,
        /// Packets on the first clock.
        first: u64,
        /// Packets on the second clock.
        second: u64,
    },
}
