//! What a run yielded, as its files and its scenario tell.

use crate::value::greedy;
use app::tables::{
    FileOrigin, Sampled, VariantSeries, read_series, write_elements, write_flows, write_responses,
};
use experiment::{Hooks, Order, Outcomes};
use result::{Clock, ElementSeries, FlowResult, FlowSeries, Run, VariantResult, read_json, to_json};
use scenario::{Experiment, PathLimits, Scenario};
use std::num::NonZeroUsize;

/// Packets that may pass an element in one moment.
const BURST: f64 = 16.0;

/// A flow of the result and what the scenario says of it.
#[derive(Clone, Debug)]
pub struct SeenFlow {
    /// The summary; what series tell has been held against them.
    pub result: FlowResult,
    /// Directions of links on its way.
    pub ways: Vec<(usize, bool)>,
    /// TCP that sends all it can while it is active.
    pub greedy: bool,
    /// The tightest limit on its way, Mbit/s.
    pub limit: Option<f64>,
    /// Share of its time waiting for timeouts, by the samples.
    pub waited: Option<f64>,
    /// Share of its time in recovery, by the samples.
    pub repaired: f64,
}

/// A stage of the path.
#[derive(Clone, Debug)]
pub struct SeenElement {
    /// `link.direction.stage`, `@flow` behind it where flows were measured alone.
    pub name: String,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets that came.
    pub came: u64,
    /// The longest queue.
    pub queue: u64,
    /// The longest that a packet was inside, ms.
    pub inside_ms: f64,
}

/// What the headline calls a variant: one, or one of its flows measured alone.
#[derive(Clone, Debug)]
pub struct Seen {
    /// As the headline calls it.
    pub name: String,
    /// Index in the run.
    pub at: usize,
    /// Its flows.
    pub flows: Vec<SeenFlow>,
    /// Its stages.
    pub elements: Vec<SeenElement>,
    /// The limit of all flows together, Mbit/s.
    pub limit: Option<f64>,
    /// The summary.
    pub result: VariantResult,
    /// Measured alone.
    pub alone: bool,
    /// What was run.
    pub scenario: Scenario,
}

/// A run, and what of its summary its series contradict.
pub struct SeenRun {
    /// As read from JSON.
    pub run: Run,
    /// In order.
    pub seen: Vec<Seen>,
    /// Contradictions.
    pub wrong: Vec<String>,
}

/// Runs a scenario file on a clock, writes and reads its results.
///
/// # Panics
/// When the file is none, a run fails, or what was written cannot be read.
pub fn play(text: &str, repeats: u32, clock: Clock) -> SeenRun {
    seen(text, run(text, repeats, clock), None)
}

/// The same on the simulator, and beside it what stands for a kernel's run: another seed, more loss.
///
/// # Panics
/// As [`play`].
pub fn play_beside(text: &str) -> SeenRun {
    let other = text.replace("probability = 0.002", "probability = 0.03").replace("seed = ", "seed = 1");
    let mut beside = run(&other, 1, Clock::Sim).1.run().variants;
    beside.iter_mut().for_each(|v| v.clock = Clock::Kernel);
    seen(text, run(text, 1, Clock::Sim), Some(beside))
}

/// The same on the simulator, and beside it on the real kernel.
///
/// # Panics
/// As [`play`].
pub fn play_both(text: &str) -> SeenRun {
    let beside = run(text, 1, Clock::Kernel).1.run().variants;
    seen(text, run(text, 1, Clock::Sim), Some(beside))
}

