//! Checks each clause of a headline, and its words, against the results.

mod changes;
mod clocks;
mod words;

pub(crate) use changes::travel_ms;

use crate::checked_run::{CheckedRun, ComparedVariant};
use crate::value::{
    Number, groups, is_clearly_better, is_noticeably_worse, is_within_chance, jain, kbit, numbers_of,
    starved, sums, value,
};
use report::story::{Better, Clause, Effect, Story, story};
use result::{Clock, FlowResult};
use units::Goal;

/// Maximum number of variants named for something other than the goal.
const MAX_LEADING: usize = 2;

/// Everything that is wrong with the run's headline and with the story that it is built from.
pub fn complaints(checked: &CheckedRun) -> Vec<String> {
    let stated = story(&[("", &checked.run)]);
    let mut list = checked.wrong.clone();
    list.extend(wrong(checked, &stated));
    let plain = |text: String| text.replace(['\u{2068}', '\u{2069}'], "").replace('\u{a0}', " ");
    let text = plain(stated.headline(report::Lang::En));
    let headline = checked.run.headline.as_deref().unwrap_or_default();
    match headline.strip_suffix(text.as_str()) {
        Some(before) => list.extend(check_reliability(checked, before)),
        None => list.push(format!("the result has another headline: {headline:?}")),
    }
    let facts: Vec<String> = stated.facts(report::Lang::En).into_iter().map(plain).collect();
    if facts != checked.run.facts {
        list.push(format!("the result has other facts: {:?}", checked.run.facts));
    }
    list
}

/// Number of kernel measurements that are marked as unreliable.
pub fn unreliable(checked: &CheckedRun) -> usize {
    let bad = |v: &&result::VariantResult| v.trust.as_ref().is_some_and(|t| !t.reliable);
    checked.run.variants.iter().filter(bad).count()
}

/// Checks the text before the story: it names every unreliable measurement with the exceeded bound, and no
/// other.
fn check_reliability(checked: &CheckedRun, text: &str) -> Vec<String> {
    let mut list = Vec::new();
    let stated = text.matches("Do not trust ").count();
    if stated != unreliable(checked) {
        list.push(format!(
            "{stated} measurements are marked as unreliable, should be {}",
            unreliable(checked)
        ));
    }
    for variant in &checked.run.variants {
        let Some(trust) = &variant.trust else { continue };
        let named = text.contains(&format!("Do not trust {:?} ", variant.name));
        if trust.reliable == named || trust.reliable != trust.reasons.is_empty() {
            list.push(format!("{}: reliable {}, stated: {text:?}", variant.name, trust.reliable));
        }
        list.extend(
            trust
                .reasons
                .iter()
                .filter(|r| r.measured <= r.bound)
                .map(|r| format!("within its bound: {r:?}")),
        );
    }
    if stated == 0 && !text.is_empty() {
        list.push(format!("the text before the story is {text:?}"));
    }
    list
}

/// Everything that is wrong with a story.
pub fn wrong(checked: &CheckedRun, stated: &Story) -> Vec<String> {
    let Some(baseline) = baseline(checked) else {
        return if stated.clauses.is_empty() { vec![] } else { vec!["a story without flows".into()] };
    };
    let (subjects, extremes) = subjects(checked, baseline);
    let parts = parts(stated);
    if parts.len() != subjects.len() {
        return vec![format!("{} parts about {} subjects", parts.len(), subjects.len())];
    }
    let mut list = Vec::new();
    let stated_extremes = stated.clauses.iter().filter_map(|c| match c {
        Clause::Extremes { flows, goal } => Some((*flows, *goal)),
        _ => None,
    });
    if stated_extremes.collect::<Vec<_>>() != extremes.into_iter().collect::<Vec<_>>() {
        list.push("not the worst and the best of those flows".into());
    }
    let checks: Vec<Check> = subjects
        .iter()
        .map(|&baseline| Check { baseline, others: others(checked, baseline), all: &checked.compared })
        .collect();
    list.extend(judged(checked, stated, &checks));
    list.extend(idle(checked, stated, baseline));
    for (check, clauses) in checks.iter().zip(parts) {
        list.extend(check.check_goals(checked, clauses));
        list.extend(check.check_starved(clauses));
        let twins = check.others.iter().any(|s| identical(check.baseline, s));
        if twins != clauses.iter().any(|c| matches!(c, Clause::Same { .. })) {
            list.push(format!("variants that are the same: {twins}"));
        }
        for clause in clauses {
            let (en, zh) = (clause.say(report::Lang::En), clause.say(report::Lang::Zh));
            let mut found = check.check_clause(clause);
            found.extend(words::wrong(check, clause, &en, &zh));
            list.extend(found.into_iter().map(|what| format!("{what}: {en:?}")));
        }
    }
    list.extend(words::strange(&checks, stated));
    list.extend(clocks::wrong(checked, stated));
    list
}

