//! The draft of a scenario: links whose stages know the lines that they come from.

use crate::{ImportError, Reading, number};
use congestion::Control;
use path::{Delay, Link, Stage, StageLimit};
use scenario::{DuplexLink, Experiment, Flow, Host, HostJitter, NamedStage, Scenario, Variant};
use std::collections::BTreeMap;
use transport::App;
use units::{Bytes, Rate, Span};

/// Assumptions for what a scenario needs and a configuration does not state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumed {
    /// Round-trip time of the empty path; `None`: [`USUAL_RTT`], unless the configuration has a delay.
    pub rtt: Option<Span>,
    /// Rate of an interface that nothing else limits and whose speed is not stated; `None`: [`USUAL_LINE`].
    pub line: Option<Rate>,
    /// Duration of a run; `None`: the duration of the configuration, or at least 10 s.
    pub duration: Option<Span>,
    /// Congestion control of the flows.
    pub cc: Control,
}

/// The round-trip time of an unknown path: that of a metropolitan network.
pub const USUAL_RTT: Span = Span::from_millis(20);

/// The rate of an interface of unknown speed.
pub const USUAL_LINE: Rate = Rate::from_bps(1_000_000_000);

/// Minimum round trips of a run: CUBIC's start takes about fifteen, and the rest is measured.
const MIN_ROUND_TRIPS: f64 = 60.0;

/// How a limiter accounts for packets, which determines the effect of a small bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Credit {
    /// Linux `htb`, `tbf`, `police`: tokens are added when a timer fires or a packet arrives, and a packet
    /// larger than the bucket never passes (`tbf`, `police`).
    #[default]
    KernelTimer,
    /// Routers: credit accumulates, so that a packet larger than the bucket passes.
    CarriesOver,
    /// cake, dummynet, a netem rate: packets are scheduled one by one, without a bucket.
    NoBucket,
}

/// A stage with its source.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftStage {
    /// The stage's name, which is made unique and valid later.
    pub name: String,
    pub stage: Stage,
    /// Line number in the file.
    pub line: usize,
    /// A short description of the source.
    pub says: String,
    /// Line numbers of the stage's parts by name: the classes of a tree.
    pub parts: BTreeMap<String, usize>,
    /// The file that the stage was read from, as the scenario refers to it.
    pub file: Option<String>,
    pub credit: Credit,
}

impl DraftStage {
    /// A stage without parts.
    pub fn new(name: &str, line: usize, says: impl Into<String>, stage: impl Into<Stage>) -> DraftStage {
        let (name, says, stage) = (name.to_string(), says.into(), stage.into());
        DraftStage { name, stage, line, says, parts: BTreeMap::new(), file: None, credit: Credit::default() }
    }

    /// The stage with another accounting for packets.
    pub fn with_credit(self, credit: Credit) -> DraftStage {
        DraftStage { credit, ..self }
    }

    /// Whether the stage has a configured delay.
    fn delays(&self) -> bool {
        match &self.stage {
            Stage::Link(link) => !link.delay.is_zero(),
            Stage::Delay(_) | Stage::Jitter(_) | Stage::Reorder(_) => true,
            _ => false,
        }
    }
}

/// The draft of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftLink {
    pub name: String,
    /// The link's hosts.
    pub between: [String; 2],
    /// Stages from the first host to the second.
    pub forward: Vec<DraftStage>,
    /// Stages from the second host to the first.
    pub backward: Vec<DraftStage>,
    /// The link's length is unknown, so it takes its share of an assumed round-trip time.
    pub of_assumed_length: bool,
    /// Whether the forward direction is a line without a limit.
    pub unlimited: bool,
}

