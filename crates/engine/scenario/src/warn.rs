//! Warnings: settings that are valid and yet probably not intended.
//!
//! A warning names a key and says what the setting leads to. It is not an error, because some scenarios need
//! the setting. A host's stack or a relay that one variant leaves unused may serve another variant, so it is
//! reported only if no variant uses it.

use crate::limits::{PathLimits, hosts};
use crate::model::{Experiment, Flow, NamedStage, Scenario};
use crate::relay::Relay;
use crate::route::Hop;
use document::quote;
use path::{QueueConfig, Stage, StageLimit};
use std::collections::BTreeSet;
use transport::App;
use units::{Bytes, Rate, Span};

/// Below this number of round trips a flow shows little more than slow start.
const FEW_ROUND_TRIPS: u64 = 5;
/// A queue is reported if packets can wait in it for longer than this.
const LONG_WAIT: Span = Span::from_secs(1);
/// A policer's bucket is reported if it holds at least this much of its rate: it hardly polices then.
const DEEP_BUCKET: Span = Span::from_secs(2);
/// Length of IPv4 and TCP headers without options, bytes.
const HEADERS: u32 = 40;
/// Maximum number of variants that a warning names.
const MAX_LISTED_VARIANTS: usize = 4;

impl Experiment {
    /// The warnings in file order, as English sentences. Each names its key, and the variants it applies to
    /// unless it applies to all.
    pub fn warnings(&self) -> Vec<String> {
        self.warned().into_iter().map(|w| w.text).collect()
    }

    /// The warnings as data, for callers that use other words or languages.
    pub fn warned(&self) -> Vec<ScenarioWarning> {
        let mut found: Vec<(WarningTemplate, Vec<&str>)> = Vec::new();
        for variant in &self.variants {
            for warning in variant.scenario.warnings() {
                match found.iter_mut().find(|(w, _)| *w == warning) {
                    Some((_, variants)) => variants.push(&variant.name),
                    None => found.push((warning, vec![&variant.name])),
                }
            }
        }
        let all = self.variants.len();
        found.retain(|(warning, variants)| !warning.only_in_all || variants.len() == all);
        let warnings =
            found.into_iter().map(|(WarningTemplate { kind, key, template, values, .. }, variants)| {
                let some = variants.len() < all;
                let only = if some { format!(" (in {})", listed(&variants)) } else { String::new() };
                let text = format!("{key}: {}{only}", filled(template, &values));
                let variants = variants.into_iter().filter(|_| some).map(String::from).collect();
                ScenarioWarning { kind, key, values, variants, text }
            });
        warnings.chain(self.copies()).collect()
    }

    /// A warning for each variant that is identical to the baseline.
    fn copies(&self) -> impl Iterator<Item = ScenarioWarning> {
        let baseline = self.variants.iter().find(|v| Some(v.name.as_str()) == self.baseline());
        let copies = self
            .variants
            .iter()
            .filter(move |v| baseline.is_some_and(|base| base.name != v.name && base.scenario == v.scenario));
        let name = self.baseline().unwrap_or_default();
        copies.map(move |v| {
            let key = format!("variants.{}", quote(&v.name));
            let values = vec![("baseline", name.to_string())];
            let text = format!("{key}: {}", filled(COPY, &values));
            ScenarioWarning { kind: "copy", key, values, variants: Vec::new(), text }
        })
    }
}

/// The names joined by commas; a long list is cut.
fn listed(names: &[&str]) -> String {
    match names {
        _ if names.len() <= MAX_LISTED_VARIANTS => names.join(", "),
        _ => format!(
            "{} and {} more",
            names[..MAX_LISTED_VARIANTS - 1].join(", "),
            names.len() + 1 - MAX_LISTED_VARIANTS
        ),
    }
}

/// The template of the warning about a variant that is identical to the baseline.
const COPY: &str = "no change: the same as {baseline}";

/// A warning as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioWarning {
    /// Identifier of the kind of warning, for example `small-bucket`.
    pub kind: &'static str,
    /// The key that the warning is about, as `--set` takes it.
    pub key: String,
    /// The values in the sentence, by placeholder name.
    pub values: Vec<(&'static str, String)>,
    /// Names of the variants that the warning applies to; empty if it applies to all.
    pub variants: Vec<String>,
    /// The warning as an English sentence with its key.
    pub text: String,
}

/// The template with its placeholders replaced by the values.
fn filled(template: &str, values: &[(&'static str, String)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').unwrap_or((after, ""));
        text += before;
        text += values.iter().find(|v| v.0 == name).map_or("", |v| &v.1);
        rest = behind;
    }
    text + rest
}