/// The other variants in which nothing arrived, if the story names others.
fn idle(checked: &CheckedRun, stated: &Story, baseline: &ComparedVariant) -> Option<String> {
    let clock = baseline.result.clock;
    let others = checked.compared.iter().filter(|v| v.index != baseline.index && v.result.clock == clock);
    let idle = others.filter(|v| !v.flows.is_empty() && v.flows.iter().all(|f| f.result.goodput_mbps <= 0.0));
    let idle: Vec<&String> = idle.map(|v| &v.name).collect();
    let named = stated
        .clauses
        .iter()
        .flat_map(|c| if let Clause::Idle { variants } = c { &variants[..] } else { &[] });
    let named: Vec<&String> = named.collect();
    (idle != named).then(|| format!("nothing arrived in {idle:?}, stated: {named:?}"))
}

/// Number of statements that a story makes.
pub fn statements(stated: &Story) -> usize {
    let of = |b: &Better| 1 + b.changes.len() + b.gains.len() + b.costs.len();
    let each = |c: &Clause| match c {
        Clause::Better(b) | Clause::AsGood(b) | Clause::Leads(b) => of(b),
        _ => 1,
    };
    stated.clauses.iter().map(each).sum()
}

/// Splits the story into parts; each begins with what was carried.
fn parts(stated: &Story) -> Vec<&[Clause]> {
    let opens = |c: &Clause| {
        use Clause::*;
        matches!(c, Nothing { .. } | Carries { .. } | CarriesByPath { .. } | Has { .. })
    };
    let starts: Vec<usize> = (0..stated.clauses.len()).filter(|&i| opens(&stated.clauses[i])).collect();
    let ends = starts.iter().skip(1).copied().chain([stated.clauses.len()]);
    starts.iter().zip(ends).map(|(&a, b)| &stated.clauses[a..b]).collect()
}

/// The baseline. If its flows were measured alone, all of them or, of more than three, the worst and the
/// best.
fn subjects<'a>(
    checked: &'a CheckedRun,
    baseline: &'a ComparedVariant,
) -> (Vec<&'a ComparedVariant>, Option<(usize, Goal)>) {
    let all: Vec<&ComparedVariant> = checked.compared.iter().filter(|s| s.index == baseline.index).collect();
    if all.len() <= 3 {
        return (all, None);
    }
    let known = |n: &Number| all.iter().all(|s| value(n, s).is_some());
    let first = checked.run.goals.first().filter(|&&g| g != Goal::Goodput);
    let found = first.and_then(|&g| Some((g, numbers_of(g).iter().find(|n| known(n))?)));
    let of = |s: &ComparedVariant| match found {
        Some((_, n)) => value(n, s).unwrap_or(f64::NAN) * if n.is_higher_better() { 1.0 } else { -1.0 },
        None => s.flows.iter().map(|f| f.result.goodput_mbps).sum(),
    };
    let (mut worst, mut best) = (all[0], all[0]);
    for &s in &all {
        worst = if of(s) < of(worst) { s } else { worst };
        best = if of(s) >= of(best) { s } else { best };
    }
    (vec![worst, best], Some((all.len(), found.map_or(Goal::Goodput, |f| f.0))))
}

/// Checks the stated goals for which something was measured, in the order of the subjects.
fn judged(checked: &CheckedRun, stated: &Story, checks: &[Check]) -> Option<String> {
    let mut want: Vec<(Goal, Number)> = Vec::new();
    for (goal, number) in checks.iter().flat_map(|c| c.wanted(checked)) {
        if want.iter().all(|w| w.0 != goal) {
            want.push((goal, number));
        }
    }
    let got: Vec<(Goal, Number)> = stated.goals.iter().map(|g| (g.goal, Number::of(&g.measure))).collect();
    (got != want).then(|| format!("judged by {got:?}, should be {want:?}"))
}

/// The variant that the scenario declares, otherwise the first; of flows measured alone the first.
fn baseline(checked: &CheckedRun) -> Option<&ComparedVariant> {
    let stated = checked.run.baseline.as_deref();
    let with_flows = || checked.compared.iter().filter(|s| !s.flows.is_empty());
    with_flows().find(|s| Some(s.result.name.as_str()) == stated).or(with_flows().next())
}

