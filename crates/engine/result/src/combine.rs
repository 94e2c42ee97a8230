//! Several runs as one result: repeats with different seeds ([`combine`]) and flows measured one at a time
//! ([`concat`]).

use crate::{
    DelaySummary, ElementResult, Estimate, FlowOutage, FlowRepeats, FlowResult, Measure, Outcome, Quantity,
    RealTime, Repeats, RttSummary, StateTime, Statistic, Subject, TimesSummary, Trust, VariantResult,
};
use std::collections::BTreeMap;

/// 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The 97.5 % quantile of Student's t. Beyond the table: the first terms of its expansion around the normal
/// quantile (Abramowitz and Stegun 26.7.5), with an error below 1e-4.
fn t_975(degrees: usize) -> f64 {
    if degrees <= T_975.len() {
        return T_975[degrees - 1];
    }
    let (z, v) = (1.959_963_985_f64, degrees as f64);
    let z3 = z * z * z;
    let z5 = z3 * z * z;
    z + (z3 + z) / (4.0 * v) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
}

/// Mean of independent samples, with half the width of its 95 % confidence interval; 0 for a single sample.
pub fn estimate(samples: &[f64]) -> Estimate {
    let n = samples.len();
    if n == 0 {
        return Estimate::default();
    }
    let mean = samples.iter().sum::<f64>() / n as f64;
    if n == 1 {
        return Estimate { mean, ci95: 0.0 };
    }
    let squares: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
    let error = (squares / (n - 1) as f64 / n as f64).sqrt();
    Estimate { mean, ci95: t_975(n - 1) * error }
}

/// Mean of `f` over the items.
fn mean<T>(items: &[&T], f: impl Fn(&T) -> f64) -> f64 {
    items.iter().map(|x| f(x)).sum::<f64>() / items.len() as f64
}

/// Mean of counts, rounded to the nearest integer.
fn count<T>(items: &[&T], f: impl Fn(&T) -> u64) -> u64 {
    // Integer arithmetic: f64 would lose the low bits of large byte counts.
    let n = items.len() as u128;
    ((items.iter().map(|x| f(x) as u128).sum::<u128>() + n / 2) / n) as u64
}

/// Mean of counts as [`count`]; `None` if any of them is unknown.
fn count_known<T>(items: &[&T], f: impl Fn(&T) -> Option<u64>) -> Option<u64> {
    items.iter().all(|x| f(x).is_some()).then(|| count(items, |x| f(x).unwrap_or(0)))
}

/// Mean of values; `None` if any of them is unknown.
fn mean_known<T>(items: &[&T], f: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    items.iter().all(|x| f(x).is_some()).then(|| mean(items, |x| f(x).unwrap_or(0.0)))
}

fn largest<T>(items: &[&T], f: impl Fn(&T) -> f64) -> f64 {
    items.iter().map(|x| f(x)).fold(0.0, f64::max)
}

/// Minimum and maximum over all, means of the other statistics, over those summaries that had samples.
fn rtt<T>(items: &[&T], f: impl Fn(&T) -> RttSummary) -> RttSummary {
    let all: Vec<RttSummary> = items.iter().map(|x| f(x)).filter(|r| r.max > 0.0).collect();
    let all: Vec<&RttSummary> = all.iter().collect();
    if all.is_empty() {
        return RttSummary::default();
    }
    RttSummary {
        min: all.iter().map(|r| r.min).fold(f64::INFINITY, f64::min),
        mean: mean(&all, |r| r.mean),
        p50: mean(&all, |r| r.p50),
        p95: mean(&all, |r| r.p95),
        p99: mean(&all, |r| r.p99),
        max: largest(&all, |r| r.max),
    }
}

/// Maximum over all, means of the other statistics; `None` if any is unknown.
fn times<T>(items: &[&T], f: impl Fn(&T) -> Option<TimesSummary>) -> Option<TimesSummary> {
    let all: Vec<TimesSummary> = items.iter().filter_map(|x| f(x)).collect();
    let each: Vec<&TimesSummary> = all.iter().collect();
    // Without a completed transfer there are no times.
    let ended: Vec<&TimesSummary> = all.iter().filter(|t| t.count > 0).collect();
    let mean_of_completed =
        |f: fn(&TimesSummary) -> f64| if ended.is_empty() { 0.0 } else { mean(&ended, f) };
    (all.len() == items.len() && !all.is_empty()).then(|| TimesSummary {
        count: count(&each, |t| t.count),
        unfinished: count(&each, |t| t.unfinished),
        mean: mean_of_completed(|t| t.mean),
        p50: mean_of_completed(|t| t.p50),
        p95: mean_of_completed(|t| t.p95),
        p99: mean_of_completed(|t| t.p99),
        max: largest(&each, |t| t.max),
    })
}