#[derive(PartialEq, Eq)]
struct WarningTemplate {
    kind: &'static str,
    /// The key that the warning is about, as `--set` takes it.
    key: String,
    /// English sentence with the names of `values` in braces.
    template: &'static str,
    values: Vec<(&'static str, String)>,
    /// Whether to report the warning only if it applies to every variant.
    only_in_all: bool,
}

impl WarningTemplate {
    fn new<const N: usize>(
        kind: &'static str,
        key: impl Into<String>,
        template: &'static str,
        values: [(&'static str, String); N],
    ) -> WarningTemplate {
        WarningTemplate { kind, key: key.into(), template, values: values.into(), only_in_all: false }
    }
}

/// A stage on a flow's path.
struct PathStage<'a> {
    key: String,
    stage: &'a Stage,
    /// The largest packet of the flow that arrives at the stage, bytes.
    size: u32,
}

impl Scenario {
    fn warnings(&self) -> Vec<WarningTemplate> {
        if self.flows.is_empty() {
            let text = "no flow is enabled: nothing will be sent";
            return vec![WarningTemplate::new("no-flows", "flows", text, [])];
        }
        let mut warnings: Vec<WarningTemplate> = Vec::new();
        let mut seen = BTreeSet::new();
        for (i, flow) in self.flows.iter().enumerate() {
            let path = self.path_stages(flow);
            warnings.extend(self.times(flow));
            warnings.extend(self.unlimited(flow, &path));
            warnings.extend(self.flood(i, flow));
            for stage in &path {
                let more = [
                    small_bucket(stage),
                    deep_bucket(stage),
                    peak(stage),
                    long_queue(flow, stage),
                    short_queue(stage),
                ];
                // Flows that pass the same stage cause the same warning.
                warnings.extend(
                    more.into_iter()
                        .flatten()
                        .filter(|w| seen.insert((w.key.clone(), w.template, w.values.clone()))),
                );
            }
        }
        warnings.extend(self.unused());
        warnings
    }

    /// The stages on the path of the flow's data, in order.
    fn path_stages<'a>(&'a self, flow: &Flow) -> Vec<PathStage<'a>> {
        let hosts = hosts(self, flow);
        let mut path = Vec::new();
        for leg in hosts.windows(2) {
            // Packet sizes before each tunnel entered so far, to restore at its end.
            let (mut size, mut tunnels) = (self.largest_packet(flow, leg[0], leg[1]), Vec::new());
            for hop in self.route(leg[0], leg[1]).unwrap_or_default() {
                for (stage, key) in self.stages(hop) {
                    path.push(PathStage { key, stage: &stage.stage, size });
                    match &stage.stage {
                        Stage::Tunnel(tunnel) => {
                            tunnels.push(size);
                            size = tunnel.outer(size).min(tunnel.mtu.unwrap_or(u32::MAX));
                        }
                        Stage::TunnelEnd(_) => size = tunnels.pop().unwrap_or(size),
                        _ => {}
                    }
                }
            }
        }
        path
    }

    /// The stages of a hop, each with its key.
    fn stages(&self, hop: Hop) -> impl Iterator<Item = (&NamedStage, String)> {
        let link = &self.links[hop.link];
        let (way, list) = if hop.forward { ("forward", &link.forward) } else { ("backward", &link.backward) };
        list.iter().map(move |s| (s, format!("links.{}.{way}.{}", quote(&link.name), quote(&s.name))))
    }

    /// The largest IP packet that a flow sends between two hosts, bytes.
    fn largest_packet(&self, flow: &Flow, from: usize, to: usize) -> u32 {
        if let Some(pattern) = flow.app.datagrams(self.udp_header(to)) {
            return pattern.size;
        }
        let mss = [from, to].into_iter().filter_map(|h| self.hosts[h].stack.mss);
        mss.fold(self.mtu(from, to), |least, mss| least.min(mss + HEADERS + self.extra_ip_header(to)))
    }

    /// The round-trip time of a flow's path without queueing; with relays the sum over its connections.
    pub fn base_rtt(&self, flow: &Flow) -> Span {
        let hosts = hosts(self, flow);
        let legs = hosts.windows(2).flat_map(|leg| [[leg[0], leg[1]], [leg[1], leg[0]]]);
        let hops = legs.flat_map(|[a, b]| self.route(a, b).unwrap_or_default());
        let delays = hops.flat_map(|hop| self.stages(hop)).map(|(s, _)| match &s.stage {
            Stage::Delay(delay) => delay.delay,
            Stage::Link(link) => link.delay,
            Stage::RateTrace(link) => link.delay,
            Stage::Jitter(jitter) => jitter.delay,
            _ => Span::ZERO,
        });
        Span::from_nanos(delays.fold(0, |sum: u64, d| sum.saturating_add(d.as_nanos())))
    }

