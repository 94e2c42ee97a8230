//! Lines of configurations and of `show policy-map interface` into the model.

use super::model::{
    IosClass, IosMatch, IosModel, IosPolice, IosPolicy, IosQueue, IosRate, IosShape, IosUse, dscp,
};
use crate::Reading;

/// The most policies, and classes of one.
const MOST: usize = 1000;

/// What lines belong to.
#[derive(Clone, Debug, PartialEq)]
enum Within {
    Nothing,
    ClassMap(String),
    Policy(String),
    Interface(String),
}

struct IosReader<'r> {
    model: IosModel,
    reading: &'r mut Reading,
    within: Within,
    /// `show`: the interface, and policies by how deep their lines stand.
    interface: String,
    shown: Vec<(usize, String)>,
    /// Which colour's actions the next line has.
    colour: Option<usize>,
}

/// The whole text.
pub(crate) fn read(text: &str, reading: &mut Reading) -> IosModel {
    let mut reader = IosReader {
        model: IosModel::default(),
        reading,
        within: Within::Nothing,
        interface: String::new(),
        shown: Vec::new(),
        colour: None,
    };
    for (i, line) in text.lines().enumerate() {
        let said = line.trim();
        if said.is_empty() || said.starts_with('!') || said.starts_with('#') {
            continue;
        }
        reader.reading.lines.insert(i + 1);
        let indent = line.len() - line.trim_start().len();
        if !reader.line(i + 1, indent, said) {
            let why = match reader.within {
                Within::Policy(_) => {
                    format!("`{}` of a class is not understood", said.split(' ').next().unwrap_or(said))
                }
                _ => "no part of a policy".to_string(),
            };
            reader.reading.unknown(i + 1, said, why);
        }
    }
    reader.model
}

/// A whole number, with `k`, `m`, `g`, or a unit in the next word.
fn number(words: &[&str], at: usize) -> Option<(u64, usize)> {
    let word = words.get(at)?.trim_matches([',', ';', '(', ')']);
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let value: f64 = word[..end].parse().ok()?;
    let scale = |unit: &str| match unit.trim_matches([',', ';', '(', ')']).to_ascii_lowercase().as_str() {
        "k" | "kbps" | "kb/s" => Some(1e3),
        "m" | "mbps" => Some(1e6),
        "g" | "gbps" => Some(1e9),
        "bps" | "" => Some(1.0),
        _ => None,
    };
    let (scale, used) = match &word[end..] {
        "" => match words.get(at + 1).and_then(|unit| scale(unit)) {
            Some(scale) => (scale, 2),
            None => (1.0, 1),
        },
        unit => (scale(unit)?, 1),
    };
    let value = value * scale;
    (value < 1e15).then_some((value as u64, used))
}

fn percent(word: Option<&&str>) -> Option<f64> {
    let number = word?.trim_end_matches(['%', ',']).parse::<f64>().ok()?;
    (0.0..=100.0).contains(&number).then_some(number)
}