/// Extremes over all, means of the other numbers; `None` if any is unknown.
fn real_time(flows: &[&FlowResult]) -> Option<RealTime> {
    let all: Vec<RealTime> = flows.iter().filter_map(|f| f.real_time).collect();
    let each: Vec<&RealTime> = all.iter().collect();
    (all.len() == flows.len() && !all.is_empty()).then(|| RealTime {
        delay_ms: rtt(&each, |r| r.delay_ms),
        jitter_ms: mean(&each, |r| r.jitter_ms),
        lost: mean(&each, |r| r.lost),
        loss_bursts: count(&each, |r| r.loss_bursts),
        loss_burst_mean: mean(&each, |r| r.loss_burst_mean),
        loss_burst_max: all.iter().map(|r| r.loss_burst_max).max().unwrap_or(0),
        late: mean_known(&each, |r| r.late),
        jitter_buffer_ms: mean_known(&each, |r| r.jitter_buffer_ms),
        r_factor: mean_known(&each, |r| r.r_factor),
        mos: mean_known(&each, |r| r.mos),
    })
}

/// Mean of `f` over the items, with its confidence interval.
fn estimate_of<T>(items: &[&T], f: impl Fn(&T) -> f64) -> Estimate {
    estimate(&items.iter().map(|x| f(x)).collect::<Vec<_>>())
}

/// Mean share and mean number of entries of every state that occurs in any repeat; a state that a repeat
/// lacks took no time in it.
fn states(flows: &[&FlowResult]) -> Vec<StateTime> {
    let mut names: Vec<&str> = Vec::new();
    for s in flows.iter().flat_map(|f| &f.states) {
        if !names.contains(&s.state.as_str()) {
            names.push(&s.state);
        }
    }
    let time_of =
        |f: &FlowResult, name: &str| f.states.iter().find(|s| s.state == name).cloned().unwrap_or_default();
    let mut times: Vec<StateTime> = names
        .into_iter()
        .map(|name| StateTime {
            state: name.into(),
            share: mean(flows, |f| time_of(f, name).share),
            entered: count(flows, |f| time_of(f, name).entered),
        })
        .collect();
    times.sort_by(|a, b| b.share.total_cmp(&a.share));
    times
}

/// Means of each fault's effect on a flow. A time is unknown, or never ended, if it is so in any repeat; the
/// flow noticed the fault if it did in every repeat.
fn outages(flows: &[&FlowResult]) -> Vec<FlowOutage> {
    let mean_outage = |i: usize| -> Option<FlowOutage> {
        let all: Vec<&FlowOutage> = flows.iter().map(|f| f.outages.get(i)).collect::<Option<_>>()?;
        Some(FlowOutage {
            silence_ms: mean_known(&all, |o| o.silence_ms),
            ordinary_silence_ms: mean_known(&all, |o| o.ordinary_silence_ms),
            caused_silence: all.iter().all(|o| o.caused_silence),
            recovery_ms: mean_known(&all, |o| o.recovery_ms),
            lost_packets: count_known(&all, |o| o.lost_packets),
            ..all[0].clone()
        })
    };
    (0..flows[0].outages.len()).map_while(mean_outage).collect()
}

