//! The file's tables as serde and the JSON Schema see them. Doc comments become the schema's descriptions.

use crate::attachment::LinkWay;
use crate::model::HostJitter;
use crate::prefix::Prefix;
use crate::relay::RelayTool;
use crate::service::FaultKind;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use transport::Stack;
use units::{Bytes, Rate, Span};

/// A longfat scenario: hosts, the links between them with the stages that limit them, the flows, and the
/// variants to compare.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = "longfat scenario"))]
pub(crate) struct ScenarioFile {
    /// Name of the experiment in results and reports. Default: the file's name without `.toml`.
    #[serde(default)]
    pub name: Option<String>,
    /// Purpose of the experiment, in a sentence or two.
    #[serde(default)]
    pub description: String,
    /// How long a run takes, up to 24 h.
    #[serde(default = "default_duration")]
    pub duration: Span,
    /// Seed of every random choice: the same seed gives the same result.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Interval of the time series; "0s" records none.
    #[serde(default = "default_sample")]
    pub sample: Span,
    /// Measure each flow alone, in a run of its own.
    #[serde(default)]
    pub one_at_a_time: bool,
    /// The interval over which rates are measured, for example "2s..18s". Default "all": from the first
    /// start of a flow until all flows are done, or to the end of the run.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub measure: Option<IgnoredAny>,
    /// Host jitter: start times and wake-ups vary as on real hosts. Default: only if a variant is run more
    /// than once.
    #[serde(default)]
    pub host_jitter: HostJitter,
    /// What variants are judged by, the most important first. Default: what suits the applications.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema_parts::goals"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub goal: Option<IgnoredAny>,
    /// The variant that the others are compared with. Default: the first.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub baseline: Option<IgnoredAny>,
    /// Hosts by name. A host with default settings needs no table: links name it.
    #[serde(default)]
    pub hosts: Named<HostTable>,
    /// Links by name.
    #[serde(default)]
    pub links: Named<LinkTable>,
    /// Split-TCP relays by name: each terminates a TCP connection and opens another.
    #[serde(default)]
    pub relays: Named<RelayTable>,
    /// Flows by name.
    #[serde(default)]
    pub flows: Named<FlowTable>,
    /// Faults during the run, by name.
    #[serde(default)]
    pub faults: Named<FaultTable>,
    /// What `longfat attach FILE` puts links in front of, by name. Simulations and the lab ignore it.
    #[serde(default)]
    pub attach: Named<AttachTable>,
    /// Variants by name: the dotted paths that each changes and their new values, applied in order.
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema; they are taken out of the tree before")]
    pub variants: Named<Overrides>,
}

impl ScenarioFile {
    /// The keys that the path of an override may begin with.
    pub const KEYS: &'static [&'static str] = &[
        "name",
        "description",
        "duration",
        "seed",
        "sample",
        "one_at_a_time",
        "measure",
        "host_jitter",
        "goal",
        "baseline",
        "hosts",
        "links",
        "relays",
        "flows",
        "faults",
        "attach",
    ];
}

/// Returns the name of a top-level key of which earlier versions had another name.
pub(crate) fn current_name(key: &str) -> &str {
    match key {
        "unrest" => "host_jitter",
        key => key,
    }
}

fn default_duration() -> Span {
    Span::from_secs(10)
}
fn default_sample() -> Span {
    Span::from_millis(10)
}
fn default_seed() -> u64 {
    1
}

/// A host.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Host"))]
pub(crate) struct HostTable {
    /// TCP settings. Default: Linux with its defaults.
    #[serde(default)]
    pub stack: Stack,
    /// IPv4 or IPv6 addresses with prefix lengths; flows use the first. Default: 10.0.0.1 and up, in the
    /// order in which links name the hosts.
    #[serde(default)]
    pub addresses: Vec<Prefix>,
    /// Static routes; the longest match wins. Without a match: the BGP route, or the fewest links.
    #[serde(default)]
    pub routes: Vec<RouteTable>,
    /// Whether the host forwards packets that are addressed to others.
    #[serde(default = "default_true")]
    pub forward: bool,
    /// The customer (VRF) that the host belongs to. Hosts of different customers cannot reach each other and
    /// may have the same addresses. A host without a customer serves all, with a routing table for each.
    #[serde(default)]
    pub customer: Option<String>,
    /// The services that the host runs: `ipsec`, `bgp`, `ftp`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::Service>"))]
    #[expect(dead_code, reason = "shape only: services are read from the tree")]
    pub services: Vec<IgnoredAny>,
}

/// A static route of a host.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Route"))]
pub(crate) struct RouteTable {
    /// Destination: a network, the name of a host, or "default".
    pub to: String,
    /// The next hop: a neighbouring host.
    pub via: String,
    /// The link to the next hop. Default: the first one.
    #[serde(default)]
    pub link: Option<String>,
}