/// An interface of a box (a router, a host) whose configuration is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxPort {
    /// The interface's name.
    pub name: String,
    /// Stages of outgoing packets.
    pub out: Vec<DraftStage>,
    /// Stages of incoming packets.
    pub into: Vec<DraftStage>,
    /// Classes of outgoing traffic; empty for a single flow.
    pub out_flows: Vec<PortFlow>,
    /// Classes of incoming traffic; empty for a single flow.
    pub into_flows: Vec<PortFlow>,
    /// A description of the traffic that bypasses all limits and delays (HTB's direct queue); `None` without
    /// any.
    pub unmatched: Option<String>,
}

/// A class of a port's traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortFlow {
    /// The class's name; the names of port and direction are prefixed to it.
    pub name: String,
    /// The codepoint by which the class is selected.
    pub dscp: u8,
    /// A description of the class in the configuration.
    pub says: String,
}

impl DraftLink {
    /// A link from `here` to the far side of an interface, with stages for outgoing packets, or for incoming
    /// ones if `inward`.
    pub fn beyond(
        name: String,
        [here, beyond]: [&str; 2],
        inward: bool,
        stages: Vec<DraftStage>,
    ) -> DraftLink {
        let (forward, backward) = if inward { (vec![], stages) } else { (stages, vec![]) };
        let between = [here.into(), beyond.into()];
        DraftLink { name, between, forward, backward, of_assumed_length: true, unlimited: false }
    }
}

/// The draft of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftFlow {
    pub name: String,
    pub from: String,
    pub to: String,
    /// The codepoint by which classes select the flow.
    pub dscp: u8,
    pub app: App,
    pub start: Span,
    /// A description of the flow's source in the configuration.
    pub says: String,
}

impl DraftFlow {
    /// A bulk flow.
    pub fn bulk(
        name: impl Into<String>,
        from: &str,
        to: &str,
        dscp: u8,
        says: impl Into<String>,
    ) -> DraftFlow {
        let app = App::Bulk { bytes: None, duration: None };
        DraftFlow {
            name: name.into(),
            from: from.into(),
            to: to.into(),
            dscp,
            app,
            start: Span::ZERO,
            says: says.into(),
        }
    }
}

/// The draft of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    pub links: Vec<DraftLink>,
    pub flows: Vec<DraftFlow>,
    /// Duration of the configuration, if it states one.
    pub duration: Option<Span>,
}

/// Makes a name valid for a scenario and different from those in `taken`.
fn named(name: &str, taken: &mut Vec<String>) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let mut base: String = name.chars().map(fit).take(48).collect();
    base = base.trim_start_matches(['-', '.']).trim_end_matches('-').to_string();
    if base.is_empty() || base.chars().all(|c| c.is_ascii_digit()) {
        base = format!("n{base}");
    }
    let mut name = base.clone();
    let mut n = 2;
    while taken.contains(&name) {
        name = format!("{base}-{n}");
        n += 1;
    }
    taken.push(name.clone());
    name
}

/// A direction through a box: its stages, and the ports that name its flows, each with `in` or `out`.
struct Through<'a> {
    stages: Vec<DraftStage>,
    names: Vec<(&'a BoxPort, &'static str)>,
}

impl<'a> Through<'a> {
    /// The direction in at one port and out at the other; `None` is the box itself.
    fn of(enter: Option<&'a BoxPort>, leave: Option<&'a BoxPort>) -> Through<'a> {
        let stages = enter.iter().flat_map(|p| &p.into).chain(leave.iter().flat_map(|p| &p.out));
        let enters = enter.filter(|p| !p.into.is_empty()).map(|p| (p, "in"));
        let leaves = leave.filter(|p| !p.out.is_empty()).map(|p| (p, "out"));
        Through { stages: stages.cloned().collect(), names: enters.into_iter().chain(leaves).collect() }
    }

    /// A flow for each class of the ports, or a single flow.
    fn flows(&self, from: &str, to: &str) -> Vec<DraftFlow> {
        let mut flows: Vec<DraftFlow> = Vec::new();
        for (port, direction) in &self.names {
            let classes = if *direction == "out" { &port.out_flows } else { &port.into_flows };
            for class in classes {
                if flows.iter().any(|f| f.dscp == class.dscp) {
                    continue;
                }
                let name = format!("{}-{direction}-{}", port.name, class.name);
                flows.push(DraftFlow::bulk(name, from, to, class.dscp, class.says.clone()));
            }
        }
        if let (true, Some((port, direction))) = (flows.is_empty(), self.names.last()) {
            flows.push(DraftFlow::bulk(format!("{}-{direction}", port.name), from, to, 0, ""));
        }
        flows
    }
}

