//! The model: policers, filters, schedulers, and the interfaces that apply them.

use super::statements::Statement;
use crate::Reading;
use crate::number::{Units, Unread, quantity};
use std::collections::BTreeMap;

/// A rate, absolute or relative to the port's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JunosRate {
    /// Bits per second.
    Bits(u64),
    Percent(f64),
    /// The rest of the rate.
    Remainder,
}

/// `policer` and `three-color-policer`.
#[derive(Clone, Debug, Default)]
pub(crate) struct JunosPolicer {
    pub line: usize,
    pub rate: Option<JunosRate>,
    /// Bytes.
    pub burst: Option<u64>,
    pub peak_rate: Option<JunosRate>,
    /// Bytes: the excess burst of `single-rate`, the peak burst of `two-rate`.
    pub second_burst: Option<u64>,
    pub is_three_color: bool,
    pub discards: bool,
    /// The action for excess packets, if they are not discarded.
    pub marks: Option<String>,
    pub refused: bool,
}

/// A term of a filter.
#[derive(Clone, Debug, Default)]
pub(crate) struct JunosTerm {
    pub name: String,
    pub from: Vec<String>,
    pub policers: Vec<(usize, String)>,
    pub class: Option<String>,
    /// Whether evaluation ends for packets that match.
    pub ends: bool,
    pub discards: bool,
}

/// A scheduler.
#[derive(Clone, Debug, Default)]
pub(crate) struct JunosScheduler {
    pub line: usize,
    pub transmit: Option<JunosRate>,
    /// `exact`, `rate-limit`: the transmit rate is also the maximum.
    pub exact: bool,
    pub shaping: Option<JunosRate>,
    pub burst: Option<u64>,
    pub buffer: Option<JunosBuffer>,
    pub excess: Option<f64>,
    /// Priority; 0 is the highest.
    pub priority: u8,
    pub is_strict: bool,
    pub refused: bool,
}

/// `buffer-size`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JunosBuffer {
    Percent(f64),
    /// Microseconds.
    Time(f64),
    Remainder,
}

/// Shaping of an interface, a unit, or a traffic control profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct JunosShaping {
    pub line: usize,
    pub rate: Option<JunosRate>,
    pub burst: Option<u64>,
    pub map: Option<String>,
    pub profile: Option<String>,
    pub refused: bool,
}

/// Policers by name and filters by family and name that a unit applies in a direction, with their lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct JunosApplied {
    pub policers: Vec<(usize, String)>,
    pub filters: Vec<(usize, String, String)>,
}

/// A logical interface: what it applies inbound and outbound.
#[derive(Clone, Debug, Default)]
pub(crate) struct JunosUnit {
    pub input: JunosApplied,
    pub output: JunosApplied,
    /// Protocol families in order.
    pub families: Vec<String>,
}

/// A filter's terms, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct JunosFilter {
    pub terms: Vec<JunosTerm>,
}

/// The configuration of a text.
#[derive(Debug, Default)]
pub(crate) struct JunosModel {
    pub policers: BTreeMap<String, JunosPolicer>,
    /// By family and name.
    pub filters: BTreeMap<(String, String), JunosFilter>,
    /// By interface and unit, in order.
    pub units: Vec<((String, String), JunosUnit)>,
    /// Bit/s, by interface.
    pub speeds: BTreeMap<String, u64>,
    pub schedulers: BTreeMap<String, JunosScheduler>,
    /// Forwarding classes and their schedulers in order.
    pub maps: BTreeMap<String, Vec<(usize, String, String)>>,
    pub profiles: BTreeMap<String, JunosShaping>,
    /// Shaping by interface and optionally unit.
    pub shaping: Vec<((String, Option<String>), JunosShaping)>,
}