/// Variants with the baseline's flows and no higher limits; if there are none, variants with its flows.
fn others<'a>(run: &'a CheckedRun, baseline: &ComparedVariant) -> Vec<&'a ComparedVariant> {
    let flows = |s: &ComparedVariant| -> Vec<(String, String)> {
        s.flows.iter().map(|f| (f.result.name.clone(), f.result.app.clone())).collect()
    };
    let same = |s: &&ComparedVariant| {
        !(s.index == baseline.index && s.name == baseline.name) && flows(s) == flows(baseline)
    };
    let narrow = |s: &&ComparedVariant| {
        let fits = |is: Option<f64>, was: Option<f64>| match (kbit(is), kbit(was)) {
            (_, None) => true,
            (None, _) => false,
            (Some(is), Some(was)) => is as f64 <= was as f64 * 1.05,
        };
        fits(s.limit, baseline.limit)
            && s.flows.iter().zip(&baseline.flows).all(|(a, b)| fits(a.limit, b.limit))
    };
    let all: Vec<&ComparedVariant> = run.compared.iter().filter(same).collect();
    let narrower: Vec<&ComparedVariant> = all.iter().copied().filter(narrow).collect();
    if narrower.is_empty() { all } else { narrower }
}

/// The baseline of a headline and the variants that it is compared with.
pub(crate) struct Check<'a> {
    pub baseline: &'a ComparedVariant,
    pub others: Vec<&'a ComparedVariant>,
    /// All variants, including those with other flows.
    pub all: &'a [ComparedVariant],
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

