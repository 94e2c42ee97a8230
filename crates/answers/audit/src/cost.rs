//! Computes what findings cost: simulates the path with and without the proposed change.

use crate::change::apply;
use crate::facts::{HostFacts, NamespaceFacts};
use crate::finding::{AuditFinding, FindingLevel, Proposal};
use crate::path::CheckedPath;
use crate::reconcile::reconcile;
use crate::rule::{RULES, RuleInput};
use crate::trial::{TrialEnds, TrialLoad};
use experiment::{Hooks, Order, Progress, Watcher};
use result::VariantResult;
use result::change::{ChangeEffect, ChangeUnit, EffectBound, EffectMeasure};
use scenario::{Experiment, Scenario, Variant};
use std::ops::ControlFlow;

/// Ratio below which two outcomes count as equal.
const MIN_RATIO: f64 = 1.02;

/// Settings that affect the trials of other findings, and that several findings may propose.
const SHARED_SETTINGS: &[&str] =
    &["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_congestion_control"];
/// Limit of the rounds in which findings that others hide are simulated again. Each round shows at least one
/// more, or is the last.
const MAX_HIDDEN_ROUNDS: usize = 3;

/// Simulates the findings' proposals on all cores and sets their costs. `progress` gets the progress and may
/// stop the runs, which leaves the findings without costs. A finding that gains less than its rule requires
/// is dropped; a problem whose remedy gains nothing on this path becomes a note.
///
/// One finding may hide another: with a window of 16 bits, larger buffers have no effect. Findings that
/// gained too little are therefore simulated again with the changes of the findings that stay.
pub fn price<'a>(
    host: &HostFacts,
    findings: Vec<AuditFinding>,
    path: &CheckedPath,
    progress: Option<&'a mut Watcher<'a>>,
) -> Vec<AuditFinding> {
    let mut trials = TrialRunner { path, known: Vec::new(), progress };
    let proposed = findings.clone();
    let mut kept = trials.price_all(findings);
    reconcile(host, &mut kept);
    for _ in 0..MAX_HIDDEN_ROUNDS {
        let retries = proposed.iter().filter_map(|f| retry_after_others(host, path, f, &kept)).collect();
        let mut shown = trials.price_all(retries);
        shown.retain(|f| !is_demoted(f));
        if shown.is_empty() {
            break;
        }
        kept.retain(|f| !shown.iter().any(|s| is_same(s, f)));
        kept.append(&mut shown);
        reconcile(host, &mut kept);
    }
    trials.price_reconciled(host, kept)
}

fn is_same(a: &AuditFinding, b: &AuditFinding) -> bool {
    (&a.rule, &a.namespaces, &a.seen) == (&b.rule, &b.namespaces, &b.seen)
}

/// Whether the rule reported a problem that costs nothing on this path.
fn is_demoted(f: &AuditFinding) -> bool {
    f.proposal.as_ref().is_some_and(|p| p.level != f.level)
}

/// Returns the finding with a trial on top of the other findings' changes. `None` if the finding is kept
/// already, or if nothing else changes.
fn retry_after_others(
    host: &HostFacts,
    path: &CheckedPath,
    f: &AuditFinding,
    kept: &[AuditFinding],
) -> Option<AuditFinding> {
    if kept.iter().any(|k| is_same(k, f) && !is_demoted(k)) {
        return None;
    }
    let own = host.namespaces.iter().find(|ns| f.namespaces.first() == Some(&ns.name))?;
    let ns = changed_by_others(own, f, kept);
    let rule = RULES.iter().find(|r| r.name == f.rule)?;
    let found = (rule.find)(&RuleInput { host, ns: &ns, path: Some(path) });
    let repeated = found.into_iter().find(|g| g.seen == f.seen)?;
    let proposal = repeated.proposal.filter(|_| ns != *own)?;
    Some(AuditFinding {
        level: proposal.level,
        proposal: Some(Proposal { after_others: true, ..proposal }),
        ..f.clone()
    })
}

