//! The quantities and choices of a scenario that the page can change, each with its overrides.
//!
//! * First the settings that matter most on the path of the main flow: kind, rate, burst, queue and
//!   discipline of the bottleneck; RTT, loss and jitter of the path; congestion control and number of the
//!   flows; the receive window.
//! * Then every quantity of every stage and every flow.
//! * A quantity that a stage leaves to its default has a slider, too, at the default.
//! * A slider adds loss or jitter to a path without them: its override is the whole list of stages.

use crate::path_of_flow::{StagePosition, bottleneck, ends, is_tcp, main_flow, path_stages, stages_of};
use document::key_path;
use document::written::inline_toml;
use path::{QueueConfig, Stage};
use scenario::{Flow, Scenario};
use serde::Serialize;
use serde_json::{Map, Value, json};
use units::{Bytes, Rate, Span};

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TunableUnit {
    /// Bits per second.
    Rate,
    /// Bytes.
    Bytes,
    /// Seconds.
    Time,
    /// 0 to 1.
    Share,
    /// A whole number.
    Count,
    /// One of `choices`.
    Choice,
}

/// A quantity or choice that the page can change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tunable {
    /// The key of its label in the page's texts (`rate`, `burst`, `queue`, `discipline`, …), else the
    /// scenario's key.
    pub what: String,
    /// The table of the scenario that it belongs to; empty for the path as a whole.
    pub place: String,
    pub measure: TunableUnit,
    /// The value in this unit; 0 for a choice.
    pub value: f64,
    /// The present choice.
    pub choice: String,
    /// All choices.
    pub choices: Vec<String>,
    /// The overrides that set it; several if several keys change together.
    pub parts: Vec<TunablePart>,
    /// Whether it is one of the most important ones.
    pub main: bool,
    /// Whether the scenario sets it; else it is a default.
    pub given: bool,
}

/// One override of a tunable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunablePart {
    pub key: String,
    /// The present value in the tunable's unit; the tunable's value is the sum over its parts.
    pub value: f64,
    /// The key's value with `{}` in place of the number.
    pub template: String,
}

/// Stands for the value while a template is made.
const PLACEHOLDER: &str = "@@";
/// The most important quantities of a bottleneck.
const LIMITER: [&str; 5] = ["limiter", "rate", "burst", "queue", "discipline"];
/// The default queue of a shaper or link (Linux: txqueuelen).
const QUEUE_PACKETS: u64 = 1000;

impl Tunable {
    fn number(what: &str, place: &str, measure: TunableUnit, value: f64, key: String) -> Tunable {
        let parts = vec![TunablePart { key, value, template: "{}".into() }];
        let place = place.to_string();
        let (choice, choices) = (String::new(), Vec::new());
        Tunable { what: what.into(), place, measure, value, choice, choices, parts, main: false, given: true }
    }

    fn choice(what: &str, place: &str, choice: &str, choices: &[&str], key: String) -> Tunable {
        let own = Tunable::number(what, place, TunableUnit::Choice, 0.0, key);
        let choices = choices.iter().map(|c| c.to_string()).collect();
        Tunable { choice: choice.into(), choices, ..own }
    }

    /// Sets the template to the TOML of this value, which contains [`PLACEHOLDER`].
    fn within(mut self, value: &Value) -> Tunable {
        let text = inline_toml(value);
        // A number replaces the placeholder including its quotes.
        let is_number = matches!(self.measure, TunableUnit::Count | TunableUnit::Share);
        let placeholder = if is_number { format!("\"{PLACEHOLDER}\"") } else { PLACEHOLDER.into() };
        self.parts[0].template = text.replace(&placeholder, "{}");
        self
    }

    fn main(mut self) -> Tunable {
        self.main = true;
        self
    }

    fn by_default(mut self) -> Tunable {
        self.given = false;
        self
    }
}

