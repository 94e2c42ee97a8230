//! Reads configurations and the output of `show policy-map interface` into the model.

use super::command::{self, Understood};
use super::model::{IosClass, IosMatch, IosModel, IosPolicy, IosShape, IosUse, dscp};
use super::show;
use super::units::{Dialect, IosRate, RouterUnit, number, rate};
use crate::Reading;

/// Maximum policies, and classes of a policy.
const MAX_POLICIES: usize = 1000;

/// Prefix of the name of the policy that represents an interface's queues.
const QUEUES_OF: &str = "queues of ";

/// The owner of the following lines.
#[derive(Clone, Debug, PartialEq)]
enum Within {
    Nothing,
    ClassMap(String),
    Policy(String),
    Interface(String),
    /// A queue of an EOS interface, with the policy that represents it.
    TxQueue(String),
    /// Packets to the router itself, which are not on a path through it.
    ControlPlane,
}

/// The result of reading a line.
enum Line {
    Understood,
    Unknown,
    /// Understood but not simulated, with the reason.
    NotSimulated(&'static str),
    /// Words that affect a limit and are not understood.
    Refused(String),
}

impl From<bool> for Line {
    fn from(understood: bool) -> Line {
        if understood { Line::Understood } else { Line::Unknown }
    }
}

impl From<Understood> for Line {
    fn from(understood: Understood) -> Line {
        match understood {
            Ok(()) => Line::Understood,
            Err(words) => Line::Refused(words),
        }
    }
}

struct IosReader<'r> {
    model: IosModel,
    reading: &'r mut Reading,
    within: Within,
    /// `show`: the interface, and its policies with the indentation of their lines.
    interface: String,
    shown: Vec<(usize, String)>,
    /// The colour of the action in the next line.
    colour: Option<usize>,
}

/// The platform of a configuration, by commands that only that platform has.
fn dialect(text: &str) -> Dialect {
    const XR: [&str; 7] = [
        "end-policy-map",
        "end-class-map",
        "interface tengige",
        "interface hundredgige",
        "interface bundle-ether",
        "rp/0/",
        "policed(conform)",
    ];
    const NX_OS: [&str; 7] = [
        "policy-map type q",
        "class-map type q",
        "class type queuing",
        "class type qos",
        "system qos",
        "service-policy (q",
        "feature ",
    ];
    const EOS: [&str; 6] = [
        "shape rate ",
        "tx-queue ",
        "uc-tx-queue ",
        "policy-map type quality-of-service",
        "qos profile ",
        "! device:",
    ];
    let lines: Vec<String> = text.lines().map(|line| line.trim().to_ascii_lowercase()).collect();
    let has = |marks: &[&str]| lines.iter().any(|line| marks.iter().any(|m| line.starts_with(m)));
    // XR writes units as separate words, and interfaces with four numbers.
    let is_xr = |line: &String| {
        let limit = ["police ", "shape "].iter().any(|c| line.starts_with(c));
        let named =
            ["kbps", "mbps", "gbps", "kbytes", "mbytes"].iter().any(|u| line.split(' ').any(|w| w == *u));
        limit && named || line.starts_with("interface ") && line.matches('/').count() == 3
    };
    if has(&EOS) || lines.iter().any(|line| line.starts_with("police ") && line.contains(" burst-size ")) {
        Dialect::Eos
    } else if has(&NX_OS) {
        Dialect::NxOs
    } else if has(&XR) || lines.iter().any(is_xr) {
        Dialect::Xr
    } else {
        Dialect::Ios
    }
}

