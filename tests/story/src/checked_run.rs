//! The outcome of a run, read from its files and its scenario.

use crate::value::greedy;
use app::tables::{
    FileOrigin, Sampled, VariantSeries, read_series, write_elements, write_flows, write_responses,
};
use experiment::{Hooks, Order, Outcomes};
use result::{Clock, ElementSeries, FlowResult, FlowSeries, Run, VariantResult, read_json, to_json};
use scenario::{Experiment, PathLimits, Scenario};
use std::num::NonZeroUsize;

/// Packets that may pass an element at one instant.
const BURST: f64 = 16.0;

/// A flow of the result, with what the scenario states about it.
#[derive(Clone, Debug)]
pub struct ComparedFlow {
    /// The summary, already checked against the series.
    pub result: FlowResult,
    /// Link directions on the flow's path.
    pub directions: Vec<(usize, bool)>,
    /// TCP that sends as much as it can while it is active.
    pub greedy: bool,
    /// The tightest limit on its path, Mbit/s.
    pub limit: Option<f64>,
    /// Share of its time spent waiting for timeouts, by the samples.
    pub timeout_share: Option<f64>,
    /// Share of its time in recovery, by the samples.
    pub recovery_share: f64,
}

/// A stage of the path.
#[derive(Clone, Debug)]
pub struct ComparedStage {
    /// `link.direction.stage`, followed by `@flow` if flows were measured alone.
    pub name: String,
    pub dropped: u64,
    /// Packets that arrived at the stage.
    pub arrived: u64,
    /// The longest queue, packets.
    pub queue: u64,
    /// Longest time of a packet in the stage, ms.
    pub inside_ms: f64,
}

/// An entry that the headline names as a variant: a variant, or one of its flows measured alone.
#[derive(Clone, Debug)]
pub struct ComparedVariant {
    /// Name in the headline.
    pub name: String,
    /// Index of the variant in the run.
    pub index: usize,
    pub flows: Vec<ComparedFlow>,
    /// Stages of the path.
    pub elements: Vec<ComparedStage>,
    /// Limit of all flows together, Mbit/s.
    pub limit: Option<f64>,
    pub result: VariantResult,
    /// Whether the flow was measured alone.
    pub alone: bool,
    pub scenario: Scenario,
}

/// A run, and how its series contradict its summary.
pub struct CheckedRun {
    pub run: Run,
    /// Variants (or flows measured alone), in order.
    pub compared: Vec<ComparedVariant>,
    /// Contradictions between series and summary.
    pub wrong: Vec<String>,
}

/// Runs a scenario file on a clock, and writes and reads its results.
///
/// # Panics
/// If the text is not a scenario, a run fails, or the results cannot be read.
pub fn play(text: &str, repeats: u32, clock: Clock) -> CheckedRun {
    read_back(text, run(text, repeats, clock), None)
}

/// Runs a scenario in the simulator, next to a stand-in for a kernel's run: another seed and more loss.
///
/// # Panics
/// As [`play`].
pub fn play_with_stand_in(text: &str) -> CheckedRun {
    let other = text.replace("probability = 0.002", "probability = 0.03").replace("seed = ", "seed = 1");
    let mut kernel_variants = run(&other, 1, Clock::Sim).1.run().variants;
    kernel_variants.iter_mut().for_each(|v| v.clock = Clock::Kernel);
    read_back(text, run(text, 1, Clock::Sim), Some(kernel_variants))
}

/// Runs a scenario in the simulator and on the real kernel.
///
/// # Panics
/// As [`play`].
pub fn play_both(text: &str) -> CheckedRun {
    let kernel_variants = run(text, 1, Clock::Kernel).1.run().variants;
    read_back(text, run(text, 1, Clock::Sim), Some(kernel_variants))
}