impl IosReader<'_> {
    fn line(&mut self, number: usize, indent: usize, said: &str) -> bool {
        let words: Vec<&str> = said.split_whitespace().collect();
        let lower = said.to_ascii_lowercase();
        // Tables of what was dropped.
        if lower.contains("random drop") || is_row(&words) {
            return true;
        }
        match words[0].to_ascii_lowercase().as_str() {
            "policy-map" => {
                let name = words.last().copied().unwrap_or_default().to_string();
                self.policy(&name, number);
                self.within = Within::Policy(name);
                true
            }
            // `show policy-map`.
            "policy" if words.len() == 3 && words[1].eq_ignore_ascii_case("map") => {
                self.policy(words[2], number);
                self.within = Within::Policy(words[2].into());
                true
            }
            "class-map" => {
                let name = words.last().copied().unwrap_or_default().to_string();
                self.model.matches.entry(name.clone()).or_default();
                self.within = Within::ClassMap(name);
                true
            }
            "interface" if words.len() > 1 => {
                self.within = Within::Interface(words[1..].concat());
                true
            }
            "class-map:" => {
                let Some((_, policy)) = self.shown.iter().rev().find(|(at, _)| *at < indent) else {
                    return false;
                };
                let policy = policy.clone();
                self.within = Within::Policy(policy);
                let name = words.get(1).copied().unwrap_or_default();
                self.class(name, number)
            }
            "service-policy:" => self.service_shown(number, indent, &words),
            "service-policy" if lower.contains(':') => self.service_shown(number, indent, &words),
            _ => match self.within.clone() {
                Within::ClassMap(name) if lower.starts_with("match ") || lower.starts_with("description") => {
                    self.matches(&name, &words)
                }
                Within::Policy(name) => {
                    let done = self.in_policy(&name, number, &words, &lower);
                    if !done && indent <= 2 && words.len() == 1 && is_interface(words[0]) {
                        return self.begin_interface(words[0]);
                    }
                    done
                }
                Within::Interface(name) => self.in_interface(&name, number, &words),
                _ if words.len() == 1 && is_interface(words[0]) => self.begin_interface(words[0]),
                _ => words[0].ends_with('#') || words[0].contains("#sh"),
            },
        }
    }

    fn begin_interface(&mut self, name: &str) -> bool {
        self.interface = name.into();
        self.shown.clear();
        self.within = Within::Nothing;
        true
    }

    fn policy(&mut self, name: &str, line: usize) {
        if !self.model.policies.contains_key(name) && self.model.order.len() < MOST {
            self.model.order.push(name.into());
            self.model.policies.insert(name.into(), IosPolicy { line, classes: Vec::new() });
        }
    }

    /// `Service-policy output: NAME`, or `Service-policy : NAME` below a class.
    fn service_shown(&mut self, line: usize, indent: usize, words: &[&str]) -> bool {
        let Some(name) = words.last() else { return false };
        self.shown.retain(|(at, _)| *at < indent);
        let lower = words.join(" ").to_ascii_lowercase();
        let way = ["output", "input"].into_iter().find(|w| lower.contains(w));
        let nested = self.shown.last().map(|(_, p)| p.clone()).filter(|_| way.is_none());
        // The same policy stands once for each interface.
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
            let inward = way == Some("input");
            self.model.uses.push(IosUse { line, interface, inward, policy: own.clone() });
        }
        self.shown.push((indent, own));
        true
    }

    fn class(&mut self, name: &str, line: usize) -> bool {
        self.colour = None;
        let Within::Policy(policy) = &self.within else { return false };
        let Some(policy) = self.model.policies.get_mut(policy).filter(|p| p.classes.len() < MOST) else {
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
            m.dscp = m.dscp.or(Some(value * 8).filter(|_| value < 8));
        }
        true
    }

    fn in_interface(&mut self, name: &str, line: usize, words: &[&str]) -> bool {
        match (words[0], words.len()) {
            ("service-policy", 3) => {
                let inward = words[1] == "input";
                let policy = words[2].to_string();
                self.model.uses.push(IosUse { line, interface: name.into(), inward, policy });
                true
            }
            ("bandwidth", 2) => {
                let kbps = words[1].parse::<u64>().ok().filter(|k| *k < 1 << 40);
                kbps.map(|k| self.model.speeds.insert(name.into(), k * 1000)).is_some()
            }
            ("description", _) => true,
            _ => false,
        }
    }

    fn in_policy(&mut self, policy: &str, line: usize, words: &[&str], lower: &str) -> bool {
        if words[0].eq_ignore_ascii_case("class") && words.len() > 1 {
            return self.class(words[words.len() - 1], line);
        }
        let colour = self.colour.take();
        let class = self.model.policies.get_mut(policy).and_then(|p| p.classes.last_mut());
        let Some(class) = class else { return words[0] == "description" };
        if let Some(colour) = colour
            && words.len() <= 2
            && let Some(police) = &mut class.police
        {
            police.actions[colour] = Some(lower.into());
            return true;
        }
        let name = class.name.clone();
        match words[0].to_ascii_lowercase().as_str() {
            "police" => police(class, line, &words[1..]),
            // The lines of `show` below `police:`.
            "police:" => {
                class.police = None;
                true
            }
            // Below "Average Rate Traffic Shaping".
            "cir" if class.shape.as_ref().is_some_and(|s| s.cir == IosRate::Bits(0)) => {
                let peak = class.shape.as_ref().is_some_and(|s| s.peak);
                let done = shape(class, line, words);
                if let Some(shape) = &mut class.shape {
                    shape.peak = peak;
                }
                done
            }
            "cir" | "rate" => police(class, line, words),
            "conform-action" | "exceed-action" | "violate-action" => actions(class, words),
            "conformed" | "exceeded" | "violated" if lower.contains("action") => {
                self.colour = ["conformed", "exceeded", "violated"].iter().position(|c| lower.starts_with(c));
                true
            }
            "pir" => {
                let pir = number(words, 1).map(|(n, _)| n);
                class.police.as_mut().map(|p| p.pir = pir).is_some()
            }
            "shape" => shape(class, line, words),
            "target" => true,
            "bandwidth" | "bandwidth:" => {
                class.bandwidth = share(&words[1..], 1000);
                class.bandwidth.is_some()
            }
            "priority" | "priority:" => {
                class.priority =
                    Some(if words.get(1) == Some(&"level") { None } else { share(&words[1..], 1000) });
                true
            }
            "queue-limit" => queue(class, &words[1..]),
            "queue" if words.get(1) == Some(&"limit") => queue(class, &words[2..]),
            "fair-queue" | "fair-queue:" => {
                class.fair = true;
                true
            }
            "random-detect" => {
                class.red = true;
                // Thresholds of a codepoint are more than the element has.
                words.len() == 1 || matches!(words[1], "dscp-based" | "precedence-based" | "prec-based")
            }
            "service-policy" if words.len() == 2 => {
                class.child = Some(words[1].into());
                true
            }
            "match:" => self.matches(&name, words),
            "set" | "dscp" | "precedence" | "cos" | "qos-group" | "traffic-class" => {
                self.reading.unknown(line, words.join(" "), "what marks packets is not simulated");
                true
            }
            "qos" | "description" => true,
            "average" | "peak" if lower.ends_with("rate traffic shaping") => {
                let cir = IosRate::Bits(0);
                class.shape =
                    Some(IosShape { line, cir, bc: None, be: None, peak: lower.starts_with("peak") });
                true
            }
            "weighted" if lower.contains("fair queueing") => {
                class.fair = true;
                true
            }
            _ => is_statistics(lower),
        }
    }
}

