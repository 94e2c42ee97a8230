//! Checks the reported cause that limits a variant by the checker's own runs: each suspect is switched off by
//! overrides of the scenario file (`--set`) and simulated with seeds that nothing else used. The reported one
//! must gain most.
//!
//! | reported | required by the checker's runs |
//! |---|---|
//! | one cause | no other suspect gains more than [`SLACK`] times as much |
//! | several of a kind together, or the congestion control | no single suspect gains more than [`SLACK`] beyond what is noticed, and these do gain |
//! | none | no single suspect gains more than that |
//!
//! If flows share nothing with others ([`Limitation::flow`]), this holds for each such part, by the goodput
//! of its own flows. Doubling the rate of a link counts as at most double the goodput: anything beyond was
//! another flow's.
//!
//! One gain counts as larger than another only if the difference over the checker's runs is significant
//! (Student's t of the pairs, 97.5 %). The p95 of four responses in a run of six seconds is mostly chance.
//!
//! Rates are suspects if the flows reach nine tenths of them. The checker leaves a band around that, because
//! it computes header bytes differently.

use experiment::limitations::{HELD_SHARE, LimitationSearchOptions, MIN_GAIN, find_limitations};
use experiment::{Hooks, Order, run};
use result::measure::{Direction, of_goal};
use result::{Clock, Limitation, LimitationKind, LimitationSearch, Measure, VariantResult};
use scenario::{Experiment, Flow, Scenario};
use serde_json::Value;
use std::num::NonZeroUsize;
use transport::App;
use units::{Goal, Rate};

/// How much more another suspect may gain: three seeds of a few seconds each differ by that much.
pub const SLACK: f64 = 1.12;
/// Shares of a rate that may count as nearly reached or not.
const HELD_BAND: [f64; 2] = [HELD_SHARE - 0.08, HELD_SHARE + 0.04];
/// The checker's runs of each suspect.
const REPEATS: u32 = 6;
/// Student's t for this number of pairs.
const STUDENT_T: f64 = 2.571;

/// How the reported cause compares with the checker's runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The reported cause gains most.
    Best,
    /// Another one gains more, but not noticeably or not beyond chance.
    Tied,
    /// No cause is reported, and none gains.
    RightlyNone,
    /// Another one gains more.
    Wrong(String),
}

/// A suspect and the overrides that switch it off.
#[derive(Clone, Debug)]
struct OwnSuspect {
    kind: LimitationKind,
    place: String,
    sets: Vec<String>,
    /// Whether the code under test may or may not treat it as a suspect.
    uncertain: bool,
    /// Runs without it.
    without: Vec<VariantResult>,
    /// Logarithms of the gains, by run.
    logs: Vec<f64>,
}

impl OwnSuspect {
    /// A certain suspect that has not been tried.
    fn new(kind: LimitationKind, place: &str, sets: Vec<String>) -> OwnSuspect {
        let (without, logs) = (Vec::new(), Vec::new());
        OwnSuspect { kind, place: place.into(), sets, uncertain: false, without, logs }
    }

    fn gain(&self) -> f64 {
        mean(&self.logs).exp()
    }
}

fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / list.len().max(1) as f64
}

/// Returns whether these logarithms exceed others by more than a factor, beyond chance.
fn is_above(logs: &[f64], others: &[f64], factor: f64) -> bool {
    let differences: Vec<f64> = logs.iter().zip(others).map(|(a, b)| a - b - factor.ln()).collect();
    let (n, mean) = (differences.len() as f64, mean(&differences));
    let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
    mean > if n > 1.0 { STUDENT_T * (squares / (n - 1.0) / n).sqrt() } else { 0.0 }
}

/// Returns the causes reported for the baseline of a scenario file, and how they were searched.
///
/// # Panics
/// If the text is not a scenario.
pub fn reported(text: &str) -> (Vec<Limitation>, LimitationSearch) {
    let experiment = parse(text, &[]);
    let variant = baseline(&experiment);
    let (seeds, goals) = ([variant.scenario.seed], experiment.goals());
    find_limitations(&LimitationSearchOptions {
        variant,
        seeds: &seeds,
        goals: &goals,
        threads: NonZeroUsize::new(1),
    })
}

