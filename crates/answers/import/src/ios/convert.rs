//! Policies into links, classes into flows.

use super::model::{IosClass, IosModel, IosPolice, IosPolicy, IosQueue, IosRate, IosShape, IosUse};
use crate::{Draft, DraftFlow, DraftLink, DraftStage, Reading, lint, number};
use path::queue::{Fifo, Red, Wfq};
use path::{Action, Class, Htb, Meter, Policer, QueueConfig, Refill, Shaper};
use std::collections::BTreeMap;
use units::{Bytes, Rate};

/// The router.
const HERE: &str = "router";
/// A codepoint each.
const MOST_CLASSES: usize = 63;

/// The whole model.
pub(crate) fn draft(model: &IosModel, reading: &mut Reading) -> Draft {
    let mut draft = Draft::default();
    let mut uses = model.uses.clone();
    let nested = |name: &str| {
        model.policies.values().flat_map(|p| &p.classes).any(|c| c.child.as_deref() == Some(name))
    };
    for name in &model.order {
        if !nested(name) && !uses.iter().any(|u| u.policy == *name) {
            let line = model.policies.get(name).map_or(1, |p| p.line);
            reading.assume(format!("policy {name} is applied outwards: no interface names it"));
            uses.push(IosUse { line, interface: name.clone(), inward: false, policy: name.clone() });
        }
    }
    for used in &uses {
        match model.policies.get(&used.policy) {
            Some(policy) => Applied { model, used, reading }.policy(policy, &mut draft),
            None => {
                let why = format!("no policy-map {} is there", used.policy);
                reading.unknown(used.line, used.policy.clone(), why);
            }
        }
    }
    draft
}

/// The speed that an interface's name promises, bit/s.
fn speed_of(interface: &str) -> Option<u64> {
    let known =
        [("Ten", 10_000), ("Forty", 40_000), ("Hundred", 100_000), ("Gig", 1000), ("Fast", 100), ("Eth", 10)];
    known.iter().find(|(start, _)| interface.starts_with(start)).map(|(_, mbps)| mbps * 1_000_000)
}

/// A policy on an interface.
struct Applied<'a, 'r> {
    model: &'a IosModel,
    used: &'a IosUse,
    reading: &'r mut Reading,
}

impl Applied<'_, '_> {
    fn policy(&mut self, policy: &IosPolicy, draft: &mut Draft) {
        if let [class] = policy.classes.as_slice()
            && let Some(shape) = &class.shape
        {
            let child = self.child(class).cloned();
            return self.shaped(class, shape, child, draft);
        }
        let shares = policy.classes.iter().any(|c| c.bandwidth.is_some() || c.priority.is_some());
        let speed =
            self.model.speeds.get(&self.used.interface).copied().or_else(|| speed_of(&self.used.interface));
        if !shares {
            return self.apart(policy, speed, draft);
        }
        let speed = speed.unwrap_or_else(|| self.assumed_speed());
        self.tree(policy, speed, None, policy.line, draft);
    }

