//! Holds each clause of a headline, and its words, against what was seen.

mod changes;
mod clocks;
mod words;

pub(crate) use changes::travel_ms;

use crate::seen::{Seen, SeenRun};
use crate::value::{ahead, groups, jain, kbit, measures_of, starved, value, worse};
use report::story::{Better, Clause, Effect, Measure, Story, story};
use std::collections::BTreeMap;
use units::Goal;

/// What is wrong with the run's headline and with the story that it is made of.
pub fn complaints(seen: &SeenRun) -> Vec<String> {
    let told = story(&[("", &seen.run)]);
    let mut list = seen.wrong.clone();
    list.extend(wrong(seen, &told));
    let text = told.text(report::Lang::En).replace(['\u{2068}', '\u{2069}'], "").replace('\u{a0}', " ");
    let headline = seen.run.headline.as_deref().unwrap_or_default();
    match headline.strip_suffix(text.as_str()) {
        Some(before) => list.extend(distrust(seen, before)),
        None => list.push(format!("the result's headline is another: {headline:?}")),
    }
    list
}

/// Measurements on the kernel that something tells against.
pub fn untrusted(seen: &SeenRun) -> usize {
    let bad = |v: &&result::VariantResult| v.trust.as_ref().is_some_and(|t| !t.reliable);
    seen.run.variants.iter().filter(bad).count()
}

/// What stands before the story: each measurement that is not to be trusted, with what is beyond its bound, and no other.
fn distrust(seen: &SeenRun, said: &str) -> Vec<String> {
    let mut list = Vec::new();
    let told = said.matches("Do not trust ").count();
    if told != untrusted(seen) {
        list.push(format!("{told} measurements are not trusted, should be {}", untrusted(seen)));
    }
    for variant in &seen.run.variants {
        let Some(trust) = &variant.trust else { continue };
        let named = said.contains(&format!("Do not trust {:?} ", variant.name));
        if trust.reliable == named || trust.reliable != trust.reasons.is_empty() {
            list.push(format!("{}: reliable {}, told: {said:?}", variant.name, trust.reliable));
        }
        list.extend(
            trust
                .reasons
                .iter()
                .filter(|r| r.measured <= r.bound)
                .map(|r| format!("within its bound: {r:?}")),
        );
    }
    if told == 0 && !said.is_empty() {
        list.push(format!("before the story stands {said:?}"));
    }
    list
}

/// What is wrong with a story.
pub fn wrong(seen: &SeenRun, told: &Story) -> Vec<String> {
    let Some(baseline) = baseline(seen) else {
        return if told.clauses.is_empty() { vec![] } else { vec!["a story without flows".into()] };
    };
    let (subjects, extremes) = subjects(seen, baseline);
    let parts = parts(told);
    if parts.len() != subjects.len() {
        return vec![format!("{} parts about {} subjects", parts.len(), subjects.len())];
    }
    let mut list = Vec::new();
    let said = told.clauses.iter().filter_map(|c| match c {
        Clause::Extremes { flows, goal } => Some((*flows, *goal)),
        _ => None,
    });
    if said.collect::<Vec<_>>() != extremes.into_iter().collect::<Vec<_>>() {
        list.push("not the worst and the best of those flows".into());
    }
    let checks: Vec<Check> =
        subjects.iter().map(|&baseline| Check { baseline, others: others(seen, baseline) }).collect();
    list.extend(judged(seen, told, &checks));
    for (check, clauses) in checks.iter().zip(parts) {
        list.extend(check.goals(seen, clauses));
        list.extend(check.silence(clauses));
        for clause in clauses {
            let (en, zh) = (clause.say(report::Lang::En), clause.say(report::Lang::Zh));
            let mut found = check.clause(clause);
            found.extend(words::wrong(check, clause, &en, &zh));
            list.extend(found.into_iter().map(|what| format!("{what}: {en:?}")));
        }
    }
    list.extend(clocks::wrong(seen, told));
    list
}

/// How many statements a story makes.
pub fn statements(told: &Story) -> usize {
    let of =
        |b: &Better| 1 + b.changes.len() + b.gains.len() + b.costs.len() + usize::from(b.loses.is_some());
    told.clauses.iter().map(|c| if let Clause::Better(b) | Clause::AsGood(b) = c { of(b) } else { 1 }).sum()
}

