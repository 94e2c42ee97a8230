//! What findings cost: each proposal simulated beside what is there.

use crate::finding::{AuditFinding, CostMeasure, FindingCost, FindingLevel};
use crate::path::CheckedPath;
use crate::trial::TrialLoad;
use experiment::{Hooks, Order, Watcher};
use result::VariantResult;
use scenario::{Experiment, Scenario, Variant};

/// A difference smaller than this is none.
const SAME: f64 = 1.02;

/// Simulates what the findings propose, on all cores; `progress` is told how far that is and may end it, which leaves the
/// findings without costs. What does not gain what its rule asks for is dropped; a problem whose remedy gains nothing on this
/// path becomes a note.
pub fn price<'a>(
    findings: Vec<AuditFinding>,
    path: &CheckedPath,
    progress: Option<&'a mut Watcher<'a>>,
) -> Vec<AuditFinding> {
    let mut runs: Vec<Scenario> = Vec::new();
    let mut place = |s: Scenario| {
        runs.iter().position(|r| *r == s).unwrap_or_else(|| {
            runs.push(s);
            runs.len() - 1
        })
    };
    let places: Vec<Option<[usize; 2]>> =
        findings.iter().map(|f| Some(f.proposal.as_ref()?.trial.scenarios(path)?.map(&mut place))).collect();
    let results = simulate(runs, progress);
    let mut priced: Vec<AuditFinding> = findings
        .into_iter()
        .zip(places)
        .filter_map(|(mut f, at)| {
            let outcome = |i: usize| results.get(i).and_then(Option::as_ref);
            let cost = at.and_then(|[a, b]| cost(&f, outcome(a)?, outcome(b)?));
            let least = f.proposal.as_ref().and_then(|p| p.least_gain);
            let gain = cost.as_ref().map(FindingCost::worth);
            if least.is_some_and(|least| gain.is_none_or(|gain| gain < least)) {
                return None;
            }
            if gain.is_some_and(|gain| gain < SAME) {
                f.level = FindingLevel::Note;
            }
            f.cost = cost;
            Some(f)
        })
        .collect();
    keep_best(&mut priced);
    drop_repeated(&mut priced);
    priced
}

/// Of findings with the same commands the first is kept: rules overlap, and it is asked by the more telling first.
fn drop_repeated(findings: &mut Vec<AuditFinding>) {
    let mut told: Vec<Vec<String>> = Vec::new();
    findings.retain(|f| {
        let repeated =
            !f.commands.is_empty() && told.iter().any(|t| f.commands.iter().all(|c| t.contains(c)));
        told.push(f.commands.clone());
        !repeated
    });
}

/// Of alternatives for one namespace the best is kept.
fn keep_best(findings: &mut Vec<AuditFinding>) {
    let gain = |f: &AuditFinding| f.cost.as_ref().map_or(0.0, FindingCost::worth);
    let rivals = |f: &AuditFinding| f.proposal.as_ref().is_some_and(|p| p.alternatives);
    let all = findings.clone();
    let mut index = 0;
    findings.retain(|f| {
        let at = index;
        index += 1;
        let beaten = |(i, other): (usize, &AuditFinding)| {
            let same = other.rule == f.rule && other.namespaces == f.namespaces && rivals(other);
            same && (gain(other) > gain(f) || gain(other) == gain(f) && i < at)
        };
        !rivals(f) || !all.iter().enumerate().any(beaten)
    });
}

fn simulate<'a>(runs: Vec<Scenario>, progress: Option<&'a mut Watcher<'a>>) -> Vec<Option<VariantResult>> {
    if runs.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = (0..runs.len()).map(|i| format!("r{i}")).collect();
    let variants =
        names.iter().zip(runs).map(|(name, scenario)| Variant { name: name.clone(), scenario }).collect();
    let experiment = Experiment {
        name: "check".into(),
        description: String::new(),
        goal: Vec::new(),
        baseline: None,
        variants,
    };
    let outcomes = experiment::run(&experiment, &Order::default(), Hooks { progress, ..Hooks::default() });
    let run = outcomes.run();
    names.iter().map(|name| run.variants.iter().find(|v| v.name == *name).cloned()).collect()
}

