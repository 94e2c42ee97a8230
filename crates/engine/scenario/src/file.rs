//! The file as serde and the JSON Schema see it. Doc comments are the schema's descriptions.

use crate::model::Unrest;
use crate::prefix::Prefix;
use crate::relay::RelayTool;
use crate::service::FaultKind;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use transport::Stack;
use units::{Bytes, Rate, Span};

/// A longfat scenario: hosts, the links between them with what limits them, the flows, and the
/// variants to compare.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = "longfat scenario"))]
pub(crate) struct ScenarioFile {
    /// Name of the experiment, in results and reports. Default: the file's name without `.toml`.
    #[serde(default)]
    pub name: Option<String>,
    /// What the experiment is about, in a sentence or two.
    #[serde(default)]
    pub description: String,
    /// How long a run takes, up to 24 h.
    #[serde(default = "ten_seconds")]
    pub duration: Span,
    /// Seed of every random choice: same seed, same result.
    #[serde(default = "one")]
    pub seed: u64,
    /// Interval of the time series; "0s" records none.
    #[serde(default = "ten_milliseconds")]
    pub sample: Span,
    /// Each flow is measured in a run of its own, without the others.
    #[serde(default)]
    pub one_at_a_time: bool,
    /// The interval over which rates count, as "2s..18s"; "all" (default): from the first start of a flow until all are
    /// done, or to the end of the run.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub measure: Option<IgnoredAny>,
    /// When hosts are as restless as real ones, in starts and wake-ups. Default: when a variant is run more than once.
    #[serde(default)]
    pub unrest: Unrest,
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
    /// Hosts by name. One that only forwards, or takes every default, may be left out: links name it.
    #[serde(default)]
    pub hosts: Named<HostTable>,
    /// Links by name.
    #[serde(default)]
    pub links: Named<LinkTable>,
    /// Split-TCP relays by name: each ends one connection and begins another.
    #[serde(default)]
    pub relays: Named<RelayTable>,
    /// Flows by name.
    #[serde(default)]
    pub flows: Named<FlowTable>,
    /// What goes wrong during the run, by name.
    #[serde(default)]
    pub faults: Named<FaultTable>,
    /// Variants by name: what each changes, as dotted paths and their new values, applied in order.
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema; they are taken out of the tree before")]
    pub variants: Named<Overrides>,
}

impl ScenarioFile {
    /// The keys that an override may begin with.
    pub const KEYS: &'static [&'static str] = &[
        "name",
        "description",
        "duration",
        "seed",
        "sample",
        "one_at_a_time",
        "measure",
        "unrest",
        "goal",
        "baseline",
        "hosts",
        "links",
        "relays",
        "flows",
        "faults",
    ];
}

fn ten_seconds() -> Span {
    Span::from_secs(10)
}
fn ten_milliseconds() -> Span {
    Span::from_millis(10)
}
fn one() -> u64 {
    1
}

/// A host.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Host"))]
pub(crate) struct HostTable {
    /// The host's TCP. Default: Linux with every default.
    #[serde(default)]
    pub stack: Stack,
    /// Its addresses, IPv4 or IPv6, each with the bits of its network; flows use the first. Default: 10.0.0.1 and so on, in the
    /// order of the links.
    #[serde(default)]
    pub addresses: Vec<Prefix>,
    /// Routes that it is told; the longest match counts. Where none matches it takes the shortest way, or what BGP says.
    #[serde(default)]
    pub routes: Vec<RouteTable>,
    /// Whether it hands on packets that are not for it.
    #[serde(default = "yes")]
    pub forward: bool,
    /// The customer it belongs to. Hosts of two customers never reach each other, and may have the same addresses; hosts
    /// without serve all, with a routing table for each.
    #[serde(default)]
    pub customer: Option<String>,
    /// What it runs: `ipsec`, `bgp`, `ftp`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::Service>"))]
    #[expect(dead_code, reason = "shape only: services are read from the tree")]
    pub services: Vec<IgnoredAny>,
}