/// A fault during the run.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Fault"))]
pub(crate) struct FaultTable {
    /// What fails: the `link` itself, the `tunnel` over it, the `bgp` sessions over it, or a whole `host`.
    pub kind: FaultKind,
    /// The link that is affected; not for kind `host`.
    #[serde(default)]
    pub link: Option<String>,
    /// The host that fails, for kind `host`. It must only forward: no flow or relay may end there.
    #[serde(default)]
    pub host: Option<String>,
    /// Start of the fault.
    pub at: Span,
    /// Duration of the fault.
    pub lasts: Span,
}

/// What `longfat attach FILE` puts a link in front of.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Attach"))]
pub(crate) struct AttachTable {
    /// The link that becomes the target's path.
    pub link: String,
    /// The running target: a container, namespace, process or device, as `longfat attach` takes it.
    pub target: String,
    /// The host of the link that the target stands for. Default: the first of `between`.
    #[serde(default)]
    pub host: Option<String>,
    /// The only direction with a path. Default: both.
    #[serde(default)]
    pub direction: Option<LinkWay>,
    /// The only packets that pass the path, e.g. `host 10.1.0.0/16 port 5432`. Default: all.
    #[serde(default)]
    pub only: Option<String>,
}

/// A link between two hosts, with the stages that packets pass in each direction.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Link"))]
pub(crate) struct LinkTable {
    /// The two hosts that the link connects; `forward` is the direction from the first to the second.
    pub between: [String; 2],
    /// The only customer whose packets the link carries. Default: the customer of a host at its ends.
    #[serde(default)]
    pub customer: Option<String>,
    /// Stages from the first host to the second, in the order in which packets meet them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::schema_parts::StageSchema>"))]
    #[expect(dead_code, reason = "shape only: stages are read from the tree")]
    pub forward: Vec<IgnoredAny>,
    /// Stages from the second host to the first, in the order in which packets meet them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::schema_parts::StageSchema>"))]
    #[expect(dead_code, reason = "shape only: stages are read from the tree")]
    pub backward: Vec<IgnoredAny>,
}

/// A split-TCP relay.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Relay"))]
pub(crate) struct RelayTable {
    /// The host that the relay runs on.
    pub host: String,
    /// Buffer per connection and direction.
    #[serde(default = "default_buffer")]
    pub buffer: Bytes,
    /// Congestion control of the onward connection. Default: the flow's.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema_parts::controls"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub cc: Option<IgnoredAny>,
    /// The program that relays on the kernel; the simulator has one model for all of them.
    #[serde(default)]
    pub tool: RelayTool,
}

fn default_buffer() -> Bytes {
    Bytes::new(4_000_000)
}

/// A flow, or `count` flows with the same parameters.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Flow"))]
pub(crate) struct FlowTable {
    /// The sending host (for `request`: the client).
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// Congestion control of the sender. Default: cubic.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema_parts::controls"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub cc: Option<IgnoredAny>,
    /// Number of connections.
    #[serde(default = "default_count")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000)))]
    pub count: u32,
    /// Start of the first connection.
    #[serde(default)]
    pub start: Span,
    /// Time between the starts of two connections.
    #[serde(default)]
    pub stagger: Span,
    /// The application. Default: bulk, to the end of the run.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<transport::App>"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub app: Option<IgnoredAny>,
    /// The program that generates the traffic on the kernel: `iperf3`, or a command that runs on `from`. The
    /// simulator runs `app` instead. Default: longfat itself. A command is code that is executed when the
    /// scenario runs on the kernel.
    #[serde(default)]
    pub tool: Option<String>,
    /// A command that runs on `to` and is started before the flow; not with iperf3, which has its own
    /// server. It is executed as `tool` is.
    #[serde(default)]
    pub server: Option<String>,
    /// Relays on the path, in order.
    #[serde(default)]
    pub via: Vec<String>,
    /// Differentiated services codepoint.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 63)))]
    pub dscp: u8,
    /// Upper bound of the pacing rate (`SO_MAX_PACING_RATE`). Default: none.
    #[serde(default)]
    pub max_pacing_rate: Option<Rate>,
    /// `false` leaves the flow out unless a variant enables it.
    #[serde(default = "default_true")]
    pub enabled: bool,
}

fn default_count() -> u32 {
    1
}
fn default_true() -> bool {
    true
}

/// A table with user-given names as keys, in file order.
pub(crate) struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct NamedEntries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for NamedEntries<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of names")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }
        }
        d.deserialize_map(NamedEntries(PhantomData))
    }
}

/// The overrides of a variant. They are applied to the tree before it is deserialised.
#[derive(serde::Deserialize)]
pub(crate) struct Overrides(pub IgnoredAny);