impl Draft {
    /// The paths through a box, `here`. With one port a path begins or ends in the box. With two ports
    /// packets enter at one and leave at the other, and both directions are one link. With more ports the box
    /// is a hub with a link for each. Stages with refused values are left out first.
    pub fn of_box(here: &str, mut ports: Vec<BoxPort>, reading: &Reading) -> Draft {
        for port in &mut ports {
            let lost_out = leave_out(&mut port.out, reading);
            port.out_flows.retain(|f| !lost_out.contains(&f.dscp));
            let lost_in = leave_out(&mut port.into, reading);
            port.into_flows.retain(|f| !lost_in.contains(&f.dscp));
        }
        ports.retain(|p| !p.out.is_empty() || !p.into.is_empty());
        let mut draft = Draft::default();
        match ports.as_slice() {
            [a, b] => {
                let name = format!("{}-{}", a.name, b.name);
                let ends = [format!("beyond-{}", a.name), format!("beyond-{}", b.name)];
                draft.link(name, ends, Through::of(Some(a), Some(b)), Through::of(Some(b), Some(a)));
            }
            ports => {
                for port in ports {
                    let ends = [here.to_string(), format!("beyond-{}", port.name)];
                    let (out, into) = (Through::of(None, Some(port)), Through::of(Some(port), None));
                    draft.link(port.name.clone(), ends, out, into);
                }
            }
        }
        for port in &ports {
            let Some(says) = &port.unmatched else { continue };
            let (name, far) = (format!("{}-unmatched", port.name), format!("beyond-{}-unmatched", port.name));
            let link = DraftLink::beyond(name.clone(), [here, &far], false, Vec::new());
            draft.links.push(DraftLink { unlimited: true, ..link });
            draft.flows.push(DraftFlow::bulk(name, here, &far, 0, says.clone()));
        }
        draft
    }

    fn link(&mut self, name: String, between: [String; 2], forward: Through, backward: Through) {
        self.flows.extend(forward.flows(&between[0], &between[1]));
        self.flows.extend(backward.flows(&between[1], &between[0]));
        let (forward, backward) = (forward.stages, backward.stages);
        self.links.push(DraftLink {
            name,
            between,
            forward,
            backward,
            of_assumed_length: true,
            unlimited: false,
        });
    }

    /// Removes stages and classes of lines with refused values, and the flows of such classes.
    pub(crate) fn leave_out_refused(&mut self, reading: &Reading) {
        if reading.refused.is_empty() {
            return;
        }
        let mut lost_dscp = Vec::new();
        for stages in self.links.iter_mut().flat_map(|l| [&mut l.forward, &mut l.backward]) {
            lost_dscp.extend(leave_out(stages, reading));
        }
        self.links.retain(|l| l.unlimited || !l.forward.is_empty() || !l.backward.is_empty());
        let links = &self.links;
        self.flows.retain(|f| {
            let crossed = |l: &DraftLink| {
                let stages = if l.between[0] == f.from { &l.forward } else { &l.backward };
                l.between.contains(&f.from)
                    && l.between.contains(&f.to)
                    && (l.unlimited || !stages.is_empty())
            };
            !lost_dscp.contains(&f.dscp)
                && (links.iter().any(crossed) || links.iter().all(|l| !l.between.contains(&f.to)))
        });
    }

