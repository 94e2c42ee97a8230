//! The checked scenario: names are resolved to indexes and every default is filled in.

use crate::attachment::Attachment;
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
    /// Default: the file's name without `.toml`.
    pub name: String,
    pub description: String,
    /// The goals that variants are judged by, as stated in the file; may be empty. [`Experiment::goals`]
    /// fills in the default.
    pub goal: Vec<Goal>,
    /// The reference variant, as stated in the file. [`Experiment::baseline`] fills in the default.
    pub baseline: Option<String>,
    /// In file order; at least one. A file without `[variants]` has one called `default`.
    pub variants: Vec<Variant>,
}

/// A named scenario of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Valid as a folder name.
    pub name: String,
    pub scenario: Scenario,
}

/// One simulation or kernel run: a topology and its flows. Hosts, links and relays are referred to by index.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The experiment's name.
    pub name: String,
    /// Length of a run, 1 ns to 24 h.
    pub duration: Span,
    /// Seed of every random stream.
    pub seed: u64,
    /// Interval of the time series; zero records none.
    pub sample: Span,
    /// Run each flow alone, one after the other.
    pub one_at_a_time: bool,
    /// The interval over which rates are measured; `None` for the whole run.
    pub measure: Option<[Span; 2]>,
    /// Which runs simulate host jitter.
    pub host_jitter: HostJitter,
    /// In the order in which links first name them.
    pub hosts: Vec<Host>,
    /// In file order; at least one.
    pub links: Vec<DuplexLink>,
    /// In file order, used or not.
    pub relays: Vec<Relay>,
    /// The enabled flows in file order; may be empty.
    pub flows: Vec<Flow>,
    /// In file order; usually none.
    pub faults: Vec<ScheduledFault>,
    /// In file order; usually none.
    pub attachments: Vec<Attachment>,
}

impl Scenario {
    /// Disables the time series, for callers that need only the summary. They stay on if `measure` is set,
    /// because its rates are computed from them.
    pub fn without_series(mut self) -> Scenario {
        if self.measure.is_none() {
            self.sample = Span::ZERO;
        }
        self
    }
}

/// Which runs simulate host jitter: start times that vary, and scheduling delays of programs and interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum HostJitter {
    /// Runs of a variant that is run more than once, so that repeats differ.
    #[default]
    Repeats,
    /// Every run.
    Always,
    /// No run: repeats differ only by the path's random draws.
    Never,
}

/// An end or a branching point of the topology.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    pub name: String,
    pub stack: Stack,
    /// The host's own addresses with prefix lengths. If empty, [`Scenario::address`] derives one from the
    /// index.
    pub addresses: Vec<Prefix>,
    /// Static routes in file order.
    pub routes: Vec<HostRoute>,
    /// Whether the host forwards packets that are addressed to others.
    pub forward: bool,
    /// The customer that owns the host; `None` for a host that serves all customers.
    pub customer: Option<String>,
    pub services: Vec<Service>,
}

impl Host {
    /// A host with default settings.
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

/// A bidirectional link between two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplexLink {
    pub name: String,
    /// Indexes of two different hosts.
    pub between: [usize; 2],
    /// The only customer whose packets the link carries, as stated in the file; see
    /// [`Scenario::customer_of_link`].
    pub customer: Option<String>,
    /// Stages from the first host to the second, in the order in which packets meet them.
    pub forward: Vec<NamedStage>,
    /// Stages from the second host to the first, in the order in which packets meet them.
    pub backward: Vec<NamedStage>,
}

/// A stage of a link's direction and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedStage {
    /// Unique within the direction: the stage's own name, or its kind (`delay`, `delay-2`).
    pub name: String,
    pub stage: Stage,
    /// The file that the stage's data was read from, as named in the scenario.
    pub file: Option<String>,
    /// Whether the simulator added the stage; it is not in the scenario then.
    pub assumed: bool,
}

/// One or more connections with the same parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub name: String,
    /// Index of the sending host.
    pub from: usize,
    /// Index of the receiving host, which differs from `from` and is reachable.
    pub to: usize,
    /// Congestion control of the sender; ignored for UDP.
    pub cc: Control,
    /// Number of connections, at least one.
    pub count: u32,
    /// Start of the first connection.
    pub start: Span,
    /// Time between two starts; the last connection starts before the end of the run.
    pub stagger: Span,
    pub app: App,
    /// The program that generates the traffic on the kernel, while the simulator runs `app`. `None`: longfat
    /// itself.
    pub tool: Option<Tool>,
    /// Indexes of the relays on the path, in order; empty for UDP.
    pub via: Vec<usize>,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// Upper bound of the pacing rate.
    pub max_pacing_rate: Option<Rate>,
}
