//! What findings cost: each proposal simulated beside what is there.

use crate::change::apply;
use crate::facts::{HostFacts, NamespaceFacts};
use crate::finding::{AuditFinding, FindingLevel, Proposal};
use crate::path::CheckedPath;
use crate::rule::{Question, RULES};
use crate::settle::settle;
use crate::trial::{TrialEnds, TrialLoad};
use experiment::{Hooks, Order, Progress, Watcher};
use result::VariantResult;
use result::change::{ChangeEffect, ChangeUnit, EffectBound, EffectMeasure};
use scenario::{Experiment, Scenario, Variant};
use std::ops::ControlFlow;

/// A difference smaller than this is none.
const SAME: f64 = 1.02;

/// Settings of a trial that several findings may propose.
const SETTLED_IN_TRIALS: &[&str] =
    &["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_congestion_control"];
/// How often findings are looked at again for what others hide: each time shows at least one more, or it ends.
const MASKED_ROUNDS: usize = 3;

/// Simulates what the findings propose, on all cores; `progress` is told how far that is and may end it, which leaves the
/// findings without costs. What does not gain what its rule asks for is dropped; a problem whose remedy gains nothing on this
/// path becomes a note.
///
/// One finding may hide another: a window of 16 bits leaves larger buffers without effect. What gained too little is
/// therefore simulated again with the commands of the findings that stay.
pub fn price<'a>(
    host: &HostFacts,
    findings: Vec<AuditFinding>,
    path: &CheckedPath,
    progress: Option<&'a mut Watcher<'a>>,
) -> Vec<AuditFinding> {
    let mut bench = Bench { path, known: Vec::new(), progress };
    let asked = findings.clone();
    let mut kept = bench.weigh(findings);
    settle(host, &mut kept);
    for _ in 0..MASKED_ROUNDS {
        let again = asked.iter().filter_map(|f| retried(host, path, f, &kept)).collect();
        let mut shown = bench.weigh(again);
        shown.retain(|f| !is_demoted(f));
        if shown.is_empty() {
            break;
        }
        kept.retain(|f| !shown.iter().any(|s| is_same(s, f)));
        kept.append(&mut shown);
        settle(host, &mut kept);
    }
    bench.weigh_settled(host, kept)
}

fn is_same(a: &AuditFinding, b: &AuditFinding) -> bool {
    (&a.rule, &a.namespaces, &a.seen) == (&b.rule, &b.namespaces, &b.seen)
}

/// Whether it was a problem to its rule and gains nothing on this path.
fn is_demoted(f: &AuditFinding) -> bool {
    f.proposal.as_ref().is_some_and(|p| p.level != f.level)
}

/// The finding with its trial on top of what the other findings change; `None` if it counts already, or nothing else
/// changes.
fn retried(
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
    let found = (rule.find)(&Question { host, ns: &ns, path: Some(path) });
    let again = found.into_iter().find(|g| g.seen == f.seen)?;
    let proposal = again.proposal.filter(|_| ns != *own)?;
    Some(AuditFinding {
        level: proposal.level,
        proposal: Some(Proposal { after_others: true, ..proposal }),
        ..f.clone()
    })
}

/// The namespace after what the other findings change, but for the settings that this one changes.
fn changed_by_others(own: &NamespaceFacts, f: &AuditFinding, kept: &[AuditFinding]) -> NamespaceFacts {
    let mut ns = own.clone();
    let subjects: Vec<String> = f.settings.iter().map(|c| c.setting.subject()).collect();
    let others = kept.iter().flat_map(|k| &k.settings).filter(|c| c.namespace == own.name);
    for placed in others.filter(|c| !subjects.contains(&c.setting.subject())) {
        apply(&placed.setting, &mut ns);
    }
    ns
}

/// What simulates, and what was simulated.
struct Bench<'a, 'b> {
    path: &'b CheckedPath,
    known: Vec<(Scenario, Option<VariantResult>)>,
    progress: Option<&'a mut Watcher<'a>>,
}

impl Bench<'_, '_> {
    /// The findings with their costs, without those that gain too little.
    fn weigh(&mut self, findings: Vec<AuditFinding>) -> Vec<AuditFinding> {
        self.simulate(&findings);
        let mut priced: Vec<AuditFinding> = findings
            .into_iter()
            .filter_map(|mut f| {
                self.price(&mut f);
                let gain = f.cost.as_ref().map(ChangeEffect::worth);
                let least = f.proposal.as_ref().and_then(|p| p.least_gain);
                let too_little = least.is_some_and(|least| gain.is_none_or(|gain| gain < least));
                (!too_little).then_some(f)
            })
            .collect();
        keep_best(&mut priced);
        priced
    }