fn combine_flow(repeats: &[&FlowResult]) -> FlowResult {
    FlowResult {
        goodput_mbps: mean(repeats, |f| f.goodput_mbps),
        active_s: mean(repeats, |f| f.active_s),
        sent_packets: count(repeats, |f| f.sent_packets),
        retransmitted_packets: count(repeats, |f| f.retransmitted_packets),
        rtt_ms: rtt(repeats, |f| f.rtt_ms),
        rtt_acks_ms: rtt(repeats, |f| f.rtt_acks_ms),
        timeouts: count(repeats, |f| f.timeouts),
        delivered_bytes: count(repeats, |f| f.delivered_bytes),
        completed: count_known(repeats, |f| f.completed),
        completion_s: mean_known(repeats, |f| f.completion_s),
        unfinished: repeats.iter().any(|f| f.unfinished),
        response_s: times(repeats, |f| f.response_s),
        page_s: times(repeats, |f| f.page_s),
        real_time: real_time(repeats),
        states: states(repeats),
        timeout_wait: mean_known(repeats, |f| f.timeout_wait),
        lost_packets: count_known(repeats, |f| f.lost_packets),
        outages: outages(repeats),
        repeats: Some(FlowRepeats {
            goodput_mbps: estimate_of(repeats, |f| f.goodput_mbps),
            retransmitted_packets: estimate_of(repeats, |f| f.retransmitted_packets as f64),
            rtt_mean_ms: estimate_of(repeats, |f| f.rtt_ms.mean),
        }),
        ..repeats[0].clone()
    }
}

fn combine_element(repeats: &[&ElementResult]) -> ElementResult {
    ElementResult {
        passed_packets: count(repeats, |e| e.passed_packets),
        dropped_packets: count(repeats, |e| e.dropped_packets),
        too_big_packets: count(repeats, |e| e.too_big_packets),
        too_big: repeats.iter().filter_map(|e| e.too_big).max_by_key(|t| t.largest_bytes),
        fragmented_packets: count(repeats, |e| e.fragmented_packets),
        fragments: count(repeats, |e| e.fragments),
        joined_packets: count(repeats, |e| e.joined_packets),
        marked_packets: count(repeats, |e| e.marked_packets),
        max_queue_packets: repeats.iter().map(|e| e.max_queue_packets).max().unwrap_or(0),
        delay_ms: DelaySummary {
            mean: mean(repeats, |e| e.delay_ms.mean),
            max: largest(repeats, |e| e.delay_ms.max),
        },
        ..repeats[0].clone()
    }
}

/// Number of flows above which the values of single flows are not kept per repeat; each flow would add some
/// forty numbers.
const MAX_FLOWS_KEPT: usize = 16;

/// Measures whose value is kept for each repeat: every quantity of the run, every quantity of each flow if
/// there are at most [`MAX_FLOWS_KEPT`], and some of all TCP and all datagram flows. Minima and maxima are
/// left out: a run with repeats has them over all repeats.
fn kept_measures(variant: &VariantResult) -> Vec<Measure> {
    let run = Quantity::ALL.into_iter().map(|quantity| (Subject::Run, quantity));
    let shared = [Quantity::Goodput, Quantity::LimitShare, Quantity::Lost];
    let kinds = [Subject::Tcp, Subject::Datagrams].into_iter();
    let kinds = kinds.flat_map(|kind| shared.map(|quantity| (kind.clone(), quantity)));
    let flows = variant.flows.iter().filter(|_| variant.flows.len() <= MAX_FLOWS_KEPT);
    let flows = flows.flat_map(|flow| {
        let quantities = Quantity::ALL.into_iter().filter(|quantity| quantity.of_flows());
        quantities.map(|quantity| (Subject::Flow(flow.name.clone()), quantity))
    });
    let statistics = |quantity: Quantity| -> &[Option<Statistic>] {
        let kept = &[None, Some(Statistic::Mean), Some(Statistic::P95), Some(Statistic::P99)];
        if quantity.has_distribution() { kept } else { &kept[..1] }
    };
    let with = |(subject, quantity): (Subject, Quantity)| {
        let one =
            move |&statistic: &Option<Statistic>| Measure { subject: subject.clone(), quantity, statistic };
        statistics(quantity).iter().map(one).collect::<Vec<_>>()
    };
    run.chain(kinds).chain(flows).flat_map(with).collect()
}

/// Values of each measure in each repeat, by the measure's name; only measures with a finite value in all
/// repeats.
fn values(all: &[&VariantResult]) -> BTreeMap<String, Vec<f64>> {
    let known = |measure: Measure| {
        let values =
            all.iter().map(|v| measure.of(v).filter(|x| x.is_finite())).collect::<Option<Vec<f64>>>()?;
        Some((measure.name(), values))
    };
    kept_measures(all[0]).into_iter().filter_map(known).collect()
}