impl Check<'_> {
    /// The stated goals for which something was measured, each with its measure.
    fn wanted(&self, checked: &CheckedRun) -> Vec<(Goal, Number)> {
        let all = || std::iter::once(self.baseline).chain(self.others.iter().copied());
        let measured =
            |goal: Goal| all().find_map(|s| numbers_of(goal).iter().find(|n| value(n, s).is_some()).cloned());
        let mut want: Vec<(Goal, Number)> =
            checked.run.goals.iter().filter_map(|&g| Some((g, measured(g)?))).collect();
        // Probes alone carry no traffic of their own: judge them by delay.
        for goal in [Goal::Goodput, Goal::Delay] {
            if want.is_empty() {
                want.extend(measured(goal).map(|n| (goal, n)));
            }
        }
        want
    }

    /// Other variants that have a value and are not identical. None if the baseline has no value and a
    /// missing value is not the worst one.
    fn compared(&self, n: &Number) -> Vec<Tried<'_>> {
        use Number::*;
        let worst = [Tcp, Datagrams, Completion, Response, Page].contains(n);
        let some = worst || value(n, self.baseline).is_some();
        let others = self.others.iter().copied().filter(|s| some && !identical(self.baseline, s));
        let one = |it| {
            let (was, is) = (self.was(n), value(n, it)?);
            let open = (is_clearly_better(n, was, is) || is_clearly_better(n, is, was))
                && is_within_chance(n, self.baseline, it);
            let (gains, costs) = self.effects(n, it);
            Some(Tried { it, was, is, open, gains, costs })
        };
        others.filter_map(one).collect()
    }

    /// Measures other than the goal that are noticeably better in another variant, and those that are
    /// noticeably worse.
    fn effects(&self, goal: &Number, it: &ComparedVariant) -> (Vec<Own>, Vec<Own>) {
        let b = self.baseline;
        let both = |n: &Number| Some((value(n, b)?, value(n, it)?));
        let mut all: Vec<Own> =
            Number::ALL.into_iter().filter_map(|n| both(&n).map(|(w, i)| (n, w, i))).collect();
        // Retransmissions say the same as losses.
        let known = both(&Number::TcpLoss).is_some();
        all.retain(|e| e.0 != Number::Resent || !known);
        all.extend(poorest(b, it));
        all.retain(|(n, was, is)| {
            n != goal
                && (is_noticeably_worse(n, *was, *is) || is_noticeably_worse(n, *is, *was))
                && !is_within_chance(n, b, it)
        });
        let included: Vec<Number> = all.iter().map(|e| e.0.clone()).chain([goal.clone()]).collect();
        all.retain(|e| match e.0 {
            Number::OneWay => !included.contains(&Number::Mos),
            Number::Datagrams => !included.contains(&Number::DatagramLoss),
            Number::Flow(_) => !included.contains(&Number::Jain),
            _ => true,
        });
        all.into_iter().partition(|(n, was, is)| is_noticeably_worse(n, *is, *was))
    }

    /// Checks that flows that got nothing are reported.
    fn check_starved(&self, clauses: &[Clause]) -> Option<String> {
        let stated = clauses.iter().any(|c| matches!(c, Clause::Starved { .. }));
        let due = !starved(self.baseline).0.is_empty();
        (stated != due).then(|| format!("flows that got nothing: {due}, stated: {stated}"))
    }

    /// Checks the clauses about each goal: the best variant, equally good ones, that there is none, leading
    /// ones, and open ones.
    fn check_goals(&self, checked: &CheckedRun, clauses: &[Clause]) -> Vec<String> {
        let mut list = Vec::new();
        for (goal, number) in self.wanted(checked) {
            let tried = self.compared(&number);
            let stated_clauses: Vec<&Clause> = clauses.iter().filter(|c| c.goal() == Some(goal)).collect();
            if tried.is_empty() || stated_clauses.is_empty() {
                if tried.is_empty() != stated_clauses.is_empty() {
                    list.push(format!(
                        "{goal:?}: {} clauses for {} others",
                        stated_clauses.len(),
                        tried.len()
                    ));
                }
                continue;
            }
            list.extend(
                self.check_best(&number, &tried, &stated_clauses)
                    .into_iter()
                    .map(|w| format!("{goal:?}: {w}")),
            );
            list.extend(leading(&tried, &stated_clauses).into_iter().map(|w| format!("{goal:?}: {w}")));
            let open: Vec<(String, f64)> =
                tried.iter().filter(|t| t.open).map(|t| (t.it.name.clone(), t.is)).collect();
            let stated: Vec<(String, f64)> = stated_clauses
                .iter()
                .filter_map(
                    |c| if let Clause::Open { variants, .. } = c { Some(variants.clone()) } else { None },
                )
                .flatten()
                .collect();
            if stated.len() != open.len()
                || !stated.iter().zip(&open).all(|(a, b)| a.0 == b.0 && same(a.1, b.1))
            {
                list.push(format!("{goal:?}: open by the repeats are {open:?}, stated: {stated:?}"));
            }
        }
        list
    }

    /// Checks the best variant and the gentler one; otherwise the equally good one; otherwise that there is
    /// none.
    fn check_best(&self, n: &Number, tried: &[Tried], stated_clauses: &[&Clause]) -> Vec<String> {
        let better: Vec<&Tried> =
            tried.iter().filter(|t| !t.open && is_clearly_better(n, t.was, t.is)).collect();
        let stated = |c: &&&Clause| matches!(c, Clause::Better(_) | Clause::AsGood(_) | Clause::Best { .. });
        let stated: Vec<&Clause> = stated_clauses.iter().filter(stated).copied().collect();
        let Some(best) = top(n, better.iter().copied()) else {
            let free = |t: &&Tried| (t.open || !is_clearly_better(n, t.is, t.was)) && t.costs.is_empty();
            let most = tried.iter().filter(free).map(|t| t.gains.len()).max().unwrap_or(0);
            return match (stated[..].first(), most) {
                (Some(Clause::Best { others, all, .. }), 0) => {
                    let counted = *others == tried.len() && (!all || *others == self.others.len());
                    if counted && stated.len() == 1 {
                        vec![]
                    } else {
                        vec!["another number of variants".into()]
                    }
                }
                (Some(Clause::AsGood(b)), 1..) if b.gains.len() == most && stated.len() == 1 => vec![],
                (other, most) => vec![format!("{most} gains without costs, stated: {other:?}")],
            };
        };
        let fewer = || better.iter().copied().filter(|t| t.costs.len() < best.costs.len());
        let free = top(n, fewer().filter(|t| t.costs.is_empty()));
        let gentle = free.or_else(|| top(n, fewer().filter(|t| !is_clearly_better(n, t.is, best.is))));
        let want: Vec<(f64, usize)> =
            [Some(best), gentle].into_iter().flatten().map(|t| (t.is, t.costs.len())).collect();
        let got: Vec<(f64, usize)> = stated
            .iter()
            .filter_map(|c| if let Clause::Better(b) = c { Some((b.effect.is, b.costs.len())) } else { None })
            .collect();
        let fits = |(a, b): (&(f64, usize), &(f64, usize))| near(Some(a.0), Some(b.0)) && a.1 == b.1;
        let all = want.len() == stated.len() && got.len() == want.len() && got.iter().zip(&want).all(fits);
        if all { vec![] } else { vec![format!("{} is the best: {want:?}, stated: {got:?}", best.it.name)] }
    }

    fn check_clause(&self, clause: &Clause) -> Vec<String> {
        let b = self.baseline;
        let mut list = Vec::new();
        let mut check = |ok: bool, what: &str| {
            if !ok {
                list.push(what.to_string());
            }
        };
        match clause {
            Clause::Nothing { variant } => {
                check(*variant == b.name, "another baseline");
                check(b.flows.iter().all(|f| f.result.goodput_mbps <= 0.0), "something arrived");
            }
            Clause::Carries { variant, tcp, udp, limit, varies } => {
                let kinds = |l: &scenario::DuplexLink| {
                    let stages = l.forward.iter().chain(&l.backward);
                    stages.map(|s| s.stage.kind()).any(|k| ["train", "rate-trace"].contains(&k))
                };
                let mean = limit.is_some() && b.scenario.links.iter().any(kinds);
                check(*varies == mean, "a mean, or none");
                check(*variant == b.name, "another baseline");
                check(near(*tcp, value(&Number::Tcp, b)), "TCP carried otherwise");
                check(near(*udp, value(&Number::Datagrams, b)), "datagrams carried otherwise");
                check(near(*limit, b.limit), "another limit");
                check(disjoint_sets(b).is_empty(), "a sum of flows that share no link");
            }
            Clause::CarriesByPath { variant, parts } => {
                check(*variant == b.name, "another baseline");
                let own = disjoint_sets(b);
                let first = |p: &report::story::Part| (p.flow.clone(), p.more, p.datagrams);
                let is = |set: &Vec<&crate::checked_run::ComparedFlow>| {
                    (set[0].result.name.clone(), set.len() - 1, set[0].result.cc == "udp")
                };
                check(parts.iter().map(first).eq(own.iter().map(is)), "other paths");
                for (part, set) in parts.iter().zip(&own) {
                    let sum: f64 = set.iter().map(|f| f.result.goodput_mbps).sum();
                    check(same(part.mbps, sum), "a path carried otherwise");
                    let limit = set[0].limit.filter(|_| set.len() == 1);
                    check(near(part.limit, limit), "another limit of a path");
                    let known = part.limitation.as_ref().is_none_or(|h| b.result.limited_by.contains(h));
                    check(known, "a path is limited by an unknown limitation");
                }
            }
            Clause::Has { variant, measure, value: v } => {
                check(*variant == b.name, "another baseline");
                check(near(Some(*v), value(&Number::of(measure), b)), "another value");
            }
            Clause::Starved { flow, more, mbps, seconds, most } => {
                let (all, silent) = starved(b);
                let rates = || all.iter().map(|f| f.result.goodput_mbps);
                let least = rates().fold(f64::INFINITY, f64::min);
                let it = all.iter().find(|f| f.result.name == *flow);
                check(it.is_some_and(|f| f.result.goodput_mbps == least), "not the one that got least");
                check(all.len() == more + 1, "another number of flows");
                check(same(*mbps, rates().fold(0.0, f64::max)), "another rate");
                let times = all.iter().map(|f| f.result.active_s).fold(f64::INFINITY, f64::min);
                check(near(*seconds, Some(times).filter(|_| silent)), "another time");
                let first = b.flows.iter().map(|f| f.result.goodput_mbps).fold(0.0, f64::max);
                let named =
                    b.flows.iter().any(|f| f.result.name == most.0 && f.result.goodput_mbps == most.1);
                check(same(first, most.1) && named, "not the one that got most");
            }
            // Checked with all subjects.
            Clause::Extremes { .. } => {}
            Clause::Unfinished { unfinished, all } => {
                let t = b.result.completion_s.unwrap_or_default();
                check((*unfinished, *all) == (t.unfinished, t.count + t.unfinished), "other counts");
            }
            Clause::Dropped { element, dropped, came, kind } => {
                let most = b.elements.iter().map(|e| e.dropped).max();
                let it = b.elements.iter().find(|e| e.name == *element);
                check(it.is_some_and(|e| (e.dropped, e.arrived) == (*dropped, *came)), "other drops");
                check(most == Some(*dropped) && *dropped > 0, "not the one that dropped most");
                let assumed = || kind == report::story::ASSUMED && changes::is_bare(&b.scenario, element);
                let written = changes::kind(&b.scenario, element);
                check(written.as_deref() == Some(kind) || assumed(), "another kind of stage");
                check(*dropped as f64 >= 0.0005 * *came as f64, "next to nothing");
            }
            Clause::Lost { share } => {
                let lost = value(&Number::TcpLoss, b).or(value(&Number::DatagramLoss, b));
                let least = if is_bounded(b) { 0.1 } else { f64::MIN_POSITIVE };
                check(near(Some(*share), lost) && *share >= least, "another share");
            }
            Clause::BlackHole { element, size_bytes, mtu_bytes, .. } => {
                let too_big = self.element(element).and_then(|e| e.too_big);
                let fits = too_big.is_some_and(|t| {
                    (t.largest_bytes, t.mtu_bytes, t.icmp_sent) == (*size_bytes, *mtu_bytes, false)
                });
                check(fits && size_bytes > mtu_bytes, "no black hole of these sizes");
            }
            Clause::CutSegments { mtu_bytes, mss_bytes } => {
                let stated = b
                    .result
                    .elements
                    .iter()
                    .filter_map(|e| e.too_big)
                    .any(|t| t.icmp_sent && t.mtu_bytes == *mtu_bytes);
                check(
                    stated && b.flows.iter().any(|f| f.result.mss_bytes == Some(*mss_bytes)),
                    "no sender was informed, or none uses this MSS",
                );
            }
            Clause::Fragmented { element, cut, fragments, .. } => {
                let it = self.element(element).map(|e| (e.fragmented_packets, e.fragments));
                check(it == Some((*cut, *fragments)) && *cut > 0, "other fragments");
            }
            Clause::Waited { cc, share } => {
                check(
                    near(Some(*share), self.of_control(cc, |f| f.timeout_share.unwrap_or(0.0))),
                    "waited otherwise",
                );
                check(*share >= 0.03, "too little to mention");
            }
            Clause::Repaired { cc, share } => {
                check(near(Some(*share), self.of_control(cc, |f| f.recovery_share)), "repaired otherwise");
                check(*share >= 0.25, "hardly at all");
            }
            Clause::Queued { min_delay_ms, p95_ms, element, packets, .. } => {
                let tcp =
                    || b.flows.iter().map(|f| &f.result).filter(|f| f.cc != "udp" && f.rtt_ms.max > 0.0);
                let of_one = tcp().any(|f| same(f.rtt_ms.min, *min_delay_ms) && same(f.rtt_ms.p95, *p95_ms));
                check(of_one, "least and p95 are not of one flow");
                check(near(Some(*p95_ms), value(&Number::Rtt, b)), "another p95");
                check(p95_ms - min_delay_ms >= 10.0 && *p95_ms >= 1.5 * min_delay_ms, "no noticeable queue");
                let it = b.elements.iter().find(|e| e.name == *element);
                check(it.is_some_and(|e| e.queue == *packets) && *packets > 0, "another queue");
                let long =
                    |e: &&crate::checked_run::ComparedStage| e.inside_ms * 2.0 >= p95_ms - min_delay_ms;
                check(it.is_some_and(|e| long(&e)), "packets passed it faster than round trips grew");
                let more = b.elements.iter().filter(long).any(|e| e.queue > *packets);
                check(!more, "not the longest queue");
            }
            Clause::Unfair { most, least } => {
                let is = |f: &&crate::checked_run::ComparedFlow, x: &(String, f64)| {
                    f.result.name == x.0 && same(f.result.goodput_mbps, x.1)
                };
                let fits = groups(b).into_iter().any(|g| {
                    let far = |f: &&&crate::checked_run::ComparedFlow| {
                        f.result.goodput_mbps > most.1 || f.result.goodput_mbps < least.1
                    };
                    jain(&g) <= 0.9
                        && g.iter().any(|f| is(f, most))
                        && g.iter().any(|f| is(f, least))
                        && !g.iter().any(|f| far(&f))
                });
                check(fits, "no group of flows with such shares");
            }
            Clause::Clean => {
                let r = || b.flows.iter().map(|f| &f.result);
                let quiet = r().all(|f| f.lost_packets.unwrap_or(0) * 1000 < f.sent_packets.max(1));
                check(quiet && r().all(|f| f.timeouts == 0 && f.delivered_bytes > 0), "not clean");
                let stood =
                    r().any(|f| f.rtt_ms.p95 - f.rtt_ms.min >= 10.0 && f.rtt_ms.p95 >= 1.5 * f.rtt_ms.min);
                check(!stood, "there was a standing queue");
                check(is_bounded(b), "below its limit without a stated reason");
            }
            Clause::Unexplained { too_large } => {
                check(b.result.limited_by.is_empty() && !is_bounded(b), "it has its bound");
                let left = b.result.limitation_search.as_ref().is_some_and(|s| !s.untried.is_empty());
                let simulated = b.result.limitation_search.as_ref().and_then(|s| s.simulated);
                let unlike =
                    simulated.is_some_and(|x| !(0.77..1.3).contains(&(x / b.result.total_goodput_mbps)));
                check(*too_large == ((left || unlike) && !b.alone), "another reason");
            }
            Clause::Better(better) | Clause::AsGood(better) => list.extend(self.recommended(better, false)),
            Clause::Leads(better) => {
                check(!better.gains.is_empty(), "leads by nothing");
                list.extend(self.recommended(better, true));
            }
            // Checked with all variants.
            Clause::Idle { .. } | Clause::Best { .. } => {}
            Clause::Open { measure, was, repeats, .. } => {
                check(near(*was, value(&Number::of(measure), b)), "another mean of the baseline");
                check(
                    b.result.repeats.as_ref().is_some_and(|r| r.n == *repeats),
                    "another number of repeats",
                );
            }
            Clause::Same { baseline, variants, changes } => {
                let all: Vec<&&ComparedVariant> = self.others.iter().filter(|s| identical(b, s)).collect();
                let names = all.iter().map(|s| &s.name);
                check(*baseline == b.name && names.eq(variants), "others are the same");
                if let Some(first) = all.first() {
                    list.extend(changes::wrong(b, first, changes));
                }
            }
            Clause::OtherFlows { variant, effect } => {
                check(!self.others.iter().any(|s| s.name == *variant), "it has the same flows");
                let number = Number::of(&effect.measure);
                let noticed = is_noticeably_worse(&number, effect.was, effect.is)
                    || is_noticeably_worse(&number, effect.is, effect.was);
                let is = self.all.iter().find(|s| s.name == *variant).and_then(|s| value(&number, s));
                check(noticed && near(Some(effect.was), value(&number, b)), "other values, or no such flow");
                check(near(Some(effect.is), is), "the flow gets something else");
            }
            Clause::Held { limitation, of_part, .. } => {
                check(b.result.limited_by.contains(limitation), "no such limitation");
                check(*of_part == (limitation.flow.is_some() && !b.alone), "of another part of the flows");
            }
            Clause::Perhaps { suspect } => {
                let tried = b.result.limitation_search.iter().flat_map(|s| &s.tried);
                let most = tried.filter_map(|t| t.gain).fold(0.0, f64::max);
                check(b.alone || suspect.gain == Some(most), "another suspect gains more");
                check(b.result.limited_by.is_empty() && most >= 1.2, "something holds it, or nothing gains");
            }
            Clause::NoSuspectHelps { .. } => check(b.result.limited_by.is_empty(), "something holds it"),
            Clause::ClocksGoodput { .. } | Clause::ClocksCount { .. } => {}
        }
        list
    }

    fn element(&self, name: &str) -> Option<&result::ElementResult> {
        self.baseline.result.elements.iter().find(|e| e.name == name)
    }

    fn of_control(&self, cc: &str, of: impl Fn(&crate::checked_run::ComparedFlow) -> f64) -> Option<f64> {
        let shares: Vec<f64> = self.baseline.flows.iter().filter(|f| f.result.cc == cc).map(of).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// The baseline's value; the worst possible one if it has none.
    fn was(&self, n: &Number) -> f64 {
        value(n, self.baseline).unwrap_or(if n.is_higher_better() { 0.0 } else { f64::INFINITY })
    }

    /// Checks a recommended variant: its values are right, all noticeable gains and costs are stated, and all
    /// changes.
    fn recommended(&self, b: &Better, leads: bool) -> Vec<String> {
        let mut list = Vec::new();
        let Some(it) = self.others.iter().copied().find(|s| s.name == b.variant && s.index == b.at[1]) else {
            return vec!["no variant that is compared".into()];
        };
        let number = Number::of(&b.effect.measure);
        if !numbers_of(b.goal).contains(&number)
            || !near(Some(b.effect.is), value(&number, it))
            || !same(b.effect.was, self.was(&number))
        {
            list.push("other values of the goal".into());
        }
        let (gains, costs) = self.effects(&number, it);
        for (stated, own, what) in [(&b.gains, gains, GAINS), (&b.costs, costs, "costs")] {
            let is =
                |e: &Effect, o: &Own| Number::of(&e.measure) == o.0 && same(e.was, o.1) && same(e.is, o.2);
            list.extend(
                stated.iter().filter(|e| !own.iter().any(|o| is(e, o))).map(|e| format!("{what} not: {e:?}")),
            );
            // A leading variant is stated only with what it is best at.
            let all = what != GAINS || !leads;
            let omitted = own.iter().filter(|o| all && !stated.iter().any(|e| is(e, o)));
            list.extend(omitted.map(|o| format!("{what}, omitted: {o:?}")));
        }
        list.extend(changes::wrong(self.baseline, it, &b.changes));
        list
    }
}

