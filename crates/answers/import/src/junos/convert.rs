//! Converts units of interfaces to the two directions of a path.

use super::model::{
    JunosApplied, JunosBuffer, JunosModel, JunosPolicer, JunosRate, JunosScheduler, JunosShaping, JunosTerm,
    JunosUnit,
};
use crate::draft::USUAL_LINE;
use crate::ios::dscp;
use crate::number::PACKET;
use crate::shares::{MIN_RATE, Share, allocate, plain};
use crate::{Assumed, BoxPort, Credit, Draft, DraftStage, PortFlow, Reading, number};
use path::queue::Fifo;
use path::{Action, Htb, Link, Meter, Policer, QueueConfig, Shaper};
use std::collections::BTreeMap;
use units::{Bytes, Rate};

/// The name of the router's host.
const HERE: &str = "router";
/// The speed of interfaces by their names, Mbit/s.
const SPEEDS: [(&str, u64); 3] = [("ge-", 1000), ("xe-", 10_000), ("fe-", 100)];
/// Codepoints of the default forwarding classes ("Default IP Precedence Classifier" has their first three
/// bits).
const CLASSES: [(&str, u8); 4] =
    [("best-effort", 0), ("expedited-forwarding", 46), ("assured-forwarding", 10), ("network-control", 48)];
/// Maximum logical interfaces of a text.
const MAX_PORTS: usize = 64;
/// The default delay buffer of a queue, seconds.
const BUFFER_S: f64 = 0.1;

/// Converts the whole model.
pub(crate) fn draft(model: &JunosModel, assumed: &Assumed, reading: &mut Reading) -> Draft {
    let mut keys: Vec<(String, String)> = model.units.iter().map(|(key, _)| key.clone()).collect();
    for ((name, unit), _) in &model.shaping {
        let unit = unit.clone().unwrap_or_else(|| "0".into());
        let is_known = keys.iter().any(|(n, u)| n == name && *u == unit);
        // The shaping of a port follows its units with limits.
        if !is_known && !keys.iter().any(|(n, _)| n == name) {
            keys.push((name.clone(), unit));
        }
    }
    let mut ports = Vec::new();
    let mut codes: BTreeMap<String, u8> = BTreeMap::new();
    let none = JunosUnit::default();
    for key in keys {
        let unit = model.units.iter().find(|(k, _)| *k == key).map_or(&none, |(_, u)| u);
        let name = if key.1 == "0" { key.0.clone() } else { format!("{}.{}", key.0, key.1) };
        let mut port = JunosPort { model, name: &name, key: &key, assumed, reading, codes: &mut codes };
        let made = port.port(unit);
        if !(made.out.is_empty() && made.into.is_empty()) {
            if ports.len() >= MAX_PORTS {
                reading.unknown(1, name, format!("at most {MAX_PORTS} logical interfaces are read"));
                break;
            }
            ports.push(made);
        }
    }
    let is_used = |name: &str| {
        let mut terms = model.filters.values().flat_map(|f| &f.terms);
        let mut units =
            model.units.iter().flat_map(|(_, u)| u.input.policers.iter().chain(&u.output.policers));
        terms.any(|t| t.policers.iter().any(|(_, p)| p == name)) || units.any(|(_, p)| p == name)
    };
    let unused: Vec<&String> = model.policers.keys().filter(|name| !is_used(name)).collect();
    let mut draft = Draft::of_box(HERE, ports, reading);
    if draft.links.is_empty() {
        // The text has only policers, and nothing that applies them.
        let filters =
            model.filters.values().flat_map(|f| &f.terms).flat_map(|t| t.policers.iter().map(|(_, p)| p));
        let alone: Vec<&String> = unused.into_iter().chain(filters).collect();
        for (name, policer) in model.policers.iter().filter(|(name, _)| alone.contains(name)) {
            reading.assume(format!("policer {name} is applied inbound: no interface in the text applies it"));
            let key = (name.clone(), "0".to_string());
            let mut port = JunosPort { model, name, key: &key, assumed, reading, codes: &mut codes };
            let into: Vec<DraftStage> = port.policer(name, policer, Vec::new()).into_iter().collect();
            let of_policer = Draft::of_box(
                HERE,
                vec![BoxPort { name: name.clone(), into, ..BoxPort::default() }],
                reading,
            );
            draft.links.extend(of_policer.links);
            draft.flows.extend(of_policer.flows);
        }
    } else {
        for name in unused {
            reading.assume(format!("policer {name} is left out: nothing in the text applies it"));
        }
    }
    if !draft.links.is_empty() {
        reading.assume(
            "rates count packets of IP; shapers and policers of logical interfaces count layer 2 too",
        );
    }
    draft
}