/// Checks the causes reported for a scenario file's baseline by the checker's runs on this clock.
///
/// # Panics
/// If the text is not a scenario, or a run fails.
pub fn verdict(text: &str, limitations: &[Limitation], clock: Clock) -> Verdict {
    let text = &alone(text);
    let experiment = parse(text, &[]);
    let (scenario, goals) = (&baseline(&experiment).scenario, experiment.goals());
    let with = own_runs(text, &[], clock);
    let measured = |g: &Goal| Some((*g, of_goal(*g).into_iter().find(|m| m.of(&with[0]).is_some())?));
    let Some((goal, measure)) = goals.iter().find_map(measured).or_else(|| measured(&Goal::Goodput)) else {
        return if limitations.is_empty() {
            Verdict::RightlyNone
        } else {
            Verdict::Wrong("nothing is measured".into())
        };
    };
    let own = Own { scenario, runs: &with, with: &with[0], goal };
    let mut all = own.suspects();
    for s in &mut all {
        s.without = own_runs(text, &s.sets, clock);
    }
    let mut parts: Vec<Option<&String>> = limitations.iter().map(|h| h.flow.as_ref()).collect();
    parts.sort();
    parts.dedup();
    if parts.is_empty() {
        parts.push(None);
    }
    let verdicts = parts.into_iter().map(|flow| {
        let flows = flow.map(|name| own.part(name));
        let with: Vec<VariantResult> = with.iter().map(|run| own.restricted(run, flows.as_deref())).collect();
        for s in &mut all {
            let without: Vec<VariantResult> =
                s.without.iter().map(|run| own.restricted(run, flows.as_deref())).collect();
            s.logs = log_gains(&measure, &with, &without);
            // A TCP flow of another part takes only its own capacity.
            let is_foreign = |f: &Flow| f.name == s.place && !is_datagrams(f);
            let is_own = |place: &String| flows.as_ref().is_none_or(|flows| flows.contains(place));
            if s.kind == LimitationKind::CompetingFlow
                && !is_own(&s.place)
                && scenario.flows.iter().any(is_foreign)
            {
                s.logs.iter_mut().for_each(|log| *log = 0.0);
            }
            if s.kind == LimitationKind::Rate && goal == Goal::Goodput {
                s.logs.iter_mut().for_each(|log| *log = log.min(2f64.ln()));
            }
        }
        if std::env::var_os("LONGFAT_HELD_SHOW").is_some() {
            println!("{text}\nby {} of {goal:?}, {flows:?}", measure.name());
            all.iter()
                .for_each(|s| println!("{:8.3} {} at {} ({:?})", s.gain(), s.kind.name(), s.place, s.sets));
        }
        let named = limitations.iter().find(|h| h.flow.as_ref() == flow);
        let gains = |sets: Vec<String>| {
            let runs = own_runs(text, &sets, clock);
            let without: Vec<VariantResult> =
                runs.iter().map(|run| own.restricted(run, flows.as_deref())).collect();
            log_gains(&measure, &with, &without)
        };
        own.judged(&all, named, &gains)
    });
    let verdicts: Vec<Verdict> = verdicts.collect();
    let wrong = verdicts.iter().find(|v| matches!(v, Verdict::Wrong(_)));
    wrong.unwrap_or(&verdicts[0]).clone()
}

fn parse(text: &str, sets: &[String]) -> Experiment {
    Experiment::parse("held.toml", text, sets).unwrap_or_else(|e| panic!("{e}\n{sets:?}\n{text}"))
}

fn baseline(experiment: &Experiment) -> &scenario::Variant {
    let stated = experiment.variants.iter().find(|v| Some(v.name.as_str()) == experiment.baseline());
    stated.unwrap_or(&experiment.variants[0])
}