    /// The default duration of a run: ten seconds, or [`MIN_ROUND_TRIPS`] of a long path, so that TCP reaches
    /// its rate.
    fn default_duration(&self) -> Span {
        let delay = |s: &DraftStage| match &s.stage {
            Stage::Link(link) => link.delay,
            Stage::Delay(d) => d.delay,
            Stage::Jitter(j) => j.delay,
            _ => Span::ZERO,
        };
        let rtt =
            |l: &DraftLink| l.forward.iter().chain(&l.backward).map(delay).fold(Span::ZERO, |a, b| a + b);
        let longest = self.links.iter().map(rtt).max().unwrap_or_default().as_secs_f64();
        Span::from_secs((MIN_ROUND_TRIPS * longest).ceil().clamp(10.0, 60.0) as u64)
    }

    /// Reports assumptions for what the configuration lacks: a path length, a line rate.
    pub(crate) fn assume_what_is_missing(&self, assumed: &Assumed, reading: &mut Reading) {
        let is_lengthened = |l: &&DraftLink| l.of_assumed_length && assumed.lengthens(l);
        let lengthened: Vec<&str> =
            self.links.iter().filter(is_lengthened).map(|l| l.name.as_str()).collect();
        if assumed.rtt.is_none() && !lengthened.is_empty() {
            let links = match lengthened.len() == self.links.len() {
                true => String::new(),
                false => format!(" of {}", lengthened.join(", ")),
            };
            reading.assume(format!(
                "a round-trip time{links} of {USUAL_RTT}, half in each direction (--rtt): the file does not state it"
            ));
        }
        let unlimited =
            |l: &DraftLink| l.unlimited || [&l.forward, &l.backward].iter().any(|s| needs_line(s));
        if assumed.line.is_none() && self.links.iter().any(unlimited) {
            let line = number::rate(USUAL_LINE.as_bps());
            reading.assume(format!("a line rate of {line} (--line): the file states no rate"));
        }
    }

    /// Enlarges the bucket of a router's policer to one packet. A scenario's policer never passes a packet
    /// that is larger than its bucket (RFC 2697 section 3), but most routers accumulate credit or round the
    /// bucket up.
    pub(crate) fn hold_one_packet(&mut self, reading: &mut Reading) {
        let all = self.links.iter_mut().flat_map(|l| l.forward.iter_mut().chain(&mut l.backward));
        for stage in all.filter(|s| s.credit == Credit::CarriesOver) {
            let Stage::Policer(p) = &mut stage.stage else { continue };
            let buckets = [&mut p.burst, &mut p.peak_burst];
            let small = buckets.into_iter().flatten().filter(|b| b.get() < number::PACKET);
            let written: Vec<String> =
                small.map(|b| number::size(std::mem::replace(b, Bytes::new(number::PACKET)).get())).collect();
            if !written.is_empty() {
                reading.assume(format!(
                    "{}: a bucket of {} passes a full packet once credit has accumulated, as on most routers (hardware \
                     such as Catalyst 6500 never passes it); simulated with {}",
                    stage.says,
                    written.join(" and "),
                    number::size(number::PACKET)
                ));
            }
        }
    }

