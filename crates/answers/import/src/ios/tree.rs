//! Converts a policy whose classes have queues to a tree of shapers ([`path::Htb`]).
//!
//! At every level `shape` is the ceiling of its class. The parent's rate is divided in the order of Cisco's
//! three-parameter scheduler (IOS-XE, "QoS Scheduling"): priorities up to their policers, then `bandwidth`,
//! then the rest by `bandwidth remaining`. The default is equal parts (classic IOS: in proportion to
//! `bandwidth`). Rate that a ceiling denies to a class goes to the others. A class that only polices or marks
//! uses the queue of class-default.

use super::convert::Applied;
use super::model::{IosClass, IosExcess, IosPolice, IosPolicy};
use super::units::{IosRate, IosSize};
use crate::number::{FRAME, PACKET};
use crate::shares::{MIN_RATE, Share, allocate, plain};
use crate::{Credit, DraftStage, PortFlow, number};
use path::{Class, Htb};
use std::collections::BTreeMap;
use units::Rate;

/// Maximum nesting of policies (the limit of Linux and of the element is 8 with the port).
const MAX_DEPTH: usize = 6;
/// Maximum classes of a tree.
const MAX_CLASSES: usize = 400;

/// The result of converting a policy.
#[derive(Default)]
pub(crate) struct Grown {
    /// Policers in front of the queues.
    pub policers: Vec<DraftStage>,
    pub stages: Vec<DraftStage>,
    pub flows: Vec<PortFlow>,
    classes: Vec<Class>,
    parts: BTreeMap<String, usize>,
    /// Codepoints given to classes of this policy.
    codes: Vec<u8>,
}

/// A class of the tree as the parent of others.
struct Parent<'p> {
    name: &'p str,
    /// Guaranteed rate, bit/s.
    rate: u64,
    /// Maximum rate, bit/s.
    ceil: u64,
    /// The reference of the children's percentages, bit/s.
    whole: u64,
    /// Whether unmatched packets belong to this class.
    takes_rest: bool,
}

/// A class of a level with its rates.
struct Member<'a> {
    class: &'a IosClass,
    /// Maximum rate: the class's shape, or its parent's ceiling, bit/s.
    ceil: u64,
    share: Share,
}

pub(crate) struct Tree<'t, 'a, 'r> {
    pub applied: &'t mut Applied<'a, 'r>,
    pub depth: usize,
}

impl<'a> Tree<'_, 'a, '_> {
    /// Converts a policy of the port.
    pub fn root(&mut self, policy: &'a IosPolicy, grown: &mut Grown) {
        let says = |rate: u64| format!("classes that share {}", number::rate(rate));
        let kept: Vec<&IosClass> = policy.classes.iter().filter(|c| !c.refused).collect();
        // A shaper of all traffic is the root.
        if let [class] = kept.as_slice()
            && class.is_default()
            && let Some(shape) = &class.shape
            && let Some(child) = self.applied.child(class)
        {
            let Some(cir) = self.applied.bits(shape.cir, self.applied.whole, shape.line) else { return };
            let cir = self.applied.line.map_or(cir, |port| port.min(cir));
            let shaper = self.applied.shaper(shape, cir);
            self.applied.lint_shape(class, shape, cir);
            let rate = shaper.rate.as_bps();
            if let Some(police) = &class.police {
                let whole = self.applied.whole;
                grown.policers.extend(self.applied.policer(&class.name, police, whole, Vec::new()));
            }
            let burst = Some(shaper.burst());
            grown.classes.push(Class { burst, cburst: burst, ..plain(&class.name, rate) });
            grown.parts.insert(class.name.clone(), shape.line);
            self.applied.reading.assume("a shaper above classes refills continuously, not every Tc");
            let parent = Parent { name: &class.name, rate, ceil: rate, whole: rate, takes_rest: true };
            self.level(child, &parent, grown);
            return self.finish(shape.line, says(rate), grown);
        }
        let needed = policy.classes.iter().map(absolute).fold(0u64, u64::saturating_add);
        let port = self.applied.port_rate(needed);
        let whole = self.applied.whole.unwrap_or(port);
        let name = "port";
        grown.classes.push(plain(name, port));
        grown.parts.insert(name.into(), policy.line);
        let parent = Parent { name, rate: port, ceil: port, whole, takes_rest: true };
        self.level(policy, &parent, grown);
        self.finish(policy.line, says(port), grown);
    }

