//! Converts policies to the two directions of each interface, and classes to flows.

use super::model::{IosClass, IosModel, IosPolice, IosPolicy, IosShape, IosUse};
use super::tree::{Grown, Tree};
use super::units::{Dialect, IosRate, IosSize};
use crate::draft::USUAL_LINE;
use crate::number::{FRAME, PACKET};
use crate::{Assumed, BoxPort, Credit, Draft, DraftStage, PortFlow, Reading, lint, number};
use path::queue::{Fifo, Red, Wfq};
use path::{Action, Link, Meter, Policer, QueueConfig, Refill, Shaper};
use std::collections::BTreeMap;
use units::{Bytes, Rate};

/// The name of the router's host.
const HERE: &str = "router";
/// Maximum interfaces of a text.
const MAX_PORTS: usize = 64;
/// The speed of interfaces by their names, Mbit/s.
const SPEEDS: [(&str, u64); 9] = [
    ("TwentyFiveGig", 25_000),
    ("Ten", 10_000),
    ("Forty", 40_000),
    ("Fifty", 50_000),
    ("Hundred", 100_000),
    ("FourHundred", 400_000),
    ("Gi", 1000),
    ("Fa", 100),
    ("Te", 10_000),
];

/// Converts the whole model.
pub(crate) fn draft(model: &IosModel, assumed: &Assumed, reading: &mut Reading) -> Draft {
    let is_nested = |name: &str| {
        model.policies.values().flat_map(|p| &p.classes).any(|c| c.child.as_deref() == Some(name))
    };
    let mut codes = Codes::default();
    let mut ports: Vec<BoxPort> = Vec::new();
    let mut found = |used: &IosUse, ports: &mut Vec<BoxPort>, reading: &mut Reading| {
        let Some(policy) = model.policies.get(&used.policy) else {
            let why = format!("policy-map {} is not in the text: its effect is unknown", used.policy);
            return reading.unknown(used.line, used.policy.clone(), why);
        };
        let at = ports.iter().position(|p| p.name == used.interface).unwrap_or_else(|| {
            ports.push(BoxPort { name: used.interface.clone(), ..BoxPort::default() });
            ports.len() - 1
        });
        if ports.len() > MAX_PORTS {
            ports.pop();
            return reading.unknown(
                used.line,
                used.interface.clone(),
                format!("at most {MAX_PORTS} interfaces are read"),
            );
        }
        let mut applied = Applied::new(model, used, assumed, &mut codes, reading);
        let (stages, flows) = applied.direction(policy);
        let port = &mut ports[at];
        let (mine, classes) = if used.inward {
            (&mut port.into, &mut port.into_flows)
        } else {
            (&mut port.out, &mut port.out_flows)
        };
        mine.extend(stages);
        classes.extend(flows);
    };
    // A policy in the output of `show` whose configuration is in the text too is the same policy.
    let is_again = |used: &IosUse| {
        model.uses.iter().any(|u| {
            let shown = format!("{}/0/{}", used.interface, u.policy);
            u.inward == used.inward && shown == used.policy && short(&u.interface) == short(&used.interface)
        })
    };
    for used in model.uses.iter().filter(|used| !is_again(used)) {
        found(used, &mut ports, reading);
    }
    let mut draft = Draft::of_box(HERE, ports, reading);
    let unapplied = model.order.iter().filter(|name| {
        let is_used = model.uses.iter().any(|u| u.policy == **name) || model.elsewhere.contains(name);
        !is_used && !is_nested(name)
    });
    for name in unapplied {
        let line = model.policies.get(name).map_or(1, |p| p.line);
        if !model.uses.is_empty() {
            reading.assume(format!(
                "policy {name} is left out: it is not applied to an interface, but others are"
            ));
            continue;
        }
        reading.assume(format!("policy {name} is applied outbound: no interface in the text applies it"));
        let used = IosUse { line, interface: name.clone(), inward: false, policy: name.clone() };
        let mut alone = Vec::new();
        found(&used, &mut alone, reading);
        let of_policy = Draft::of_box(HERE, alone, reading);
        draft.links.extend(of_policy.links);
        draft.flows.extend(of_policy.flows);
    }
    if !draft.links.is_empty() {
        reading.assume(match model.dialect {
            Dialect::Ios => {
                "rates count packets of IP; IOS counts their Ethernet headers too, 0.9 % of full packets"
            }
            _ => {
                "rates count packets of IP; the router may count layer 2 headers too, depending on its platform"
            }
        });
    }
    draft
}