/// Sets of flows whose data shares no link direction, TCP's before datagrams'; none if all flows of each kind
/// share one.
fn disjoint_sets(b: &ComparedVariant) -> Vec<Vec<&crate::checked_run::ComparedFlow>> {
    let is_request = b.flows.iter().any(|f| ["request", "page"].contains(&f.result.app.as_str()));
    if b.alone || is_request {
        return Vec::new();
    }
    let of = |kind: result::FlowKind| {
        let mut sets: Vec<Vec<&crate::checked_run::ComparedFlow>> = Vec::new();
        for flow in b.flows.iter().filter(|f| f.result.kind == kind) {
            let meets = |set: &Vec<&crate::checked_run::ComparedFlow>| {
                set.iter().any(|f| f.directions.iter().any(|direction| flow.directions.contains(direction)))
            };
            let (joined, rest): (Vec<_>, Vec<_>) = sets.into_iter().partition(meets);
            sets = rest;
            sets.push(joined.into_iter().flatten().chain([flow]).collect());
        }
        let place = |f: &crate::checked_run::ComparedFlow| {
            b.flows.iter().position(|x| x.result.name == f.result.name)
        };
        sets.iter_mut().for_each(|set| set.sort_by_key(|f| place(f)));
        sets.sort_by_key(|set| place(set[0]));
        sets
    };
    let (tcp, udp) = (of(result::FlowKind::Tcp), of(result::FlowKind::Datagrams));
    if tcp.len() < 2 && udp.len() < 2 { Vec::new() } else { [tcp, udp].concat() }
}