/// Junos' suffixes for rates and sizes.
const SUFFIXES: &Units = &[("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9)];

/// Parses a number with Junos' suffixes.
fn number(word: &str) -> Result<f64, String> {
    match quantity(word, None, SUFFIXES) {
        Ok((value, _)) if value < 1e15 => Ok(value),
        Ok(_) => Err(Unread::NotANumber.why(word, SUFFIXES)),
        Err(unread) => Err(unread.why(word, SUFFIXES)),
    }
}

fn rate(words: &[&str]) -> Result<JunosRate, String> {
    match words {
        ["percent", share, ..] => percent(share).map(JunosRate::Percent),
        ["remainder", ..] => Ok(JunosRate::Remainder),
        [word, ..] => match number(word)? {
            bps if bps >= 1.0 => Ok(JunosRate::Bits(bps as u64)),
            _ => Err(format!("`{word}` is not a rate")),
        },
        [] => Err("a rate is missing".into()),
    }
}

fn percent(word: &str) -> Result<f64, String> {
    let share = word.trim_end_matches('%').parse::<f64>().ok();
    share.filter(|p| (0.0..=100.0).contains(p)).ok_or(format!("`{word}` is not a percentage"))
}

fn bytes(words: &[&str]) -> Result<u64, String> {
    let word = words.first().ok_or("a size is missing")?;
    number(word).map(|n| n as u64)
}

/// The reason for statements of other parts of a configuration.
const UNRELATED: &str = "neither policing nor shaping";

/// Reads all statements.
pub(crate) fn read(statements: &[Statement], reading: &mut Reading) -> JunosModel {
    let mut model = JunosModel::default();
    for s in statements {
        let words: Vec<&str> = s.words.iter().map(String::as_str).collect();
        let done = match words.as_slice() {
            ["firewall", "policer" | "hierarchical-policer", name, rest @ ..] => {
                policer(&mut model, s.line, name, rest)
            }
            ["firewall", "three-color-policer", name, rest @ ..] => {
                three_color(&mut model, s.line, name, rest)
            }
            ["firewall", "family", family, "filter", name, rest @ ..] => {
                filter(&mut model, s.line, family, name, rest)
            }
            ["firewall", "filter", name, rest @ ..] => filter(&mut model, s.line, "inet", name, rest),
            ["class-of-service", "schedulers", name, rest @ ..] => scheduler(&mut model, s.line, name, rest),
            ["class-of-service", "scheduler-maps", map, "forwarding-class", class, "scheduler", name] => {
                model.maps.entry(map.to_string()).or_default().push((
                    s.line,
                    class.to_string(),
                    name.to_string(),
                ));
                Ok(true)
            }
            ["class-of-service", "traffic-control-profiles", name, rest @ ..] => {
                shaping(model.profiles.entry(name.to_string()).or_default(), s.line, rest)
            }
            ["class-of-service", "interfaces", name, "unit", unit, rest @ ..] => {
                shaping(entry(&mut model.shaping, (name.to_string(), Some(unit.to_string()))), s.line, rest)
            }
            ["class-of-service", "interfaces", name, rest @ ..] => {
                shaping(entry(&mut model.shaping, (name.to_string(), None)), s.line, rest)
            }
            ["interfaces", name, rest @ ..] => interface(&mut model, s.line, name, rest),
            [.., "apply-groups" | "apply-groups-except", _] | ["groups", ..] => {
                reading.unknown(
                    s.line,
                    s.words.join(" "),
                    "groups are not read: they may change this configuration",
                );
                continue;
            }
            _ => Ok(false),
        };
        match done {
            Ok(true) => {}
            Ok(false) => reading.unknown(s.line, s.words.join(" "), UNRELATED),
            Err(why) => reading.refuse(s.line, s.words.join(" "), format!("{why}: its limiter is left out")),
        }
    }
    model
}

/// The value of a key in a list of pairs, added if it is missing.
fn entry<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let at = list.iter().position(|(k, _)| *k == key).unwrap_or_else(|| {
        list.push((key, V::default()));
        list.len() - 1
    });
    &mut list[at].1
}

/// Whether a statement was understood, or why its value was not.
type Understood = Result<bool, String>;

fn policer(model: &mut JunosModel, line: usize, name: &str, rest: &[&str]) -> Understood {
    let p = model
        .policers
        .entry(name.to_string())
        .or_insert_with(|| JunosPolicer { line, ..JunosPolicer::default() });
    let mut words = rest;
    // `hierarchical-policer`: the aggregate limits traffic that is not premium.
    match words {
        ["aggregate", inner @ ..] => words = inner,
        ["premium", ..] => return Ok(false),
        _ => {}
    }
    let done = match words {
        ["if-exceeding", values @ ..] => limits(p, values),
        ["if-exceeding-pps", ..] => Err("packets per second cannot be simulated".into()),
        ["then", "discard"] => {
            p.discards = true;
            Ok(true)
        }
        ["then", action @ ..] => {
            p.marks = Some(action.join(" "));
            Ok(true)
        }
        [
            "logical-interface-policer"
            | "physical-interface-policer"
            | "filter-specific"
            | "shared-bandwidth-policer"
            | "logical-bandwidth-policer"
            | "load-balance-group",
            ..,
        ] => Ok(true),
        _ => Ok(false),
    };
    p.refused |= done.is_err();
    done
}

/// Reads `bandwidth-limit 10m burst-size-limit 15k`; a `set` line may have both.
fn limits(p: &mut JunosPolicer, values: &[&str]) -> Understood {
    let mut rest = values;
    while let [key, value, more @ ..] = rest {
        match *key {
            "bandwidth-limit" => p.rate = Some(rate(&[value])?),
            "bandwidth-percent" => p.rate = Some(JunosRate::Percent(percent(value)?)),
            "burst-size-limit" => p.burst = Some(bytes(&[value])?),
            _ => return Err(format!("`{key}` of a policer")),
        }
        rest = more;
    }
    if rest.is_empty() { Ok(true) } else { Err(format!("`{}` without a value", rest[0])) }
}

fn three_color(model: &mut JunosModel, line: usize, name: &str, rest: &[&str]) -> Understood {
    let new = || JunosPolicer { line, is_three_color: true, ..JunosPolicer::default() };
    let p = model.policers.entry(name.to_string()).or_insert_with(new);
    let done = match rest {
        ["action", "loss-priority", "high", "then", "discard"] => {
            p.discards = true;
            Ok(true)
        }
        ["single-rate" | "two-rate", key, value] => match *key {
            "committed-information-rate" => rate(&[value]).map(|r| p.rate = Some(r)),
            "peak-information-rate" => rate(&[value]).map(|r| p.peak_rate = Some(r)),
            "committed-burst-size" => bytes(&[value]).map(|b| p.burst = Some(b)),
            "excess-burst-size" | "peak-burst-size" => bytes(&[value]).map(|b| p.second_burst = Some(b)),
            _ => Err(format!("`{key}` of a three-color policer")),
        }
        .map(|()| true),
        ["single-rate" | "two-rate", "color-blind" | "color-aware"] => Ok(true),
        _ => Ok(false),
    };
    p.refused |= done.is_err();
    done
}

fn filter(model: &mut JunosModel, line: usize, family: &str, name: &str, rest: &[&str]) -> Understood {
    let f = model.filters.entry((family.to_string(), name.to_string())).or_default();
    let ["term", term, rest @ ..] = rest else {
        return Ok(matches!(rest.first(), Some(&("interface-specific" | "physical-interface-filter"))));
    };
    let at = f.terms.iter().position(|t| t.name == *term).unwrap_or_else(|| {
        f.terms.push(JunosTerm { name: term.to_string(), ..JunosTerm::default() });
        f.terms.len() - 1
    });
    let t = &mut f.terms[at];
    match rest {
        ["from", conditions @ ..] => t.from.push(conditions.join(" ")),
        ["then", "policer", name]
        | ["then", "three-color-policer", "single-rate" | "two-rate", name]
        | ["then", "hierarchical-policer", name] => t.policers.push((line, name.to_string())),
        ["then", "forwarding-class", class] => t.class = Some(class.to_string()),
        ["then", "accept"] => t.ends = true,
        ["then", "discard" | "reject", ..] => (t.ends, t.discards) = (true, true),
        ["then", "next", ..] => t.ends = false,
        ["then", "count" | "log" | "syslog" | "loss-priority" | "dscp" | "sample", ..] => {}
        [] => {}
        _ => return Ok(false),
    }
    Ok(true)
}

fn scheduler(model: &mut JunosModel, line: usize, name: &str, rest: &[&str]) -> Understood {
    let new = || JunosScheduler { line, priority: 4, ..JunosScheduler::default() };
    let s = model.schedulers.entry(name.to_string()).or_insert_with(new);
    let done = schedule(s, rest);
    s.refused |= done.is_err();
    done
}

fn schedule(s: &mut JunosScheduler, rest: &[&str]) -> Understood {
    match rest {
        ["transmit-rate", "exact" | "rate-limit"] => s.exact = true,
        ["transmit-rate", values @ ..] => {
            s.transmit = Some(rate(values)?);
            s.exact |= values.iter().any(|w| matches!(*w, "exact" | "rate-limit"));
        }
        ["shaping-rate", "burst-size", value] => s.burst = Some(bytes(&[value])?),
        ["shaping-rate", values @ ..] => {
            s.shaping = Some(rate(values)?);
            if let Some(at) = values.iter().position(|w| *w == "burst-size") {
                s.burst = Some(bytes(&values[at + 1..])?);
            }
        }
        ["buffer-size", "percent", value, ..] => s.buffer = Some(JunosBuffer::Percent(percent(value)?)),
        ["buffer-size", "temporal", value, ..] => s.buffer = Some(JunosBuffer::Time(number(value)?)),
        ["buffer-size", "remainder", ..] => s.buffer = Some(JunosBuffer::Remainder),
        ["excess-rate", "percent", value] => s.excess = Some(percent(value)?),
        ["excess-rate", "proportion", value] => s.excess = Some(number(value)?),
        ["priority", level] => {
            let levels = ["strict-high", "high", "medium-high", "medium-low", "low"];
            let at = levels.iter().position(|l| l == level).ok_or(format!("`{level}` is not a priority"))?;
            (s.priority, s.is_strict) = (at as u8, at == 0);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn shaping(s: &mut JunosShaping, line: usize, rest: &[&str]) -> Understood {
    let done = shape(s, line, rest);
    s.refused |= done.is_err();
    done
}

fn shape(s: &mut JunosShaping, line: usize, rest: &[&str]) -> Understood {
    match rest {
        ["shaping-rate", "burst-size", value] => s.burst = Some(bytes(&[value])?),
        ["shaping-rate", values @ ..] => {
            (s.line, s.rate) = (line, Some(rate(values)?));
            if let Some(at) = values.iter().position(|w| *w == "burst-size") {
                s.burst = Some(bytes(&values[at + 1..])?);
            }
        }
        ["scheduler-map", map] => {
            s.map = Some(map.to_string());
            s.line = if s.rate.is_none() { line } else { s.line };
        }
        ["output-traffic-control-profile", profile] => {
            s.profile = Some(profile.to_string());
            s.line = if s.rate.is_none() { line } else { s.line };
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Parses a speed: `10g`, `1g`, `100m`.
fn speed(word: &str) -> Option<u64> {
    number(word).ok().filter(|n| *n >= 1e6).map(|n| n as u64)
}

fn interface(model: &mut JunosModel, line: usize, name: &str, rest: &[&str]) -> Understood {
    let (unit, rest) = match rest {
        ["unit", unit, rest @ ..] => (*unit, rest),
        ["speed", value] | [_, "speed", value] => {
            let value = value.strip_prefix("ethernet-").unwrap_or(value);
            let found = speed(value);
            found.map(|bps| model.speeds.insert(name.to_string(), bps));
            return Ok(found.is_some());
        }
        ["description", ..] | ["per-unit-scheduler"] | ["hierarchical-scheduler", ..] => return Ok(true),
        _ => return Ok(false),
    };
    let u = entry(&mut model.units, (name.to_string(), unit.to_string()));
    match rest {
        ["family", family, "filter", side, filter]
            if matches!(*side, "input" | "output" | "input-list" | "output-list") =>
        {
            if !u.families.iter().any(|f| f == family) {
                u.families.push(family.to_string());
            }
            let side = if side.starts_with("output") { &mut u.output } else { &mut u.input };
            side.filters.push((line, family.to_string(), filter.to_string()));
            Ok(true)
        }
        ["family", _, "policer", side, policer]
        | ["policer", side, policer]
        | ["layer2-policer", side, policer] => {
            let side = if side.starts_with("output") { &mut u.output } else { &mut u.input };
            // A policer applied for two families has an instance for each; a flow passes one of them.
            if !side.policers.iter().any(|(_, name)| name == policer) {
                side.policers.push((line, policer.to_string()));
            }
            Ok(true)
        }
        ["input-hierarchical-policer", policer] => {
            u.input.policers.push((line, policer.to_string()));
            Ok(true)
        }
        ["family", ..] | ["description", ..] | ["vlan-id", ..] => Ok(!rest.contains(&"filter")),
        _ => Ok(false),
    }
}
