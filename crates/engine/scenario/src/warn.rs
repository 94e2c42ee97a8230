//! What of a scenario is allowed and yet probably not meant.
//!
//! A warning names the key and says what follows from it. It is no error: each has scenarios that mean it. What a
//! variant may leave unused for the sake of another (a host's stack, a relay) is told only when no variant uses it.

use crate::limits::{PathLimits, hosts};
use crate::model::{Experiment, Flow, NamedStage, Scenario};
use crate::relay::Relay;
use crate::route::Hop;
use document::quote;
use path::{QueueConfig, Stage, StageLimit};
use std::collections::BTreeSet;
use transport::App;
use units::{Bytes, Rate, Span};

/// A run of fewer round trips shows little but how flows begin.
const FEW_ROUND_TRIPS: u64 = 5;
/// A queue that may hold packets for longer than this is too long for anybody.
const LONG_WAIT: Span = Span::from_secs(1);
/// A policer whose bucket holds more than this of its rate hardly polices.
const DEEP_BUCKET: Span = Span::from_secs(2);
/// IP and TCP headers without options.
const HEADERS: u32 = 40;
/// So many variants are named.
const NAMED: usize = 4;

impl Experiment {
    /// What is probably not meant, in the order of the file, each with its key and, where it does not hold for all,
    /// with the variants it holds for.
    pub fn warnings(&self) -> Vec<String> {
        self.warned().into_iter().map(|w| w.text).collect()
    }

    /// The same as data, for those who say it in other words or languages.
    pub fn warned(&self) -> Vec<Warned> {
        let mut found: Vec<(Warning, Vec<&str>)> = Vec::new();
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
        let told = found.into_iter().map(|(Warning { kind, key, template, values, .. }, variants)| {
            let some = variants.len() < all;
            let only = if some { format!(" (in {})", listed(&variants)) } else { String::new() };
            let text = format!("{key}: {}{only}", filled(template, &values));
            let variants = variants.into_iter().filter(|_| some).map(String::from).collect();
            Warned { kind, key, values, variants, text }
        });
        told.chain(self.copies()).collect()
    }

    /// Variants that change nothing of the baseline.
    fn copies(&self) -> impl Iterator<Item = Warned> {
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
            Warned { kind: "copy", key, values, variants: Vec::new(), text }
        })
    }
}

/// The first few of these names.
fn listed(names: &[&str]) -> String {
    match names {
        _ if names.len() <= NAMED => names.join(", "),
        _ => format!("{} and {} more", names[..NAMED - 1].join(", "), names.len() + 1 - NAMED),
    }
}

/// A variant that is another's copy.
const COPY: &str = "changes nothing: it is the same as {baseline}";

/// A warning as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warned {
    /// What kind it is: `small-bucket`.
    pub kind: &'static str,
    /// The key it is about, as `--set` takes it.
    pub key: String,
    /// What of it is told, by name.
    pub values: Vec<(&'static str, String)>,
    /// The variants that it holds for; none where it holds for all.
    pub variants: Vec<String>,
    /// All of it as an English sentence.
    pub text: String,
}

/// The template with its values in the places of their names.
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
struct Warning {
    kind: &'static str,
    /// As `--set` takes it.
    key: String,
    /// English, with names of `values` in braces.
    template: &'static str,
    values: Vec<(&'static str, String)>,
    /// It is worth telling only when it holds for every variant.
    only_in_all: bool,
}

impl Warning {
    fn new<const N: usize>(
        kind: &'static str,
        key: impl Into<String>,
        template: &'static str,
        values: [(&'static str, String); N],
    ) -> Warning {
        Warning { kind, key: key.into(), template, values: values.into(), only_in_all: false }
    }
}

/// A stage on a flow's way, as the flow meets it.
struct Met<'a> {
    key: String,
    stage: &'a Stage,
    /// The largest packet that comes to it, bytes.
    size: u32,
}

impl Scenario {
    fn warnings(&self) -> Vec<Warning> {
        if self.flows.is_empty() {
            let text = "there is none, or none is enabled: nothing will be sent";
            return vec![Warning::new("no-flows", "flows", text, [])];
        }
        let mut told: Vec<Warning> = Vec::new();
        let mut seen = BTreeSet::new();
        for (i, flow) in self.flows.iter().enumerate() {
            let way = self.way(flow);
            told.extend(self.times(flow));
            told.extend(self.unlimited(flow, &way));
            told.extend(self.flood(i, flow));
            for met in &way {
                let more =
                    [small_bucket(met), deep_bucket(met), peak(met), long_queue(flow, met), short_queue(met)];
                // Flows that pass the same stage would say the same.
                told.extend(
                    more.into_iter()
                        .flatten()
                        .filter(|w| seen.insert((w.key.clone(), w.template, w.values.clone()))),
                );
            }
        }
        told.extend(self.unused());
        told
    }