    /// The costs of findings with the values that all agree on.
    fn weigh_settled(&mut self, host: &HostFacts, mut findings: Vec<AuditFinding>) -> Vec<AuditFinding> {
        let all = findings.clone();
        for f in &mut findings {
            let Some(own) = host.namespaces.iter().find(|ns| f.namespaces.first() == Some(&ns.name)) else {
                continue;
            };
            let after_others = f.proposal.as_ref().is_some_and(|p| p.after_others);
            let here = || f.settings.iter().filter(|c| c.namespace == own.name);
            if !here().any(|c| SETTLED_IN_TRIALS.contains(&c.setting.subject().as_str())) {
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

    /// Writes what a finding costs, and the level that follows.
    fn price(&self, f: &mut AuditFinding) {
        let outcome = |s: &Scenario| self.known.iter().find(|(known, _)| known == s)?.1.as_ref();
        let both = f.proposal.as_ref().and_then(|p| p.trial.scenarios(self.path));
        f.cost = both.and_then(|[a, b]| cost(f, outcome(&a)?, outcome(&b)?));
        let Some(level) = f.proposal.as_ref().map(|p| p.level) else { return };
        let gains_nothing = f.cost.as_ref().is_some_and(|c| c.worth() < SAME);
        f.level = if gains_nothing { FindingLevel::Note } else { level };
    }

    /// Runs what is not known yet.
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

/// Of alternatives for one namespace the best is kept.
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
        true => "; both with what the other findings say to do",
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
    use crate::made_up::{clean, host};
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

    /// 64 KiB of window carry 5.24 Mbit/s over 100 ms (RFC 7323 section 1.1), whatever the rate.
    #[test]
    fn a_window_of_16_bits_costs_what_the_quotient_says() {
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
    fn what_gains_nothing_is_a_note_or_nothing_and_of_alternatives_the_best_stays() {
        let ns = clean("web");
        let finding = |control: &str| {
            let change = [sysctl(&ns, "net.ipv4.tcp_congestion_control", control)];
            let trial = CostTrial::of(&ns, &path(), TrialLoad::Send, &change);
            AuditFinding::new(FindingLevel::Problem, &ns, control.into(), "").with_trial(trial)
        };
        let priced = priced_on(vec![finding("cubic")]);
        let gain = priced[0].cost.as_ref().unwrap().gain();
        assert_eq!((priced[0].level, gain), (FindingLevel::Note, Some(1.0)));
        let asks = |control: &str, least| {
            let mut f = finding(control);
            let p = f.proposal.take().unwrap();
            f.proposal = Some(Proposal { least_gain: Some(least), alternatives: true, ..p });
            f
        };
        assert!(priced_on(vec![asks("cubic", 1.1)]).is_empty());
        let two = priced_on(vec![asks("cubic", 0.5), asks("reno", 0.1), asks("cubic", 0.5)]);
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

    /// A host with defaults and a namespace with small buffers and windows of 16 bits, on 1 Gbit/s and 100 ms.
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
    fn what_one_finding_hides_is_found_too() {
        let (facts, path) = small_namespace();
        let report = audited(&facts, &path);
        let of_web = |rule: &str| -> Vec<&AuditFinding> {
            let all = report.findings.iter().filter(|f| f.rule == rule);
            all.filter(|f| f.namespaces.contains(&"web".into())).collect()
        };
        // The window hides the buffers, and the host's values do not hide that the path needs more.
        for (rule, count) in
            [("window-scaling", 1), ("buffers-below-host", 2), ("receive-buffer", 1), ("send-buffer", 1)]
        {
            let found = of_web(rule);
            assert_eq!(found.len(), count, "{rule}: {:#?}", report.findings);
            assert!(found.iter().all(|f| f.level == FindingLevel::Problem), "{rule}: {found:#?}");
        }
        let cost = of_web("receive-buffer")[0].cost.as_ref().unwrap();
        assert!(cost.formula.ends_with("both with what the other findings say to do"), "{cost:?}");
        assert!(cost.worth() > 2.0, "{cost:?}");
    }

    #[test]
    fn no_command_sets_what_the_report_calls_too_small() {
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
            // 12.5 MB six times to receive, four times to send, in whole MiB.
            assert_eq!(values.into_iter().collect::<Vec<_>>(), [enough], "{name}: {:#?}", report.findings);
        }
        // All of it typed: nothing is left that a command would change.
        let mut typed = facts.clone();
        for placed in report.findings.iter().flat_map(|f| &f.settings) {
            let of = typed.namespaces.iter_mut().filter(|ns| ns.name == placed.namespace);
            of.for_each(|ns| apply(&placed.setting, ns));
        }
        let after = audited(&typed, &path);
        assert_eq!(after.findings, [], "{:#?}", report.findings);
    }
}