/// Returns the namespace after the other findings' changes, except for the settings that this finding
/// changes.
fn changed_by_others(own: &NamespaceFacts, f: &AuditFinding, kept: &[AuditFinding]) -> NamespaceFacts {
    let mut ns = own.clone();
    let subjects: Vec<String> = f.settings.iter().map(|c| c.setting.subject()).collect();
    let others = kept.iter().flat_map(|k| &k.settings).filter(|c| c.namespace == own.name);
    for placed in others.filter(|c| !subjects.contains(&c.setting.subject())) {
        apply(&placed.setting, &mut ns);
    }
    ns
}

/// Runs trials and keeps their results.
struct TrialRunner<'a, 'b> {
    path: &'b CheckedPath,
    known: Vec<(Scenario, Option<VariantResult>)>,
    progress: Option<&'a mut Watcher<'a>>,
}

impl TrialRunner<'_, '_> {
    /// Returns the findings with their costs, without those that gain too little.
    fn price_all(&mut self, findings: Vec<AuditFinding>) -> Vec<AuditFinding> {
        self.simulate(&findings);
        let mut priced: Vec<AuditFinding> = findings
            .into_iter()
            .filter_map(|mut f| {
                self.price(&mut f);
                let worth = f.cost.as_ref().map(ChangeEffect::worth);
                let min_gain = f.proposal.as_ref().and_then(|p| p.min_gain);
                let too_little = min_gain.is_some_and(|min| worth.is_none_or(|worth| worth < min));
                (!too_little).then_some(f)
            })
            .collect();
        keep_best(&mut priced);
        priced
    }

    /// Computes the costs again with the values that all findings agree on.
    fn price_reconciled(&mut self, host: &HostFacts, mut findings: Vec<AuditFinding>) -> Vec<AuditFinding> {
        let all = findings.clone();
        for f in &mut findings {
            let Some(own) = host.namespaces.iter().find(|ns| f.namespaces.first() == Some(&ns.name)) else {
                continue;
            };
            let after_others = f.proposal.as_ref().is_some_and(|p| p.after_others);
            let here = || f.settings.iter().filter(|c| c.namespace == own.name);
            if !here().any(|c| SHARED_SETTINGS.contains(&c.setting.subject().as_str())) {
                continue;
            }
            let mut then = if after_others { changed_by_others(own, f, &all) } else { own.clone() };
            here().for_each(|c| apply(&c.setting, &mut then));
            if let Some(p) = &mut f.proposal {
                p.trial.then.take_buffers_and_control(TrialEnds::of(&then, self.path));
            }
        }
        self.simulate(&findings);
        findings.iter_mut().for_each(|f| self.price(f));
        findings
    }

    /// Sets a finding's cost, and the level that follows from it.
    fn price(&self, f: &mut AuditFinding) {
        let outcome = |s: &Scenario| self.known.iter().find(|(known, _)| known == s)?.1.as_ref();
        let both = f.proposal.as_ref().and_then(|p| p.trial.scenarios(self.path));
        f.cost = both.and_then(|[a, b]| cost(f, outcome(&a)?, outcome(&b)?));
        let Some(level) = f.proposal.as_ref().map(|p| p.level) else { return };
        let gains_nothing = f.cost.as_ref().is_some_and(|c| c.worth() < MIN_RATIO);
        f.level = if gains_nothing { FindingLevel::Note } else { level };
    }

    /// Runs the scenarios without a known result.
    fn simulate(&mut self, findings: &[AuditFinding]) {
        let mut runs: Vec<Scenario> = Vec::new();
        let both = findings.iter().filter_map(|f| f.proposal.as_ref()?.trial.scenarios(self.path));
        for scenario in both.flatten() {
            if !runs.contains(&scenario) && !self.known.iter().any(|(known, _)| *known == scenario) {
                runs.push(scenario);
            }
        }
        let mut relay =
            |at: &Progress| self.progress.as_mut().map_or(ControlFlow::Continue(()), |watch| watch(at));
        let results = simulate(runs.clone(), Some(&mut relay));
        self.known.extend(runs.into_iter().zip(results));
    }
}