fn run(text: &str, repeats: u32, clock: Clock) -> (Experiment, Outcomes) {
    let experiment = Experiment::parse("drawn.toml", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let order =
        Order { clocks: vec![clock], repeats, seed: None, threads: NonZeroUsize::new(1), keep_going: false };
    let outcomes = experiment::run(&experiment, &order, Hooks::default());
    assert!(outcomes.is_complete(), "{:?}\n{text}", outcomes.failed);
    (experiment, outcomes)
}

fn seen(
    text: &str,
    (experiment, outcomes): (Experiment, Outcomes),
    beside: Option<Vec<VariantResult>>,
) -> SeenRun {
    let mut run = outcomes.run();
    let (own, both) = (run.variants.len(), beside.is_some());
    run.variants.extend(beside.into_iter().flatten());
    (run.headline, run.facts) = report::headline(&run);
    let run = read_json(&to_json(&run)).expect("JSON that was just written");
    assert!(own == experiment.variants.len() && (!both || run.variants.len() == 2 * own), "{text}");
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for (i, variant) in run.variants.iter().take(own).enumerate() {
        let scenario = &experiment.variants[i].scenario;
        let series = series(&outcomes, i, &run);
        seen.extend(variant_seen(i, variant, scenario, &series, &mut wrong));
    }
    SeenRun { run, seen, wrong }
}

/// A repeat's interval of measurement, and its series as Parquet has them.
struct RepeatSeries {
    measured: [f64; 2],
    series: VariantSeries,
}

fn series(outcomes: &Outcomes, variant: usize, run: &Run) -> Vec<RepeatSeries> {
    let one = |outcome: &result::Outcome| {
        let origin = FileOrigin { scenario: &run.scenario, seed: run.seed, run_id: &run.run_id };
        let sampled = [Sampled { repeat: 1, outcome }];
        let (mut flows, mut elements, mut responses) = (Vec::new(), Vec::new(), Vec::new());
        write_flows(&mut flows, origin, &sampled).expect("writes");
        write_elements(&mut elements, origin, &sampled).expect("writes");
        write_responses(&mut responses, origin, &sampled).expect("writes");
        let alone = Run { variants: vec![run.variants[variant].clone()], ..run.clone() };
        let mut read = read_series(&flows, &elements, None, Some(&responses), &alone).expect("reads");
        RepeatSeries { measured: outcome.variant.measured_s, series: read.remove(0) }
    };
    outcomes.variants[variant].outcomes.iter().map(one).collect()
}

fn mean(list: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = list.collect();
    all.iter().sum::<f64>() / all.len() as f64
}

fn variant_seen(
    at: usize,
    variant: &VariantResult,
    scenario: &Scenario,
    repeats: &[RepeatSeries],
    wrong: &mut Vec<String>,
) -> Vec<Seen> {
    let mut all = Vec::new();
    let mut complain = |what: String| wrong.push(format!("{}: {what}", variant.name));
    for (i, result) in variant.flows.iter().enumerate() {
        let of: Vec<&FlowSeries> = repeats.iter().map(|r| &r.series.flows[i]).collect();
        let together = !variant.one_at_a_time;
        goodput_holds(result, &of, repeats, (together, variant.clock), &mut complain);
        let flow = scenario.flows.iter().find(|f| is_of(&result.name, &f.name, f.count)).expect("its flow");
        let index = scenario.flows.iter().position(|f| f.name == flow.name).expect("its flow");
        let limits = PathLimits::new(scenario, variant.one_at_a_time.then_some(index));
        let relays = flow.via.iter().map(|&r| scenario.relays[r].host);
        let hosts: Vec<usize> = std::iter::once(flow.from).chain(relays).chain([flow.to]).collect();
        let route: Vec<_> =
            hosts.windows(2).flat_map(|leg| scenario.route(leg[0], leg[1]).expect("a way")).collect();
        let tcp = !result.is_udp();
        if let [series] = of[..] {
            crate::times::hold(result, flow, scenario, series, &mut complain);
        }
        let waits: Option<Vec<f64>> = of.iter().map(|s| crate::value::waited(s)).collect();
        all.push(SeenFlow {
            result: result.clone(),
            ways: route.iter().map(|h| (h.link, h.forward)).collect(),
            greedy: greedy(&flow.app),
            limit: limits.flows[index],
            waited: waits.filter(|_| tcp).map(|w| mean(w.into_iter())),
            repaired: mean(of.iter().map(|s| crate::value::repaired(s))),
        });
    }
    if let [repeat] = repeats {
        crate::value::hold_jain(variant, &mut complain);
        crate::times::hold_together(variant, scenario, &repeat.series.flows, &mut complain);
    }
    let elements: Vec<SeenElement> = variant
        .elements
        .iter()
        .enumerate()
        .map(|(i, e)| {
            let of: Vec<&ElementSeries> = repeats.iter().map(|r| &r.series.elements[i]).collect();
            let dropped = mean(of.iter().map(|s| s.dropped.last().copied().unwrap_or(0) as f64));
            let peak = of.iter().flat_map(|s| &s.queue_packets).max().copied().unwrap_or(0);
            // What is dropped in the very moment of the end comes after the last sample: a burst at most.
            let missing = e.dropped_packets as f64 - dropped;
            let most = of.iter().map(|s| last_step(&s.dropped, variant.clock)).fold(BURST, f64::max);
            if !(-0.5..=most).contains(&missing) {
                complain(format!("{} dropped {dropped} by its series, {} in all", e.name, e.dropped_packets));
            }
            if peak > e.max_queue_packets {
                complain(format!("{} held {peak} by its series, {} at most", e.name, e.max_queue_packets));
            }
            SeenElement {
                name: e.name.clone(),
                dropped: e.dropped_packets,
                came: e.passed_packets + e.dropped_packets,
                queue: e.max_queue_packets,
                inside_ms: e.delay_ms.max - crate::check::travel_ms(scenario, &e.name),
            }
        })
        .collect();
    let whole = |name: String, flows: Vec<SeenFlow>, elements: Vec<SeenElement>, limit, alone| Seen {
        name,
        at,
        flows,
        elements,
        limit,
        alone,
        result: variant.clone(),
        scenario: scenario.clone(),
    };
    if !variant.one_at_a_time {
        let limit = PathLimits::new(scenario, None).all;
        return vec![whole(variant.name.clone(), all, elements, limit, false)];
    }
    let each = all.into_iter().map(|flow| {
        let name = flow.result.name.clone();
        let of =
            |e: &&SeenElement| e.name.split_once('@').is_some_and(|(_, run)| is_of(&name, run, u32::MAX));
        let elements = elements.iter().filter(of).cloned().collect();
        let limit = flow.limit;
        whole(format!("{} / {name}", variant.name), vec![flow], elements, limit, true)
    });
    each.collect()
}

/// Whether a flow of the result is (one of) the scenario's.
fn is_of(result: &str, flow: &str, count: u32) -> bool {
    let number = result.strip_prefix(flow).and_then(|r| r.strip_prefix('-'));
    result == flow || (count > 1 && number.is_some_and(|n| n.parse::<u32>().is_ok()))
}

/// On the kernel the last sample comes before the end: as much as came between two samples may have come after it.
fn last_step(totals: &[u64], clock: Clock) -> f64 {
    let most = totals.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max();
    if clock == Clock::Kernel { most.unwrap_or(0) as f64 } else { 0.0 }
}

/// Payload delivered in the measured interval over its length: between what the samples around its ends allow.
fn goodput_holds(
    flow: &FlowResult,
    series: &[&FlowSeries],
    repeats: &[RepeatSeries],
    (together, clock): (bool, Clock),
    complain: &mut impl FnMut(String),
) {
    let total = mean(series.iter().map(|s| s.delivered_bytes.last().copied().unwrap_or(0) as f64));
    let late = series.iter().map(|s| last_step(&s.delivered_bytes, clock)).fold(0.5, f64::max);
    if !(-0.5..=late).contains(&(flow.delivered_bytes as f64 - total)) {
        complain(format!("{} delivered {total} by its series, {} in all", flow.name, flow.delivered_bytes));
    }
    // Runs of single flows were measured each over its own time.
    if !together || repeats.iter().any(|r| r.measured[1] <= r.measured[0]) {
        return;
    }
    let bounds = |s: &FlowSeries, [from, to]: [f64; 2]| {
        let (row, eps) = (|t: f64| s.time_s.partition_point(|&x| x < t), 1e-9);
        let at = |row: usize| s.delivered_bytes.get(row).or(s.delivered_bytes.last()).copied().unwrap_or(0);
        let before = |t: f64| at(row(t + eps).saturating_sub(1));
        let behind = |t: f64| at(row(t - eps));
        let mbps = |bytes: f64| bytes * 8e-6 / (to - from);
        let after =
            if s.time_s.last().is_some_and(|&t| t < to) { last_step(&s.delivered_bytes, clock) } else { 0.0 };
        let least = before(to).saturating_sub(behind(from)) as f64;
        [mbps(least), mbps(behind(to).saturating_sub(before(from)) as f64 + after)]
    };
    let each: Vec<[f64; 2]> = series.iter().zip(repeats).map(|(s, r)| bounds(s, r.measured)).collect();
    let (low, high) = (mean(each.iter().map(|b| b[0])), mean(each.iter().map(|b| b[1])));
    if flow.goodput_mbps < low - 1e-6 || flow.goodput_mbps > high + 1e-6 {
        complain(format!("{}: goodput {} is not within {low} and {high}", flow.name, flow.goodput_mbps));
    }
}