/// Returns whether each flow has nine tenths of its limit, alone or with the others, or is known to send only
/// what its application wants. For TCP, the latter is known if a complete search found nothing else.
fn is_bounded(b: &ComparedVariant) -> bool {
    let all: f64 = b.flows.iter().map(|f| f.result.goodput_mbps).sum();
    let full = b.limit.is_some_and(|limit| all >= 0.9 * limit);
    b.flows.iter().all(|f| {
        let r = &f.result;
        let ended = r.completed.is_some() || r.completion_s.is_some();
        let search = b.result.limitation_search.as_ref();
        let searched = search.is_some_and(|s| s.unknown.is_none() && s.untried.is_empty());
        let wants_less = r.kind != result::FlowKind::Tcp || searched && (ended || r.app != "bulk");
        let own = if ended { r.delivered_bytes as f64 * 8e-6 / r.active_s.max(1e-9) } else { 0.0 };
        wants_less || full || f.limit.is_some_and(|limit| r.goodput_mbps.max(own) >= 0.9 * limit)
    })
}

/// Label of the gains in messages.
const GAINS: &str = "gains";

/// A measure with its values in the baseline and in another variant.
type Own = (Number, f64, f64);

/// Another variant, compared by one goal.
struct Tried<'a> {
    it: &'a ComparedVariant,
    was: f64,
    is: f64,
    /// The difference may be due to chance.
    open: bool,
    gains: Vec<Own>,
    costs: Vec<Own>,
}