fn run(text: &str, repeats: u32, clock: Clock) -> (Experiment, Outcomes) {
    let experiment = Experiment::parse("drawn.toml", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let order =
        Order { clocks: vec![clock], repeats, seed: None, threads: NonZeroUsize::new(1), keep_going: false };
    let outcomes = experiment::run(&experiment, &order, Hooks::default());
    assert!(outcomes.is_complete(), "{:?}\n{text}", outcomes.failed);
    (experiment, outcomes)
}

fn read_back(
    text: &str,
    (experiment, outcomes): (Experiment, Outcomes),
    kernel_variants: Option<Vec<VariantResult>>,
) -> CheckedRun {
    let mut run = outcomes.run();
    let (own, both) = (run.variants.len(), kernel_variants.is_some());
    run.variants.extend(kernel_variants.into_iter().flatten());
    (run.headline, run.facts) = report::headline(&run);
    let run = read_json(&to_json(&run)).expect("JSON that was just written");
    assert!(own == experiment.variants.len() && (!both || run.variants.len() == 2 * own), "{text}");
    let mut wrong = Vec::new();
    let mut compared = Vec::new();
    for (i, variant) in run.variants.iter().take(own).enumerate() {
        let scenario = &experiment.variants[i].scenario;
        let series = series(&outcomes, i, &run);
        compared.extend(compared_variants(i, variant, scenario, &series, &mut wrong));
    }
    CheckedRun { run, compared, wrong }
}

/// A repeat's measured interval, and its series as read from Parquet.
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

fn compared_variants(
    index: usize,
    variant: &VariantResult,
    scenario: &Scenario,
    repeats: &[RepeatSeries],
    wrong: &mut Vec<String>,
) -> Vec<ComparedVariant> {
    let mut all = Vec::new();
    let mut complain = |what: String| wrong.push(format!("{}: {what}", variant.name));
    for (i, result) in variant.flows.iter().enumerate() {
        let flow_series: Vec<&FlowSeries> = repeats.iter().map(|r| &r.series.flows[i]).collect();
        let together = !variant.one_at_a_time;
        check_goodput(result, &flow_series, repeats, (together, variant.clock), &mut complain);
        let flow = scenario.flows.iter().find(|f| is_of(&result.name, &f.name, f.count)).expect("its flow");
        let flow_index = scenario.flows.iter().position(|f| f.name == flow.name).expect("its flow");
        let limits = PathLimits::new(scenario, variant.one_at_a_time.then_some(flow_index));
        let relays = flow.via.iter().map(|&r| scenario.relays[r].host);
        let hosts: Vec<usize> = std::iter::once(flow.from).chain(relays).chain([flow.to]).collect();
        let route: Vec<_> =
            hosts.windows(2).flat_map(|leg| scenario.route(leg[0], leg[1]).expect("a route")).collect();
        let tcp = !result.is_udp();
        if let [series] = flow_series[..] {
            crate::times::check_flow(result, flow, scenario, series, &mut complain);
        }
        let waits: Option<Vec<f64>> = flow_series.iter().map(|s| crate::value::waited(s)).collect();
        all.push(ComparedFlow {
            result: result.clone(),
            directions: route.iter().map(|h| (h.link, h.forward)).collect(),
            greedy: greedy(&flow.app),
            limit: limits.flows[flow_index],
            timeout_share: waits.filter(|_| tcp).map(|w| mean(w.into_iter())),
            recovery_share: mean(flow_series.iter().map(|s| crate::value::repaired(s))),
        });
    }
    if let [repeat] = repeats {
        crate::value::check_jain(variant, &mut complain);
        crate::times::check_all_flows(variant, scenario, &repeat.series.flows, &mut complain);
    }
    let elements: Vec<ComparedStage> = variant
        .elements
        .iter()
        .enumerate()
        .map(|(i, e)| {
            let series: Vec<&ElementSeries> = repeats.iter().map(|r| &r.series.elements[i]).collect();
            let dropped = mean(series.iter().map(|s| s.dropped.last().copied().unwrap_or(0) as f64));
            let peak = series.iter().flat_map(|s| &s.queue_packets).max().copied().unwrap_or(0);
            // Packets dropped at the very end come after the last sample: at most a burst.
            let missing = e.dropped_packets as f64 - dropped;
            let most = series.iter().map(|s| last_step(&s.dropped, variant.clock)).fold(BURST, f64::max);
            if !(-0.5..=most).contains(&missing) {
                complain(format!("{} dropped {dropped} by its series, {} in all", e.name, e.dropped_packets));
            }
            if peak > e.max_queue_packets {
                complain(format!("{} held {peak} by its series, {} at most", e.name, e.max_queue_packets));
            }
            ComparedStage {
                name: e.name.clone(),
                dropped: e.dropped_packets,
                arrived: e.passed_packets + e.dropped_packets,
                queue: e.max_queue_packets,
                inside_ms: e.delay_ms.max - crate::check::travel_ms(scenario, &e.name),
            }
        })
        .collect();
    let whole = |name: String, flows: Vec<ComparedFlow>, elements: Vec<ComparedStage>, limit, alone| {
        ComparedVariant {
            name,
            index,
            flows,
            elements,
            limit,
            alone,
            result: variant.clone(),
            scenario: scenario.clone(),
        }
    };
    if !variant.one_at_a_time {
        let limit = PathLimits::new(scenario, None).all;
        return vec![whole(variant.name.clone(), all, elements, limit, false)];
    }
    let each = all.into_iter().map(|flow| {
        let name = flow.result.name.clone();
        let is_own =
            |e: &&ComparedStage| e.name.split_once('@').is_some_and(|(_, run)| is_of(&name, run, u32::MAX));
        let elements = elements.iter().filter(is_own).cloned().collect();
        let limit = flow.limit;
        whole(format!("{} / {name}", variant.name), vec![flow], elements, limit, true)
    });
    each.collect()
}

/// Returns whether a flow of the result is one of the scenario's flow `flow`.
fn is_of(result: &str, flow: &str, count: u32) -> bool {
    let number = result.strip_prefix(flow).and_then(|r| r.strip_prefix('-'));
    result == flow || (count > 1 && number.is_some_and(|n| n.parse::<u32>().is_ok()))
}

/// Largest step between two samples. On the kernel the last sample comes before the end, so as much may have
/// come after it.
fn last_step(totals: &[u64], clock: Clock) -> f64 {
    let most = totals.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max();
    if clock == Clock::Kernel { most.unwrap_or(0) as f64 } else { 0.0 }
}

/// Checks that goodput is the payload delivered in the measured interval, divided by its length, within what
/// the samples around its ends permit.
fn check_goodput(
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
    // Runs of single flows were each measured over their own time.
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