/// The mean difference `b` − `a` of a measure of two variants, with half the width of its 95 % confidence
/// interval. Both slices hold the values of repeats with the same seeds in the same order; a single pair has
/// no interval (0). Random effects common to both cancel out, so the interval is narrower than those of the
/// two means suggest. A difference whose interval contains 0 is not significant. Source: the paired t test
/// (Student 1908).
///
/// # Panics
/// Panics when `a` and `b` differ in length.
pub fn paired(a: &[f64], b: &[f64]) -> Estimate {
    assert_eq!(a.len(), b.len(), "values of the same seeds");
    estimate(&a.iter().zip(b).map(|(a, b)| b - a).collect::<Vec<f64>>())
}

impl Repeats {
    /// The mean difference `other` − `self` of a measure ([`paired`]) over the seeds common to both; `None`
    /// if there are fewer than two, or a repeat lacks a value.
    pub fn difference(&self, other: &Repeats, measure: &Measure) -> Option<Estimate> {
        let name = measure.key_in_repeats();
        let (a, b) = (self.values.get(&name)?, other.values.get(&name)?);
        let pair = |(seed, a): (&u64, &f64)| {
            let at = other.seeds.iter().position(|s| s == seed)?;
            Some((*a, *b.get(at)?))
        };
        let (a, b): (Vec<f64>, Vec<f64>) = self.seeds.iter().zip(a).filter_map(pair).unzip();
        (a.len() > 1).then(|| paired(&a, &b))
    }

    /// Mean and confidence interval of a measure over the repeats; `None` if a repeat lacks a value.
    pub fn estimate(&self, measure: &Measure) -> Option<Estimate> {
        self.values.get(&measure.key_in_repeats()).map(|values| estimate(values))
    }
}

fn repeats(all: &[&VariantResult], seeds: &[u64]) -> Repeats {
    let values = values(all);
    let estimate_of_measure = |measure: Measure| values.get(&measure.name()).map(|values| estimate(values));
    Repeats {
        n: all.len(),
        seeds: seeds.to_vec(),
        identical: all.iter().all(|v| v == &all[0]),
        total_goodput_mbps: estimate_of(all, |v| v.total_goodput_mbps),
        retransmitted_packets: estimate_of(all, |v| {
            v.flows.iter().map(|f| f.retransmitted_packets as f64).sum()
        }),
        rtt_mean_ms: estimate_of_measure(Measure::at(Quantity::Rtt, Statistic::Mean)),
        jain_index: estimate_of_measure(Measure::new(Quantity::Jain)),
        values,
    }
}

/// Combines the repeats of one variant into one summary of means (see [`crate::Run`]) with confidence
/// intervals. `seeds` are the repeats' seeds, in order. A single outcome is returned unchanged.
///
/// # Panics
/// Panics without outcomes, or when they differ in the number of flows or elements.
pub fn combine(outcomes: &[Outcome], seeds: &[u64]) -> VariantResult {
    let all: Vec<&VariantResult> = outcomes.iter().map(|o| &o.variant).collect();
    let first = *all.first().expect("at least one outcome");
    if all.len() == 1 {
        return first.clone();
    }
    let shape = |v: &VariantResult| (v.flows.len(), v.elements.len());
    assert!(
        all.iter().all(|v| shape(v) == shape(first)),
        "repeats of one variant have the same flows and elements"
    );
    let flows =
        (0..first.flows.len()).map(|i| combine_flow(&all.iter().map(|v| &v.flows[i]).collect::<Vec<_>>()));
    let elements = (0..first.elements.len())
        .map(|i| combine_element(&all.iter().map(|v| &v.elements[i]).collect::<Vec<_>>()));
    VariantResult {
        flows: flows.collect(),
        elements: elements.collect(),
        measured_s: [mean(&all, |v| v.measured_s[0]), mean(&all, |v| v.measured_s[1])],
        total_goodput_mbps: mean(&all, |v| v.total_goodput_mbps),
        tcp_goodput_mbps: mean_known(&all, |v| v.tcp_goodput_mbps),
        udp_goodput_mbps: mean_known(&all, |v| v.udp_goodput_mbps),
        completion_s: times(&all, |v| v.completion_s),
        response_s: times(&all, |v| v.response_s),
        page_s: times(&all, |v| v.page_s),
        jain_index: mean_known(&all, |v| v.jain_index),
        repeats: Some(repeats(&all, seeds)),
        trust: Trust::worst(all.iter().filter_map(|v| v.trust.as_ref())),
        ..first.clone()
    }
}