    fn finish(&mut self, line: usize, says: String, grown: &mut Grown) {
        let classes = std::mem::take(&mut grown.classes);
        let mut stage =
            DraftStage::new("classes", line, says, Htb { classes }).with_credit(Credit::CarriesOver);
        stage.parts = std::mem::take(&mut grown.parts);
        grown.stages.push(stage);
    }

    /// Converts a policy without queues to policers; returns the codepoints of its classes.
    pub fn policed(&mut self, policy: &'a IosPolicy, whole: Option<u64>, grown: &mut Grown) -> Vec<u8> {
        let mut all = Vec::new();
        let mut classes: Vec<&IosClass> = policy.classes.iter().filter(|c| !c.refused).collect();
        classes.sort_by_key(|c| c.is_default());
        for class in classes {
            let child = self.applied.child(class);
            if class.police.is_none() && child.is_none() {
                continue;
            }
            let inner = match child {
                Some(child) if self.depth < MAX_DEPTH => {
                    let whole =
                        class.police.as_ref().map_or(whole, |p| self.applied.bits(p.cir, whole, p.line));
                    self.depth += 1;
                    let inner = self.policed(child, whole, grown);
                    self.depth -= 1;
                    inner
                }
                _ => Vec::new(),
            };
            let Some(police) = &class.police else {
                all.extend(inner);
                continue;
            };
            // The policer applies to the classes below, or to the class itself.
            let codes = if inner.is_empty() { self.flow(class, true, grown) } else { inner };
            let is_all = class.is_default() && policy.classes.len() == 1 && self.depth == 0;
            let codes_of_police = if is_all { Vec::new() } else { codes.clone() };
            grown.policers.extend(self.applied.policer(&class.name, police, whole, codes_of_police));
            all.extend(codes);
        }
        all
    }

    /// Adds a flow for a class, and returns its codepoint; 0 for class-default if it takes all other traffic.
    fn flow(&mut self, class: &IosClass, takes_rest: bool, grown: &mut Grown) -> Vec<u8> {
        let (own, says) = self.applied.matched(class);
        let code = if class.is_default() && takes_rest {
            0
        } else {
            let Some(code) = self.applied.codes.of(&class.name, own, &grown.codes) else {
                self.applied.reading.unknown(
                    class.line,
                    class.name.clone(),
                    "at most 63 classes have a flow",
                );
                return Vec::new();
            };
            code
        };
        grown.codes.push(code);
        grown.flows.push(PortFlow { name: class.name.clone(), dscp: code, says });
        vec![code]
    }

    /// Converts the classes of a policy below `parent`; returns their codepoints.
    fn level(&mut self, policy: &'a IosPolicy, parent: &Parent<'_>, grown: &mut Grown) -> Vec<u8> {
        let mut codes = Vec::new();
        // Classes that only police or mark use the queue of class-default.
        let mut in_default = Vec::new();
        let has_queue = |c: &IosClass, applied: &Applied| {
            let child = c.child.as_ref().and_then(|name| applied.model.policies.get(name));
            c.queues() || c.is_default() || child.is_some_and(|p| applied.queues(p, 1))
        };
        let kept: Vec<&IosClass> = policy.classes.iter().filter(|c| !c.refused).collect();
        let (queued, unqueued): (Vec<&IosClass>, Vec<&IosClass>) =
            kept.into_iter().partition(|c| has_queue(c, self.applied));
        for class in unqueued {
            let Some(police) = &class.police else { continue };
            let code = self.flow(class, false, grown);
            let whole = Some(parent.whole);
            grown.policers.extend(self.applied.policer(&class.name, police, whole, code.clone()));
            in_default.extend(code);
        }
        let implicit = IosClass { name: "class-default".into(), line: policy.line, ..IosClass::default() };
        let mut classes = queued;
        if !classes.iter().any(|c| c.is_default()) {
            classes.push(&implicit);
        }
        classes.sort_by_key(|c| c.is_default());
        let members = self.members(&classes, parent);
        let shares: Vec<Share> = members.iter().map(|m| m.share).collect();
        let guaranteed = allocate(&shares, parent.rate, false);
        let given = allocate(&shares, parent.rate, true);
        self.report_excess_guarantees(&members, parent, policy.line);
        let priorities = classes.iter().filter_map(|c| c.priority).map(|p| p.level).max().unwrap_or(0);
        for (member, (rate, guaranteed)) in members.iter().zip(given.into_iter().zip(guaranteed)) {
            if grown.classes.len() >= MAX_CLASSES {
                self.applied.reading.unknown(
                    member.class.line,
                    member.class.name.clone(),
                    "too many classes",
                );
                break;
            }
            let is_implicit = std::ptr::eq(member.class, &implicit);
            let mut node =
                plain(&unique(&member.class.name, &grown.classes), rate.max(MIN_RATE).min(member.ceil));
            node.parent = Some(parent.name.to_string());
            node.ceil = Some(Rate::from_bps(member.ceil));
            node.prio = member.class.priority.map_or(priorities, |p| p.level - 1).min(7);
            if shares.iter().any(|s| s.is_unlimited) && !member.share.is_unlimited {
                // The rate that strict priority leaves is shared like the whole rate.
                node.quantum = Some((guaranteed / 80).clamp(PACKET, 200_000) as u32);
            }
            codes.extend(self.node(member, node, guaranteed, parent, is_implicit, &in_default, grown));
        }
        codes.extend(in_default);
        codes
    }