    fn child(&mut self, class: &IosClass) -> Option<&'_ IosPolicy> {
        let name = class.child.as_ref()?;
        let policy = self.model.policies.get(name);
        if policy.is_none() {
            self.reading.unknown(class.line, name.clone(), format!("no policy-map {name} is there"));
        }
        policy
    }

    /// One shaper for all, perhaps with classes below.
    fn shaped(&mut self, class: &IosClass, shape: &IosShape, child: Option<IosPolicy>, draft: &mut Draft) {
        let speed =
            self.model.speeds.get(&self.used.interface).copied().or_else(|| speed_of(&self.used.interface));
        let Some(cir) = self.bits(shape.cir, speed, shape.line) else { return };
        let shaper = self.shaper(class, shape, cir);
        match child {
            Some(child) if child.classes.len() > 1 => {
                self.reading.assume(format!(
                    "the shaper of line {} refills all the time, not every Tc, where classes share it",
                    shape.line
                ));
                // Its own faults are not those of the tree.
                let says = format!("shape of class {}, {}", class.name, number::rate(cir));
                let alone = Shaper { queue: None, ..shaper.clone() };
                lint::judge(&DraftStage::new("shape", shape.line, says, alone), self.reading);
                self.tree(&child, shaper.rate.as_bps(), Some(shaper.burst()), shape.line, draft);
            }
            child => {
                let mut shaper = shaper;
                if let Some(queue) =
                    child.iter().flat_map(|c| &c.classes).next().and_then(|c| queue_of(c, cir))
                {
                    shaper.queue = Some(queue);
                }
                let says = format!("shape of class {}, {}", class.name, number::rate(shaper.rate.as_bps()));
                let stage = DraftStage::new("shape", shape.line, says, shaper);
                self.one_link("", vec![stage], 0, String::new(), draft);
            }
        }
    }

    fn shaper(&mut self, class: &IosClass, shape: &IosShape, cir: u64) -> Shaper {
        // Without Bc, Tc is 4 ms on the platforms that have no other (IOS-XE), or a packet.
        let bc = shape.bc.unwrap_or((cir / 250).max(8 * 1514)).max(8) / 8;
        let be = shape.be.map_or(bc, |be| be / 8);
        let bc = bc.max(1);
        let mut shaper = Shaper::new(Rate::from_bps(cir));
        shaper.refill = Refill::Interval;
        shaper.queue = queue_of(class, cir);
        if shape.peak {
            // Each Tc brings Bc + Be (Cisco: rate = CIR (1 + Be / Bc)).
            let rate = (cir as u128 * (bc as u128 + be as u128) / bc as u128).min(1 << 60) as u64;
            shaper.rate = Rate::from_bps(rate);
            shaper.burst = Some(Bytes::new((bc.saturating_add(be)).max(1514)));
            shaper.excess_burst = Some(Bytes::new(0));
        } else {
            shaper.burst = Some(Bytes::new(bc));
            shaper.excess_burst = Some(Bytes::new(be));
        }
        if shaper.largest().get() < 1514 {
            let text = format!(
                "shape of class {}: bc and be of {} together are below a full packet of 1514 bytes, which never passes",
                class.name,
                number::size(shaper.largest().get())
            );
            self.reading.fault(shape.line, "burst-below-packet", text);
        }
        shaper
    }

    /// Classes that do not share: each a link of its own.
    fn apart(&mut self, policy: &IosPolicy, speed: Option<u64>, draft: &mut Draft) {
        for class in policy.classes.iter().take(MOST_CLASSES) {
            let mut stages = Vec::new();
            if let Some(police) = &class.police {
                stages.extend(self.policer(class, police, speed));
            }
            if let Some(shape) = &class.shape
                && let Some(cir) = self.bits(shape.cir, speed, shape.line)
            {
                let shaper = self.shaper(class, shape, cir);
                let says = format!("shape of class {}, {}", class.name, number::rate(cir));
                stages.push(DraftStage::new("shape", shape.line, says, shaper));
            }
            if let Some(child) = self.child(class).cloned() {
                for inner in child.classes.iter().filter(|c| c.police.is_some()) {
                    let why =
                        format!("a police inside class {} is simulated where classes share", class.name);
                    self.reading.unknown(inner.line, inner.name.clone(), why);
                }
            }
            if !stages.is_empty() {
                let (dscp, says) = self.told(class);
                self.one_link(&class.name, stages, dscp.unwrap_or(0), says, draft);
            }
        }
    }

    fn policer(&mut self, class: &IosClass, police: &IosPolice, speed: Option<u64>) -> Option<DraftStage> {
        let cir = self.bits(police.cir, speed, police.line)?;
        let mut policer = Policer::single(Rate::from_bps(cir), police.bc.filter(|b| *b > 0).map(Bytes::new));
        let [conform, exceed, violate] = &police.actions;
        let action = |a: &Option<String>, default: Action| match a.as_deref() {
            None => default,
            Some(a) if a.starts_with("drop") => Action::Drop,
            Some(_) => Action::Pass,
        };
        let exceed = action(exceed, Action::Drop);
        policer.green = action(conform, Action::Pass);
        policer.red = exceed;
        if let Some(pir) = police.pir.filter(|pir| *pir >= cir) {
            policer.meter = Meter::Trtcm;
            policer.peak_rate = Some(Rate::from_bps(pir));
            policer.peak_burst = police.be.filter(|b| *b > 0).map(Bytes::new);
            policer.yellow = exceed;
            policer.red = action(violate, Action::Drop);
        } else if let Some(be) = police.be.filter(|_| violate.is_some()) {
            policer.meter = Meter::Srtcm;
            policer.excess_burst = Some(Bytes::new(be));
            policer.yellow = exceed;
            policer.red = action(violate, Action::Drop);
        }
        if policer.red != Action::Drop {
            let text =
                format!("police of class {}: what exceeds is not dropped: it limits nothing", class.name);
            self.reading.fault(police.line, "police-keeps", text);
        }
        let says = format!("police of class {}, {}", class.name, number::rate(cir));
        Some(DraftStage::new("police", police.line, says, policer))
    }

    /// Classes that share a rate.
    fn tree(&mut self, policy: &IosPolicy, rate: u64, burst: Option<Bytes>, line: usize, draft: &mut Draft) {
        let root = "all".to_string();
        let mut parts = BTreeMap::from([(root.clone(), line)]);
        let mut classes = vec![Class { burst, cburst: burst, ..plain(&root, rate) }];
        let mut flows = Vec::new();
        let mut used: Vec<u8> = vec![0];
        let guarantees = self.guarantees(policy, rate);
        let mut all: Vec<(&IosClass, u64)> =
            policy.classes.iter().zip(guarantees).take(MOST_CLASSES).collect();
        all.sort_by_key(|(class, _)| class.is_default());
        for (i, (class, guarantee)) in all.into_iter().enumerate() {
            let name = format!("{}-{i}", class.name);
            let (own, says) = self.told(class);
            let dscp = if class.is_default() {
                None
            } else {
                let free = (1..64).find(|d| !used.contains(d)).unwrap_or(63);
                Some(own.filter(|d| !used.contains(d)).unwrap_or(free))
            };
            used.extend(dscp);
            let mut leaf =
                Class { parent: Some(root.clone()), ..plain(&name, guarantee.min(rate).max(8000)) };
            leaf.ceil = Some(Rate::from_bps(self.ceil(class, rate).max(leaf.rate.as_bps())));
            leaf.prio = u8::from(class.priority.is_none());
            leaf.dscp = dscp.into_iter().collect();
            leaf.queue = queue_of(class, leaf.rate.as_bps());
            if let Some(bc) = class.police.as_ref().and_then(|p| p.bc).filter(|b| *b > 0) {
                leaf.cburst = Some(Bytes::new(bc));
            }
            if let Some(child) = class.child.as_ref() {
                let why = format!("policy {child} inside a class that shares is not simulated");
                self.reading.unknown(class.line, child.clone(), why);
            }
            parts.insert(name, class.line);
            flows.push((class.name.clone(), dscp.unwrap_or(0), says));
            classes.push(leaf);
        }
        let says = format!("classes of {} that share {}", self.used.policy, number::rate(rate));
        let mut stage = DraftStage::new("classes", line, says, Htb { classes });
        stage.parts = parts;
        self.link("", vec![stage], flows, draft);
    }

    /// The most a class may send: its own police or shape, a priority's rate, or all.
    fn ceil(&mut self, class: &IosClass, rate: u64) -> u64 {
        let mut most = rate;
        if let Some(p) = &class.police
            && let Some(cir) = self.bits(p.cir, Some(rate), p.line)
            && p.actions[1].as_ref().is_none_or(|a| a.starts_with("drop"))
        {
            most = most.min(cir);
        }
        if let Some(s) = &class.shape
            && let Some(cir) = self.bits(s.cir, Some(rate), s.line)
        {
            most = most.min(cir);
        }
        if let Some(Some(share)) = class.priority
            && let Some(bits) = self.bits(share, Some(rate), class.line)
        {
            self.reading
                .assume("a priority class never has more than its rate (IOS polices it under congestion)");
            most = most.min(bits);
        }
        most.max(1)
    }

    /// What each class has at least, bit/s.
    fn guarantees(&mut self, policy: &IosPolicy, rate: u64) -> Vec<u64> {
        let fixed: Vec<Option<u64>> = (policy.classes.iter())
            .map(|c| match (c.priority, c.bandwidth) {
                (Some(Some(share)), _) | (None, Some(share)) => match share {
                    IosRate::Bits(_) | IosRate::Percent(_) => self.bits(share, Some(rate), c.line),
                    _ => None,
                },
                (Some(None), _) => Some(self.ceil(c, rate).min(rate / 3)),
                _ => None,
            })
            .collect();
        let sum: u64 = fixed.iter().flatten().fold(0, |sum, b| sum.saturating_add(*b));
        let left = rate.saturating_sub(sum);
        let weight = |c: &IosClass| match c.bandwidth {
            Some(IosRate::Remaining(percent)) => percent,
            Some(IosRate::Ratio(ratio)) => ratio as f64,
            _ => 0.0,
        };
        let percents = policy.classes.iter().any(|c| matches!(c.bandwidth, Some(IosRate::Remaining(_))));
        let given: f64 = policy.classes.iter().map(weight).sum();
        let plain =
            policy.classes.iter().zip(&fixed).filter(|(c, f)| f.is_none() && weight(c) == 0.0).count();
        // Without a share: what percent of the rest is not given, or as a ratio of 1.
        let rest = if percents { (100.0 - given).max(1.0) / plain.max(1) as f64 } else { 1.0 };
        let all = given + rest * plain as f64;
        let own = |c: &IosClass| if weight(c) > 0.0 { weight(c) } else { rest };
        let pairs = policy.classes.iter().zip(fixed);
        pairs.map(|(c, f)| f.unwrap_or_else(|| (left as f64 * own(c) / all.max(1e-9)) as u64)).collect()
    }

    fn assumed_speed(&mut self) -> u64 {
        self.reading.assume(format!("{} has 100 Mbit/s: nothing says it", self.used.interface));
        100_000_000
    }

    fn bits(&mut self, rate: IosRate, whole: Option<u64>, line: usize) -> Option<u64> {
        let bits = match (rate, whole) {
            (IosRate::Bits(bits), _) => Some(bits),
            (IosRate::Percent(percent), whole) => {
                let whole = whole.unwrap_or_else(|| self.assumed_speed());
                Some((whole as f64 * percent / 100.0) as u64)
            }
            _ => None,
        };
        let bits = bits.filter(|b| *b > 0);
        if bits.is_none() {
            self.reading.unknown(
                line,
                "rate",
                "the rate cannot be worked out: nothing says what it is a share of",
            );
        }
        bits
    }

    /// The codepoint of a class and what it matches.
    fn told(&self, class: &IosClass) -> (Option<u8>, String) {
        let Some(m) = self.model.matches.get(&class.name).filter(|m| !m.says.is_empty()) else {
            return (None, format!("class {}", class.name));
        };
        (m.dscp, format!("class {}: {}", class.name, m.says.join("; ").chars().take(120).collect::<String>()))
    }

    fn one_link(&mut self, class: &str, stages: Vec<DraftStage>, dscp: u8, says: String, draft: &mut Draft) {
        let flow = if class.is_empty() { "all".to_string() } else { class.to_string() };
        self.link(class, stages, vec![(flow, dscp, says)], draft);
    }

    fn link(
        &mut self,
        class: &str,
        stages: Vec<DraftStage>,
        flows: Vec<(String, u8, String)>,
        draft: &mut Draft,
    ) {
        let way = if self.used.inward { "in" } else { "out" };
        let dash = if class.is_empty() { "" } else { "-" };
        let name = format!("{}-{way}{dash}{class}", self.used.interface);
        let beyond = format!("beyond-{name}");
        draft.links.push(DraftLink::beyond(name.clone(), [HERE, &beyond], self.used.inward, stages));
        for (flow, dscp, says) in flows {
            let (from, to) = if self.used.inward { (beyond.as_str(), HERE) } else { (HERE, beyond.as_str()) };
            let name = format!("{}-{way}-{flow}", self.used.interface);
            draft.flows.push(DraftFlow::bulk(name, from, to, dscp, says));
        }
    }
}