/// Each begins with what was carried.
fn parts(told: &Story) -> Vec<&[Clause]> {
    let opens =
        |c: &Clause| matches!(c, Clause::Nothing { .. } | Clause::Carries { .. } | Clause::Has { .. });
    let starts: Vec<usize> = (0..told.clauses.len()).filter(|&i| opens(&told.clauses[i])).collect();
    let ends = starts.iter().skip(1).copied().chain([told.clauses.len()]);
    starts.iter().zip(ends).map(|(&a, b)| &told.clauses[a..b]).collect()
}

/// The baseline; where its flows were measured alone all of them, or of more than three the worst and the best.
fn subjects<'a>(seen: &'a SeenRun, baseline: &'a Seen) -> (Vec<&'a Seen>, Option<(usize, Goal)>) {
    let all: Vec<&Seen> = seen.seen.iter().filter(|s| s.at == baseline.at).collect();
    if all.len() <= 3 {
        return (all, None);
    }
    let known = |m: Measure| all.iter().all(|s| value(m, s).is_some());
    let first = seen.run.goals.first().filter(|&&g| g != Goal::Goodput);
    let found = first.and_then(|&g| Some((g, *measures_of(g).iter().find(|&&m| known(m))?)));
    let of = |s: &Seen| match found {
        Some((_, m)) => value(m, s).unwrap_or(f64::NAN) * if ahead(m, 0.0, 1.0) { 1.0 } else { -1.0 },
        None => s.flows.iter().map(|f| f.result.goodput_mbps).sum(),
    };
    let (mut worst, mut best) = (all[0], all[0]);
    for &s in &all {
        worst = if of(s) < of(worst) { s } else { worst };
        best = if of(s) >= of(best) { s } else { best };
    }
    (vec![worst, best], Some((all.len(), found.map_or(Goal::Goodput, |f| f.0))))
}

/// The stated goals that something was measured of, in the order in which the subjects have them.
fn judged(seen: &SeenRun, told: &Story, checks: &[Check]) -> Option<String> {
    let mut want: Vec<(Goal, Measure)> = Vec::new();
    for (goal, measure) in checks.iter().flat_map(|c| c.wanted(seen)) {
        if want.iter().all(|w| w.0 != goal) {
            want.push((goal, measure));
        }
    }
    let got: Vec<(Goal, Measure)> = told.goals.iter().map(|g| (g.goal, g.measure)).collect();
    (got != want).then(|| format!("judged by {got:?}, should be {want:?}"))
}

/// The variant that the scenario states, else the first; of flows measured alone the first.
fn baseline(seen: &SeenRun) -> Option<&Seen> {
    let stated = seen.run.baseline.as_deref();
    let with_flows = || seen.seen.iter().filter(|s| !s.flows.is_empty());
    with_flows().find(|s| Some(s.result.name.as_str()) == stated).or(with_flows().next())
}

/// The variants that have the baseline's flows and no higher limits; where there is none, its flows.
fn others<'a>(run: &'a SeenRun, baseline: &Seen) -> Vec<&'a Seen> {
    let flows = |s: &Seen| -> Vec<(String, String)> {
        s.flows.iter().map(|f| (f.result.name.clone(), f.result.app.clone())).collect()
    };
    let same = |s: &&Seen| !(s.at == baseline.at && s.name == baseline.name) && flows(s) == flows(baseline);
    let narrow = |s: &&Seen| {
        let fits = |is: Option<f64>, was: Option<f64>| match (kbit(is), kbit(was)) {
            (_, None) => true,
            (None, _) => false,
            (Some(is), Some(was)) => is as f64 <= was as f64 * 1.05,
        };
        fits(s.limit, baseline.limit)
            && s.flows.iter().zip(&baseline.flows).all(|(a, b)| fits(a.limit, b.limit))
    };
    let all: Vec<&Seen> = run.seen.iter().filter(same).collect();
    let narrower: Vec<&Seen> = all.iter().copied().filter(narrow).collect();
    if narrower.is_empty() { all } else { narrower }
}