/// Returns all tunables of the scenario, the most important first.
pub(crate) fn tunables(scenario: &Scenario) -> Vec<Tunable> {
    let mut all = Vec::new();
    let main = main_flow(scenario).map(|i| ends(&scenario.flows[i]));
    let there = main.map(|(from, to)| path_stages(scenario, from, to)).unwrap_or_default();
    let back = main.map(|(from, to)| path_stages(scenario, to, from)).unwrap_or_default();
    let narrowest = bottleneck(scenario, &there);
    let mut rest = Vec::new();
    for (link, l) in scenario.links.iter().enumerate() {
        for forward in [true, false] {
            for at in (0..stages_of(l, forward).len()).filter(|&at| !stages_of(l, forward)[at].assumed) {
                let place = StagePosition { link, forward, at };
                let own = stage_tunables(scenario, place);
                match Some(place) == narrowest {
                    true => {
                        let is_main = |t: &Tunable| LIMITER.contains(&t.what.as_str());
                        all.extend(own.iter().filter(|t| is_main(t)).cloned().map(Tunable::main));
                        rest.extend(own.into_iter().filter(|t| !is_main(t)));
                    }
                    false => rest.extend(own),
                }
            }
        }
    }
    all.extend(round_trip(scenario, &there, &back));
    all.extend(loss_and_jitter(scenario, &there));
    all.extend(flow_tunables(scenario));
    all.extend(main.map(|(_, to)| window(scenario, to)));
    all.extend(rest.into_iter().filter(|t| !all.iter().any(|a| a.parts == t.parts)).collect::<Vec<_>>());
    all
}

fn stage(scenario: &Scenario, place: StagePosition) -> &scenario::NamedStage {
    &stages_of(&scenario.links[place.link], place.forward)[place.at]
}

fn direction(forward: bool) -> &'static str {
    if forward { "forward" } else { "backward" }
}

fn stage_path(scenario: &Scenario, place: StagePosition) -> String {
    let link = &scenario.links[place.link];
    key_path(&["links", &link.name, direction(place.forward), &stage(scenario, place).name])
}

/// Returns all tunables of a stage.
fn stage_tunables(scenario: &Scenario, place: StagePosition) -> Vec<Tunable> {
    let named = stage(scenario, place);
    let at = stage_path(scenario, place);
    // Serialising plain data cannot fail.
    let written = serde_json::to_value(&named.stage).unwrap_or_default();
    let Some(table) = written.as_object() else { return Vec::new() };
    let mut all = Vec::new();
    all.extend(limiter_kind(&named.stage, table, &at));
    // Rate and burst come first.
    let order = |key: &str| ["rate", "burst"].iter().position(|k| *k == key).unwrap_or(2);
    let mut keys: Vec<&String> = table.keys().collect();
    keys.sort_by_key(|key| order(key));
    for key in keys {
        if named.file.is_none() || !table[key].is_array() {
            all.extend(quantity(key, &table[key], &at));
        }
    }
    all.extend(default_burst(&named.stage, &at));
    all.extend(queue(&named.stage, table, &at));
    all
}

/// The choice between policer and shaper for a stage that is one of them.
fn limiter_kind(stage: &Stage, table: &Map<String, Value>, at: &str) -> Option<Tunable> {
    let kind = stage.kind();
    let can_change =
        matches!(stage, Stage::Policer(p) if p.peak_rate.is_none()) || matches!(stage, Stage::Shaper(_));
    let template = json!({ "kind": PLACEHOLDER, "rate": table.get("rate") });
    can_change.then(|| {
        Tunable::choice("limiter", at, kind, &["policer", "shaper"], at.to_string()).within(&template)
    })
}