    /// The stages on the way of the flow's data, in order.
    fn way<'a>(&'a self, flow: &Flow) -> Vec<Met<'a>> {
        let hosts = hosts(self, flow);
        let mut way = Vec::new();
        for leg in hosts.windows(2) {
            // Tunnels begun on the way, innermost first.
            let (mut size, mut tunnels) = (self.largest_packet(flow, leg[0], leg[1]), Vec::new());
            for hop in self.route(leg[0], leg[1]).unwrap_or_default() {
                for (stage, key) in self.stages(hop) {
                    way.push(Met { key, stage: &stage.stage, size });
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
        way
    }

    /// A link's stages in one direction, each with its key.
    fn stages(&self, hop: Hop) -> impl Iterator<Item = (&NamedStage, String)> {
        let link = &self.links[hop.link];
        let (way, list) = if hop.forward { ("forward", &link.forward) } else { ("backward", &link.backward) };
        list.iter().map(move |s| (s, format!("links.{}.{way}.{}", quote(&link.name), quote(&s.name))))
    }

    /// The largest IP packet that a flow's leg sends.
    fn largest_packet(&self, flow: &Flow, from: usize, to: usize) -> u32 {
        if let Some(pattern) = flow.app.datagrams(self.udp_header(to)) {
            return pattern.size;
        }
        let mss = [from, to].into_iter().filter_map(|h| self.hosts[h].stack.mss);
        mss.fold(self.mtu(from, to), |least, mss| least.min(mss + HEADERS + self.longer_header(to)))
    }

    /// The round trip of a flow's empty path; through relays the sum over its legs.
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

    /// A flow for which there is next to no time.
    fn times(&self, flow: &Flow) -> Option<Warning> {
        let name = quote(&flow.name);
        let last = flow.start + flow.stagger * u64::from(flow.count.saturating_sub(1));
        if let Some([_, end]) = self.measure.filter(|[_, end]| flow.start >= *end) {
            let text = "it begins at {start} and `measure` ends at {end}: nothing of it counts";
            let values = [("start", flow.start.to_string()), ("end", end.to_string())];
            return Some(Warning::new("begins-late", format!("flows.{name}.start"), text, values));
        }
        let (left, rtt) = (self.duration.saturating_sub(last), self.base_rtt(flow));
        if u128::from(left.as_nanos()) >= u128::from(rtt.as_nanos()) * u128::from(FEW_ROUND_TRIPS) {
            return None;
        }
        let (kind, key, text) = match last.is_zero() {
            true => (
                "short-run",
                "duration".to_string(),
                "{left} are less than {n} round trips of {rtt} for `{flow}`",
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
        Some(Warning::new(kind, key, text, values))
    }

    /// A flow that would take all there is, where nothing bounds it.
    fn unlimited(&self, flow: &Flow, way: &[Met]) -> Option<Warning> {
        let greedy = matches!(flow.app, App::Bulk { .. } | App::Onoff { rate: None, .. });
        let limits = |m: &Met| m.stage.limit() != StageLimit::None || m.stage.queue().is_some();
        let bounded = flow.max_pacing_rate.is_some() || way.iter().any(limits);
        let [from, to] = [flow.from, flow.to].map(|h| self.hosts[h].name.clone());
        let text = "nothing on its way from {from} to {to} has a rate: it is limited by windows alone";
        let key = format!("flows.{}", quote(&flow.name));
        (greedy && !bounded).then(|| Warning::new("unlimited", key, text, [("from", from), ("to", to)]))
    }

    /// Datagrams that cannot all arrive.
    fn flood(&self, i: usize, flow: &Flow) -> Option<Warning> {
        let App::Udp { rate, .. } = &flow.app else { return None };
        let limit = PathLimits::new(self, Some(i)).flows.get(i).copied().flatten()?;
        let sent = rate.as_mbps() * f64::from(flow.count);
        let text = "{sent} Mbit/s of datagrams are more than the {limit} that its way carries";
        let values =
            [("sent", sent.to_string()), ("limit", Rate::from_bps((limit * 1e6) as u64).to_string())];
        let key = format!("flows.{}.app.rate", quote(&flow.name));
        (sent > limit).then(|| Warning::new("flood", key, text, values))
    }

    /// Relays that no flow passes, and what is said of hosts that none uses.
    fn unused(&self) -> Vec<Warning> {
        let passed: BTreeSet<usize> = self.flows.iter().flat_map(|f| f.via.iter().copied()).collect();
        let relays = self.relays.iter().enumerate().filter(|(i, _)| !passed.contains(i));
        let relays = relays.map(|(_, Relay { name, .. })| Warning {
            only_in_all: true,
            ..Warning::new(
                "unused-relay",
                format!("relays.{}", quote(name)),
                "no flow passes it: a flow names it in `via`",
                [],
            )
        });
        let used: BTreeSet<usize> = self.flows.iter().flat_map(|f| hosts(self, f)).collect();
        let idle =
            self.hosts.iter().enumerate().filter(|(i, h)| !used.contains(i) && h.stack != Default::default());
        let hosts = idle.map(|(_, host)| Warning {
            only_in_all: true,
            ..Warning::new(
                "unused-stack",
                format!("hosts.{}.stack", quote(&host.name)),
                "no flow begins or ends there, and no relay that one passes: it changes nothing",
                [],
            )
        });
        relays.chain(hosts).collect()
    }
}

/// A bucket that never holds enough for a full packet: of several the one that decides.
fn small_bucket(met: &Met) -> Option<Warning> {
    let (key, bucket) = match met.stage {
        Stage::Policer(policer) => policer.largest_by_key()?,
        Stage::Shaper(shaper) => shaper.largest_by_key(),
        _ => return None,
    };
    let text = "a bucket of {bucket} lets no packet of {size} B pass, ever";
    let values = [("bucket", bucket.to_string()), ("size", met.size.to_string())];
    let key = format!("{}.{key}", met.key);
    (bucket.get() < u64::from(met.size)).then(|| Warning::new("small-bucket", key, text, values))
}

/// A policer that lets seconds of its rate through at once: of several buckets the one that decides. A default is no mistake.
fn deep_bucket(met: &Met) -> Option<Warning> {
    let Stage::Policer(policer) = met.stage else { return None };
    let (key, burst) = policer.burst_by_key()?;
    let written = [
        ("burst", policer.burst),
        ("excess_burst", policer.excess_burst),
        ("peak_burst", policer.peak_burst),
    ];
    let is_written = written.iter().any(|(name, bytes)| *name == key && bytes.is_some());
    let holds = policer.rate.time_for(burst.get());
    let seconds = holds.as_secs_f64();
    let text = "{burst} are {seconds} s of {rate}: a full bucket lets all that through at once";
    let values = [
        ("burst", burst.to_string()),
        ("seconds", format!("{seconds:.1}")),
        ("rate", policer.rate.to_string()),
    ];
    let key = format!("{}.{key}", met.key);
    (is_written && holds >= DEEP_BUCKET).then(|| Warning::new("deep-bucket", key, text, values))
}

/// Two buckets that fill at one rate: the larger one never decides anything.
fn peak(met: &Met) -> Option<Warning> {
    let Stage::Shaper(shaper) = met.stage else { return None };
    let same = shaper.peak_rate == Some(shaper.rate);
    let idle = if shaper.peak_burst() < Some(shaper.burst()) { "burst" } else { "peak_burst" };
    let text =
        "it is no higher than `rate`: `{idle}` never comes to anything; leave `peak_rate` out, or raise it";
    let values = [("idle", idle.to_string())];
    same.then(|| Warning::new("no-peak", format!("{}.peak_rate", met.key), text, values))
}

/// A queue that keeps packets for longer than anybody waits, and a flow that fills it.
fn long_queue(flow: &Flow, met: &Met) -> Option<Warning> {
    let (rate, queue) = met.stage.queue()?;
    let size = u64::from(met.size);
    let bytes = queue.holds(size)?;
    let fills = match &flow.app {
        App::Udp { rate: sent, .. } => sent.as_bps().saturating_mul(u64::from(flow.count)) > rate.as_bps(),
        App::Bulk { bytes: Some(n), .. } => n.get().saturating_mul(u64::from(flow.count)) >= bytes,
        App::Bulk { .. } | App::Onoff { rate: None, .. } => true,
        _ => false,
    };
    let wait = rate.time_for(bytes);
    // Bytes as packets where they are whole ones.
    let (kind, text, holds) = match bytes % size {
        0 => (
            "long-queue",
            "{holds} packets of {size} B are {seconds} s at {rate}: so long may a packet wait (bufferbloat); fewer of them, or `fq-codel`",
            (bytes / size).to_string(),
        ),
        _ => (
            "long-queue-bytes",
            "{holds} are {seconds} s at {rate}: so long may a packet wait (bufferbloat); fewer of them, or `fq-codel`",
            Bytes::new(bytes).to_string(),
        ),
    };
    let values = [
        ("holds", holds),
        ("size", size.to_string()),
        ("seconds", format!("{:.1}", wait.as_secs_f64())),
        ("rate", rate.to_string()),
    ];
    (fills && wait > LONG_WAIT).then(|| Warning::new(kind, format!("{}.queue", met.key), text, values))
}

/// A queue that holds less than a packet.
fn short_queue(met: &Met) -> Option<Warning> {
    let (_, QueueConfig::Fifo(fifo)) = met.stage.queue()? else { return None };
    let bytes = fifo.bytes?;
    let text = "{bytes} hold no packet of {size} B: none can wait here";
    let values = [("bytes", bytes.to_string()), ("size", met.size.to_string())];
    let key = format!("{}.queue.bytes", met.key);
    (bytes.get() < u64::from(met.size)).then(|| Warning::new("short-queue", key, text, values))
}