/// Reads the whole text.
pub(crate) fn read(text: &str, reading: &mut Reading) -> IosModel {
    let mut reader = IosReader {
        model: IosModel { dialect: dialect(text), ..IosModel::default() },
        reading,
        within: Within::Nothing,
        interface: String::new(),
        shown: Vec::new(),
        colour: None,
    };
    for (i, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['!', '#']) {
            continue;
        }
        reader.reading.lines.insert(i + 1);
        let indent = line.len() - line.trim_start().len();
        match reader.line(i + 1, indent, trimmed) {
            Line::Understood => {}
            Line::NotSimulated(why) => reader.reading.unknown(i + 1, trimmed, why),
            Line::Refused(words) => reader.refuse(i + 1, trimmed, &words),
            Line::Unknown => {
                let why = match reader.within {
                    Within::Policy(_) => {
                        format!("unknown class keyword `{}`", trimmed.split(' ').next().unwrap_or(trimmed))
                    }
                    _ => "not part of a policy".to_string(),
                };
                reader.reading.unknown(i + 1, trimmed, why);
            }
        }
    }
    reader.model
}

impl IosReader<'_> {
    /// Reports words that affect a limit, and leaves out the class of the line, because its effect is
    /// unknown.
    fn refuse(&mut self, line: usize, said: &str, words: &str) {
        let words = if words.contains('`') { words.to_string() } else { format!("`{words}`") };
        let class = match &self.within {
            Within::Policy(policy) | Within::TxQueue(policy) => {
                self.model.policies.get_mut(policy).and_then(|p| p.classes.last_mut())
            }
            _ => None,
        };
        let left_out = class.map(|class| {
            class.refused = true;
            format!(": class {} is left out", class.name)
        });
        let why = format!("{words} is not understood{}", left_out.unwrap_or_default());
        self.reading.refuse(line, said, why);
    }

    fn line(&mut self, number: usize, indent: usize, said: &str) -> Line {
        let words: Vec<&str> = said.split_whitespace().collect();
        let lower = said.to_ascii_lowercase();
        let first = words[0].to_ascii_lowercase();
        // Tables of drops.
        if lower.contains("random drop") || show::is_row(&words) && !self.is_old_shape() {
            return Line::Understood;
        }
        if first.starts_with("end-") || matches!(first.as_str(), "exit" | "end" | "}" | "root") {
            return Line::Understood;
        }
        // A prompt, with or without a command.
        if first.ends_with(['#', '>']) || first.contains("#sh") {
            self.within = Within::Nothing;
            return Line::Understood;
        }
        // ASA.
        match words[..] {
            ["service-policy", policy, "interface", name] => return self.use_on_asa(number, policy, name),
            ["service-policy", policy, "global"] => {
                return self.use_on_asa(number, policy, "every interface");
            }
            _ => {}
        }
        match first.as_str() {
            // `show`: `Class-map: NAME (match-any)`, of NX-OS `Class-map (qos):   NAME (match-any)`.
            "class-map:" => self.class_shown(number, indent, words.get(1).copied().unwrap_or_default()),
            "class-map" if words.get(1).is_some_and(|w| w.ends_with(':')) => {
                self.class_shown(number, indent, words.get(2).copied().unwrap_or_default())
            }
            "service-policy:" => self.service_shown(number, indent, &words).into(),
            "service-policy" if lower.contains(':') => self.service_shown(number, indent, &words).into(),
            // ASA: `service-policy POLICY interface NAME` and `service-policy POLICY global`.
            "policy-map" => {
                let name = words.last().copied().unwrap_or_default().to_string();
                self.policy(&name, number);
                self.within = Within::Policy(name);
                Line::Understood
            }
            // `show policy-map`.
            "policy" if words.len() == 3 && words[1].eq_ignore_ascii_case("map") => {
                self.policy(words[2], number);
                self.within = Within::Policy(words[2].into());
                Line::Understood
            }
            "class-map" => {
                let name = words.last().copied().unwrap_or_default().to_string();
                self.model.matches.entry(name.clone()).or_default();
                self.within = Within::ClassMap(name);
                Line::Understood
            }
            "interface" if words.len() > 1 => {
                let name = words[1..]
                    .iter()
                    .filter(|w| !matches!(**w, "l2transport" | "point-to-point" | "multipoint"));
                self.within = Within::Interface(name.copied().collect::<String>());
                Line::Understood
            }
            // NX-OS: policies of the switch.
            "system" if words.get(1) == Some(&"qos") => {
                self.within = Within::Interface("system".into());
                Line::Understood
            }
            "control-plane" => {
                self.within = Within::ControlPlane;
                Line::Understood
            }
            // XR: `GigabitEthernet0/0/0/0 output: POLICY`
            _ if words.len() == 3 && is_interface(words[0]) && matches!(words[1], "output:" | "input:") => {
                self.interface = words[0].into();
                self.shown.clear();
                self.service_shown(number, indent, &words).into()
            }
            _ => match self.within.clone() {
                Within::ClassMap(name) if lower.starts_with("match ") || lower.starts_with("description") => {
                    self.matches(&name, &words).into()
                }
                Within::Policy(name) => {
                    let done = self.in_policy(&name, number, &words, &lower);
                    let unknown = matches!(done, Line::Unknown);
                    if unknown && indent <= 2 && words.len() == 1 && is_interface(words[0]) {
                        return self.begin_interface(words[0]);
                    }
                    done
                }
                Within::Interface(name) => self.in_interface(&name, number, &words),
                Within::TxQueue(policy) if first != "service-policy" && !first.ends_with("tx-queue") => {
                    match self.in_policy(&policy, number, &words, &lower) {
                        Line::Unknown => self.in_interface(&policy, number, &words),
                        done => done,
                    }
                }
                Within::TxQueue(policy) => self.in_interface(&policy, number, &words),
                Within::ControlPlane if first == "service-policy" => {
                    self.model.elsewhere.extend(words.last().map(|name| name.to_string()));
                    Line::NotSimulated(
                        "it polices packets to the router itself, which are not on a path through it",
                    )
                }
                _ if words.len() == 1 && is_interface(words[0]) => self.begin_interface(words[0]),
                _ => Line::Unknown,
            },
        }
    }

    /// Whether the next row is a shaper in the output of IOS 12: `Target/Average Byte Sustain …`.
    fn is_old_shape(&self) -> bool {
        let Within::Policy(policy) = &self.within else { return false };
        let class = self.model.policies.get(policy).and_then(|p| p.classes.last());
        class.and_then(|c| c.shape.as_ref()).is_some_and(|s| s.cir == IosRate::Bits(0))
    }

    /// The name of the policy that holds what an ASA's policy polices in one direction.
    fn of_direction(policy: &str, inward: bool) -> String {
        format!("{policy} ({})", if inward { "input" } else { "output" })
    }

    /// ASA: `police input …` or `police output …` below a class. The policy has no direction, its policers
    /// have.
    fn police_one_way(&mut self, policy: &str, line: usize, inward: bool, rest: &[&str]) -> Line {
        let classes = self.model.policies.get(policy).map_or(&[][..], |p| &p.classes);
        let Some(class) = classes.last().map(|c| c.name.clone()) else { return Line::Unknown };
        let one_way = Self::of_direction(policy, inward);
        self.policy(&one_way, line);
        let dialect = self.model.dialect;
        self.add_class(&one_way, &class, line, |c| command::police(c, line, rest, dialect))
    }

    /// Applies a policy of an ASA to an interface: its policers by their directions, and its shapers and
    /// queues to what leaves.
    fn use_on_asa(&mut self, line: usize, policy: &str, interface: &str) -> Line {
        let queues = |p: &IosPolicy| p.classes.iter().any(IosClass::queues);
        let mut used = Vec::new();
        if self.model.policies.get(policy).is_some_and(queues) {
            used.push((policy.to_string(), false));
        }
        used.extend([true, false].map(|inward| (Self::of_direction(policy, inward), inward)));
        used.retain(|(name, _)| self.model.policies.contains_key(name));
        for (policy, inward) in used {
            self.model.uses.push(IosUse { line, interface: interface.into(), inward, policy });
        }
        self.model.policies.contains_key(policy).into()
    }

    fn begin_interface(&mut self, name: &str) -> Line {
        self.interface = name.into();
        self.shown.clear();
        self.within = Within::Nothing;
        Line::Understood
    }

    fn policy(&mut self, name: &str, line: usize) {
        if !self.model.policies.contains_key(name) && self.model.order.len() < MAX_POLICIES {
            self.model.order.push(name.into());
            self.model.policies.insert(name.into(), IosPolicy { line, classes: Vec::new() });
        }
    }

    fn class_shown(&mut self, line: usize, indent: usize, name: &str) -> Line {
        let Some((_, policy)) = self.shown.iter().rev().find(|(at, _)| *at < indent) else {
            return Line::Unknown;
        };
        self.within = Within::Policy(policy.clone());
        self.class(name, line).into()
    }

    /// `Service-policy output: NAME`, or `Service-policy : NAME` below a class.
    fn service_shown(&mut self, line: usize, indent: usize, words: &[&str]) -> bool {
        let Some(name) = words.last() else { return false };
        self.shown.retain(|(at, _)| *at < indent);
        let lower = words.join(" ").to_ascii_lowercase();
        let direction = ["output", "input"].into_iter().find(|w| lower.contains(w));
        let nested = self.shown.last().map(|(_, p)| p.clone()).filter(|_| direction.is_none());
        // A policy is listed once for each interface.
        let own = format!("{}/{}/{}", self.interface, self.shown.len(), name);
        let own = if self.model.policies.contains_key(&own) { format!("{own}/{line}") } else { own };
        self.policy(&own, line);
        if let Some(parent) = nested {
            let class = self.model.policies.get_mut(&parent).and_then(|p| p.classes.last_mut());
            if let Some(class) = class {
                class.child = Some(own.clone());
            }
        } else {
            let interface =
                if self.interface.is_empty() { "interface".into() } else { self.interface.clone() };
            let inward = direction == Some("input");
            self.model.uses.push(IosUse { line, interface, inward, policy: own.clone() });
        }
        self.within = Within::Policy(own.clone());
        self.shown.push((indent, own));
        true
    }

    fn class(&mut self, name: &str, line: usize) -> bool {
        self.colour = None;
        let Within::Policy(policy) = &self.within else { return false };
        let Some(policy) = self.model.policies.get_mut(policy).filter(|p| p.classes.len() < MAX_POLICIES)
        else {
            return false;
        };
        policy.classes.push(IosClass { name: name.into(), line, ..IosClass::default() });
        true
    }

    fn matches(&mut self, name: &str, words: &[&str]) -> bool {
        let m: &mut IosMatch = self.model.matches.entry(name.into()).or_default();
        if m.says.len() < 20 {
            m.says.push(words[1..].join(" ").chars().take(80).collect());
        }
        let at = words.iter().position(|w| w.eq_ignore_ascii_case("dscp"));
        if let Some(value) = at.and_then(|at| words.get(at + 1)) {
            m.dscp = m.dscp.or(dscp(value));
        }
        let at = words.iter().position(|w| w.eq_ignore_ascii_case("precedence"));
        if let Some(value) = at.and_then(|at| words.get(at + 1)).and_then(|w| w.parse::<u8>().ok()) {
            m.dscp = m.dscp.or((value < 8).then(|| value * 8));
        }
        true
    }

    /// A policy for a command of an interface; its class is added by [`IosReader::add_class`].
    fn made_policy(&mut self, interface: &str, what: &str, line: usize, inward: bool) -> String {
        let direction = if inward { "in" } else { "out" };
        let name = format!("{what} of {interface}, {direction}");
        self.policy(&name, line);
        if !self.model.uses.iter().any(|u| u.policy == name) {
            let (interface, policy) = (interface.into(), name.clone());
            self.model.uses.push(IosUse { line, interface, inward, policy });
        }
        name
    }

    /// Adds a class to a policy, and sets it up with `fill`.
    fn add_class(
        &mut self,
        policy: &str,
        name: &str,
        line: usize,
        fill: impl FnOnce(&mut IosClass) -> Understood,
    ) -> Line {
        let Some(policy) = self.model.policies.get_mut(policy).filter(|p| p.classes.len() < MAX_POLICIES)
        else {
            return Line::Unknown;
        };
        let mut class = IosClass { name: name.into(), line, ..IosClass::default() };
        let done = fill(&mut class);
        class.refused = done.is_err();
        policy.classes.push(class);
        done.into()
    }

    fn in_interface(&mut self, within: &str, line: usize, words: &[&str]) -> Line {
        let dialect = self.model.dialect;
        // After a queue, the interface is the owner of the queues.
        let name = within.strip_prefix(QUEUES_OF).unwrap_or(within).to_string();
        let first = words[0].to_ascii_lowercase();
        match first.as_str() {
            "service-policy" if words.len() >= 3 => {
                let Some(at) = words.iter().position(|w| matches!(*w, "input" | "output")) else {
                    return Line::Unknown;
                };
                let Some(policy) = words.get(at + 1) else { return Line::Unknown };
                let inward = words[at] == "input";
                self.model.uses.push(IosUse { line, interface: name, inward, policy: policy.to_string() });
                Line::Understood
            }
            "bandwidth" if words.len() >= 2 => match rate(words, 1, 1e3) {
                Ok(Some((IosRate::Bits(bits), _))) => {
                    self.model.speeds.entry(name).or_default().bandwidth = Some(bits);
                    Line::Understood
                }
                Err(words) => Line::Refused(words),
                _ => Line::Unknown,
            },
            "speed" => {
                let speed = words[1..].iter().find_map(|w| port_speed(w));
                if let Some(speed) = speed {
                    self.model.speeds.entry(name).or_default().port = Some(speed);
                }
                (speed.is_some() || words.get(1) == Some(&"auto")).into()
            }
            "description" | "duplex" => Line::Understood,
            // EOS, NX-OS: a shaper of the port.
            "shape" => {
                let policy = self.made_policy(&name, "shape", line, false);
                self.add_class(&policy, "class-default", line, |c| {
                    command::shape(c, line, &words[1..], dialect)
                })
            }
            // EOS: a queue of the port, whose shaper is below the port's.
            "tx-queue" | "uc-tx-queue" | "mc-tx-queue" => {
                let queues = format!("{QUEUES_OF}{name}");
                self.policy(&queues, line);
                let port = format!("shape of {name}, out");
                match self.model.policies.get_mut(&port).and_then(|p| p.classes.last_mut()) {
                    Some(shaped) => shaped.child = Some(queues.clone()),
                    None if !self.model.uses.iter().any(|u| u.policy == queues) => {
                        let (interface, policy) = (name, queues.clone());
                        self.model.uses.push(IosUse { line, interface, inward: false, policy });
                    }
                    None => {}
                }
                self.within = Within::TxQueue(queues.clone());
                self.add_class(&queues, &words.join("-"), line, |_| Ok(()))
            }
            // Committed access rate: `rate-limit input [access-group …] bps burst-normal burst-max actions`.
            "rate-limit" if matches!(words.get(1), Some(&("input" | "output"))) => {
                let inward = words[1] == "input";
                let is_group = words.get(2) == Some(&"access-group");
                let start = (2..words.len()).find(|i| {
                    words[*i].parse::<u64>().is_ok_and(|n| n >= 8000)
                        && (!is_group || words.get(i + 1).is_some())
                });
                let Some(start) = start else { return Line::Refused(words.join(" ")) };
                let policy = self.made_policy(&name, "rate-limit", line, inward);
                let class = if is_group { words[2..start].join(" ") } else { String::from("class-default") };
                self.add_class(&policy, &class, line, |c| command::police(c, line, &words[start..], dialect))
            }
            // Generic traffic shaping: `traffic-shape rate bps [bc [be]]`, in bits.
            "traffic-shape" => {
                if words.get(1) != Some(&"rate") {
                    return Line::Refused(words[1..].join(" "));
                }
                let policy = self.made_policy(&name, "traffic-shape", line, false);
                let rest = &words[2..words.len().min(5)];
                self.add_class(&policy, "class-default", line, |c| {
                    command::shape(c, line, rest, Dialect::Ios)
                })
            }
            // Catalyst: percent of the port's speed.
            "srr-queue" if words.get(1..3) == Some(&["bandwidth", "limit"]) => {
                let share = number(words, 3)
                    .ok()
                    .flatten()
                    .filter(|n| n.unit.is_none_or(|u| u == RouterUnit::Percent));
                let share = share.filter(|n| (1.0..=100.0).contains(&n.value));
                let Some(share) = share else { return Line::Refused(words.join(" ")) };
                let policy = self.made_policy(&name, "srr-queue", line, false);
                let shape =
                    IosShape { line, cir: IosRate::Percent(share.value), bc: None, be: None, peak: false };
                self.add_class(&policy, "class-default", line, |c| {
                    c.shape = Some(shape);
                    Ok(())
                })
            }
            _ => Line::Unknown,
        }
    }

    fn in_policy(&mut self, policy: &str, line: usize, words: &[&str], lower: &str) -> Line {
        let dialect = self.model.dialect;
        if words[0].eq_ignore_ascii_case("class") && words.len() > 1 {
            return self.class(words[words.len() - 1], line).into();
        }
        if let ["police", direction @ ("input" | "output"), rest @ ..] = words {
            return self.police_one_way(policy, line, *direction == "input", rest);
        }
        let colour = self.colour.take();
        let is_shown = !self.shown.is_empty();
        let class = self.model.policies.get_mut(policy).and_then(|p| p.classes.last_mut());
        let Some(class) = class else {
            let is_known = show::is_statistics(lower) || lower.starts_with("queue limit");
            return (is_known || words[0] == "description").into();
        };
        if let Some(colour) = colour
            && words.len() <= 2
            && let Some(police) = &mut class.police
        {
            police.actions[colour] = Some(lower.into());
            return Line::Understood;
        }
        if show::counter(class, line, words, lower) {
            let colour = ["conformed", "exceeded", "violated"].iter().position(|c| lower.starts_with(c));
            let action = words.iter().position(|w| *w == "action:").and_then(|at| words.get(at + 1));
            match (colour, action, &mut class.police) {
                (Some(colour), Some(action), Some(police)) => {
                    police.actions[colour] = Some(action.to_ascii_lowercase());
                }
                _ if lower.contains("action") => self.colour = colour,
                _ => {}
            }
            return Line::Understood;
        }
        let name = class.name.clone();
        let rest = &words[1..];
        let done: Line = match words[0].to_ascii_lowercase().as_str() {
            "police" if rest.is_empty() => Line::Understood,
            "police" => command::police(class, line, rest, dialect).into(),
            // `show`: lines below `police:`.
            "police:" => {
                class.police = None;
                if rest.is_empty() {
                    Line::Understood
                } else {
                    command::police(class, line, rest, dialect).into()
                }
            }
            // Below "Average Rate Traffic Shaping".
            "cir" if class.shape.as_ref().is_some_and(|s| s.cir == IosRate::Bits(0)) => {
                let peak = class.shape.as_ref().is_some_and(|s| s.peak);
                let done = command::shape(class, line, words, dialect);
                if let Some(shape) = &mut class.shape {
                    shape.peak = peak;
                }
                done.into()
            }
            "cir" | "rate" => command::police(class, line, words, dialect).into(),
            "pir" | "peak-rate" => match class.police.take() {
                // `show`: `pir 4000000 bps, be 125000 bytes` after the line of the cir.
                Some(mut police) => {
                    let mut two = IosClass::default();
                    let with_cir: Vec<&str> = ["cir", "1"].iter().chain(words).copied().collect();
                    let done = command::police(&mut two, line, &with_cir, dialect);
                    if let Some(two) = two.police {
                        (police.pir, police.be) = (two.pir, two.be.or(police.be));
                    }
                    class.police = Some(police);
                    done.into()
                }
                None => Line::Unknown,
            },
            "conform-action" | "exceed-action" | "violate-action" | "conform" | "exceed" | "violate" => {
                command::actions(class, words).into()
            }
            "shape" if matches!(rest.first(), Some(&("adaptive" | "fecn-adapt" | "max-buffers"))) => {
                Line::NotSimulated("it adapts a shaper to frame relay's reports, which is not simulated")
            }
            "shape" => command::shape(class, line, rest, dialect).into(),
            "target" => Line::Understood,
            "bandwidth" | "bandwidth:" => command::bandwidth(class, rest).into(),
            "priority" | "priority:" => command::priority(class, line, rest).into(),
            "strict" if lower.starts_with("strict priority") => command::priority(class, line, &[]).into(),
            "no" if rest == ["priority"] => {
                class.priority = None;
                Line::Understood
            }
            "queue-limit" if rest.first().is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit())) => {
                command::queue_limit(class, rest).into()
            }
            "queue-limit" => Line::NotSimulated("thresholds of single codepoints are not simulated"),
            "queue" if words.get(1) == Some(&"limit") => command::queue_limit(class, &words[2..]).into(),
            "fair-queue" | "fair-queue:" => {
                class.fair = true;
                Line::Understood
            }
            "random-detect" => {
                class.red = true;
                // The element has no thresholds per codepoint.
                (words.len() == 1 || matches!(words[1], "dscp-based" | "precedence-based" | "prec-based"))
                    .into()
            }
            "service-policy" if words.len() >= 2 => {
                class.child = words.last().map(|name| name.to_string());
                Line::Understood
            }
            "match:" => self.matches(&name, words).into(),
            "set" | "dscp" | "precedence" | "cos" | "qos-group" | "traffic-class" => {
                Line::NotSimulated("packet marking is not simulated")
            }
            "qos" | "description" => Line::Understood,
            "average" | "peak" if lower.ends_with("rate traffic shaping") => {
                class.shape = Some(old_shape(line, lower.starts_with("peak")));
                Line::Understood
            }
            "traffic" if lower == "traffic shaping" => {
                class.shape = Some(old_shape(line, false));
                Line::Understood
            }
            "weighted" if lower.contains("fair queueing") => {
                class.fair = true;
                Line::Understood
            }
            _ if show::is_row(words) && words.len() >= 5 => {
                // `2000000/2000000 12500 50000 50000 25 6250`: rate, limit in bytes, Bc and Be in bits, Tc,
                // increment.
                let rate = words[0].split('/').next_back().unwrap_or_default();
                let old = [rate, words[2], words[3]];
                command::shape(class, line, &old, Dialect::Ios).into()
            }
            _ => show::is_statistics(lower).into(),
        };
        match done {
            // A line of `show` with a command's name but without a number is not a limit.
            Line::Refused(_) if is_shown && !lower.contains(|c: char| c.is_ascii_digit()) => Line::Unknown,
            done => done,
        }
    }
}

/// A shaper with its numbers in a later line.
fn old_shape(line: usize, peak: bool) -> IosShape {
    IosShape { line, cir: IosRate::Bits(0), bc: None, be: None, peak }
}

/// The speed of a port in bit/s: `100` (Mbit/s), `100g`, `10000full`.
fn port_speed(word: &str) -> Option<u64> {
    let word = word.trim_end_matches("full").trim_end_matches("half");
    let (digits, scale) = match word.strip_suffix(['g', 'G']) {
        Some(digits) => (digits, 1_000_000_000),
        None => (word, 1_000_000),
    };
    digits.parse::<u64>().ok().filter(|n| (1..1_000_000).contains(n)).map(|n| n * scale)
}

fn is_interface(word: &str) -> bool {
    const KNOWN: [&str; 16] = [
        "Gig",
        "Fast",
        "Eth",
        "Ten",
        "Forty",
        "Hundred",
        "TwentyFive",
        "Serial",
        "Tunnel",
        "Dialer",
        "Port-",
        "Vlan",
        "ATM",
        "Virtual",
        "Bundle",
        "POS",
    ];
    KNOWN.iter().any(|k| word.starts_with(k)) && word.contains(|c: char| c.is_ascii_digit())
}