/// A row of such a table: counts as `packets/bytes`.
fn is_row(words: &[&str]) -> bool {
    let pair =
        |w: &&str| w.split_once('/').is_some_and(|(a, b)| [a, b].iter().all(|n| n.parse::<u64>().is_ok()));
    words.len() >= 3 && words.iter().any(pair) && !words[0].ends_with("address")
}

/// What `show` prints that says nothing of the configuration.
fn is_statistics(lower: &str) -> bool {
    const STARTS: [&str; 12] = [
        "queueing",
        "(queue depth",
        "(pkts output",
        "queue stats",
        "(depth/",
        "output queue",
        "mean queue",
        "exp-weight",
        "(total drops",
        "(bytes output",
        "(pkts matched",
        "qos set",
    ];
    STARTS.iter().any(|s| lower.starts_with(s))
        || lower.starts_with(|c: char| c.is_ascii_digit())
            && (lower.contains("packet") || lower.contains("rate"))
        || lower.starts_with("conformed")
        || lower.starts_with("exceeded")
        || lower.starts_with("violated")
        || lower.starts_with("packets marked")
}

fn is_interface(word: &str) -> bool {
    let known = [
        "Gig", "Fast", "Eth", "Ten", "Forty", "Hundred", "Serial", "Tunnel", "Dialer", "Port-", "Vlan",
        "ATM", "Virtual",
    ];
    known.iter().any(|k| word.starts_with(k)) && word.contains(|c: char| c.is_ascii_digit())
}

/// `2000`, `percent 30`, `30%`, `remaining percent 30`, `remaining ratio 5`; bare numbers times `unit`.
fn share(words: &[&str], unit: u64) -> Option<IosRate> {
    let lower: Vec<String> = words.iter().map(|w| w.to_ascii_lowercase()).collect();
    match lower.first().map(String::as_str) {
        Some("percent") => percent(words.get(1)).map(IosRate::Percent),
        Some("remaining") => match lower.get(1).map(String::as_str) {
            Some("percent") => percent(words.get(2)).map(IosRate::Remaining),
            Some("ratio") => words.get(2)?.parse().ok().map(IosRate::Ratio),
            _ => percent(words.get(1)).map(IosRate::Remaining),
        },
        Some(word) if word.ends_with('%') || lower.get(1).is_some_and(|w| w == "(%)") => {
            percent(words.first()).map(IosRate::Percent)
        }
        _ => {
            let (value, used) = number(words, 0)?;
            Some(IosRate::Bits(if used == 2 || words[0].ends_with(char::is_alphabetic) {
                value
            } else {
                value * unit
            }))
        }
    }
}