    /// Converts a class of a level with the classes below it.
    #[allow(clippy::too_many_arguments)]
    fn node(
        &mut self,
        member: &Member<'_>,
        mut node: Class,
        guaranteed: u64,
        parent: &Parent<'_>,
        is_implicit: bool,
        in_default: &[u8],
        grown: &mut Grown,
    ) -> Vec<u8> {
        let class = member.class;
        grown.parts.insert(node.name.clone(), class.line);
        if let Some(shape) = &class.shape {
            self.applied.lint_shape(class, shape, member.ceil);
            node.cburst = Some(self.applied.shaper(shape, member.ceil).burst());
        }
        let takes_rest = parent.takes_rest && class.is_default();
        let child = if is_implicit { None } else { self.applied.child(class) };
        let child = child.filter(|p| self.applied.queues(p, 1));
        if let Some(child) = child.filter(|_| self.depth < MAX_DEPTH) {
            let name = node.name.clone();
            let below = Parent {
                name: &name,
                rate: node.rate.as_bps(),
                ceil: member.ceil,
                whole: class.shape.as_ref().map_or(parent.whole, |_| member.ceil),
                takes_rest,
            };
            node.quantum = None;
            grown.classes.push(node);
            self.depth += 1;
            let codes = self.level(child, &below, grown);
            self.depth -= 1;
            self.police(class, parent, &codes, grown);
            return codes;
        }
        let codes = match (is_implicit, takes_rest) {
            (true, true) => Vec::new(),
            (true, false) => self
                .applied
                .codes
                .of(&format!("{} of {}", class.name, parent.name), None, &grown.codes)
                .into_iter()
                .collect(),
            _ => self.flow(class, takes_rest, grown),
        };
        if !takes_rest {
            node.dscp = codes
                .iter()
                .copied()
                .chain(in_default.iter().copied().filter(|_| class.is_default()))
                .collect();
        }
        node.queue = Some(self.applied.queue_of(class, guaranteed.max(MIN_RATE)));
        if let Some(inner) = class.child.as_ref().and_then(|name| self.applied.model.policies.get(name)) {
            // The policers of a child without queues apply to the whole class.
            for police in inner.classes.iter().filter(|c| c.is_default()).filter_map(|c| c.police.as_ref()) {
                grown.policers.extend(self.applied.policer(
                    &class.name,
                    police,
                    Some(member.ceil),
                    codes.clone(),
                ));
            }
        }
        if !is_implicit {
            self.police(class, parent, &codes, grown);
        }
        grown.classes.push(node);
        codes
    }

    /// Adds the policer of a class, or the policer of its priority.
    fn police(&mut self, class: &IosClass, parent: &Parent<'_>, codes: &[u8], grown: &mut Grown) {
        if let Some(police) = &class.police {
            grown.policers.extend(self.applied.policer(
                &class.name,
                police,
                Some(parent.whole),
                codes.to_vec(),
            ));
            return;
        }
        let Some(priority) = class.priority else { return };
        let Some(rate) = priority.rate.and_then(|r| self.applied.bits(r, Some(parent.whole), priority.line))
        else {
            return;
        };
        // Cisco, `priority`: the default burst is 200 ms at the configured rate. Without congestion it does
        // not police, so a burst below a packet does not block packets.
        let burst = priority.burst.unwrap_or(IosSize::Time(0.2)).bytes(rate, PACKET).max(FRAME);
        let police = IosPolice {
            line: priority.line,
            cir: IosRate::Bits(rate),
            bc: Some(IosSize::Bytes(burst)),
            be: None,
            pir: None,
            actions: [None, None, None],
        };
        self.applied.reading.assume(
            "a class with `priority` and a rate is always limited to it; the router polices it only during congestion",
        );
        let stage = self.applied.policer(&class.name, &police, None, codes.to_vec());
        let written = priority
            .burst
            .map(|b| format!(", a burst of {} is written", number::size(b.bytes(rate, PACKET))));
        let says = format!("priority of class {}{}", class.name, written.unwrap_or_default());
        grown.policers.extend(stage.map(|s| DraftStage { says, ..s }));
    }