    /// Warns of a flow that starts too late or has time for few round trips only.
    fn times(&self, flow: &Flow) -> Option<WarningTemplate> {
        let name = quote(&flow.name);
        let last = flow.start + flow.stagger * u64::from(flow.count.saturating_sub(1));
        if let Some([_, end]) = self.measure.filter(|[_, end]| flow.start >= *end) {
            let text = "it starts at {start}, but `measure` ends at {end}: it is not measured";
            let values = [("start", flow.start.to_string()), ("end", end.to_string())];
            return Some(WarningTemplate::new("begins-late", format!("flows.{name}.start"), text, values));
        }
        let (left, rtt) = (self.duration.saturating_sub(last), self.base_rtt(flow));
        if u128::from(left.as_nanos()) >= u128::from(rtt.as_nanos()) * u128::from(FEW_ROUND_TRIPS) {
            return None;
        }
        let (kind, key, text) = match last.is_zero() {
            true => (
                "short-run",
                "duration".to_string(),
                "{left} is less than {n} round trips of {rtt} for `{flow}`",
            ),
            false if flow.count > 1 => (
                "short-last",
                format!("flows.{name}.stagger"),
                "the last of them has {left}, less than {n} round trips of {rtt} for `{flow}`",
            ),
            false => (
                "short-flow",
                format!("flows.{name}.start"),
                "it has {left}, less than {n} round trips of {rtt} for `{flow}`",
            ),
        };
        let values = [
            ("left", left.to_string()),
            ("n", FEW_ROUND_TRIPS.to_string()),
            ("rtt", rtt.to_string()),
            ("flow", flow.name.clone()),
        ];
        Some(WarningTemplate::new(kind, key, text, values))
    }

    /// Warns of a flow without a rate of its own on a path without a rate limit.
    fn unlimited(&self, flow: &Flow, path: &[PathStage]) -> Option<WarningTemplate> {
        let greedy = matches!(flow.app, App::Bulk { .. } | App::Onoff { rate: None, .. });
        let limits = |m: &PathStage| m.stage.limit() != StageLimit::None || m.stage.queue().is_some();
        let bounded = flow.max_pacing_rate.is_some() || path.iter().any(limits);
        let [from, to] = [flow.from, flow.to].map(|h| self.hosts[h].name.clone());
        let text = "no rate limit from {from} to {to}: only windows limit it";
        let key = format!("flows.{}", quote(&flow.name));
        (greedy && !bounded)
            .then(|| WarningTemplate::new("unlimited", key, text, [("from", from), ("to", to)]))
    }

    /// Warns of a datagram rate above the limit of the path.
    fn flood(&self, i: usize, flow: &Flow) -> Option<WarningTemplate> {
        let App::Udp { rate, .. } = &flow.app else { return None };
        let limit = PathLimits::new(self, Some(i)).flows.get(i).copied().flatten()?;
        let sent = rate.as_mbps() * f64::from(flow.count);
        let text = "{sent} Mbit/s of datagrams exceed the path's {limit}";
        let values =
            [("sent", sent.to_string()), ("limit", Rate::from_bps((limit * 1e6) as u64).to_string())];
        let key = format!("flows.{}.app.rate", quote(&flow.name));
        (sent > limit).then(|| WarningTemplate::new("flood", key, text, values))
    }

    /// Warns of relays that no flow uses, and of stacks that affect no flow.
    fn unused(&self) -> Vec<WarningTemplate> {
        let passed: BTreeSet<usize> = self.flows.iter().flat_map(|f| f.via.iter().copied()).collect();
        let relays = self.relays.iter().enumerate().filter(|(i, _)| !passed.contains(i));
        let relays = relays.map(|(_, Relay { name, .. })| WarningTemplate {
            only_in_all: true,
            ..WarningTemplate::new(
                "unused-relay",
                format!("relays.{}", quote(name)),
                "no flow uses it: name it in a flow's `via`",
                [],
            )
        });
        let used: BTreeSet<usize> = self.flows.iter().flat_map(|f| hosts(self, f)).collect();
        let idle =
            self.hosts.iter().enumerate().filter(|(i, h)| !used.contains(i) && h.stack != Default::default());
        let hosts = idle.map(|(_, host)| WarningTemplate {
            only_in_all: true,
            ..WarningTemplate::new(
                "unused-stack",
                format!("hosts.{}.stack", quote(&host.name)),
                "no flow starts, ends or is relayed there: it has no effect",
                [],
            )
        });
        relays.chain(hosts).collect()
    }
}