/// Keeps the best of several alternatives for one namespace.
fn keep_best(findings: &mut Vec<AuditFinding>) {
    let gain = |f: &AuditFinding| f.cost.as_ref().map_or(0.0, ChangeEffect::worth);
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

fn cost(finding: &AuditFinding, now: &VariantResult, then: &VariantResult) -> Option<ChangeEffect> {
    let trial = &finding.proposal.as_ref()?.trial;
    let (measure, unit, now, then) = match trial.load {
        TrialLoad::Answer(_) => {
            (EffectMeasure::AnswerTime, ChangeUnit::Seconds, now.response_s?.mean, then.response_s?.mean)
        }
        _ => (EffectMeasure::Goodput, ChangeUnit::Mbps, now.total_goodput_mbps, then.total_goodput_mbps),
    };
    let after = match finding.proposal.as_ref()?.after_others {
        true => "; both with the changes of the other findings",
        false => "",
    };
    let (bound, formula) = (EffectBound::Simulated, trial.words() + after);
    Some(ChangeEffect { measure, unit, now: Some(now), then, bound, formula })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::sysctl;
    use crate::finding::Proposal;
    use crate::fixtures::{clean, host};
    use crate::report::report;
    use crate::rule::judge;
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

    fn priced_on(findings: Vec<AuditFinding>) -> Vec<AuditFinding> {
        price(&host(vec![clean("web")]), findings, &path(), None)
    }

    /// A window of 64 KiB carries 5.24 Mbit/s over 100 ms (RFC 7323 section 1.1), at any link rate.
    #[test]
    fn a_window_of_16_bits_limits_goodput_to_window_over_rtt() {
        let mut ns = clean("web");
        ns.settings.set("net.ipv4.tcp_window_scaling", "0");
        let change = [sysctl(&ns, "net.ipv4.tcp_window_scaling", 1)];
        let trial = CostTrial::of(&ns, &path(), TrialLoad::Receive, &change);
        let finding = AuditFinding::new(FindingLevel::Problem, &ns, "off".into(), "").with_trial(trial);
        let priced = priced_on(vec![finding]);
        let cost = priced[0].cost.as_ref().unwrap();
        assert!((4.3..5.25).contains(&cost.now.unwrap()), "{cost:?}");
        assert!(cost.worth() > 2.0 && priced[0].level == FindingLevel::Problem, "{cost:?}");
    }

    #[test]
    fn findings_without_gain_become_notes_and_the_best_alternative_stays() {
        let ns = clean("web");
        let finding = |control: &str| {
            let change = [sysctl(&ns, "net.ipv4.tcp_congestion_control", control)];
            let trial = CostTrial::of(&ns, &path(), TrialLoad::Send, &change);
            AuditFinding::new(FindingLevel::Problem, &ns, control.into(), "").with_trial(trial)
        };
        let priced = priced_on(vec![finding("cubic")]);
        let gain = priced[0].cost.as_ref().unwrap().gain();
        assert_eq!((priced[0].level, gain), (FindingLevel::Note, Some(1.0)));
        let requiring = |control: &str, min_gain| {
            let mut f = finding(control);
            let p = f.proposal.take().unwrap();
            f.proposal = Some(Proposal { min_gain: Some(min_gain), alternatives: true, ..p });
            f
        };
        assert!(priced_on(vec![requiring("cubic", 1.1)]).is_empty());
        let two = priced_on(vec![requiring("cubic", 0.5), requiring("reno", 0.1), requiring("cubic", 0.5)]);
        assert_eq!(two.len(), 1, "{two:?}");
        let best = two[0].cost.as_ref().unwrap().worth();
        assert!(best >= 1.0, "{two:?}");
    }

    /// Segments of 1500 bytes do not fit into an MTU of 1400, and the ICMP messages are lost. With the clamp
    /// the path is full.
    #[test]
    fn behind_an_icmp_black_hole_the_cost_has_no_ratio() {
        let ns = clean("router");
        let mut trial = CostTrial::of(&ns, &path(), TrialLoad::Send, &[]);
        trial.black_hole = Some(1400);
        trial.then.there.mss = Some(1360);
        let finding = AuditFinding::new(FindingLevel::Problem, &ns, "x".into(), "").with_trial(trial);
        let priced = priced_on(vec![finding]);
        let cost = priced[0].cost.as_ref().unwrap();
        assert_eq!(
            (cost.now, cost.gain(), priced[0].level),
            (Some(0.0), None, FindingLevel::Problem),
            "{cost:?}"
        );
        assert!(cost.then > 10.0 && cost.worth().is_infinite(), "{cost:?}");
    }

    const LIMITS: &[&str] = &["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

    /// Returns a host with defaults, a namespace with small buffers and windows of 16 bits, and a path of 1
    /// Gbit/s and 100 ms.
    fn small_namespace() -> (HostFacts, CheckedPath) {
        let mut web = clean("web");
        web.settings.set("net.ipv4.tcp_window_scaling", "0");
        LIMITS.iter().for_each(|name| web.settings.set(name, "4096 16384 262144"));
        let (rate, rtt) = (Rate::from_bps(1_000_000_000), Span::from_millis(100));
        (host(vec![clean("host"), web]), CheckedPath::new(rate, rtt, None, None, 0.0).unwrap())
    }

    fn audited(facts: &HostFacts, path: &CheckedPath) -> crate::CheckReport {
        let priced = price(facts, judge(facts, Some(path)), path, None);
        report(facts, Some(path.clone()), priced)
    }

    #[test]
    fn a_finding_hidden_by_another_one_is_reported() {
        let (facts, path) = small_namespace();
        let report = audited(&facts, &path);
        let of_web = |rule: &str| -> Vec<&AuditFinding> {
            let all = report.findings.iter().filter(|f| f.rule == rule);
            all.filter(|f| f.namespaces.contains(&"web".into())).collect()
        };
        // The window hides the effect of the buffers. The comparison with the host does not hide that the
        // path needs more.
        for (rule, count) in
            [("window-scaling", 1), ("buffers-below-host", 2), ("receive-buffer", 1), ("send-buffer", 1)]
        {
            let found = of_web(rule);
            assert_eq!(found.len(), count, "{rule}: {:#?}", report.findings);
            assert!(found.iter().all(|f| f.level == FindingLevel::Problem), "{rule}: {found:#?}");
        }
        let cost = of_web("receive-buffer")[0].cost.as_ref().unwrap();
        assert!(cost.formula.ends_with("both with the changes of the other findings"), "{cost:?}");
        assert!(cost.worth() > 2.0, "{cost:?}");
    }

    #[test]
    fn no_command_sets_a_value_that_the_report_calls_too_small() {
        let (facts, path) = small_namespace();
        let report = audited(&facts, &path);
        for (name, enough) in LIMITS.iter().zip(["75497472", "50331648"]) {
            let values: std::collections::BTreeSet<String> = report
                .findings
                .iter()
                .flat_map(|f| f.commands())
                .filter_map(|c| {
                    let value = c.split_once(&format!("{name}="))?.1.trim_end_matches('\'');
                    value.rsplit(' ').next().map(String::from)
                })
                .collect();
            // 12.5 MB six times for receiving and four times for sending, in whole MiB.
            assert_eq!(values.into_iter().collect::<Vec<_>>(), [enough], "{name}: {:#?}", report.findings);
        }
        // Once all commands are applied, no finding is left.
        let mut changed = facts.clone();
        for placed in report.findings.iter().flat_map(|f| &f.settings) {
            let namespaces = changed.namespaces.iter_mut().filter(|ns| ns.name == placed.namespace);
            namespaces.for_each(|ns| apply(&placed.setting, ns));
        }
        let after = audited(&changed, &path);
        assert_eq!(after.findings, [], "{:#?}", report.findings);
    }
}