    /// The classes of a level with their rates.
    fn members<'c>(&mut self, classes: &[&'c IosClass], parent: &Parent<'_>) -> Vec<Member<'c>> {
        let whole = Some(parent.whole);
        let by_percent: f64 = classes
            .iter()
            .filter_map(|c| match c.excess {
                Some(IosExcess::Percent(p)) => Some(p),
                _ => None,
            })
            .sum();
        let is_by_percent = classes.iter().any(|c| matches!(c.excess, Some(IosExcess::Percent(_))));
        let without_share =
            classes.iter().filter(|c| c.excess.is_none() && c.priority.is_none()).count().max(1);
        // A class without a share gets an equal part of the unassigned per cent, or a ratio of 1.
        let rest = if is_by_percent { (100.0 - by_percent).max(1.0) / without_share as f64 } else { 1.0 };
        classes
            .iter()
            .map(|class| {
                let shape = class.shape.as_ref().and_then(|s| self.applied.bits(s.cir, whole, s.line));
                let peak = class.shape.as_ref().filter(|s| s.peak).zip(shape);
                let shape = peak.map_or(shape, |(s, cir)| Some(self.applied.shaper(s, cir).rate.as_bps()));
                let ceil = shape.unwrap_or(parent.ceil).min(parent.ceil).max(MIN_RATE);
                let drops = |p: &&IosPolice| p.actions[1].as_ref().is_none_or(|a| a.starts_with("drop"));
                let police = class.police.as_ref().filter(drops);
                let policed = police.and_then(|p| self.applied.bits(p.pir.unwrap_or(p.cir), whole, p.line));
                let priority =
                    class.priority.and_then(|p| p.rate).and_then(|r| self.applied.bits(r, whole, class.line));
                let usable = ceil.min(policed.unwrap_or(ceil)).min(priority.unwrap_or(ceil));
                let is_priority = class.priority.is_some();
                let is_unlimited = is_priority && policed.is_none() && priority.is_none() && shape.is_none();
                let bandwidth = class.bandwidth.and_then(|b| self.applied.bits(b, whole, class.line));
                let fixed = match (is_priority, bandwidth) {
                    (true, _) if is_unlimited => 0,
                    (true, _) => usable,
                    (false, bandwidth) => bandwidth.unwrap_or(0).min(usable),
                };
                let weight = match class.excess {
                    _ if is_priority => 0.0,
                    Some(IosExcess::Percent(p)) => p,
                    Some(IosExcess::Ratio(r)) => r as f64,
                    None => rest,
                };
                Member { class, ceil, share: Share { fixed, weight, usable, is_unlimited } }
            })
            .collect()
    }

    fn report_excess_guarantees(&mut self, members: &[Member<'_>], parent: &Parent<'_>, line: usize) {
        let sum = members.iter().fold(0u64, |sum, m| sum.saturating_add(m.share.fixed));
        if sum > parent.ceil.saturating_add(parent.ceil / 100) {
            let text = format!(
                "its classes are guaranteed {} in total, but only {} is available: the guarantees cannot be kept",
                number::rate(sum),
                number::rate(parent.ceil)
            );
            self.applied.reading.fault(line, "class-rates", text);
        }
        for m in members.iter().filter(|m| m.share.is_unlimited) {
            self.applied.reading.assume(format!(
                "class {} has priority without a limit: its flow may take the whole rate",
                m.class.name
            ));
        }
    }
}

/// The largest absolute rate of a class, bit/s.
fn absolute(class: &IosClass) -> u64 {
    let bits = |rate: Option<IosRate>| match rate {
        Some(IosRate::Bits(bits)) => bits,
        _ => 0,
    };
    let shape = bits(class.shape.as_ref().map(|s| s.cir));
    shape.max(bits(class.bandwidth)).max(bits(class.priority.and_then(|p| p.rate)))
}

/// The name of a class, made unique with a number.
fn unique(name: &str, classes: &[Class]) -> String {
    let is_taken = |name: &str| classes.iter().any(|c| c.name == name);
    if !is_taken(name) {
        return name.into();
    }
    (2..).map(|n| format!("{name}-{n}")).find(|n| !is_taken(n)).unwrap_or_default()
}