/// The abbreviated name of an interface: `Gi0/1` of `GigabitEthernet0/1`.
fn short(interface: &str) -> String {
    let digits = interface.find(|c: char| c.is_ascii_digit()).unwrap_or(interface.len());
    let kind: String = interface.chars().take(2).collect();
    kind.to_ascii_lowercase() + &interface[digits..]
}

/// The codepoints of classes, one for each class of the box. Flows and classes match by them.
#[derive(Default)]
pub(crate) struct Codes {
    taken: BTreeMap<u8, String>,
}

impl Codes {
    /// The codepoint of a class: the one that it matches, or a free one; never one of `here`, which other
    /// classes of this policy use.
    pub fn of(&mut self, class: &str, own: Option<u8>, here: &[u8]) -> Option<u8> {
        let known = self
            .taken
            .iter()
            .find(|(code, name)| *name == class && !here.contains(code))
            .map(|(code, _)| *code);
        let own = own.filter(|code| !here.contains(code) && *code > 0);
        let free = || (1..64).find(|code| !here.contains(code) && !self.taken.contains_key(code));
        let code = own.or(known).or_else(free)?;
        self.taken.entry(code).or_insert_with(|| class.to_string());
        Some(code)
    }
}

/// A policy applied to an interface.
pub(crate) struct Applied<'a, 'r> {
    pub model: &'a IosModel,
    pub used: &'a IosUse,
    pub codes: &'r mut Codes,
    pub reading: &'r mut Reading,
    /// The rate of the port, bit/s, if known.
    pub line: Option<u64>,
    /// The reference of percentages, bit/s, if known.
    pub whole: Option<u64>,
    assumed_line: u64,
}

impl<'a, 'r> Applied<'a, 'r> {
    fn new(
        model: &'a IosModel,
        used: &'a IosUse,
        assumed: &Assumed,
        codes: &'r mut Codes,
        reading: &'r mut Reading,
    ) -> Applied<'a, 'r> {
        let name = used.interface.as_str();
        let port = name.split(['.', ':']).next().unwrap_or(name);
        let speed = |interface: &str| model.speeds.get(interface).copied().unwrap_or_default();
        let by_name =
            SPEEDS.iter().find(|(start, _)| port.starts_with(start)).map(|(_, mbps)| mbps * 1_000_000);
        let written = speed(name).port.or(speed(port).port).or(by_name);
        let bandwidth = speed(name).bandwidth.or(speed(port).bandwidth);
        let assumed_line = assumed.line.unwrap_or(USUAL_LINE).as_bps();
        Applied {
            model,
            used,
            codes,
            reading,
            line: written.or(bandwidth),
            whole: bandwidth.or(written),
            assumed_line,
        }
    }