    /// All stages.
    pub fn stages(&self) -> impl Iterator<Item = &DraftStage> {
        self.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward))
    }

    /// Makes an experiment with one variant. Names are made valid; a link of unknown length gets half of the
    /// assumed round-trip time in each direction.
    ///
    /// # Errors
    /// Fails with [`ImportError::NoScenario`] if a stage is not valid.
    pub fn experiment(
        &self,
        name: &str,
        description: String,
        assumed: &Assumed,
    ) -> Result<Experiment, ImportError> {
        for stage in self.stages() {
            stage.stage.check().map_err(|p| {
                let why = format!("line {}: {}: {}", stage.line, p.key, p.message);
                ImportError::NoScenario(why)
            })?;
        }
        let mut hosts: Vec<(String, Host)> = Vec::new();
        let mut taken = Vec::new();
        let mut index = |wanted: &str| {
            if let Some(i) = hosts.iter().position(|(w, _)| w == wanted) {
                return i;
            }
            hosts.push((wanted.into(), Host::plain(named(wanted, &mut taken))));
            hosts.len() - 1
        };
        let mut link_names = Vec::new();
        let links: Vec<DuplexLink> = (self.links.iter())
            .map(|link| DuplexLink {
                name: named(&link.name, &mut link_names),
                customer: None,
                between: [index(&link.between[0]), index(&link.between[1])],
                forward: direction(&link.forward, link.unlimited, link, assumed),
                backward: direction(&link.backward, false, link, assumed),
            })
            .collect();
        let mut flow_names = Vec::new();
        let duration = assumed.duration.or(self.duration).unwrap_or_else(|| self.default_duration());
        let begun = self.flows.iter().filter(|flow| flow.start < duration);
        let flows = begun.map(|flow| Flow {
            name: named(&flow.name, &mut flow_names),
            from: index(&flow.from),
            to: index(&flow.to),
            cc: assumed.cc,
            count: 1,
            start: flow.start,
            stagger: Span::ZERO,
            app: flow.app.clone(),
            tool: None,
            via: Vec::new(),
            dscp: flow.dscp,
            max_pacing_rate: None,
        });
        let flows = flows.collect();
        let name = named(name, &mut Vec::new());
        let scenario = Scenario {
            name: name.clone(),
            duration,
            seed: 1,
            sample: Span::from_millis(10),
            one_at_a_time: false,
            measure: None,
            host_jitter: HostJitter::default(),
            hosts: hosts.into_iter().map(|(_, host)| host).collect(),
            links,
            relays: Vec::new(),
            flows,
            faults: Vec::new(),
            attachments: Vec::new(),
        };
        let variants = vec![Variant { name: "default".into(), scenario }];
        Ok(Experiment { name, description, goal: Vec::new(), baseline: None, variants })
    }
}

impl Assumed {
    /// Whether a link gets an assumed delay: the user gave one, or the configuration has no delay on that
    /// link.
    fn lengthens(&self, link: &DraftLink) -> bool {
        self.rtt.is_some() || !link.forward.iter().chain(&link.backward).any(DraftStage::delays)
    }
}

/// Removes stages and classes with refused values; returns the codepoints of the removed classes.
fn leave_out(stages: &mut Vec<DraftStage>, reading: &Reading) -> Vec<u8> {
    let mut lost = Vec::new();
    for stage in stages.iter_mut() {
        if let Stage::Htb(htb) = &mut stage.stage {
            lost.extend(without_refused(htb, &stage.parts, reading));
        }
    }
    stages.retain(|s| {
        !reading.is_refused(s.line) && !matches!(&s.stage, Stage::Htb(htb) if htb.classes.is_empty())
    });
    lost
}

/// Removes classes with refused values and the classes below them; returns their codepoints.
fn without_refused(htb: &mut path::Htb, lines: &BTreeMap<String, usize>, reading: &Reading) -> Vec<u8> {
    let refused = |name: &str| lines.get(name).is_some_and(|line| reading.is_refused(*line));
    let mut left_out: Vec<String> = Vec::new();
    let mut dscp = Vec::new();
    htb.classes.retain(|class| {
        let lost = refused(&class.name) || class.parent.as_ref().is_some_and(|p| left_out.contains(p));
        if lost {
            left_out.push(class.name.clone());
            dscp.extend(&class.dscp);
        }
        !lost
    });
    dscp
}

/// Whether a stage limits the rate.
fn is_limited(stages: &[DraftStage]) -> bool {
    let limits = |s: &DraftStage| {
        matches!(s.stage, Stage::Htb(_) | Stage::RateTrace(_)) || s.stage.limit() != StageLimit::None
    };
    stages.iter().any(limits)
}