/// A route of a host.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Route"))]
pub(crate) struct RouteTable {
    /// Where it leads: a network, the name of a host, or "default".
    pub to: String,
    /// The neighbour that it leads through.
    pub via: String,
    /// The link to that neighbour. Default: the first between them.
    #[serde(default)]
    pub link: Option<String>,
}

/// Something that goes wrong during the run.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Fault"))]
pub(crate) struct FaultTable {
    /// What: the `link` itself, the `tunnel` over it, the `bgp` sessions over it, or a whole `host`.
    pub kind: FaultKind,
    /// The link; not of a `host`.
    #[serde(default)]
    pub link: Option<String>,
    /// The host that is lost, of kind `host`. It hands on only: no flow begins or ends there.
    #[serde(default)]
    pub host: Option<String>,
    /// When it begins.
    pub at: Span,
    /// How long it lasts.
    pub lasts: Span,
}

/// A link between two hosts, with the stages that packets pass in each direction.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Link"))]
pub(crate) struct LinkTable {
    /// The two hosts it joins. The first is where `forward` begins.
    pub between: [String; 2],
    /// The customer whose packets alone it carries. Default: that of a host at its ends.
    #[serde(default)]
    pub customer: Option<String>,
    /// Stages from the first host to the second, in the order packets meet them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::schema_parts::StageSchema>"))]
    #[expect(dead_code, reason = "shape only: stages are read from the tree")]
    pub forward: Vec<IgnoredAny>,
    /// Stages from the second host to the first, in the order packets meet them.
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
    /// The host it runs on.
    pub host: String,
    /// Bytes it holds for each connection and direction.
    #[serde(default = "four_megabytes")]
    pub buffer: Bytes,
    /// Congestion control of its onward connection. Default: the flow's.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema_parts::controls"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub cc: Option<IgnoredAny>,
    /// The program that it is on the kernel; the simulator has one relay, whatever the program.
    #[serde(default)]
    pub tool: RelayTool,
}

fn four_megabytes() -> Bytes {
    Bytes::new(4_000_000)
}

/// A flow, or `count` flows alike.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Flow"))]
pub(crate) struct FlowTable {
    /// The host that sends (for `request`: that asks).
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// Congestion control of the sender. Default: cubic.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema_parts::controls"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub cc: Option<IgnoredAny>,
    /// How many connections.
    #[serde(default = "single")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000)))]
    pub count: u32,
    /// When the first connection begins.
    #[serde(default)]
    pub start: Span,
    /// Time between the starts of two connections.
    #[serde(default)]
    pub stagger: Span,
    /// What it sends. Default: bulk, to the end of the run.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<transport::App>"))]
    #[expect(dead_code, reason = "shape only: it is read from the tree")]
    pub app: Option<IgnoredAny>,
    /// The program that makes the traffic on the kernel: `iperf3`, or a command that runs on `from`.
    /// The simulator plays `app` instead. Default: longfat itself. Scenarios are code where they have one: whoever runs them
    /// on the kernel runs it.
    #[serde(default)]
    pub tool: Option<String>,
    /// A command that runs on `to` from before the flow begins; not with iperf3, which brings its own. It is code as `tool` is.
    #[serde(default)]
    pub server: Option<String>,
    /// Relays it passes, in order.
    #[serde(default)]
    pub via: Vec<String>,
    /// Differentiated services codepoint.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 63)))]
    pub dscp: u8,
    /// Upper bound of the pacing rate (`SO_MAX_PACING_RATE`). Default: none.
    #[serde(default)]
    pub max_pacing_rate: Option<Rate>,
    /// `false` leaves the flow out, until a variant enables it.
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn single() -> u32 {
    1
}
fn yes() -> bool {
    true
}

/// A table of named things in the order of the file.
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

/// What a variant changes. Read from the tree, before the rest.
#[derive(serde::Deserialize)]
pub(crate) struct Overrides(pub IgnoredAny);