fn cost(finding: &AuditFinding, now: &VariantResult, then: &VariantResult) -> Option<FindingCost> {
    let trial = &finding.proposal.as_ref()?.trial;
    let (measure, now, then) = match trial.load {
        TrialLoad::Answer(_) => (CostMeasure::Answer, now.response_s?.mean, then.response_s?.mean),
        _ => (CostMeasure::Goodput, now.total_goodput_mbps, then.total_goodput_mbps),
    };
    let gain = match measure {
        CostMeasure::Goodput => then / now,
        CostMeasure::Answer => now / then,
    };
    let gain = Some(gain).filter(|g| g.is_finite());
    Some(FindingCost { measure, now, then, gain, simulated: trial.words() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Proposal, SettingChange};
    use crate::made_up::clean;
    use crate::trial::CostTrial;
    use units::{Bytes, Rate, Span};

    fn path() -> CheckedPath {
        CheckedPath::new(
            Rate::from_bps(20_000_000),
            Span::from_millis(100),
            None,
            Some(Bytes::new(100_000)),
            0.0,
        )
        .unwrap()
    }

    /// 64 KiB of window carry 5.24 Mbit/s over 100 ms (RFC 7323 section 1.1), whatever the rate.
    #[test]
    fn a_window_of_16_bits_costs_what_the_quotient_says() {
        let mut ns = clean("web");
        ns.settings.set("net.ipv4.tcp_window_scaling", "0");
        let change = [SettingChange::sysctl(&ns, "net.ipv4.tcp_window_scaling", 1)];
        let trial = CostTrial::of(&ns, &path(), TrialLoad::Receive, &change);
        let finding = AuditFinding::new(FindingLevel::Problem, &ns, "off".into(), "").with_trial(trial);
        let priced = price(vec![finding], &path(), None);
        let cost = priced[0].cost.as_ref().unwrap();
        assert!((4.3..5.25).contains(&cost.now), "{cost:?}");
        assert!(cost.worth() > 2.0 && priced[0].level == FindingLevel::Problem, "{cost:?}");
    }

    #[test]
    fn what_gains_nothing_is_a_note_or_nothing_and_of_alternatives_the_best_stays() {
        let ns = clean("web");
        let finding = |control: &str| {
            let change = [SettingChange::sysctl(&ns, "net.ipv4.tcp_congestion_control", control)];
            let trial = CostTrial::of(&ns, &path(), TrialLoad::Send, &change);
            AuditFinding::new(FindingLevel::Problem, &ns, control.into(), "").with_trial(trial)
        };
        let priced = price(vec![finding("cubic")], &path(), None);
        let gain = priced[0].cost.as_ref().unwrap().gain;
        assert_eq!((priced[0].level, gain), (FindingLevel::Note, Some(1.0)));
        let asks = |control: &str, least| {
            let mut f = finding(control);
            let p = f.proposal.take().unwrap();
            f.proposal = Some(Proposal { least_gain: Some(least), alternatives: true, ..p });
            f
        };
        assert!(price(vec![asks("cubic", 1.1)], &path(), None).is_empty());
        // Told once: the same command under two rules.
        let typed =
            |rule: &str| AuditFinding { rule: rule.into(), commands: vec!["x".into()], ..finding("reno") };
        assert_eq!(price(vec![typed("one"), typed("another")], &path(), None).len(), 1);
        let two = price(vec![asks("cubic", 0.5), asks("reno", 0.1), asks("cubic", 0.5)], &path(), None);
        assert_eq!(two.len(), 1, "{two:?}");
        let best = two[0].cost.as_ref().unwrap().worth();
        assert!(best >= 1.0, "{two:?}");
    }

    /// Full segments of 1500 bytes do not fit into 1400, and nobody says so: with the clamp the path is full.
    #[test]
    fn behind_a_black_hole_there_is_no_ratio() {
        let ns = clean("router");
        let mut trial = CostTrial::of(&ns, &path(), TrialLoad::Send, &[]);
        trial.black_hole = Some(1400);
        trial.then.there.mss = Some(1360);
        let finding = AuditFinding::new(FindingLevel::Problem, &ns, "x".into(), "").with_trial(trial);
        let priced = price(vec![finding], &path(), None);
        let cost = priced[0].cost.as_ref().unwrap();
        assert_eq!((cost.now, cost.gain, priced[0].level), (0.0, None, FindingLevel::Problem), "{cost:?}");
        assert!(cost.then > 10.0 && cost.worth().is_infinite(), "{cost:?}");
    }
}