fn queue(class: &mut IosClass, words: &[&str]) -> bool {
    let Some(value) = words.first().and_then(|w| w.parse::<u64>().ok()).filter(|v| (1..1 << 40).contains(v))
    else {
        return false;
    };
    class.queue = Some(match words.get(1).map(|w| w.trim_end_matches([',', '/'])) {
        None | Some("packets") => IosQueue::Packets(value),
        Some("bytes") => IosQueue::Bytes(value),
        Some("ms") => IosQueue::Ms(value),
        Some("us") => IosQueue::Ms(value / 1000),
        Some(_) => return false,
    });
    true
}

fn shape(class: &mut IosClass, line: usize, words: &[&str]) -> bool {
    let lower: Vec<String> =
        words.iter().map(|w| w.trim_matches(['(', ')', ',']).to_ascii_lowercase()).collect();
    let peak = lower.iter().any(|w| w == "peak");
    let named = |key: &str| {
        let at = lower.iter().position(|w| w == key)?;
        number(words, at + 1).map(|(n, _)| n)
    };
    let start = lower.iter().position(|w| w == "average" || w == "peak").map_or(1, |at| at + 1);
    let (cir, used) = if lower.get(start).is_some_and(|w| w == "percent") {
        (percent(words.get(start + 1)).map(IosRate::Percent), 2)
    } else if let Some(percent) = lower.windows(2).find(|w| w[0] == "cir" && w[1].ends_with('%')) {
        (
            percent[1]
                .trim_end_matches('%')
                .parse()
                .ok()
                .filter(|p| (0.0..=100.0).contains(p))
                .map(IosRate::Percent),
            2,
        )
    } else if let Some(cir) = named("cir") {
        (Some(IosRate::Bits(cir)), 2)
    } else {
        let n = number(words, start);
        (n.map(|(n, _)| IosRate::Bits(n)), n.map_or(1, |(_, used)| used))
    };
    let Some(cir) = cir else { return false };
    let plain = |at: usize| lower.get(at).and_then(|w| w.parse::<u64>().ok());
    let bc = named("bc").or_else(|| plain(start + used));
    let be = named("be").or_else(|| plain(start + used + 1));
    class.shape = Some(IosShape { line, cir, bc, be, peak });
    true
}

fn actions(class: &mut IosClass, words: &[&str]) -> bool {
    let Some(police) = &mut class.police else { return false };
    for (i, word) in words.iter().enumerate() {
        let colour = ["conform-action", "exceed-action", "violate-action"].iter().position(|c| c == word);
        if let Some(colour) = colour {
            police.actions[colour] = words.get(i + 1).map(|a| a.to_ascii_lowercase());
        }
    }
    true
}

fn police(class: &mut IosClass, line: usize, words: &[&str]) -> bool {
    let end = words.iter().position(|w| w.ends_with("-action")).unwrap_or(words.len());
    let (head, tail) = words.split_at(end);
    if head.iter().any(|w| w.trim_end_matches(',') == "pps") {
        return false;
    }
    let at = head.iter().position(|w| *w == "percent");
    let share = at.and_then(|at| percent(head.get(at + 1)));
    let share = share.or_else(|| head.iter().find(|w| w.ends_with('%')).and_then(|w| percent(Some(w))));
    let named = |keys: &[&str]| {
        let at = head.iter().position(|w| keys.contains(w))?;
        number(head, at + 1).map(|(n, _)| n)
    };
    // `police 20000000 625000 1250000`: rate, bc, be.
    let plain: Vec<u64> = head.iter().map_while(|w| number(&[w], 0).map(|(n, _)| n)).collect();
    let bits = named(&["cir", "rate"]).or_else(|| number(head, 0).map(|(n, _)| n));
    let Some(cir) = share.map(IosRate::Percent).or(bits.map(IosRate::Bits)) else { return false };
    // A bucket may be given in ms of the rate.
    let bucket = |keys: &[&str]| {
        let at = head.iter().position(|w| keys.contains(w))?;
        let (n, _) = number(head, at + 1)?;
        match head.get(at + 2).map(|unit| unit.trim_end_matches(',')) {
            Some("ms") => bits.map(|bits| (bits as u128 * n as u128 / 8000).min(1 << 50) as u64),
            _ => Some(n),
        }
    };
    class.police = Some(IosPolice {
        line,
        cir,
        bc: bucket(&["bc", "burst", "conform-burst"]).or(plain.get(1).copied()),
        be: bucket(&["be", "peak-burst"]).or(plain.get(2).copied()),
        pir: named(&["pir", "peak-rate"]),
        actions: [None, None, None],
    });
    actions(class, tail)
}
