//! Tests which captures and results give an observed path, and which are refused.

use fit::{CapturedFacts, FitError, ObservedPath};
use result::diagnosis::{CauseShare, Limiter, LimiterKind, Measures};
use result::{Cause, Diagnosis, FlowDiagnosis, RttSummary};

fn flow(id: u32, from: &str, to: &str, packets: u64) -> FlowDiagnosis {
    let rtt_ms = RttSummary { min: 20.0, mean: 25.0, p50: 24.0, p95: 40.0, p99: 42.0, max: 50.0 };
    let measures = Measures {
        goodput_mbps: 5.0,
        bytes: packets * 1448,
        data_packets: packets,
        acks: packets / 2,
        mss_bytes: 1448,
        max_delivery_mbps: 6.0,
        rtt_ms,
        ..Measures::default()
    };
    let causes = vec![CauseShare { cause: Cause::Bottleneck, share: 1.0, seconds: 10.0 }];
    FlowDiagnosis {
        id,
        from: from.into(),
        to: to.into(),
        start_s: 1.0,
        duration_s: 10.0,
        causes,
        measures,
        ..FlowDiagnosis::default()
    }
}

fn capture(flows: Vec<FlowDiagnosis>) -> Diagnosis {
    Diagnosis { flows, ..Diagnosis::default() }
}

#[test]
fn captures_that_show_no_path_are_refused_with_the_reason() {
    let refused = |d: &Diagnosis| ObservedPath::of(d, &[]).unwrap_err();
    assert_eq!(refused(&capture(vec![])), FitError::NoFlow);
    let few = capture(vec![flow(0, "a:1", "b:2", 12)]);
    assert_eq!(refused(&few), FitError::TooFew(12, 30));
    assert!(refused(&few).to_string().contains("12 data packets"));
    let mut one_way = flow(0, "a:1", "b:2", 900);
    one_way.notes = vec!["one-way".into()];
    assert_eq!(refused(&capture(vec![one_way])), FitError::OneWay);
    let mut no_rtt = flow(0, "a:1", "b:2", 900);
    no_rtt.measures.rtt_ms = RttSummary::default();
    assert_eq!(refused(&capture(vec![no_rtt])), FitError::NoRtt);
}

#[test]
fn flows_of_the_same_path_count_and_others_are_left_out() {
    let mut other = flow(4, "c:1", "d:2", 500);
    other.limiter = None;
    let d = capture(vec![
        flow(0, "a:1", "b:2", 2000),
        flow(1, "b:2", "a:1", 400),
        flow(2, "a:7", "b:2", 1000),
        other,
        flow(6, "a:8", "b:2", 5),
    ]);
    let seen =
        ObservedPath::of(&d, &[CapturedFacts { id: 2, sack: true, ..CapturedFacts::default() }]).unwrap();
    let ids: Vec<_> = seen.flows.iter().map(|f| (f.flow.id, f.backward)).collect();
    assert_eq!(ids, [(0, false), (2, false), (1, true)]);
    assert_eq!(seen.left_out, 2);
    assert!(seen.flows[1].facts.sack && !seen.flows[0].facts.sack);
    assert_eq!((seen.start_s, seen.span_s), (1.0, 10.0));
}

#[test]
fn hosts_that_share_a_limiter_share_the_path() {
    let limiter =
        Limiter { kind: LimiterKind::Policer, rate_mbps: 10.0, flows: vec![0, 2], ..Limiter::default() };
    let [mut a, mut b] = [flow(0, "a:1", "b:2", 2000), flow(2, "c:1", "b:2", 900)];
    (a.limiter, b.limiter) = (Some(0), Some(0));
    let d = Diagnosis { limiters: vec![limiter], ..capture(vec![a, b]) };
    let seen = ObservedPath::of(&d, &[]).unwrap();
    assert_eq!(seen.flows.len(), 2);
    assert_eq!(seen.limiter.map(|l| l.kind), Some(LimiterKind::Policer));
}

#[test]
fn flows_that_start_after_the_simulated_time_are_left_out() {
    let mut early = flow(0, "a:1", "b:2", 300);
    early.duration_s = 4.0;
    let mut largest = flow(2, "a:2", "b:2", 5000);
    largest.start_s = 100.0;
    let mut after = flow(4, "a:3", "b:2", 900);
    after.start_s = 130.0;
    let all = ObservedPath::of(&capture(vec![early, largest, after]), &[]).unwrap();
    let seen = all.within(20.0);
    let ids: Vec<_> = seen.flows.iter().map(|f| f.flow.id).collect();
    assert_eq!((ids, seen.left_out, seen.start_s, seen.span_s), (vec![2], 2, 100.0, 10.0));
    // Nothing that fits in the time is left out.
    assert_eq!(all.within(200.0), all);
}

/// Two policers between the same hosts, and a third towards another host.
fn policed(rates: [f64; 2], third: Option<f64>) -> Diagnosis {
    let limiter = |i: usize, rate: f64| Limiter {
        kind: LimiterKind::Policer,
        rate_mbps: rate,
        burst_bytes: Some(20_000.0),
        flows: vec![2 * i as u32],
        ..Limiter::default()
    };
    let mut d = capture(vec![flow(0, "a:1", "b:2", 2000), flow(2, "a:3", "b:2", 900)]);
    d.flows.extend(third.map(|_| flow(4, "a:4", "c:2", 500)));
    d.limiters = rates.into_iter().chain(third).enumerate().map(|(i, rate)| limiter(i, rate)).collect();
    d.flows.iter_mut().enumerate().for_each(|(i, f)| f.limiter = Some(i));
    d
}

#[test]
fn policers_of_single_flows_are_all_on_the_path_and_distinguished_by_their_rates() {
    let seen = |d: &Diagnosis| {
        let seen = ObservedPath::of(d, &[]).unwrap();
        (seen.policers.len(), seen.flows.iter().map(|f| f.policer).collect::<Vec<_>>(), seen.left_out)
    };
    // Three deviations of the difference of two rates known to 0.5 % are 2.1 %.
    assert_eq!(seen(&policed([8.0, 8.1], None)), (2, vec![None, None], 0));
    assert_eq!(seen(&policed([8.0, 8.3], None)), (2, vec![Some(0), Some(1)], 0));
    // A flow to another host has a link of its own, even if its policer has the same numbers.
    assert_eq!(seen(&policed([8.0, 8.0], Some(8.0))), (3, vec![Some(0), Some(1), Some(2)], 0));
    // A queue that another flow waits in is not a policer of that flow.
    let mut queue = policed([8.0, 3.0], None);
    queue.limiters[1].kind = LimiterKind::Bottleneck;
    assert_eq!(seen(&queue), (0, vec![None, None], 0));
}