    /// Converts a policy to stages and flows.
    fn direction(&mut self, policy: &'a IosPolicy) -> (Vec<DraftStage>, Vec<PortFlow>) {
        let kept: Vec<&IosClass> = policy.classes.iter().filter(|c| !c.refused).collect();
        if let [class] = kept.as_slice()
            && class.is_default()
            && let Some(shape) = &class.shape
            && self.leaf_below(class)
        {
            return self.one_shaper(class, shape);
        }
        let mut grown = Grown::default();
        if self.queues(policy, 0) {
            Tree { applied: self, depth: 0 }.root(policy, &mut grown);
        } else {
            let whole = self.whole;
            Tree { applied: self, depth: 0 }.policed(policy, whole, &mut grown);
        }
        if grown.stages.is_empty() && grown.policers.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let mut stages = grown.policers;
        // If a policer limits one class, the line limits the others.
        if grown.stages.is_empty()
            && let Some(bps) = self.line
        {
            let link = Link { rate: Some(Rate::from_bps(bps)), ..Link::default() };
            let says = format!("{}, {}", self.used.interface, number::rate(bps));
            let line = DraftStage::new("line", self.used.line, says, link).with_credit(Credit::NoBucket);
            let at = if self.used.inward { 0 } else { stages.len() };
            stages.insert(at, line);
        }
        stages.extend(grown.stages);
        (stages, grown.flows)
    }

    /// Whether a policy, or one below it, has queues.
    pub fn queues(&self, policy: &IosPolicy, depth: usize) -> bool {
        depth < 8
            && policy.classes.iter().any(|c| {
                let child = c.child.as_ref().and_then(|name| self.model.policies.get(name));
                c.queues() || child.is_some_and(|p| self.queues(p, depth + 1))
            })
    }

    /// Whether no classes below a class share its rate.
    fn leaf_below(&self, class: &IosClass) -> bool {
        let Some(name) = &class.child else { return true };
        let child = self.model.policies.get(name);
        child.is_none_or(|p| match p.classes.as_slice() {
            [] => true,
            [only] => {
                only.is_default() && only.shape.is_none() && only.child.is_none() && only.priority.is_none()
            }
            _ => false,
        })
    }

