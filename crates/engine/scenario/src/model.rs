//! What a checked scenario is: names have become indexes, every default is filled in.

use crate::prefix::Prefix;
use crate::relay::Relay;
use crate::service::{HostRoute, ScheduledFault, Service};
use crate::tool::Tool;
use congestion::Control;
use path::Stage;
use serde::{Deserialize, Serialize};
use transport::{App, Stack};
use units::{Goal, Rate, Span};

/// A scenario file: one scenario per variant, parsed and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its name; the file's when it gives none.
    pub name: String,
    /// What it is about; may be empty.
    pub description: String,
    /// What its variants are judged by, as the file states it; may be empty: see [`Experiment::goals`].
    pub goal: Vec<Goal>,
    /// The variant that the others are compared with, as the file states it: see [`Experiment::baseline`].
    pub baseline: Option<String>,
    /// In the order of the file; at least one. Without `[variants]` there is one called `default`.
    pub variants: Vec<Variant>,
}

/// One of the things an experiment compares.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name, fit for a folder.
    pub name: String,
    /// What to run.
    pub scenario: Scenario,
}

/// What to run: a topology and its flows. Hosts, links and relays are told by index.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The experiment's name.
    pub name: String,
    /// How long it runs; 1 ns to 24 h.
    pub duration: Span,
    /// Seed of every random stream.
    pub seed: u64,
    /// Interval of the time series; zero for none.
    pub sample: Span,
    /// Each flow is measured in a run of its own.
    pub one_at_a_time: bool,
    /// The interval over which rates count; `None` for all of the run.
    pub measure: Option<[Span; 2]>,
    /// When hosts are as restless as real ones.
    pub unrest: Unrest,
    /// Those that links name, in order of first mention.
    pub hosts: Vec<Host>,
    /// In the order of the file; at least one.
    pub links: Vec<DuplexLink>,
    /// In the order of the file, used or not.
    pub relays: Vec<Relay>,
    /// In the order of the file, without those that are not enabled; may be empty.
    pub flows: Vec<Flow>,
    /// In the order of the file; mostly none.
    pub faults: Vec<ScheduledFault>,
}

impl Scenario {
    /// The same without time series, for who wants the summary alone; with them where rates count over an interval of their own,
    /// which is read from the series.
    pub fn without_series(mut self) -> Scenario {
        if self.measure.is_none() {
            self.sample = Span::ZERO;
        }
        self
    }
}

/// When hosts are as restless as real ones: starts are not to the nanosecond, programs and interrupts wait their turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unrest {
    /// When a variant is run more than once, so that repeats differ.
    #[default]
    Repeats,
    /// In every run.
    Always,
    /// In none: repeats differ only by what the path draws at random.
    Never,
}

/// An end or a branching point of the topology.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Unique among hosts.
    pub name: String,
    /// Its TCP.
    pub stack: Stack,
    /// Its own addresses with their networks; none: one that follows from its index, see [`Scenario::address`].
    pub addresses: Vec<Prefix>,
    /// What it is told, in the order of the file.
    pub routes: Vec<HostRoute>,
    /// Whether it hands on packets that are not for it.
    pub forward: bool,
    /// Whose it is; `None`: it serves all.
    pub customer: Option<String>,
    /// What it runs.
    pub services: Vec<Service>,
}

impl Host {
    /// A host of which no more is known.
    pub fn plain(name: impl Into<String>) -> Host {
        Host {
            name: name.into(),
            stack: Stack::default(),
            addresses: Vec::new(),
            routes: Vec::new(),
            forward: true,
            customer: None,
            services: Vec::new(),
        }
    }
}

/// Joins two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplexLink {
    /// Unique among links.
    pub name: String,
    /// Two different hosts, as indexes.
    pub between: [usize; 2],
    /// Whose packets alone it carries, as the file says; see [`Scenario::customer_of_link`].
    pub customer: Option<String>,
    /// From the first to the second, in the order packets meet them.
    pub forward: Vec<NamedStage>,
    /// From the second to the first, in the order packets meet them.
    pub backward: Vec<NamedStage>,
}

/// A stage and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedStage {
    /// Unique in its direction of its link: its own, or its kind (`delay`, `delay-2`).
    pub name: String,
    /// What it does.
    pub stage: Stage,
    /// The file that was read into it, as the scenario names it.
    pub file: Option<String>,
    /// The scenario does not have it: the simulator assumes it.
    pub assumed: bool,
}

/// One or more connections alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Unique among flows.
    pub name: String,
    /// Index of the sending host.
    pub from: usize,
    /// Index of the receiving host; another one, and reachable.
    pub to: usize,
    /// Congestion control of the sender; means nothing for UDP.
    pub cc: Control,
    /// How many connections; at least one.
    pub count: u32,
    /// When the first begins.
    pub start: Span,
    /// Time between two starts; the last one is before the end of the run.
    pub stagger: Span,
    /// What it sends.
    pub app: App,
    /// The program that makes its traffic on the kernel; the simulator plays `app`. `None`: longfat itself.
    pub tool: Option<Tool>,
    /// Indexes of the relays it passes, in order; none for UDP.
    pub via: Vec<usize>,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// Upper bound of the pacing rate.
    pub max_pacing_rate: Option<Rate>,
}