/// A logical interface.
struct JunosPort<'a, 'r> {
    model: &'a JunosModel,
    name: &'a str,
    key: &'a (String, String),
    assumed: &'a Assumed,
    reading: &'r mut Reading,
    /// Codepoints of forwarding classes and terms.
    codes: &'r mut BTreeMap<String, u8>,
}

/// The policers of a direction and their flows.
#[derive(Default)]
struct Policed {
    stages: Vec<DraftStage>,
    flows: Vec<PortFlow>,
}

impl<'a> JunosPort<'a, '_> {
    /// The rate of the port, bit/s, if known.
    fn line(&self) -> Option<u64> {
        let written = self.model.speeds.get(&self.key.0).copied();
        let by_name =
            || SPEEDS.iter().find(|(start, _)| self.key.0.starts_with(start)).map(|(_, m)| m * 1_000_000);
        written.or_else(by_name)
    }

    fn line_or_assumed(&mut self) -> u64 {
        self.line().unwrap_or_else(|| {
            let line = self.assumed.line.unwrap_or(USUAL_LINE).as_bps();
            let text =
                format!("{} has {} (--line): the text does not state it", self.name, number::rate(line));
            self.reading.assume(text);
            line
        })
    }

    fn bits(&mut self, rate: JunosRate, whole: Option<u64>) -> u64 {
        match rate {
            JunosRate::Bits(bits) => bits,
            JunosRate::Percent(p) => {
                let whole = whole.unwrap_or_else(|| self.line_or_assumed());
                ((whole as f64 * p / 100.0) as u64).max(1)
            }
            JunosRate::Remainder => 0,
        }
    }

    fn port(&mut self, unit: &JunosUnit) -> BoxPort {
        let into = self.policed(&unit.input, unit);
        let out = self.policed(&unit.output, unit);
        let mut port = BoxPort { name: self.name.into(), ..BoxPort::default() };
        (port.into, port.into_flows) = (into.stages, into.flows);
        (port.out, port.out_flows) = (out.stages, out.flows);
        if let (Some(line), false) = (self.line_stage(), port.into.is_empty()) {
            port.into.insert(0, line);
        }
        let shaped = self.shaped(&mut port.out_flows);
        let needs_line = shaped.is_empty() && !port.out.is_empty();
        port.out.extend(shaped);
        port.out.extend(self.line_stage().filter(|_| needs_line));
        port
    }

    fn line_stage(&self) -> Option<DraftStage> {
        let bps = self.line()?;
        let link = Link { rate: Some(Rate::from_bps(bps)), ..Link::default() };
        let line = self.model.units.iter().find(|(k, _)| k == self.key).and_then(|(_, u)| {
            let all =
                |a: &JunosApplied| a.filters.iter().map(|f| f.0).chain(a.policers.iter().map(|p| p.0)).min();
            all(&u.input).or_else(|| all(&u.output))
        });
        let says = format!("{}, {}", self.name, number::rate(bps));
        Some(DraftStage::new("line", line.unwrap_or(1), says, link).with_credit(Credit::NoBucket))
    }

    /// The policers of a unit in a direction: its own, then those of its filters.
    fn policed(&mut self, applied: &JunosApplied, unit: &JunosUnit) -> Policed {
        let mut all = Policed::default();
        for (line, name) in &applied.policers {
            if let Some(policer) = self.named(*line, name) {
                all.stages.extend(self.policer(name, policer, Vec::new()));
            }
        }
        // Each family has its own policers; the scenario's flows belong to the first one.
        let first = if unit.families.iter().any(|f| f == "inet") {
            Some("inet")
        } else {
            unit.families.first().map(String::as_str)
        };
        for (line, family, name) in &applied.filters {
            if Some(family.as_str()) != first && family != "any" {
                let why = format!(
                    "packets of family {family} have their own policers: the flows belong to another family"
                );
                self.reading.unknown(*line, name.clone(), why);
                continue;
            }
            match self.model.filters.get(&(family.clone(), name.clone())) {
                Some(filter) => self.terms(&filter.terms, &mut all),
                None => {
                    let why = format!("filter {name} is not in the text: its effect is unknown");
                    self.reading.unknown(*line, name.clone(), why);
                }
            }
        }
        all
    }

    fn terms(&mut self, terms: &[JunosTerm], all: &mut Policed) {
        for term in terms {
            let takes_all = term.from.is_empty();
            if !term.policers.is_empty() {
                // The last term takes the remaining packets.
                let is_rest = takes_all && !all.flows.is_empty();
                let (code, dscps) = match (takes_all, is_rest) {
                    (true, false) => (0, Vec::new()),
                    (true, true) => (0, vec![0]),
                    _ => {
                        let own = term.from.iter().find_map(|f| f.strip_prefix("dscp ")).and_then(dscp);
                        let code = self.code(term.class.as_deref().unwrap_or(&term.name), own);
                        (code, vec![code])
                    }
                };
                for (line, name) in &term.policers {
                    if let Some(policer) = self.named(*line, name) {
                        all.stages.extend(self.policer(name, policer, dscps.clone()));
                    }
                }
                let from = if takes_all {
                    "all packets".to_string()
                } else {
                    term.from.join("; ").chars().take(120).collect()
                };
                let says = format!("term {}: {from}", term.name);
                all.flows.push(PortFlow { name: term.name.clone(), dscp: code, says });
            }
            // A policer without an action accepts.
            if takes_all && (term.ends || !term.policers.is_empty()) {
                break;
            }
        }
    }

    /// The codepoint of a forwarding class or a term.
    fn code(&mut self, name: &str, own: Option<u8>) -> u8 {
        if let Some(code) = self.codes.get(name) {
            return *code;
        }
        let known = own.or(CLASSES.iter().find(|(class, _)| *class == name).map(|(_, code)| *code));
        let is_free = |code: &u8| !self.codes.values().any(|c| c == code);
        let code = known.filter(is_free).or((1..64).find(is_free)).unwrap_or(63);
        self.codes.insert(name.to_string(), code);
        code
    }

    fn named(&mut self, line: usize, name: &str) -> Option<&'a JunosPolicer> {
        let policer = self.model.policers.get(name);
        if policer.is_none() {
            let why = format!("policer {name} is not in the text: its limit is unknown");
            self.reading.unknown(line, name.to_string(), why);
        }
        policer
    }

    fn policer(&mut self, name: &str, p: &JunosPolicer, dscps: Vec<u8>) -> Option<DraftStage> {
        if p.refused {
            return None;
        }
        let Some(rate) = p.rate else {
            self.reading.unknown(p.line, name.to_string(), "a policer without a rate");
            return None;
        };
        let cir = self.bits(rate, None);
        let mut policer = Policer::single(Rate::from_bps(cir), p.burst.filter(|b| *b > 0).map(Bytes::new));
        policer.dscp = dscps;
        if p.burst.is_none() {
            self.reading.assume(format!(
                "policer {name} has a bucket of {} of its rate: no burst is configured",
                number::time(0.25)
            ));
        }
        if p.is_three_color {
            policer.yellow = Action::Pass;
            let peak = p.peak_rate.map(|r| self.bits(r, None)).filter(|peak| *peak >= cir);
            if let Some(peak) = peak {
                policer.meter = Meter::Trtcm;
                policer.peak_rate = Some(Rate::from_bps(peak));
                policer.peak_burst = p.second_burst.filter(|b| *b > 0).map(Bytes::new);
            } else {
                policer.meter = Meter::Srtcm;
                policer.excess_burst = p.second_burst.map(Bytes::new);
            }
        }
        if !p.discards {
            policer.red = Action::Pass;
            let action = p.marks.as_deref().unwrap_or("…");
            let text = format!(
                "policer {name}: excess packets are not discarded (`then {action}`), so it limits nothing by itself"
            );
            self.reading.fault(p.line, "police-keeps", text);
        }
        let says = format!("policer {name}, {}", number::rate(cir));
        Some(DraftStage::new("policer", p.line, says, policer).with_credit(Credit::CarriesOver))
    }

    /// The shaping of the unit and of the port, each completed by its traffic control profile.
    fn shaping(&mut self) -> Vec<JunosShaping> {
        let model = self.model;
        let configured = |unit: Option<&str>| {
            model.shaping.iter().find(|((n, u), _)| *n == self.key.0 && u.as_deref() == unit).map(|(_, s)| s)
        };
        let mut found: Vec<JunosShaping> =
            configured(Some(&self.key.1)).into_iter().chain(configured(None)).cloned().collect();
        for shaping in &mut found {
            let Some(name) = &shaping.profile else { continue };
            match model.profiles.get(name) {
                Some(profile) => {
                    shaping.rate = shaping.rate.or(profile.rate);
                    shaping.burst = shaping.burst.or(profile.burst);
                    shaping.map = shaping.map.take().or(profile.map.clone());
                    shaping.refused |= profile.refused;
                    shaping.line = if profile.line > 0 { profile.line } else { shaping.line };
                }
                None => {
                    let why = format!("traffic-control-profile {name} is not in the text");
                    self.reading.unknown(shaping.line.max(1), name.clone(), why);
                }
            }
        }
        found
    }

    /// Shapers and classes of outgoing traffic.
    fn shaped(&mut self, flows: &mut Vec<PortFlow>) -> Vec<DraftStage> {
        let all = self.shaping();
        if all.iter().any(|s| s.refused) {
            return Vec::new();
        }
        let line = self.line();
        let rates: Vec<(usize, u64, Option<u64>)> =
            all.iter().filter_map(|s| s.rate.map(|r| (s.line, self.bits(r, line), s.burst))).collect();
        // The unit's shaper is below the port's: the lower rate limits.
        let lowest = rates.iter().min_by_key(|(_, bps, _)| *bps).copied();
        let map = all.iter().find_map(|s| s.map.as_ref().map(|m| (s.line, m.clone())));
        let Some((map_line, map)) = map else {
            let Some((at, bps, burst)) = lowest else { return Vec::new() };
            let mut shaper = Shaper::new(Rate::from_bps(bps));
            shaper.burst = burst.filter(|b| *b > 0).map(|b| Bytes::new(b.max(number::FRAME)));
            shaper.queue = Some(queue(bps, BUFFER_S));
            self.reading
                .assume("a queue holds 100 ms of its rate: the port's delay buffer is not in the text");
            let says = format!("shaping-rate of {}, {}", self.name, number::rate(bps));
            return vec![DraftStage::new("shaping", at, says, shaper).with_credit(Credit::CarriesOver)];
        };
        let Some(entries) = self.model.maps.get(&map) else {
            let why =
                format!("scheduler-map {map} is not in the text: the shares of its classes are unknown");
            self.reading.unknown(map_line.max(1), map.clone(), why);
            return lowest
                .map(|(at, bps, _)| {
                    let mut shaper = Shaper::new(Rate::from_bps(bps));
                    shaper.queue = Some(queue(bps, BUFFER_S));
                    let says = format!("shaping-rate of {}, {}", self.name, number::rate(bps));
                    vec![DraftStage::new("shaping", at, says, shaper).with_credit(Credit::CarriesOver)]
                })
                .unwrap_or_default();
        };
        let root = match lowest {
            Some((_, bps, _)) => bps,
            None => self.line_or_assumed(),
        };
        let at = lowest.map_or(map_line, |(at, _, _)| at).max(1);
        self.classes(entries, root, at, flows)
    }

    /// Converts a scheduler map to a tree of classes.
    fn classes(
        &mut self,
        entries: &[(usize, String, String)],
        root: u64,
        at: usize,
        flows: &mut Vec<PortFlow>,
    ) -> Vec<DraftStage> {
        let mut known: Vec<(usize, &String, &JunosScheduler)> = Vec::new();
        for (line, class, name) in entries {
            match self.model.schedulers.get(name) {
                Some(s) if !s.refused => known.push((*line, class, s)),
                Some(_) => {}
                None => {
                    let why =
                        format!("scheduler {name} is not in the text: the share of class {class} is unknown");
                    self.reading.unknown(*line, name.clone(), why);
                }
            }
        }
        // Best effort takes the traffic of no other class; without best effort, the last class does.
        known.sort_by_key(|(_, class, _)| class.as_str() == "best-effort");
        let claimed: f64 = known.iter().filter_map(|(_, _, s)| s.excess).sum();
        let shares: Vec<Share> = known
            .iter()
            .map(|(_, class, s)| {
                let transmit = s.transmit.map_or(0, |r| self.bits(r, Some(root))).min(root);
                let shape = s.shaping.map(|r| self.bits(r, Some(root))).unwrap_or(root);
                let usable = shape.min(if s.exact && transmit > 0 { transmit } else { root }).max(MIN_RATE);
                let is_unlimited = s.is_strict && usable >= root;
                if is_unlimited {
                    self.reading.assume(format!(
                        "class {class} has priority strict-high without a limit: its flow may take the whole rate"
                    ));
                }
                let weight = match (s.transmit, s.excess) {
                    _ if is_unlimited => 0.0,
                    (_, Some(excess)) => excess,
                    _ if claimed > 0.0 => 0.0,
                    (Some(JunosRate::Remainder) | None, _) => root as f64 / 10.0,
                    // The rest is shared in proportion to transmit rates.
                    _ => transmit as f64,
                };
                let fixed = if is_unlimited { 0 } else { transmit.min(usable) };
                Share { fixed, weight, usable, is_unlimited }
            })
            .collect();
        let sum = shares.iter().fold(0u64, |sum, s| sum.saturating_add(s.fixed));
        if sum > root.saturating_add(root / 100) {
            let text = format!(
                "transmit rates add up to {}, but only {} is available: the guarantees cannot be kept",
                number::rate(sum),
                number::rate(root)
            );
            self.reading.fault(at, "class-rates", text);
        }
        let guaranteed = allocate(&shares, root, false);
        let given = allocate(&shares, root, true);
        let mut classes = vec![plain("port", root)];
        let mut parts = BTreeMap::from([("port".to_string(), at)]);
        let last = known.len().saturating_sub(1);
        for (i, (_, class, s)) in known.iter().enumerate() {
            let share = shares[i];
            let mut node = plain(class, given[i].max(MIN_RATE).min(share.usable));
            node.parent = Some("port".into());
            node.ceil = Some(Rate::from_bps(share.usable.max(node.rate.as_bps())));
            node.cburst = s.burst.filter(|b| *b > 0).map(Bytes::new);
            node.prio = s.priority;
            if shares.iter().any(|s| s.is_unlimited) && !share.is_unlimited {
                node.quantum = Some((guaranteed[i] / 80).clamp(PACKET, 200_000) as u32);
            }
            let code = if i == last { 0 } else { self.code(class, None) };
            node.dscp = if i == last { Vec::new() } else { vec![code] };
            let rate = guaranteed[i].max(MIN_RATE);
            node.queue = Some(match s.buffer {
                Some(JunosBuffer::Time(us)) => queue(rate, us * 1e-6),
                Some(JunosBuffer::Percent(p)) => {
                    self.reading.assume(
                        "the port's delay buffer holds 100 ms of its rate: the text does not state it",
                    );
                    queue(root, BUFFER_S * p / 100.0)
                }
                Some(JunosBuffer::Remainder) | None => {
                    self.reading.assume(
                        "a queue holds 100 ms of its rate: the port's delay buffer is not in the text",
                    );
                    queue(rate, BUFFER_S)
                }
            });
            parts.insert((*class).clone(), s.line);
            let says = format!("forwarding class {class}");
            if !flows.iter().any(|f| f.dscp == code) {
                flows.push(PortFlow { name: (*class).clone(), dscp: code, says });
            }
            classes.push(node);
        }
        if classes.len() == 1 {
            return Vec::new();
        }
        let says = format!("classes of {} that share {}", self.name, number::rate(root));
        let mut stage =
            DraftStage::new("classes", at, says, Htb { classes }).with_credit(Credit::CarriesOver);
        stage.parts = parts;
        vec![stage]
    }
}

/// A queue with a number of seconds at a rate.
fn queue(bps: u64, seconds: f64) -> QueueConfig {
    let bytes = (bps as f64 / 8.0 * seconds).min(1e12) as u64;
    QueueConfig::Fifo(Fifo { packets: None, bytes: Some(Bytes::new(bytes.max(2 * PACKET))) })
}