/// A headline's place of comparison.
pub(crate) struct Check<'a> {
    pub baseline: &'a Seen,
    pub others: Vec<&'a Seen>,
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

impl Check<'_> {
    /// The stated goals that something was measured of, each with by what.
    fn wanted(&self, seen: &SeenRun) -> Vec<(Goal, Measure)> {
        let all = || std::iter::once(self.baseline).chain(self.others.iter().copied());
        let measured = |goal: Goal| {
            all().find_map(|s| measures_of(goal).iter().copied().find(|&m| value(m, s).is_some()))
        };
        let mut want: Vec<(Goal, Measure)> =
            seen.run.goals.iter().filter_map(|&g| Some((g, measured(g)?))).collect();
        if want.is_empty() {
            want.extend(measured(Goal::Goodput).map(|m| (Goal::Goodput, m)));
        }
        want
    }

    /// The others that have a value; none where the baseline has none and that is not the worst there is.
    fn compared(&self, m: Measure) -> impl Iterator<Item = &&Seen> {
        use Measure::*;
        let worst = [TcpGoodput, UdpGoodput, Completion, Response, Page].contains(&m);
        let some = worst || value(m, self.baseline).is_some();
        self.others.iter().filter(move |s| some && value(m, s).is_some())
    }

    /// Who got nothing is told.
    fn silence(&self, clauses: &[Clause]) -> Option<String> {
        let told = clauses.iter().any(|c| matches!(c, Clause::Starved { .. }));
        let due = !starved(self.baseline).0.is_empty();
        (told != due).then(|| format!("flows that got nothing: {due}, told: {told}"))
    }

    /// What is said of each goal.
    fn goals(&self, seen: &SeenRun, clauses: &[Clause]) -> Vec<String> {
        let want = self.wanted(seen);
        let mut list = Vec::new();
        for &(goal, measure) in &want {
            let first = clauses.iter().find(|c| c.goal() == Some(goal));
            if let Some(Clause::Better(b)) = first {
                let better =
                    |s: &&&Seen| ahead(measure, b.effect.is, value(measure, s).unwrap_or(b.effect.is));
                list.extend(
                    self.others.iter().find(better).map(|s| format!("{goal:?}: {} is better", s.name)),
                );
            }
            let compared = self.compared(measure).count();
            let said = clauses.iter().filter(|c| c.goal() == Some(goal)).count();
            if (said > 0) != (compared > 0) {
                list.push(format!("{goal:?}: {said} clauses for {compared} others"));
            }
        }
        list
    }

    fn clause(&self, clause: &Clause) -> Vec<String> {
        let b = self.baseline;
        let mut list = Vec::new();
        let mut hold = |ok: bool, what: &str| {
            if !ok {
                list.push(what.to_string());
            }
        };
        match clause {
            Clause::Nothing { variant } => {
                hold(*variant == b.name, "another baseline");
                hold(b.flows.iter().all(|f| f.result.goodput_mbps <= 0.0), "something arrived");
            }
            Clause::Carries { variant, tcp, udp, limit, varies } => {
                let kinds = |l: &scenario::DuplexLink| {
                    let stages = l.forward.iter().chain(&l.backward);
                    stages.map(|s| s.stage.kind()).any(|k| ["train", "rate-trace"].contains(&k))
                };
                let mean = limit.is_some() && b.scenario.links.iter().any(kinds);
                hold(*varies == mean, "a mean, or none");
                hold(*variant == b.name, "another baseline");
                hold(near(*tcp, value(Measure::TcpGoodput, b)), "TCP carried otherwise");
                hold(near(*udp, value(Measure::UdpGoodput, b)), "datagrams carried otherwise");
                hold(near(*limit, b.limit), "another limit");
            }
            Clause::Has { variant, measure, value: v } => {
                hold(*variant == b.name, "another baseline");
                hold(near(Some(*v), value(*measure, b)), "another value");
            }
            Clause::Starved { flow, more, mbps, seconds, most } => {
                let (all, silent) = starved(b);
                let rates = || all.iter().map(|f| f.result.goodput_mbps);
                let least = rates().fold(f64::INFINITY, f64::min);
                let it = all.iter().find(|f| f.result.name == *flow);
                hold(it.is_some_and(|f| f.result.goodput_mbps == least), "not the one that got least");
                hold(all.len() == more + 1, "another number of flows");
                hold(same(*mbps, rates().fold(0.0, f64::max)), "another rate");
                let times = all.iter().map(|f| f.result.active_s).fold(f64::INFINITY, f64::min);
                hold(near(*seconds, Some(times).filter(|_| silent)), "another time");
                let first = b.flows.iter().map(|f| f.result.goodput_mbps).fold(0.0, f64::max);
                let named =
                    b.flows.iter().any(|f| f.result.name == most.0 && f.result.goodput_mbps == most.1);
                hold(same(first, most.1) && named, "not the one that got most");
            }
            // Held against the subjects as a whole.
            Clause::Extremes { .. } => {}
            Clause::Unfinished { unfinished, all } => {
                let t = b.result.completion_s.unwrap_or_default();
                hold((*unfinished, *all) == (t.unfinished, t.count + t.unfinished), "other counts");
            }
            Clause::Dropped { element, dropped, came, kind } => {
                let most = b.elements.iter().map(|e| e.dropped).max();
                let it = b.elements.iter().find(|e| e.name == *element);
                hold(it.is_some_and(|e| (e.dropped, e.came) == (*dropped, *came)), "other drops");
                hold(most == Some(*dropped) && *dropped > 0, "not the one that dropped most");
                let assumed = || kind == report::story::ASSUMED && changes::is_bare(&b.scenario, element);
                let written = changes::kind(&b.scenario, element);
                hold(written.as_deref() == Some(kind) || assumed(), "another kind of stage");
                hold(*dropped as f64 >= 0.0005 * *came as f64, "next to nothing");
            }
            Clause::Lost { share } => {
                let (lost, sent) = b.flows.iter().fold((0, 0), |(l, s), f| {
                    (l + f.result.lost_packets.unwrap_or(0), s + f.result.sent_packets)
                });
                hold(same(*share, lost as f64 / sent as f64) && *share >= 0.001, "another share");
            }
            Clause::BlackHole { element, size_bytes, mtu_bytes, .. } => {
                let too_big = self.element(element).and_then(|e| e.too_big);
                let fits = too_big.is_some_and(|t| {
                    (t.largest_bytes, t.mtu_bytes, t.told) == (*size_bytes, *mtu_bytes, false)
                });
                hold(fits && size_bytes > mtu_bytes, "no black hole of these sizes");
            }
            Clause::CutSegments { mtu_bytes, mss_bytes } => {
                let told = b
                    .result
                    .elements
                    .iter()
                    .filter_map(|e| e.too_big)
                    .any(|t| t.told && t.mtu_bytes == *mtu_bytes);
                hold(
                    told && b.flows.iter().any(|f| f.result.mss_bytes == Some(*mss_bytes)),
                    "nobody was told, or keeps to it",
                );
            }
            Clause::Fragmented { element, cut, fragments, .. } => {
                let it = self.element(element).map(|e| (e.fragmented_packets, e.fragments));
                hold(it == Some((*cut, *fragments)) && *cut > 0, "other fragments");
            }
            Clause::Waited { cc, share } => {
                hold(
                    near(Some(*share), self.of_control(cc, |f| f.waited.unwrap_or(0.0))),
                    "waited otherwise",
                );
                hold(*share >= 0.03, "hardly at all");
            }
            Clause::Repaired { cc, share } => {
                hold(near(Some(*share), self.of_control(cc, |f| f.repaired)), "repaired otherwise");
                hold(*share >= 0.25, "hardly at all");
            }
            Clause::Queued { least_ms, p95_ms, element, packets, .. } => {
                let tcp =
                    || b.flows.iter().map(|f| &f.result).filter(|f| f.cc != "udp" && f.rtt_ms.max > 0.0);
                let sent: u64 = tcp().map(|f| f.sent_packets).sum();
                let least: f64 = tcp().map(|f| f.rtt_ms.min * f.sent_packets as f64).sum();
                hold(same(*least_ms, least / sent as f64), "another shortest round trip");
                hold(near(Some(*p95_ms), value(Measure::Rtt, b)), "another p95");
                hold(p95_ms - least_ms >= 10.0 && *p95_ms >= 1.5 * least_ms, "no queue to speak of");
                let it = b.elements.iter().find(|e| e.name == *element);
                hold(it.is_some_and(|e| e.queue == *packets) && *packets > 0, "another queue");
                let long = |e: &&crate::seen::SeenElement| e.inside_ms * 2.0 >= p95_ms - least_ms;
                hold(it.is_some_and(|e| long(&e)), "packets passed it faster than round trips grew");
                let more = b.elements.iter().filter(long).any(|e| e.queue > *packets);
                hold(!more, "not the longest queue");
            }
            Clause::Unfair { most, least } => {
                let is = |f: &&crate::seen::SeenFlow, x: &(String, f64)| {
                    f.result.name == x.0 && same(f.result.goodput_mbps, x.1)
                };
                let fits = groups(b).into_iter().any(|g| {
                    let far = |f: &&&crate::seen::SeenFlow| {
                        f.result.goodput_mbps > most.1 || f.result.goodput_mbps < least.1
                    };
                    jain(&g) <= 0.9
                        && g.iter().any(|f| is(f, most))
                        && g.iter().any(|f| is(f, least))
                        && !g.iter().any(|f| far(&f))
                });
                hold(fits, "no group of flows with such shares");
            }
            Clause::Clean => {
                let r = || b.flows.iter().map(|f| &f.result);
                let quiet = r().all(|f| f.lost_packets.unwrap_or(0) * 1000 < f.sent_packets.max(1));
                hold(quiet && r().all(|f| f.timeouts == 0 && f.delivered_bytes > 0), "not clean");
                let stood =
                    r().any(|f| f.rtt_ms.p95 - f.rtt_ms.min >= 10.0 && f.rtt_ms.p95 >= 1.5 * f.rtt_ms.min);
                hold(!stood, "a queue stood");
            }
            Clause::Better(better) => list.extend(self.better(better)),
            Clause::AsGood(better) => list.extend(self.as_good(better)),
            Clause::Best { goal, others, .. } => {
                let measure = self.measure(*goal);
                let tried: Vec<&&Seen> = self.compared(measure).collect();
                hold(tried.len() == *others, "another number of variants");
                hold(!tried.iter().any(|s| self.is_ahead(measure, s)), "another does better");
            }
            Clause::ClocksGoodput { .. } | Clause::ClocksCount { .. } => {}
        }
        list
    }

    fn element(&self, name: &str) -> Option<&result::ElementResult> {
        self.baseline.result.elements.iter().find(|e| e.name == name)
    }

    fn of_control(&self, cc: &str, of: impl Fn(&crate::seen::SeenFlow) -> f64) -> Option<f64> {
        let shares: Vec<f64> = self.baseline.flows.iter().filter(|f| f.result.cc == cc).map(of).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    fn measure(&self, goal: Goal) -> Measure {
        let known = |s: &Seen| measures_of(goal).iter().copied().find(|&m| value(m, s).is_some());
        known(self.baseline).or(self.others.iter().find_map(|s| known(s))).unwrap_or(measures_of(goal)[0])
    }

    /// The baseline's value; the worst there is where it has none.
    fn was(&self, m: Measure) -> f64 {
        value(m, self.baseline).unwrap_or(if ahead(m, 0.0, 1.0) { 0.0 } else { f64::INFINITY })
    }

    fn is_ahead(&self, m: Measure, s: &Seen) -> bool {
        value(m, s).is_some_and(|is| ahead(m, self.was(m), is))
    }

    /// What is the same for all recommendations: its numbers, and that it hides nothing.
    fn recommended(&self, b: &Better) -> (Vec<String>, Option<&Seen>) {
        let mut list = Vec::new();
        let Some(it) = self.others.iter().copied().find(|s| s.name == b.variant && s.at == b.at[1]) else {
            return (vec!["no variant that is compared".into()], None);
        };
        let m = b.effect.measure;
        if m != self.measure(b.goal)
            || !near(Some(b.effect.is), value(m, it))
            || !same(b.effect.was, self.was(m))
        {
            list.push("other values of the goal".into());
        }
        for (effects, costs) in [(&b.gains, false), (&b.costs, true)] {
            list.extend(
                effects.iter().filter(|e| !self.effect_holds(e, it, costs)).map(|e| format!("{e:?}")),
            );
        }
        let told: Vec<Measure> = b.costs.iter().map(|e| e.measure).chain([m]).collect();
        for hidden in Measure::ALL.into_iter().filter(|&x| x != m && !told.contains(&x)) {
            let implied = match hidden {
                Measure::SlowestRtt => told.contains(&Measure::Rtt),
                Measure::OneWay => told.contains(&Measure::Mos),
                Measure::UdpGoodput => told.contains(&Measure::UdpLoss),
                _ => false,
            };
            if let (Some(was), Some(is), false) = (value(hidden, self.baseline), value(hidden, it), implied)
                && worse(hidden, was, is)
            {
                list.push(format!("does not tell that {hidden:?} goes from {was} to {is}"));
            }
        }
        let pays = |told: &Measure| [Measure::FlowGoodput, Measure::Jain].contains(told);
        if !told.iter().any(pays)
            && poorest(self.baseline, it).is_some_and(|(_, was, is)| worse(Measure::FlowGoodput, was, is))
        {
            list.push("does not tell which flow pays".into());
        }
        let lost = value(Measure::TcpLoss, it);
        if b.loses.is_some_and(|l| !near(Some(l), lost)) {
            list.push("loses another share".into());
        }
        let loss_told = b.gains.iter().chain(&b.costs).any(|e| e.measure == Measure::TcpLoss);
        if b.loses.is_none() && !loss_told && lost.is_some_and(|l| l >= 0.0005) {
            list.push("does not tell what it loses".into());
        }
        list.extend(changes::wrong(self.baseline, it, &b.changes));
        (list, Some(it))
    }

    fn effect_holds(&self, e: &Effect, it: &Seen, cost: bool) -> bool {
        let (was, is) = match &e.flow {
            Some(flow) => match (sums(self.baseline).get(flow), sums(it).get(flow)) {
                (Some(&was), Some(&is)) => (Some(was), Some(is)),
                _ => return false,
            },
            None => (value(e.measure, self.baseline), value(e.measure, it)),
        };
        let numbers = near(Some(e.was), was) && near(Some(e.is), is);
        numbers && if cost { worse(e.measure, e.was, e.is) } else { worse(e.measure, e.is, e.was) }
    }

    fn better(&self, b: &Better) -> Vec<String> {
        let (mut list, it) = self.recommended(b);
        let Some(it) = it else { return list };
        if !self.is_ahead(b.effect.measure, it) {
            list.push("no better than the baseline".into());
        }
        list
    }

    fn as_good(&self, b: &Better) -> Vec<String> {
        let (mut list, it) = self.recommended(b);
        let m = b.effect.measure;
        if it.is_none() || ahead(m, b.effect.is, b.effect.was) {
            list.push("not as good".into());
        }
        if self.others.iter().any(|s| self.is_ahead(m, s)) {
            list.push("another does better".into());
        }
        if !b.costs.is_empty() || b.gains.is_empty() {
            list.push("costs something, or gains nothing".into());
        }
        list
    }
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// TCP goodput by the scenario's flows.
fn sums(s: &Seen) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for f in s.flows.iter().filter(|f| f.result.cc != "udp") {
        let of = |name: &str| {
            f.result.name == name
                || f.result
                    .name
                    .strip_prefix(name)
                    .and_then(|r| r.strip_prefix('-'))
                    .is_some_and(|n| n.parse::<u32>().is_ok())
        };
        // The longest name that fits is the flow's own.
        let names = s.scenario.flows.iter().map(|f| f.name.as_str()).filter(|n| of(n));
        let name = names.max_by_key(|n| n.len()).unwrap_or_default();
        *sums.entry(name.to_string()).or_insert(0.0) += f.result.goodput_mbps;
    }
    sums
}

/// The scenario's flow that lost the largest share, if there are several.
fn poorest(was: &Seen, is: &Seen) -> Option<(String, f64, f64)> {
    let (was, is) = (sums(was), sums(is));
    let each = was.iter().filter(|x| *x.1 > 0.0).filter_map(|(n, &w)| Some((n.clone(), w, *is.get(n)?)));
    each.min_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1))).filter(|_| was.len() > 1)
}