/// The tunable of a key whose value has a unit, is a share or a count.
fn quantity(key: &str, value: &Value, at: &str) -> Option<Tunable> {
    let path = format!("{at}.{}", key_path(&[key]));
    let number = |measure, value| Some(Tunable::number(key, at, measure, value, path.clone()));
    match value {
        Value::String(text) => {
            if let Ok(rate) = text.parse::<Rate>() {
                return number(TunableUnit::Rate, rate.as_bps() as f64);
            }
            if let Ok(size) = text.parse::<Bytes>() {
                return number(TunableUnit::Bytes, size.get() as f64);
            }
            text.parse::<Span>().ok().and_then(|span| number(TunableUnit::Time, span.as_secs_f64()))
        }
        Value::Number(n) => {
            let shares = ["probability", "p", "r", "loss_bad", "loss_good"];
            let x = n.as_f64()?;
            if shares.contains(&key) {
                number(TunableUnit::Share, x)
            } else {
                n.is_u64().then(|| number(TunableUnit::Count, x)).flatten()
            }
        }
        _ => None,
    }
}

/// The burst of a limiter without a `burst` key.
fn default_burst(stage: &Stage, at: &str) -> Option<Tunable> {
    let burst = match stage {
        // Cisco IOS: rate / 32 bytes, at least 1500 (path/src/policer.rs).
        Stage::Policer(p) if p.burst.is_none() => (p.rate.as_bps() / 32).max(1500),
        Stage::Shaper(s) if s.burst.is_none() => s.burst().get(),
        _ => return None,
    };
    let key = format!("{at}.burst");
    Some(Tunable::number("burst", at, TunableUnit::Bytes, burst as f64, key).by_default())
}

/// The size and the discipline of a stage's queue.
fn queue(stage: &Stage, table: &Map<String, Value>, at: &str) -> Vec<Tunable> {
    let given = table.get("queue").filter(|q| q.is_object());
    let has_queue = matches!(stage, Stage::Shaper(s) if s.latency.is_none()) || given.is_some();
    if !has_queue {
        return Vec::new();
    }
    let default = json!({ "kind": "fifo", "packets": QUEUE_PACKETS });
    let queue = given.unwrap_or(&default);
    let key = format!("{at}.queue");
    let kind = queue["kind"].as_str().unwrap_or("fifo");
    let mut all = Vec::new();
    let with = |name: &str| {
        let mut table = queue.as_object().cloned().unwrap_or_default();
        table.insert(name.into(), PLACEHOLDER.into());
        Value::Object(table)
    };
    let size = queue["bytes"].as_str().and_then(|text| text.parse::<Bytes>().ok());
    all.push(match size {
        Some(size) => Tunable::number("queue", at, TunableUnit::Bytes, size.get() as f64, key.clone())
            .within(&with("bytes")),
        None => {
            let packets = queue["packets"].as_u64().unwrap_or(QUEUE_PACKETS) as f64;
            Tunable::number("queue", at, TunableUnit::Count, packets, key.clone()).within(&with("packets"))
        }
    });
    let mut other = Map::new();
    other.insert("kind".into(), PLACEHOLDER.into());
    let kept = ["packets", "bytes"].into_iter().filter_map(|k| Some((k, queue.get(k)?.clone())));
    other.extend(kept.filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.to_string(), v)));
    all.push(Tunable::choice("discipline", at, kind, QueueConfig::KINDS, key).within(&Value::Object(other)));
    if given.is_none() { all.into_iter().map(Tunable::by_default).collect() } else { all }
}

/// The RTT: the sum of all delays in both directions of the path.
fn round_trip(scenario: &Scenario, there: &[StagePosition], back: &[StagePosition]) -> Option<Tunable> {
    let mut parts = Vec::new();
    for &place in there.iter().chain(back) {
        let written = serde_json::to_value(&stage(scenario, place).stage).unwrap_or_default();
        let delay = written["delay"].as_str().and_then(|text| text.parse::<Span>().ok());
        if let Some(delay) = delay.filter(|d| !d.is_zero()) {
            let key = format!("{}.delay", stage_path(scenario, place));
            parts.push(TunablePart { key, value: delay.as_secs_f64(), template: "{}".into() });
        }
    }
    let value = parts.iter().map(|p| p.value).sum();
    let own = Tunable::number("rtt", "", TunableUnit::Time, value, String::new()).main();
    (!parts.is_empty()).then_some(Tunable { parts, ..own })
}