fn plain(name: &str, bits: u64) -> Class {
    Class {
        name: name.into(),
        parent: None,
        rate: Rate::from_bps(bits.max(1)),
        ceil: None,
        burst: None,
        cburst: None,
        prio: 0,
        quantum: None,
        flows: Vec::new(),
        dscp: Vec::new(),
        tunnel: None,
        queue: None,
    }
}

/// What waits in a class; 64 packets where nothing is said (IOS's HQF).
fn queue_of(class: &IosClass, rate: u64) -> Option<QueueConfig> {
    let packets = match class.queue {
        Some(IosQueue::Packets(n)) => n,
        Some(IosQueue::Bytes(n)) if !class.fair && !class.red => {
            return Some(QueueConfig::Fifo(Fifo { packets: None, bytes: Some(Bytes::new(n)) }));
        }
        Some(IosQueue::Bytes(n)) => (n / 1500).max(1),
        Some(IosQueue::Ms(ms)) => (rate as u128 * ms as u128 / 8000 / 1500).clamp(1, 1 << 32) as u64,
        None => 64,
    };
    Some(if class.fair {
        QueueConfig::Wfq(Wfq { packets, ..Wfq::default() })
    } else if class.red {
        let max = (packets / 2).max(2);
        QueueConfig::Red(Red {
            packets,
            min: (max / 2).max(1),
            max,
            bandwidth: Rate::from_bps(rate.max(1)),
            ..Red::default()
        })
    } else {
        QueueConfig::Fifo(Fifo { packets: Some(packets), bytes: None })
    })
}