/// Combines flows that were measured one at a time. `parts` are pairs of a flow's name and the outcome of its
/// run, in the scenario's order. The elements of each run are kept as `element@flow`. The total is the sum of
/// the flows' goodputs, each over the interval of its own run, although they never shared the path. Empty
/// parts give an empty outcome.
pub fn concat(parts: Vec<(String, Outcome)>) -> Outcome {
    let mut parts = parts.into_iter();
    let Some((name, mut whole)) = parts.next() else { return Outcome::default() };
    label(&name, &mut whole);
    for (name, mut part) in parts {
        label(&name, &mut part);
        whole.variant.duration_s = whole.variant.duration_s.max(part.variant.duration_s);
        let (whole_interval, interval) = (&mut whole.variant.measured_s, part.variant.measured_s);
        *whole_interval = [whole_interval[0].min(interval[0]), whole_interval[1].max(interval[1])];
        whole.variant.trust = Trust::worst([&whole.variant.trust, &part.variant.trust].into_iter().flatten());
        whole.variant.flows.append(&mut part.variant.flows);
        whole.variant.elements.append(&mut part.variant.elements);
        whole.flow_series.append(&mut part.flow_series);
        whole.element_series.append(&mut part.element_series);
    }
    let variant = &mut whole.variant;
    variant.one_at_a_time = true;
    (variant.limit_mbps, variant.jain_index) = (None, None);
    variant.sum_up();
    whole
}

