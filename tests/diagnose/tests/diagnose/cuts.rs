//! Diagnoses of incomplete and distorted captures agree with those of the complete captures (set `build`).

use diagnose_test::cut::{Cut, cut_lines, flips};
use diagnose_test::line::Line;
use diagnose_test::{Case, Vantage, draw, each};
use result::diagnosis::SURE;
use std::collections::BTreeSet;

/// Highest rate in bit/s of a case that plays within seconds in an unoptimised build.
const MAX_RATE: f64 = 10e6;

/// Returns the first `count` cases up to `MAX_RATE`.
fn slow_cases(count: usize) -> Vec<Case> {
    (0..).map(|n| draw::case(1, n)).filter(|c| c.rate <= MAX_RATE).take(count).collect()
}

/// Returns the flows of each case for each cut.
fn diagnosed_lines(cases: &[Case], cuts: &[Cut]) -> Vec<Vec<Vec<Line>>> {
    each(0..cases.len() as u64, |i| cut_lines(&cases[i as usize], cuts)).expect("all are played")
}

/// One of 30 cases may contradict itself. In that case, flows start one after another behind a policer and a
/// link with a short queue, and the queue's losses are diagnosed with certainty before the policer has caused
/// many.
#[test]
fn a_longer_prefix_does_not_contradict_a_sure_verdict_on_a_shorter_one() {
    let cuts = [Cut::Prefix(1), Cut::Prefix(2), Cut::Prefix(4), Cut::Prefix(8), Cut::Prefix(16), Cut::Whole];
    let (mut sure, mut contradicted) = (0, BTreeSet::new());
    for case in diagnosed_lines(&slow_cases(30), &cuts) {
        for (a, shorter) in case.iter().enumerate() {
            for (one, other) in case[a + 1..].iter().flat_map(|longer| shorter.iter().zip(longer)) {
                sure += usize::from(one.confidence >= SURE && other.confidence >= SURE);
                if flips(one, other) {
                    contradicted.insert(format!("{}: {} then {}", one.case, one.verdict, other.verdict));
                }
            }
        }
    }
    assert!(sure > 100, "{sure} pairs of sure verdicts");
    assert!(contradicted.len() <= 1, "{contradicted:?}");
}

/// Clock steps and records out of order are artefacts of the capture.
#[test]
fn clock_steps_and_disordered_records_change_few_verdicts() {
    let cuts = [Cut::Whole, Cut::Ahead(5), Cut::Back(5), Cut::Disordered];
    let cases = diagnosed_lines(&slow_cases(30), &cuts);
    for (i, cut) in cuts.iter().enumerate().skip(1) {
        let pairs = || cases.iter().flat_map(|case| case[0].iter().zip(&case[i]));
        let other = pairs().filter(|(whole, cut)| whole.verdict != cut.verdict && cut.confidence >= SURE);
        let other: Vec<String> =
            other.map(|(a, b)| format!("{}: {} {}", a.case, a.verdict, b.verdict)).collect();
        assert!(other.len() * 20 <= pairs().count(), "{}: {other:?}", cut.name());
    }
}

/// Captures at both ends give the same cause, unless one of the verdicts is not sure.
#[test]
fn captures_at_both_ends_do_not_contradict_each_other() {
    let at = |vantage| {
        let cases: Vec<Case> = slow_cases(30).into_iter().map(|case| Case { vantage, ..case }).collect();
        diagnosed_lines(&cases, &[Cut::Whole]).concat().concat()
    };
    let [sender, receiver] = [at(Vantage::Sender), at(Vantage::Receiver)];
    let sure = |line: &&Line| line.confidence >= SURE;
    let pair =
        |line: &Line| receiver.iter().find(|l| (&l.case, &l.from) == (&line.case, &line.from)).cloned();
    let pairs: Vec<(Line, Line)> =
        sender.iter().filter(sure).filter_map(|l| Some((l.clone(), pair(l).filter(|l| sure(&l))?))).collect();
    let other = pairs.iter().filter(|(a, b)| a.verdict != b.verdict);
    let other: Vec<String> = other.map(|(a, b)| format!("{}: {} {}", a.case, a.verdict, b.verdict)).collect();
    assert!(pairs.len() > 20, "{} pairs", pairs.len());
    assert!(other.len() * 10 <= pairs.len(), "{other:?}");
}