/// Warns of a bucket smaller than a full packet, which therefore never conforms. With several buckets the
/// decisive one is checked.
fn small_bucket(stage: &PathStage) -> Option<WarningTemplate> {
    let (key, bucket) = match stage.stage {
        Stage::Policer(policer) => policer.largest_by_key()?,
        Stage::Shaper(shaper) => shaper.largest_by_key(),
        _ => return None,
    };
    let text = "a bucket of {bucket} never passes a packet of {size} B";
    let values = [("bucket", bucket.to_string()), ("size", stage.size.to_string())];
    let key = format!("{}.{key}", stage.key);
    (bucket.get() < u64::from(stage.size)).then(|| WarningTemplate::new("small-bucket", key, text, values))
}

/// Warns of a policer's bucket that passes seconds of its rate at once. With several buckets the decisive one
/// is checked. Defaults are not reported.
fn deep_bucket(stage: &PathStage) -> Option<WarningTemplate> {
    let Stage::Policer(policer) = stage.stage else { return None };
    let (key, burst) = policer.burst_by_key()?;
    let written = [
        ("burst", policer.burst),
        ("excess_burst", policer.excess_burst),
        ("peak_burst", policer.peak_burst),
    ];
    let is_written = written.iter().any(|(name, bytes)| *name == key && bytes.is_some());
    let holds = policer.rate.time_for(burst.get());
    let seconds = holds.as_secs_f64();
    let text = "{burst} is {seconds} s at {rate}: a full bucket passes all of it at once";
    let values = [
        ("burst", burst.to_string()),
        ("seconds", format!("{seconds:.1}")),
        ("rate", policer.rate.to_string()),
    ];
    let key = format!("{}.{key}", stage.key);
    (is_written && holds >= DEEP_BUCKET).then(|| WarningTemplate::new("deep-bucket", key, text, values))
}

/// Warns of two buckets with equal rates: the larger one never has an effect.
fn peak(stage: &PathStage) -> Option<WarningTemplate> {
    let Stage::Shaper(shaper) = stage.stage else { return None };
    let same = shaper.peak_rate == Some(shaper.rate);
    let idle = if shaper.peak_burst() < Some(shaper.burst()) { "burst" } else { "peak_burst" };
    let text = "it is not above `rate`, so `{idle}` has no effect: remove `peak_rate` or raise it";
    let values = [("idle", idle.to_string())];
    same.then(|| WarningTemplate::new("no-peak", format!("{}.peak_rate", stage.key), text, values))
}

/// Warns of a queue in which packets can wait for more than [`LONG_WAIT`], if the flow can fill it.
fn long_queue(flow: &Flow, stage: &PathStage) -> Option<WarningTemplate> {
    let (rate, queue) = stage.stage.queue()?;
    let size = u64::from(stage.size);
    let bytes = queue.holds(size)?;
    let fills = match &flow.app {
        App::Udp { rate: sent, .. } => sent.as_bps().saturating_mul(u64::from(flow.count)) > rate.as_bps(),
        App::Bulk { bytes: Some(n), .. } => n.get().saturating_mul(u64::from(flow.count)) >= bytes,
        App::Bulk { .. } | App::Onoff { rate: None, .. } => true,
        _ => false,
    };
    let wait = rate.time_for(bytes);
    // A size that is a multiple of the packet size is given in packets.
    let (kind, text, holds) = match bytes % size {
        0 => (
            "long-queue",
            "{holds} packets of {size} B take {seconds} s at {rate} (bufferbloat): use fewer, or `fq-codel`",
            (bytes / size).to_string(),
        ),
        _ => (
            "long-queue-bytes",
            "{holds} take {seconds} s at {rate} (bufferbloat): use fewer, or `fq-codel`",
            Bytes::new(bytes).to_string(),
        ),
    };
    let values = [
        ("holds", holds),
        ("size", size.to_string()),
        ("seconds", format!("{:.1}", wait.as_secs_f64())),
        ("rate", rate.to_string()),
    ];
    (fills && wait > LONG_WAIT)
        .then(|| WarningTemplate::new(kind, format!("{}.queue", stage.key), text, values))
}

/// Warns of a queue that is smaller than a packet.
fn short_queue(stage: &PathStage) -> Option<WarningTemplate> {
    let (_, QueueConfig::Fifo(fifo)) = stage.stage.queue()? else { return None };
    let bytes = fifo.bytes?;
    let text = "{bytes} cannot hold a packet of {size} B: none can wait here";
    let values = [("bytes", bytes.to_string()), ("size", stage.size.to_string())];
    let key = format!("{}.queue.bytes", stage.key);
    (bytes.get() < u64::from(stage.size)).then(|| WarningTemplate::new("short-queue", key, text, values))
}