/// Labels the outcome of `flow`'s own run: the flow's name becomes a suffix of the elements' names, the run's
/// rate limit that of the flow.
fn label(flow: &str, outcome: &mut Outcome) {
    let variant = &mut outcome.variant;
    for element in &mut variant.elements {
        element.name = format!("{}@{flow}", element.name);
    }
    for f in &mut variant.flows {
        f.limit_mbps = f.limit_mbps.or(variant.limit_mbps);
    }
    for series in &mut outcome.element_series {
        series.name = format!("{}@{flow}", series.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementSeries, FlowSeries, Topology, jain};

    fn outcome(goodputs: &[f64], retransmitted: u64, rtt: f64) -> Outcome {
        let flows = goodputs.iter().enumerate().map(|(i, &g)| FlowResult {
            name: format!("f{i}"),
            cc: "cubic".into(),
            goodput_mbps: g,
            retransmitted_packets: retransmitted,
            rtt_ms: RttSummary { min: rtt, mean: rtt, p50: rtt, p95: rtt, p99: rtt, max: rtt },
            lost_packets: Some(3),
            ..Default::default()
        });
        let variant = VariantResult {
            name: "v".into(),
            flows: flows.collect(),
            elements: vec![ElementResult {
                name: "wan".into(),
                max_queue_packets: retransmitted,
                ..Default::default()
            }],
            total_goodput_mbps: goodputs.iter().sum(),
            jain_index: Some(jain(goodputs)),
            limit_mbps: Some(20.0),
            path: Some(Topology { hosts: vec!["a".into()], ..Default::default() }),
            ..Default::default()
        };
        let element_series = vec![ElementSeries { name: "wan".into(), ..Default::default() }];
        Outcome { variant, flow_series: vec![FlowSeries::default(); goodputs.len()], element_series }
    }

    #[test]
    fn confidence_intervals_match_r() {
        // R: t.test(c(1, 2, 3, 4))$conf.int is 0.4457397 4.5542603.
        let e = estimate(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(e.mean, 2.5);
        assert!((e.ci95 - 2.0542603).abs() < 1e-3, "{}", e.ci95);
        assert_eq!(estimate(&[5.0]), Estimate { mean: 5.0, ci95: 0.0 });
        assert_eq!(estimate(&[]), Estimate::default());
        // Published quantiles: t(0.975, 40) = 2.0211, t(0.975, 120) = 1.9799.
        assert!((t_975(40) - 2.0211).abs() < 1e-4 && (t_975(120) - 1.9799).abs() < 1e-4);
        assert!(t_975(31) < T_975[29]);
    }

    #[test]
    fn paired_differences_have_students_interval() {
        // Differences 1, 2, 3: mean 2, standard deviation 1, t(0.975, 2) = 4.303, so ± 4.303 / √3.
        let d = paired(&[10.0, 20.0, 30.0], &[11.0, 22.0, 33.0]);
        assert_eq!(d.mean, 2.0);
        assert!((d.ci95 - 4.303 / 3f64.sqrt()).abs() < 1e-12, "{}", d.ci95);
        // Values differ far more between seeds than between variants, yet the paired difference is exact.
        assert_eq!(paired(&[1.0, 50.0, 9.0], &[3.0, 52.0, 11.0]), Estimate { mean: 2.0, ci95: 0.0 });
        // Differences 1, −2, 1, −2: mean −1/2, each 3/2 from it, standard deviation √3, t(0.975, 3) = 3.182.
        let d = paired(&[5.0, 7.0, 4.0, 8.0], &[6.0, 5.0, 5.0, 6.0]);
        assert!((d.mean + 0.5).abs() < 1e-12 && (d.ci95 - 3.182 * 3f64.sqrt() / 2.0).abs() < 1e-9, "{d:?}");
        assert_eq!(paired(&[4.0], &[6.5]), Estimate { mean: 2.5, ci95: 0.0 });
    }

    #[test]
    fn repeats_are_compared_by_seed_and_only_where_every_repeat_has_a_value() {
        let repeats_of = |rtts: &[f64], seeds: &[u64]| {
            let each: Vec<Outcome> = rtts.iter().map(|&rtt| outcome(&[4.0, 6.0], 1, rtt)).collect();
            combine(&each, seeds).repeats.unwrap()
        };
        let p95 = Measure::at(Quantity::Rtt, Statistic::P95);
        let (a, b) =
            (repeats_of(&[30.0, 40.0, 50.0], &[7, 8, 9]), repeats_of(&[52.0, 61.0, 43.0], &[9, 10, 8]));
        // Seeds 8 and 9 are common to both: 43 − 40 and 52 − 50.
        let d = a.difference(&b, &p95).unwrap();
        assert!((d.mean - 2.5).abs() < 1e-12 && (d.ci95 - 12.706 * 0.5).abs() < 1e-9, "{d:?}");
        assert_eq!(a.difference(&repeats_of(&[1.0, 2.0], &[1, 2]), &p95), None);
        assert_eq!(a.estimate(&p95).unwrap().mean, 40.0);
        // Values of single flows are kept, too; a measure without a value in some or all repeats is not.
        assert_eq!(a.values["f1.goodput"], [6.0; 3]);
        assert!(
            !a.values.contains_key("delay.p95") && !a.values.contains_key("completion"),
            "{:?}",
            a.values
        );
        let (mut ends, never) = (outcome(&[4.0], 1, 30.0), outcome(&[4.0], 1, 30.0));
        ends.variant.flows[0].completion_s = Some(1.0);
        let r = combine(&[ends, never], &[1, 2]).repeats.unwrap();
        assert!(
            !r.values.contains_key("f0.completion") && r.values.contains_key("f0.goodput"),
            "{:?}",
            r.values
        );
    }

    #[test]
    fn values_of_single_flows_are_kept_only_for_up_to_16_flows() {
        let r = |flows| {
            let one = outcome(&vec![1.0; flows], 1, 30.0);
            combine(&[one.clone(), one], &[1, 2]).repeats.unwrap().values
        };
        assert!(r(16).contains_key("f15.goodput") && !r(17).contains_key("f0.goodput"));
        assert_eq!(r(17)["tcp.goodput"], [17.0, 17.0]);
    }

    #[test]
    fn states_are_averaged_and_a_missing_one_took_no_time() {
        let state = |state: &str, share, entered| StateTime { state: state.into(), share, entered };
        let flow_with = |states| FlowResult { states, ..FlowResult::default() };
        let a = flow_with(vec![state("avoidance", 0.75, 3), state("loss", 0.25, 2)]);
        let b = flow_with(vec![state("avoidance", 1.0, 1)]);
        assert_eq!(states(&[&a, &b]), [state("avoidance", 0.875, 2), state("loss", 0.125, 1)]);
    }

    #[test]
    fn outages_are_averaged_unless_one_never_ended() {
        let flow_with = |silence, back, lost| FlowResult {
            outages: vec![FlowOutage {
                fault: "cut".into(),
                silence_ms: Some(silence),
                ordinary_silence_ms: Some(silence / 100.0),
                caused_silence: silence > 1000.0,
                recovery_ms: back,
                lost_packets: Some(lost),
            }],
            ..FlowResult::default()
        };
        let (a, b, c) = (
            flow_with(2000.0, Some(2100.0), 100),
            flow_with(3000.0, Some(3100.0), 151),
            flow_with(9000.0, None, 400),
        );
        let mean = &outages(&[&a, &b])[0];
        assert_eq!(
            (mean.silence_ms, mean.recovery_ms, mean.lost_packets),
            (Some(2500.0), Some(2600.0), Some(126))
        );
        assert_eq!((mean.ordinary_silence_ms, mean.caused_silence), (Some(25.0), true));
        let never = &outages(&[&a, &c])[0];
        assert_eq!((never.recovery_ms, never.caused_silence), (None, true));
        let once = &outages(&[&a, &flow_with(20.0, None, 0)])[0];
        assert_eq!(
            (once.recovery_ms, once.caused_silence),
            (None, false),
            "noticed in only one of the repeats"
        );
        assert!(outages(&[&FlowResult::default(), &a]).is_empty());
    }

    #[test]
    fn repeats_become_means_and_extremes_stay_extremes() {
        let v = combine(&[outcome(&[4.0, 6.0], 10, 30.0), outcome(&[5.0, 5.0], 13, 50.0)], &[7, 8]);
        assert_eq!(
            (v.total_goodput_mbps, v.flows[0].goodput_mbps, v.flows[1].goodput_mbps),
            (10.0, 4.5, 5.5)
        );
        assert_eq!(v.flows[0].retransmitted_packets, 12);
        assert_eq!((v.flows[0].rtt_ms.min, v.flows[0].rtt_ms.p50, v.flows[0].rtt_ms.max), (30.0, 40.0, 50.0));
        assert_eq!((v.elements[0].max_queue_packets, v.flows[0].lost_packets), (13, Some(3)));
        assert_eq!(v.path.as_ref().map(|p| p.hosts.len()), Some(1));
        let r = v.repeats.unwrap();
        assert_eq!((&r.values["goodput"], &r.values["rtt.mean"]), (&vec![10.0, 10.0], &vec![30.0, 50.0]));
        assert_eq!((r.n, r.seeds, r.total_goodput_mbps.ci95), (2, vec![7, 8], 0.0));
        assert_eq!(r.retransmitted_packets.mean, 23.0);
        assert!((r.rtt_mean_ms.unwrap().ci95 - 12.706 * 10.0).abs() < 1e-9);
        assert!(!r.identical, "the totals are identical, but not the flows");
    }

    #[test]
    fn identical_repeats_are_marked() {
        let v = combine(&vec![outcome(&[4.0, 6.0], 10, 30.0); 3], &[7, 8, 9]);
        let r = v.repeats.unwrap();
        assert!(r.identical && r.n == 3 && r.total_goodput_mbps.ci95 == 0.0);
    }

    #[test]
    fn a_single_run_is_returned_unchanged() {
        let one = outcome(&[4.0], 1, 30.0);
        assert_eq!(combine(std::slice::from_ref(&one), &[1]), one.variant);
    }

    #[test]
    fn flows_of_separate_runs_are_joined() {
        let whole =
            concat(vec![("up".into(), outcome(&[4.0], 1, 30.0)), ("down".into(), outcome(&[18.0], 0, 30.0))]);
        let v = &whole.variant;
        assert!(v.one_at_a_time && v.limit_mbps.is_none() && v.path.is_some());
        assert_eq!(v.jain_index, None, "the flows shared no link");
        assert_eq!((v.flows.len(), v.total_goodput_mbps), (2, 22.0));
        assert_eq!(v.flows[1].limit_mbps, Some(20.0));
        assert_eq!([&v.elements[0].name, &v.elements[1].name], ["wan@up", "wan@down"]);
        assert_eq!([&whole.element_series[0].name, &whole.element_series[1].name], ["wan@up", "wan@down"]);
        assert_eq!(whole.flow_series.len(), 2);
        assert_eq!(concat(vec![]), Outcome::default());
    }
}