    /// The policy below a class; reports a policy that is missing from the text.
    pub fn child(&mut self, class: &IosClass) -> Option<&'a IosPolicy> {
        let name = class.child.as_ref()?;
        let policy = self.model.policies.get(name);
        if policy.is_none() {
            let why = format!(
                "policy-map {name} below class {} is not in the text: how it divides the class is unknown",
                class.name
            );
            self.reading.unknown(class.line, name.clone(), why);
        }
        policy
    }

    /// Converts a policy that shapes all traffic.
    fn one_shaper(&mut self, class: &IosClass, shape: &IosShape) -> (Vec<DraftStage>, Vec<PortFlow>) {
        let Some(cir) = self.bits(shape.cir, self.whole, shape.line) else { return (Vec::new(), Vec::new()) };
        let cir = self.below_line(cir, class, shape.line);
        let mut shaper = self.shaper(shape, cir);
        let below = self.child(class).and_then(|p| p.classes.first());
        let queued = below.filter(|c| c.queues()).unwrap_or(class);
        shaper.queue = Some(self.queue_of(queued, cir));
        let says = format!("shape of class {}, {}", class.name, number::rate(shaper.rate.as_bps()));
        let mut stages = Vec::new();
        for police in class.police.iter().chain(below.and_then(|c| c.police.as_ref())) {
            stages.extend(self.policer(&class.name, police, self.whole, Vec::new()));
        }
        stages.push(DraftStage::new("shape", shape.line, says, shaper).with_credit(Credit::CarriesOver));
        let (_, says) = self.matched(class);
        (stages, vec![PortFlow { name: "all".into(), dscp: 0, says }])
    }

    /// Limits a shape to the port's speed, and reports a shape above it, which never limits.
    fn below_line(&mut self, cir: u64, class: &IosClass, line: usize) -> u64 {
        match self.line.filter(|port| *port < cir) {
            Some(port) => {
                let text = format!(
                    "shape of class {}: {} is above the {} of {}: it never limits",
                    class.name,
                    number::rate(cir),
                    number::rate(port),
                    self.used.interface
                );
                self.reading.fault(line, "shape-above-line", text);
                port
            }
            None => cir,
        }
    }

    /// A shaper with its bucket. Without Bc, the bucket is 4 ms of the rate, the fixed Tc of IOS-XE, but at
    /// least a packet.
    pub fn shaper(&mut self, shape: &IosShape, cir: u64) -> Shaper {
        let bytes = |size: IosSize| size.bytes(cir, PACKET).clamp(1, 1 << 50);
        let bc = shape.bc.map_or((cir / 8 / 250).max(FRAME), bytes);
        let be = shape.be.map_or(bc, |be| be.bytes(cir, PACKET).min(1 << 50));
        let mut shaper = Shaper::new(Rate::from_bps(cir));
        shaper.refill = Refill::Interval;
        if shape.peak {
            // Each Tc brings Bc + Be (Cisco: rate = CIR (1 + Be / Bc)).
            let rate = (cir as u128 * (bc as u128 + be as u128) / bc as u128).min(1 << 60) as u64;
            shaper.rate = Rate::from_bps(rate);
            shaper.burst = Some(Bytes::new(bc.saturating_add(be).max(FRAME)));
            shaper.excess_burst = Some(Bytes::new(0));
        } else {
            shaper.burst = Some(Bytes::new(bc));
            // A packet larger than the bucket uses credit of later intervals: credit for one packet
            // accumulates.
            shaper.excess_burst = Some(Bytes::new(be.max(FRAME.saturating_sub(bc))));
        }
        shaper
    }

    /// Reports mistakes in a shaper within a tree of classes.
    pub fn lint_shape(&mut self, class: &IosClass, shape: &IosShape, cir: u64) {
        let says = format!("shape of class {}, {}", class.name, number::rate(cir));
        let shaper = self.shaper(shape, cir);
        let stage = DraftStage::new("shape", shape.line, says, shaper).with_credit(Credit::CarriesOver);
        lint::lint_stage(&stage, self.reading);
    }

    /// A policer of the packets with these codepoints, or of all packets without codepoints.
    pub fn policer(
        &mut self,
        name: &str,
        police: &IosPolice,
        whole: Option<u64>,
        dscp: Vec<u8>,
    ) -> Option<DraftStage> {
        let cir = self.bits(police.cir, whole, police.line)?;
        let pir = police.pir.and_then(|pir| self.bits(pir, whole, police.line));
        let bucket = |size: Option<IosSize>, at: u64| {
            size.map(|s| s.bytes(at, PACKET)).filter(|b| *b > 0).map(Bytes::new)
        };
        let mut policer = Policer::single(Rate::from_bps(cir), bucket(police.bc, cir));
        policer.dscp = dscp;
        let [conform, exceed, violate] = &police.actions;
        let action = |a: &Option<String>, default: Action| match a.as_deref() {
            None => default,
            Some(a) if a.starts_with("drop") => Action::Drop,
            Some(_) => Action::Pass,
        };
        let exceeds = action(exceed, Action::Drop);
        policer.green = action(conform, Action::Pass);
        // NX-OS: a two-colour policer calls the second colour `violate`.
        policer.red = if exceed.is_none() { action(violate, Action::Drop) } else { exceeds };
        if let Some(pir) = pir.filter(|pir| *pir >= cir) {
            policer.meter = Meter::Trtcm;
            policer.peak_rate = Some(Rate::from_bps(pir));
            policer.peak_burst = bucket(police.be, pir);
            policer.yellow = exceeds;
            policer.red = action(violate, Action::Drop);
        } else if police.be.is_some() && exceed.is_some() && violate.is_some() {
            policer.meter = Meter::Srtcm;
            policer.excess_burst = bucket(police.be, cir);
            policer.yellow = exceeds;
            policer.red = action(violate, Action::Drop);
        }
        if policer.red != Action::Drop && policer.yellow != Action::Drop {
            let text =
                format!("police of class {name}: excess packets are not dropped, so it limits nothing");
            self.reading.fault(police.line, "police-keeps", text);
        }
        if police.bc.is_none() {
            self.reading
                .assume("`police` without a burst has 250 ms of its rate, the default of IOS and IOS XR");
        }
        let says = format!("police of class {name}, {}", number::rate(cir));
        Some(DraftStage::new("police", police.line, says, policer).with_credit(Credit::CarriesOver))
    }

    /// The rate of the port; assumed if the text does not state it, and then at least `needed`.
    pub fn port_rate(&mut self, needed: u64) -> u64 {
        if let Some(line) = self.line {
            return line;
        }
        let steps = [self.assumed_line, 10_000_000_000, 100_000_000_000, 1_000_000_000_000];
        let line = steps.into_iter().find(|s| *s >= needed).unwrap_or(needed);
        self.reading.assume(format!(
            "{} has {} (--line): the text does not state it",
            self.used.interface,
            number::rate(line)
        ));
        line
    }

    /// A rate in bit/s; percentages are of `whole`.
    pub fn bits(&mut self, rate: IosRate, whole: Option<u64>, line: usize) -> Option<u64> {
        let bits = match rate {
            IosRate::Bits(bits) => bits,
            IosRate::Percent(percent) => {
                let whole = whole.unwrap_or_else(|| self.port_rate(0));
                (whole as f64 * percent / 100.0) as u64
            }
        };
        if bits == 0 {
            self.reading.unknown(line, "rate", "a rate of 0");
        }
        Some(bits).filter(|b| *b > 0)
    }

    /// The codepoint that a class matches, and a description of its matches.
    pub fn matched(&self, class: &IosClass) -> (Option<u8>, String) {
        let Some(m) = self.model.matches.get(&class.name).filter(|m| !m.says.is_empty()) else {
            return (None, format!("class {}", class.name));
        };
        (m.dscp, format!("class {}: {}", class.name, m.says.join("; ").chars().take(120).collect::<String>()))
    }

    /// The queue of a class that is served at `rate`.
    pub fn queue_of(&mut self, class: &IosClass, rate: u64) -> QueueConfig {
        let is_xr = self.model.dialect == Dialect::Xr;
        // IOS: 64 packets. XR: 100 ms at the class's rate, 10 ms for priorities; a packet of a limit is 256
        // bytes.
        let limit = class.queue.unwrap_or(match (is_xr, class.priority) {
            (true, Some(_)) => IosSize::Time(0.01),
            (true, None) => IosSize::Time(0.1),
            _ => IosSize::Packets(64),
        });
        if class.queue.is_none() {
            self.reading.assume(match (is_xr, self.model.dialect) {
                (true, _) => {
                    "a class without queue-limit queues 100 ms of its rate, 10 ms with priority (IOS XR)"
                }
                (_, Dialect::Ios) => "a class without queue-limit queues 64 packets (IOS)",
                _ => {
                    "a class without queue-limit queues 64 packets: the platform's buffer is not in the text"
                }
            });
        }
        let unit = if is_xr { 256 } else { PACKET };
        let bytes = limit.bytes(rate, unit).max(PACKET);
        let packets = match limit {
            IosSize::Packets(n) if !is_xr => n.max(1),
            _ => (bytes / PACKET).max(1),
        };
        if class.fair {
            return QueueConfig::Wfq(Wfq { packets, ..Wfq::default() });
        }
        if class.red {
            let max = (packets / 2).max(2);
            return QueueConfig::Red(Red {
                packets: packets.max(3),
                min: (max / 2).max(1),
                max,
                bandwidth: Rate::from_bps(rate.max(1)),
                ..Red::default()
            });
        }
        match limit {
            IosSize::Packets(n) if !is_xr => QueueConfig::Fifo(Fifo { packets: Some(n.max(1)), bytes: None }),
            _ => QueueConfig::Fifo(Fifo { packets: None, bytes: Some(Bytes::new(bytes)) }),
        }
    }
}