/// The best of these; among equals the one with the fewest costs.
fn top<'a, 'b>(n: &Number, list: impl Iterator<Item = &'a Tried<'b>>) -> Option<&'a Tried<'b>>
where
    'b: 'a,
{
    let mut best: Option<&Tried> = None;
    for t in list {
        let above = best.is_none_or(|b| {
            let more = if n.is_higher_better() { t.is > b.is } else { t.is < b.is };
            more || (t.is == b.is && t.costs.len() < b.costs.len())
        });
        best = if above { Some(t) } else { best };
    }
    best
}

/// Checks variants that are best at something other than the goal, and noticeably better there than those
/// named: each is stated with what it is best at.
fn leading(tried: &[Tried], stated_clauses: &[&Clause]) -> Vec<String> {
    let named: Vec<&Tried> = stated_clauses
        .iter()
        .filter_map(|c| match c {
            Clause::Better(b) | Clause::AsGood(b) => tried.iter().find(|t| t.it.name == b.variant),
            _ => None,
        })
        .collect();
    let gain = |t: &Tried, n: &Number| t.gains.iter().find(|g| g.0 == *n).map(|g| g.2);
    let mut want: Vec<(String, Vec<Number>)> = Vec::new();
    for n in Number::ALL {
        let all = || tried.iter().filter_map(|t| Some((t, gain(t, &n)?)));
        let Some(best) =
            all().map(|x| x.1).reduce(|a, b| if n.is_higher_better() { a.max(b) } else { a.min(b) })
        else {
            continue;
        };
        let Some((first, _)) = all().find(|x| x.1 == best) else { continue };
        let is_named = named.iter().any(|t| t.it.name == first.it.name);
        let matched =
            named.iter().filter_map(|t| gain(t, &n)).any(|other| !is_noticeably_worse(&n, best, other));
        if is_named || matched {
            continue;
        }
        match want.iter_mut().find(|w| w.0 == first.it.name) {
            Some((_, list)) => list.push(n),
            None => want.push((first.it.name.clone(), vec![n])),
        }
    }
    want.truncate(MAX_LEADING);
    let stated: Vec<(String, Vec<Number>)> = stated_clauses
        .iter()
        .filter_map(|c| match c {
            Clause::Leads(b) => {
                Some((b.variant.clone(), b.gains.iter().map(|e| Number::of(&e.measure)).collect()))
            }
            _ => None,
        })
        .collect();
    if want == stated { vec![] } else { vec![format!("{want:?} lead, stated: {stated:?}")] }
}

/// Returns whether two variants are identical to the last digit.
fn identical(a: &ComparedVariant, b: &ComparedVariant) -> bool {
    let flows = |s: &ComparedVariant| -> Vec<FlowResult> {
        s.flows.iter().map(|f| FlowResult { limit_mbps: None, ..f.result.clone() }).collect()
    };
    let times = |s: &ComparedVariant| (s.result.completion_s, s.result.response_s, s.result.page_s);
    let simulated = |s: &ComparedVariant| s.result.clock == Clock::Sim && !s.alone;
    simulated(a) && simulated(b) && times(a) == times(b) && flows(a) == flows(b)
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// The scenario's flow that lost the largest share of its goodput, if there are several flows.
fn poorest(was: &ComparedVariant, is: &ComparedVariant) -> Option<Own> {
    let (was, is) = (sums(was), sums(is));
    let each = was
        .iter()
        .filter(|x| *x.1 > 0.0)
        .map(|(name, &w)| (Number::Flow(name.clone()), w, is.get(name).copied().unwrap_or(0.0)));
    let most = each.min_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)));
    most.filter(|e| was.len() > 1 && e.2 < e.1)
}