/// Removes the variants other than the baseline from the file, because they may lack what an override
/// changes.
fn alone(text: &str) -> String {
    let experiment = parse(text, &[]);
    let head = format!("{}]", baseline(&experiment).name);
    let mut parts = text.split("\n[variants.");
    let first = parts.next().unwrap_or_default().to_string();
    let own = parts.filter(|part| part.starts_with(&head)).map(|part| format!("\n[variants.{part}"));
    first + &own.collect::<String>()
}

/// Runs the baseline with these overrides, with seeds and host jitter of the checker's own.
fn own_runs(text: &str, sets: &[String], clock: Clock) -> Vec<VariantResult> {
    let mut experiment = parse(text, sets);
    let mut variant = baseline(&experiment).clone();
    variant.scenario.host_jitter = scenario::HostJitter::Always;
    experiment.variants = vec![variant];
    let first = experiment.variants[0].scenario.seed + 7000;
    let repeats = if clock == Clock::Kernel { 1 } else { REPEATS };
    let threads = NonZeroUsize::new(1);
    let order = Order { clocks: vec![clock], repeats, seed: Some(first), threads, keep_going: false };
    let outcomes = run(&experiment, &order, Hooks::default());
    assert!(outcomes.is_complete(), "{:?}\n{text}", outcomes.failed);
    outcomes.variants.into_iter().flat_map(|v| v.outcomes).map(|o| o.variant).collect()
}

/// Logarithms of the factors by which the second runs are better.
fn log_gains(measure: &Measure, with: &[VariantResult], without: &[VariantResult]) -> Vec<f64> {
    let one = |(a, b): (&VariantResult, &VariantResult)| {
        let (Some(a), Some(b)) = (measure.of(a), measure.of(b)) else { return 0.0 };
        let (good, bad) = if measure.better() == Some(Direction::Larger) { (b, a) } else { (a, b) };
        match (good, bad) {
            _ if good == bad => 0.0,
            (_, 0.0) | (f64::INFINITY, _) => 1000f64.ln(),
            (good, bad) => (good / bad).clamp(0.001, 1000.0).ln(),
        }
    };
    with.iter().zip(without).map(one).collect()
}

/// The scenario and its runs.
struct Own<'a> {
    scenario: &'a Scenario,
    /// The first of its runs, and all of them.
    with: &'a VariantResult,
    runs: &'a [VariantResult],
    goal: Goal,
}

fn is_datagrams(flow: &Flow) -> bool {
    matches!(flow.app, App::Udp { .. } | App::Voice { .. } | App::Probe { .. })
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_string)
}

fn rate_of(value: &Value, key: &str) -> Option<Rate> {
    text(value, key)?.parse().ok()
}