/// Loss and jitter of the path: those of the first such stage, or of one to be added after the last stage.
fn loss_and_jitter(scenario: &Scenario, there: &[StagePosition]) -> Vec<Tunable> {
    let find = |kind: &str, key: &str| {
        let place = *there.iter().find(|&&p| stage(scenario, p).stage.kind() == kind)?;
        let written = serde_json::to_value(&stage(scenario, place).stage).ok()?;
        quantity(key, &written[key], &stage_path(scenario, place))
    };
    let loss = find("loss", "probability").map(|t| Tunable { what: "loss".into(), ..t }.main());
    let jitter = find("jitter", "jitter").map(Tunable::main);
    let has = |kind| there.iter().any(|&p| stage(scenario, p).stage.kind() == kind);
    let mut all = Vec::new();
    all.extend(loss.or_else(|| {
        let added = json!({ "kind": "loss", "probability": PLACEHOLDER });
        (!has("loss")).then(|| add(scenario, there, "loss", TunableUnit::Share, added)).flatten()
    }));
    all.extend(jitter.or_else(|| {
        // The mean is as large as the jitter, so that no delay is negative.
        let added = json!({ "kind": "jitter", "delay": PLACEHOLDER, "jitter": PLACEHOLDER });
        (!has("jitter")).then(|| add(scenario, there, "jitter", TunableUnit::Time, added)).flatten()
    }));
    all
}

/// A stage that the slider adds after the last one of the path.
fn add(
    scenario: &Scenario,
    there: &[StagePosition],
    what: &str,
    measure: TunableUnit,
    stage: Value,
) -> Option<Tunable> {
    let last = there.last()?;
    let (link, direction) = (&scenario.links[last.link].name, direction(last.forward));
    let tables = scenario.to_json();
    let mut list = tables["links"][link][direction].as_array().cloned()?;
    list.push(stage);
    let key = key_path(&["links", link, direction]);
    Some(Tunable::number(what, "", measure, 0.0, key).within(&Value::Array(list)).main().by_default())
}

/// The congestion control of all TCP flows and the number of the first flow's connections; with several flows
/// also those of each.
fn flow_tunables(scenario: &Scenario) -> Vec<Tunable> {
    let tcp: Vec<&Flow> = scenario.flows.iter().filter(|f| is_tcp(f)).collect();
    let control = |flow: &Flow| {
        let place = key_path(&["flows", &flow.name]);
        let key = format!("{place}.cc");
        Tunable::choice("algorithm", &place, flow.cc.name(), congestion::NAMES, key)
    };
    let count = |flow: &Flow| {
        let place = key_path(&["flows", &flow.name]);
        let key = format!("{place}.count");
        Tunable::number("count", &place, TunableUnit::Count, f64::from(flow.count), key)
    };
    let mut all = Vec::new();
    if let Some(first) = tcp.first() {
        let alike = tcp.iter().all(|f| f.cc.name() == first.cc.name());
        let parts = tcp.iter().flat_map(|f| control(f).parts).collect();
        let place = if tcp.len() > 1 { String::new() } else { key_path(&["flows", &first.name]) };
        let choice = if alike { first.cc.name().into() } else { String::new() };
        all.push(Tunable { parts, place, choice, ..control(first).main() });
        all.push(count(first).main());
    }
    if tcp.len() > 1 {
        all.extend(tcp.iter().map(|f| control(f)));
        all.extend(tcp.iter().skip(1).map(|f| count(f)));
    }
    all
}

/// The receive window of the main flow's receiver; 0 for autotuning.
fn window(scenario: &Scenario, host: usize) -> Tunable {
    let host = &scenario.hosts[host];
    let place = key_path(&["hosts", &host.name]);
    let fixed = host.stack.receive_window.map(Bytes::get);
    let key = format!("{place}.stack.receive_window");
    let own = Tunable::number("window", &place, TunableUnit::Bytes, fixed.unwrap_or(0) as f64, key).main();
    if fixed.is_none() { own.by_default() } else { own }
}