/// Whether a direction has stages but no limit: a flow with unlimited rate would take forever to simulate.
fn needs_line(stages: &[DraftStage]) -> bool {
    !stages.is_empty() && !is_limited(stages)
}

/// The stages of a direction, followed by a line if nothing limits, and by the assumed delay.
fn direction(stages: &[DraftStage], unlimited: bool, link: &DraftLink, assumed: &Assumed) -> Vec<NamedStage> {
    let mut taken = Vec::new();
    let mut all: Vec<NamedStage> = (stages.iter())
        .map(|s| NamedStage {
            name: named(&s.name, &mut taken),
            stage: s.stage.clone(),
            file: s.file.clone(),
            assumed: false,
        })
        .collect();
    let mut add = |name: &str, stage: Stage| {
        all.push(NamedStage { name: named(name, &mut taken), stage, file: None, assumed: false });
    };
    if needs_line(stages) || unlimited {
        let rate = assumed.line.unwrap_or(USUAL_LINE);
        add("line", Link { rate: Some(rate), ..Link::default() }.into());
    }
    let rtt = assumed.rtt.unwrap_or(USUAL_RTT);
    if link.of_assumed_length && assumed.lengthens(link) && !rtt.is_zero() {
        let delay = Span::from_nanos(rtt.as_nanos() / 2);
        add("delay", Delay::new(delay).into());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use path::Shaper;

    fn port(name: &str, out: Option<u64>, into: Option<u64>) -> BoxPort {
        let stage = |mbps: Option<u64>| {
            let shaper = |mbps| Shaper::new(Rate::from_bps(mbps * 1_000_000));
            mbps.map(|m| DraftStage::new("shape", 1, "", shaper(m))).into_iter().collect()
        };
        BoxPort { name: name.into(), out: stage(out), into: stage(into), ..BoxPort::default() }
    }

    fn rates(stages: &[DraftStage]) -> Vec<u64> {
        let rate = |s: &DraftStage| match &s.stage {
            Stage::Shaper(s) => s.rate.as_bps() / 1_000_000,
            _ => 0,
        };
        stages.iter().map(rate).collect()
    }

    #[test]
    fn two_ports_of_a_box_are_one_link_with_two_directions() {
        let reading = Reading::default();
        let draft = Draft::of_box(
            "here",
            vec![port("wan", Some(10), Some(50)), port("lan", Some(40), None)],
            &reading,
        );
        let [link] = draft.links.as_slice() else { panic!("{:?}", draft.links) };
        // From the WAN: policed on the way in, then shaped on the way out to the LAN.
        assert_eq!((rates(&link.forward), rates(&link.backward)), (vec![50, 40], vec![10]));
        let flows: Vec<_> = draft.flows.iter().map(|f| (f.name.as_str(), f.from.as_str())).collect();
        assert_eq!(flows, [("lan-out", "beyond-wan"), ("wan-out", "beyond-lan")]);
    }

    #[test]
    fn one_port_is_a_link_with_two_directions_and_three_are_a_star() {
        let reading = Reading::default();
        let draft =
            Draft::of_box("here", vec![port("eth0", Some(10), Some(50)), port("eth1", None, None)], &reading);
        assert_eq!(draft.links.len(), 1);
        assert_eq!((rates(&draft.links[0].forward), rates(&draft.links[0].backward)), (vec![10], vec![50]));
        assert_eq!(draft.flows.len(), 2);
        let star =
            Draft::of_box("here", ["a", "b", "c"].map(|name| port(name, Some(1), None)).into(), &reading);
        assert_eq!(star.links.len(), 3);
        assert!(star.links.iter().all(|l| l.between[0] == "here" && l.backward.is_empty()));
        let unmatched = Some("the rest".to_string());
        let leaky =
            Draft::of_box("here", vec![BoxPort { unmatched, ..port("eth0", Some(1), None) }], &reading);
        assert!(leaky.links[1].unlimited && leaky.flows[1].to == leaky.links[1].between[1]);
    }
}