impl Own<'_> {
    /// Compares the reported cause with the checker's runs; `gains` makes runs with further overrides.
    fn judged(
        &self,
        all: &[OwnSuspect],
        named: Option<&Limitation>,
        gains: &dyn Fn(Vec<String>) -> Vec<f64>,
    ) -> Verdict {
        let shown = |s: &OwnSuspect| format!("{} at {} gains {:.2}", s.kind.name(), s.place, s.gain());
        let sure = || all.iter().filter(|s| !s.uncertain);
        // Suspects that gain beyond what is noticed and beyond chance.
        let nothing = vec![0.0; self.runs.len()];
        let gaining = sure().filter(|s| is_above(&s.logs, &nothing, MIN_GAIN * SLACK));
        let gaining = gaining.max_by(|a, b| a.gain().total_cmp(&b.gain()));
        let Some(named) = named else {
            return match gaining {
                Some(best) => Verdict::Wrong(format!("nothing is named, {}", shown(best))),
                None => Verdict::RightlyNone,
            };
        };
        let late = named.kind == LimitationKind::CongestionControl && self.goal != Goal::Fairness;
        if !named.also.is_empty() || late {
            let logs = self.together(all, named).map_or_else(|| nothing.clone(), gains);
            let name = format!("{} at {} and {:?}", named.kind.name(), named.place, named.also);
            return match gaining {
                Some(best) if is_above(&best.logs, &logs, SLACK) => {
                    Verdict::Wrong(format!("{name} gain {:.2}, {}", mean(&logs).exp(), shown(best)))
                }
                _ if is_above(&nothing, &logs, SLACK) => {
                    Verdict::Wrong(format!("{name} gain {:.2}", mean(&logs).exp()))
                }
                _ => Verdict::Best,
            };
        }
        let Some(it) = all.iter().find(|s| s.kind == named.kind && s.place == named.place) else {
            return Verdict::Wrong(format!("{} at {} is not a suspect", named.kind.name(), named.place));
        };
        let above = sure().filter(|s| is_above(&s.logs, &it.logs, SLACK));
        match above.max_by(|a, b| a.gain().total_cmp(&b.gain())) {
            Some(best) => Verdict::Wrong(format!("{}, {}", shown(it), shown(best))),
            None if is_above(&nothing, &it.logs, SLACK) => {
                Verdict::Wrong(format!("{}: the goal is met better with it", shown(it)))
            }
            None if sure().any(|s| s.gain() > it.gain()) => Verdict::Tied,
            None => Verdict::Best,
        }
    }

    /// TCP flows that share a link direction with this flow, directly or through others; for a flow of
    /// datagrams, such flows of datagrams.
    fn part(&self, flow: &str) -> Vec<String> {
        let find = |name: &str| self.scenario.flows.iter().find(|f| f.name == name);
        let meet = |a: &Flow, b: &Flow| {
            (0..self.scenario.links.len())
                .any(|l| [true, false].iter().any(|&w| self.takes(a, l, w) && self.takes(b, l, w)))
        };
        let mut part = vec![flow.to_string()];
        let mut next = 0;
        while let Some(one) = part.get(next).and_then(|name| find(name)) {
            let alike = |f: &&Flow| is_datagrams(f) == is_datagrams(one) && meet(f, one);
            for f in self.scenario.flows.iter().filter(alike) {
                if !part.contains(&f.name) {
                    part.push(f.name.clone());
                }
            }
            next += 1;
        }
        part
    }

    /// A run with the connections of these flows only; `None`: of all flows.
    fn restricted(&self, run: &VariantResult, flows: Option<&[String]>) -> VariantResult {
        let Some(flows) = flows else { return run.clone() };
        let its = self.scenario.flows.iter().filter(|f| flows.contains(&f.name));
        let flows = its.flat_map(|f| self.results_of(run, f)).cloned().collect();
        VariantResult { flows, ..VariantResult::default() }
    }

    /// The hosts that send and receive most of a flow's data.
    fn ends(&self, flow: &Flow) -> [usize; 2] {
        if flow.app.answers() { [flow.to, flow.from] } else { [flow.from, flow.to] }
    }

    /// Returns whether a flow's data takes a link direction.
    fn takes(&self, flow: &Flow, link: usize, forward: bool) -> bool {
        let relays = flow.via.iter().map(|&r| self.scenario.relays[r].host);
        let mut hosts: Vec<usize> = std::iter::once(flow.from).chain(relays).chain([flow.to]).collect();
        if flow.app.answers() {
            hosts.reverse();
        }
        let hops = hosts.windows(2).flat_map(|leg| self.scenario.route(leg[0], leg[1]).unwrap_or_default());
        hops.into_iter().any(|hop| hop.link == link && hop.forward == forward)
    }

    fn results(&self, flow: &Flow) -> Vec<&result::FlowResult> {
        self.results_of(self.with, flow)
    }

    fn results_of<'r>(&self, run: &'r VariantResult, flow: &Flow) -> Vec<&'r result::FlowResult> {
        let of = |f: &&result::FlowResult| {
            f.name == flow.name || f.name.starts_with(&format!("{}-", flow.name)) && flow.count > 1
        };
        run.flows.iter().filter(of).collect()
    }

    /// Minimum round trip of all flows, seconds.
    fn rtt(&self) -> f64 {
        let all = self.with.flows.iter().filter(|f| !f.is_udp() && f.rtt_ms.min > 0.0);
        all.map(|f| f.rtt_ms.min / 1e3).min_by(f64::total_cmp).unwrap_or(0.1)
    }

    /// Bandwidth-delay product of this rate, bytes.
    fn product(&self, rate: Rate) -> u64 {
        ((rate.as_bps() as f64 / 8.0 * self.rtt()) as u64).max(30_000)
    }

    /// The rate that a flow may reach.
    fn possible(&self, flow: &Flow) -> Rate {
        let index = self.scenario.flows.iter().position(|f| f.name == flow.name).unwrap_or(0);
        let got: f64 = self.results(flow).iter().map(|f| f.goodput_mbps).sum();
        let limit = scenario::PathLimits::new(self.scenario, None).flows[index].unwrap_or(10.0 * got);
        Rate::from_bps((limit * 1e6) as u64)
    }

    /// The smallest and the largest share, over all runs, of this rate that flows reach on a link direction.
    fn reached(&self, rate: Rate, link: usize, forward: bool) -> [f64; 2] {
        let shares = self.runs.iter().map(|run| self.reached_in(run, rate, link, forward));
        shares.fold([f64::INFINITY, 0.0], |[least, most], share| [least.min(share), most.max(share)])
    }

    fn reached_in(&self, run: &VariantResult, rate: Rate, link: usize, forward: bool) -> f64 {
        let wire = |flow: &Flow, mbps: f64| match flow.app {
            App::Udp { size, .. } => {
                let size = f64::from(size.unwrap_or(1500));
                mbps * size / (size - 28.0)
            }
            _ if is_datagrams(flow) => mbps,
            _ => mbps * 1500.0 / 1448.0,
        };
        let (mut sum, mut most) = (0.0, 0.0f64);
        for flow in self.scenario.flows.iter().filter(|f| self.takes(f, link, forward)) {
            for f in self.results_of(run, flow) {
                sum += wire(flow, f.goodput_mbps);
                let busy = f.page_s.or(f.response_s).map(|t| t.count as f64 * t.mean).filter(|&s| s > 0.0);
                let own = match (busy, &flow.app) {
                    (Some(busy), _) => f.delivered_bytes as f64 * 8e-6 / busy,
                    (None, App::Bulk { .. }) => f.own_goodput_mbps(),
                    _ => f.goodput_mbps,
                };
                most = most.max(wire(flow, own));
            }
        }
        sum.max(most) / rate.as_mbps()
    }

    fn suspects(&self) -> Vec<OwnSuspect> {
        let mut all = Vec::new();
        for (l, link) in self.scenario.links.iter().enumerate() {
            for (forward, word, stages) in
                [(true, "forward", &link.forward), (false, "backward", &link.backward)]
            {
                for stage in stages.iter().filter(|s| !s.assumed) {
                    let place = format!("{}.{word}.{}", link.name, stage.name);
                    let key = format!("links.{}.{word}.{}", link.name, stage.name);
                    let it = self.with.elements.iter().find(|e| e.name == place);
                    let Some(it) =
                        it.filter(|e| e.passed_packets + e.dropped_packets + e.too_big_packets > 0)
                    else {
                        continue;
                    };
                    let config = serde_json::to_value(&stage.stage).expect("plain data");
                    self.at_stage((l, forward), (&place, &key), it, &config, &mut all);
                }
            }
        }
        self.at_hosts(&mut all);
        self.at_flows(&mut all);
        all
    }

    fn at_stage(
        &self,
        (link, forward): (usize, bool),
        (place, key): (&str, &str),
        it: &result::ElementResult,
        config: &Value,
        all: &mut Vec<OwnSuspect>,
    ) {
        let kind = text(config, "kind").unwrap_or_default();
        let mut add = |kind: LimitationKind, sets: Vec<String>, uncertain: bool| {
            all.push(OwnSuspect { uncertain, ..OwnSuspect::new(kind, place, sets) });
        };
        let off = || vec![format!("{key}.enabled=false")];
        match kind.as_str() {
            "loss" => add(LimitationKind::Loss, off(), false),
            "outage" => add(LimitationKind::Outage, off(), false),
            "train" => {
                let none = ["lasts=\"1ns\"", "failure_probability=0.0"];
                add(LimitationKind::Handover, none.map(|set| format!("{key}.{set}")).to_vec(), false);
                add(LimitationKind::RadioErrors, vec![format!("{key}.residual=0.0")], false);
            }
            "reorder" => add(LimitationKind::Reordering, off(), false),
            "jitter" => {
                let delay = text(config, "delay").unwrap_or("0ms".into());
                add(
                    LimitationKind::Jitter,
                    vec![format!("{key}={{kind=\"delay\",delay=\"{delay}\"}}")],
                    false,
                );
            }
            _ => {}
        }
        if it.too_big_packets + it.fragmented_packets > 0 {
            add(LimitationKind::Mtu, vec![format!("{key}.mtu=9000")], false);
        }
        let queue = config.get("queue").cloned().unwrap_or_else(|| serde_json::json!({"kind": "fifo"}));
        let order = text(&queue, "kind").unwrap_or_default();
        let fair = ["drr", "wfq", "fq-codel"].contains(&order.as_str());
        let packets = queue.get("packets").and_then(Value::as_u64).unwrap_or(1000);
        let has_queue = ["link", "shaper", "rate-trace", "train"].contains(&kind.as_str());
        if has_queue && it.dropped_packets + it.marked_packets > 0 {
            let deep = if fair { "drr" } else { "fifo" };
            let set = format!("{key}.queue={{kind=\"{deep}\",packets=500000}}");
            add(LimitationKind::QueueLimit, vec![set], false);
        }
        let travel = text(config, "delay").and_then(|d| d.parse::<units::Span>().ok());
        let waited = it.delay_ms.max - travel.map_or(0.0, |d| d.as_secs_f64() * 1e3);
        if has_queue && it.max_queue_packets > 1 && waited >= 5.0 {
            let short = if fair { "fq-codel" } else { "codel" };
            let set = format!("{key}.queue={{kind=\"{short}\",packets={packets},ecn=false}}");
            add(LimitationKind::StandingQueue, vec![set], waited < 6.0);
        }
        let rate = rate_of(config, "rate");
        if let (Some(rate), "policer", true) = (rate, kind.as_str(), it.dropped_packets > 0) {
            let set = format!(
                "{key}={{kind=\"shaper\",rate=\"{}bit/s\",queue={{kind=\"fifo\",bytes=\"{}B\"}}}}",
                rate.as_bps(),
                self.product(rate)
            );
            add(LimitationKind::Policer, vec![set], false);
        }
        let steps = config.get("steps").and_then(Value::as_array).cloned().unwrap_or_default();
        let limit = scenario::PathLimits::new(self.scenario, None);
        let whole = match (rate, steps.is_empty()) {
            (Some(rate), _) if kind != "train" => Some(rate),
            (None, true) => None,
            // The mean of a varying rate is the limit of the flows that take it, unless something else is
            // tighter.
            _ => {
                let flows = self.scenario.flows.iter().zip(&limit.flows);
                let its = flows.filter(|(f, _)| self.takes(f, link, forward)).filter_map(|(_, l)| *l);
                its.min_by(f64::total_cmp).map(|l| Rate::from_bps((l * 1e6) as u64))
            }
        };
        let Some(whole) = whole else { return };
        let carries = self.scenario.flows.iter().any(|f| self.takes(f, link, forward));
        let [least, most] = self.reached(whole, link, forward);
        let acks = !carries && (it.max_queue_packets > 1 || it.dropped_packets > 0);
        if most < HELD_BAND[0] && !acks {
            return;
        }
        let mut sets = Vec::new();
        if let Some(rate) = rate {
            sets.push(format!("{key}.rate=\"{}bit/s\"", 2 * rate.as_bps()));
        }
        if !steps.is_empty() {
            let twice = |s: &Value| {
                let rate = rate_of(s, "rate").map_or(0, Rate::as_bps);
                format!("{{at=\"{}\",rate=\"{}bit/s\"}}", text(s, "at").unwrap_or_default(), 2 * rate)
            };
            let steps: Vec<String> = steps.iter().map(twice).collect();
            sets.push(format!("{key}.steps=[{}]", steps.join(",")));
        }
        if let Some(burst) = text(config, "burst").and_then(|b| b.parse::<units::Bytes>().ok()) {
            sets.push(format!("{key}.burst=\"{}B\"", 2 * burst.get()));
        }
        if has_queue {
            sets.push(format!("{key}.queue={{kind=\"{order}\",packets={}}}", 2 * packets));
        }
        add(LimitationKind::Rate, sets, carries && least < HELD_BAND[1]);
    }

    fn at_hosts(&self, all: &mut Vec<OwnSuspect>) {
        let tcp = || self.scenario.flows.iter().filter(|f| !is_datagrams(f));
        for (h, host) in self.scenario.hosts.iter().enumerate() {
            let stack = format!("hosts.{}.stack", host.name);
            let mut add = |kind, sets| {
                all.push(OwnSuspect::new(kind, &host.name, sets));
            };
            if tcp().any(|f| self.ends(f)[1] == h) {
                let product =
                    tcp().filter(|f| self.ends(f)[1] == h).map(|f| self.product(self.possible(f))).max();
                let first = (4 * product.unwrap_or(0)).max(131_072);
                let mut sets = vec![
                    format!("{stack}.receive_buffer=\"1000MB\""),
                    format!("{stack}.initial_receive_buffer=\"{first}B\""),
                ];
                if host.stack.receive_window.is_some() {
                    sets.push(format!("{stack}.receive_window=\"400MB\""));
                }
                add(LimitationKind::ReceiveWindow, sets);
            }
            if tcp().any(|f| self.ends(f)[0] == h) {
                add(LimitationKind::SendBuffer, vec![format!("{stack}.send_buffer=\"1000MB\"")]);
            }
            if host.stack.sack == Some(false) {
                add(LimitationKind::Sack, vec![format!("{stack}.sack=true")]);
            }
            let is_short = |f: &&Flow| {
                let brief = self.results(f).iter().any(|r| r.active_s < 100.0 * self.rtt());
                brief || matches!(f.app, App::Onoff { .. } | App::Request { .. } | App::Page { .. })
            };
            let short: Vec<&Flow> = tcp().filter(|f| self.ends(f)[0] == h).filter(is_short).collect();
            if !short.is_empty() {
                let connections: u64 = short.iter().map(|f| u64::from(f.count * f.app.connections())).sum();
                let rate = short.iter().map(|f| self.possible(f)).max().unwrap_or_default();
                let window = (rate.as_bps() as f64 / 8.0 * self.rtt() / 1500.0) as u64 / connections.max(1);
                let window = window.clamp(10, 100_000);
                let mut sets = vec![
                    format!("{stack}.initial_window={window}"),
                    format!("{stack}.pacing=true"),
                    format!("{stack}.idle_restart=false"),
                ];
                let mut ends: Vec<usize> = short.iter().map(|f| self.ends(f)[1]).collect();
                ends.sort_unstable();
                ends.dedup();
                let fixed = |&&end: &&usize| self.scenario.hosts[end].stack.receive_window.is_none();
                sets.extend(ends.iter().filter(fixed).map(|&end| {
                    let name = &self.scenario.hosts[end].name;
                    format!("hosts.{name}.stack.initial_receive_buffer=\"{}B\"", (6000 * window).max(131_072))
                }));
                add(LimitationKind::SlowStart, sets);
            }
        }
        for (r, relay) in self.scenario.relays.iter().enumerate() {
            if tcp().any(|f| f.via.contains(&r)) {
                let sets = vec![format!("relays.{}.buffer=\"1000MB\"", relay.name)];
                all.push(OwnSuspect::new(LimitationKind::RelayBuffer, &relay.name, sets));
            }
        }
    }

    fn at_flows(&self, all: &mut Vec<OwnSuspect>) {
        let flows = &self.scenario.flows;
        for flow in flows {
            let key = format!("flows.\"{}\"", flow.name);
            let mut add = |kind, sets: Vec<String>, uncertain| {
                all.push(OwnSuspect { uncertain, ..OwnSuspect::new(kind, &flow.name, sets) });
            };
            if !is_datagrams(flow) && flow.max_pacing_rate.is_some() {
                add(LimitationKind::PacingCap, vec![format!("{key}.max_pacing_rate=\"900Gbit/s\"")], false);
            }
            if self.goal == Goal::Goodput {
                match &flow.app {
                    App::Onoff { .. } => {
                        add(LimitationKind::Application, vec![format!("{key}.app={{kind=\"bulk\"}}")], false);
                    }
                    App::Request { .. } | App::Page { .. } => {
                        let mut sets = vec![format!("{key}.app={{kind=\"bulk\"}}")];
                        if flow.app.answers() {
                            let name = |h: usize| &self.scenario.hosts[h].name;
                            sets.push(format!("{key}.from=\"{}\"", name(flow.to)));
                            sets.push(format!("{key}.to=\"{}\"", name(flow.from)));
                        }
                        add(LimitationKind::Application, sets, false);
                    }
                    App::Udp { rate, .. } => {
                        let set = format!("{key}.app.rate=\"{}bit/s\"", 2 * rate.as_bps());
                        add(LimitationKind::Application, vec![set], false);
                    }
                    _ => {}
                }
            }
            let shares = |f: &&Flow| {
                (0..self.scenario.links.len())
                    .any(|l| [true, false].iter().any(|&w| self.takes(f, l, w) && self.takes(flow, l, w)))
            };
            let many: u64 = flows.iter().filter(shares).map(|f| u64::from(f.count)).sum();
            let competes = match flow.app {
                App::Udp { rate, .. } => {
                    rate.as_bps() * u64::from(flow.count) * many > self.possible(flow).as_bps()
                }
                App::Bulk { bytes: None, .. } | App::Onoff { .. } => self.goal == Goal::Goodput,
                _ => false,
            };
            if competes && flows.len() > 1 && self.goal != Goal::Fairness {
                add(LimitationKind::CompetingFlow, vec![format!("{key}.enabled=false")], false);
            }
            if self.goal == Goal::Fairness && !is_datagrams(flow) {
                let others = flows.iter().filter(|f| !is_datagrams(f) && f.cc != flow.cc);
                let sets: Vec<String> = others
                    .clone()
                    .map(|f| format!("flows.\"{}\".cc=\"{}\"", f.name, flow.cc.name()))
                    .collect();
                if let Some(first) = others.clone().next() {
                    all.push(OwnSuspect::new(LimitationKind::CongestionControl, &first.name, sets));
                }
            }
        }
    }

    /// The overrides of all suspects that a reported cause names.
    fn together(&self, all: &[OwnSuspect], named: &Limitation) -> Option<Vec<String>> {
        let places = || std::iter::once(&named.place).chain(&named.also);
        if named.kind == LimitationKind::CongestionControl {
            let flow = |place: &String| self.scenario.flows.iter().find(|f| f.name == *place);
            let set = |f: &Flow| {
                let other = if f.cc.name().starts_with("bbr") { "cubic" } else { "bbr" };
                format!("flows.\"{}\".cc=\"{other}\"", f.name)
            };
            return places().map(|p| flow(p).map(set)).collect();
        }
        let buffers =
            [LimitationKind::ReceiveWindow, LimitationKind::SendBuffer, LimitationKind::RelayBuffer];
        let is = |s: &&OwnSuspect| match named.kind {
            LimitationKind::Buffers => buffers.contains(&s.kind),
            kind => s.kind == kind && places().any(|p| *p == s.place),
        };
        let sets: Vec<String> = all.iter().filter(is).flat_map(|s| s.sets.clone()).collect();
        (!sets.is_empty()).then_some(sets)
    }
}
