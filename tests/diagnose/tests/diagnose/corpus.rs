//! Slow cases of the set `build`: the corpus states the truth, and the diagnosis keeps its accuracy.

use diagnose_test::judge::Judge;
use diagnose_test::line::Line;
use diagnose_test::watch::Sink;
use diagnose_test::{Case, Truth, draw, each, play, score};
use result::Cause;
use std::sync::Mutex;

/// Highest rate in bit/s of a case that plays within seconds in an unoptimised build.
const MAX_RATE: f64 = 10e6;

/// Cases of the set `build` up to `MAX_RATE`.
fn slow_cases() -> impl Iterator<Item = Case> {
    (0..).map(|n| draw::case(1, n)).filter(|c| c.rate <= MAX_RATE)
}

/// Returns the first slow case that was drawn to show `cause`.
fn case_of(cause: Cause) -> Case {
    slow_cases().find(|c| c.intended == cause).expect("the set is endless")
}

/// Counts the packets of a capture.
#[derive(Default)]
struct Count {
    packets: u64,
    payload: u64,
    largest: u32,
    out_of_order: u64,
    last: u64,
}

impl Sink for Count {
    fn packet(&mut self, p: &capture::TcpPacket) {
        self.packets += 1;
        self.payload += p.len as u64;
        self.largest = self.largest.max(p.len);
        self.out_of_order += u64::from(p.time.as_nanos() < self.last);
        self.last = p.time.as_nanos();
    }
}

fn played(case: &Case) -> (Truth, Count) {
    let mut count = Count::default();
    let truth = play(case, &mut count).expect("parses");
    (truth, count)
}

#[test]
fn the_same_number_is_the_same_case() {
    let case = case_of(Cause::Policed);
    let (a, b) = (played(&case), played(&draw::case(1, case.number)));
    assert_eq!(serde_json::to_string(&a.0).expect("is data"), serde_json::to_string(&b.0).expect("is data"));
    assert_eq!((a.1.packets, a.1.payload), (b.1.packets, b.1.payload));
    assert_ne!(draw::case(1, 7).text, draw::case(2, 7).text);
}

#[test]
fn offloaded_segments_carry_the_same_bytes() {
    let at_sender = |c: &Case| c.vantage == diagnose_test::Vantage::Sender && c.rate > 2e6;
    let case =
        slow_cases().find(|c| at_sender(c) && c.intended == Cause::Shaped).expect("the set is endless");
    let one = played(&Case { offload: false, ..case.clone() }).1;
    let merged = played(&Case { offload: true, ..case }).1;
    assert_eq!(one.payload, merged.payload);
    assert!(one.largest <= 1460 && merged.largest > 1460, "{} {}", one.largest, merged.largest);
    assert!(merged.packets < one.packets);
    assert_eq!((one.out_of_order, merged.out_of_order), (0, 0), "in the order of time");
}

/// Checks the recorded truth against the configured policer.
#[test]
fn policed_flows_get_the_rate_and_lose_at_the_policer() {
    let cases = slow_cases().filter(|c| c.intended == Cause::Policed && !c.text.contains("onoff"));
    let mut policed = 0;
    for case in cases.take(6) {
        let (truth, _) = played(&case);
        for flow in truth.flows.iter().filter(|f| f.right == ["policed"]) {
            policed += 1;
            let limiter = flow.limiter.as_ref().expect("what polices it");
            assert_eq!((&*limiter.kind, limiter.rate_mbps), ("policer", case.rate.round() / 1e6));
            assert!(flow.lost["policer"] > 0, "{flow:?}");
        }
    }
    assert!(policed >= 4, "{policed}");
}

#[test]
fn a_disabled_policer_is_not_a_cause_in_the_truth() {
    let mut case = case_of(Cause::Policed);
    case.text = case.text.replace("kind = \"policer\"", "enabled = false, kind = \"policer\"");
    let (truth, _) = played(&case);
    assert!(!truth.flows.is_empty());
    assert!(
        truth.flows.iter().all(|f| f.policed_share == 0.0 && f.right.iter().all(|cause| cause != "policed")),
        "{truth:?}"
    );
}

#[test]
fn shortening_a_case_changes_only_its_duration() {
    let case = case_of(Cause::Outage);
    let short = case.clone().within(4.0);
    assert!(short.text.contains("duration = \"4000000us\""), "{}", short.text);
    assert!(short.outages.len() <= case.outages.len() && short.outages.iter().all(|o| o.0 < 4.0));
    assert_eq!(case.clone().within(1e6).text, case.text);
}

/// A lower bound against regressions. The measured accuracy is in docs/measured/diagnosis-accuracy.md.
#[test]
fn accuracy_stays_above_its_lower_bound() {
    let cases: Vec<Case> = slow_cases().take(40).collect();
    let judge = Judge::new(None).expect("needs nothing");
    let lines = Mutex::new(Vec::<Line>::new());
    each(0..cases.len() as u64, |i| {
        let (_, _, case_lines) = judge.score(&cases[i as usize])?;
        lines.lock().map_err(|e| e.to_string())?.extend(case_lines);
        Ok(())
    })
    .expect("all are scored");
    let lines = lines.into_inner().expect("no thread panicked");
    let all: Vec<&Line> = lines.iter().collect();
    println!("{}", score::tables(&all));
    assert!(score::accuracy(&all).total >= 50);
    assert!(score::accuracy_by_case(&all) >= 90.0, "{}", score::mistakes(&all));
    assert!(score::precision(&all).share() >= 80.0, "{:?}", score::precision(&all));
    assert!(score::recall(&all).share() >= 90.0, "{:?}", score::recall(&all));
}

#[test]
fn policers_per_flow_are_not_taken_for_one_shared_policer() {
    // Three policers of 1.39 Mbit/s. One policer of three times that rate would explain half of the losses.
    let case = draw::case(35, 18);
    assert!(case.text.contains("per_flow = true") && case.text.contains("count = 3"), "{}", case.text);
    let (_, diagnosis, lines) = Judge::new(None).expect("needs nothing").score(&case).expect("parses");
    assert_eq!(diagnosis.limiters.len(), 3, "{:?}", diagnosis.limiters);
    let near = lines.iter().filter(|l| l.rate_error().is_some_and(|e| e.abs() < 0.03)).count();
    assert_eq!(near, 3, "{lines:?}");
}

#[test]
fn policers_per_flow_are_found_beside_an_idle_link() {
    // Eight policers of 9.43 Mbit/s in front of a link of 96 Mbit/s, which only slow start fills.
    let case = draw::case(20_261_213, 23);
    assert!(case.text.contains("per_flow = true") && case.text.contains("count = 8"), "{}", case.text);
    let (_, diagnosis, lines) = Judge::new(None).expect("needs nothing").score(&case).expect("parses");
    let policed = diagnosis.flows.iter().filter(|f| f.cause == Cause::Policed).count();
    assert_eq!(policed, 8, "{lines:?}");
}

#[test]
fn a_fair_queue_is_not_a_shaper() {
    // Two flows at a link of 482 Mbit/s with deficit round robin.
    let case = draw::case(20_261_208, 3);
    assert!(case.text.contains(r#"kind = "drr""#) && case.text.contains("count = 2"), "{}", case.text);
    let (_, diagnosis, lines) = Judge::new(None).expect("needs nothing").score(&case).expect("parses");
    assert!(diagnosis.flows.iter().all(|f| f.cause != Cause::Shaped), "{lines:?}");
    assert!(diagnosis.flows.iter().any(|f| f.cause == Cause::Bottleneck), "{lines:?}");
}
