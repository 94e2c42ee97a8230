//! The headline of a result and its facts. The headline states what the baseline got, what limits it, and
//! which variant does better by the goal. The facts follow, a sentence each: the numbers behind the headline,
//! what the better variant gains and costs, and which differences repeats do not confirm. Every clause is a
//! fact of the result.
//!
//! The story is built as data first ([`Clause`]) and then put into words, in English and Chinese. What limits
//! the flows is measured by runs without it ([`result::Limitation`]); without such runs the observations are
//! reported and no cause is named. The baseline is compared with variants on the first clock with the same
//! flows, preferably those without a higher limit, because more capacity is not a cure. With repeats, a
//! difference counts if its paired interval shows it. Older results, and several results together, are judged
//! by goodput against the first variant.
//!
//! | threshold | value | reason |
//! |---|---|---|
//! | [`NOTICED_SHARE`] | 5 % | simulator and kernel are nearer than this in 92 % of the exact emulator's cells (docs/measured/fidelity.md) |
//! | [`NOTICED_TIMES`] | 1.2 | users do not notice smaller differences in duration (Seow, Designing and Engineering Time, 2008: 20 %) |
//! | [`NOTICED_DELAY_MS`] | 10 ms | half a packet of speech (RFC 3551 section 4.2) |
//! | [`NOTICED_LOSS`] | 1 point | what ITU-T G.1010 table I.1 allows of video calls |
//! | [`NOTICED_MOS`] | 0.3 | narrower than any category of ITU-T G.109 table 1 (4.34, 4.03, 3.60, 3.10) |
//! | [`NOTICED_JAIN`] | 0.1 | from equal shares to two flows of which one gets twice the other's |
//! | [`MIN_DROPPED_SHARE`] | 0.05 % | prints as 0.1 % at one decimal |
//! | [`MIN_LOST_PERCENT`] | 0.1 % | TCP at an RTT of 100 ms still reaches 4 Mbit/s at this loss (Mathis et al. 1997) |
//! | [`AT_BOUND`] | 0.9 | TCP through a queue of a quarter of the bandwidth-delay product keeps about 95 %, and headers are 3.5 % |
//! | [`MIN_WAIT_SHARE`], [`MIN_RECOVERY_SHARE`] | 3 %, 25 % | a smaller share of the time costs less goodput than [`NOTICED_SHARE`]; recovery costs half the rate |
//! | [`STANDING_RTT_RATIO`] | 1.5 | RTTs above this multiple of the minimum: half as much queueing as propagation |
//! | [`MAX_GOODPUT_RATIO`] | 1.3 | ratio of a partial run's goodput to the whole run's: slow start alone costs a short run that much |
//! | [`MIN_DELAY_SHARE`] | 0.5 | a queue that never delayed a packet by half of the RTT's growth did not cause the growth |
//! | [`COUNTED_TIMES`] | 1.5 | retransmissions on both clocks are nearer in 29 of 30 cells (docs/measured/fidelity.md); in addition twice the scatter by chance |
//! | [`MIN_FRAGMENTED_SHARE`] | 1 % | as [`NOTICED_LOSS`]: each further fragment is a packet that can be lost |
//! | [`STARVED_SHARE`], [`STARVED_S`] | 1 %, 1 s | too little to work with, compared with the largest share in the group; a lost SYN is retransmitted after 1 s (RFC 6298) |
//! | [`CONCURRENT_SHARE`](crate::figures::CONCURRENT_SHARE) | 0.9 | flows of a group were active for nearly the same time: to a tenth, as [`NOTICED_JAIN`] |

mod best;
mod change;
mod change_words;
mod changes;
mod clause;
mod clocks;
mod facts;
mod group;
mod measure;
mod mtu;
mod named;
mod phrases;
mod setting;
mod table;
mod words;

pub use change::{Change, QueueSetting, SettingOwner};
pub use clause::{Better, Clause, Effect, Part};
pub use phrases::ASSUMED;
pub use setting::is_named;
pub(crate) use table::{GoalRow, table};

use crate::distrust;
use crate::figures::Row;
use crate::strings::Lang;
use measure::value_of;
use named::{NamedVariant, comparable, named};
use phrases::capital;
use result::measure::of_goal;
use result::{Measure, Run};
use units::Goal;

const NOTICED_SHARE: f64 = 0.05;
const NOTICED_TIMES: f64 = 1.2;
const NOTICED_DELAY_MS: f64 = 10.0;
const NOTICED_LOSS: f64 = 1.0;
const NOTICED_MOS: f64 = 0.3;
const NOTICED_JAIN: f64 = 0.1;
const MIN_DROPPED_SHARE: f64 = 0.0005;
const MIN_LOST_PERCENT: f64 = 0.1;
const AT_BOUND: f64 = 0.9;
const MIN_WAIT_SHARE: f64 = 0.03;
const MIN_RECOVERY_SHARE: f64 = 0.25;
const STANDING_RTT_RATIO: f64 = 1.5;
const MAX_GOODPUT_RATIO: f64 = 1.3;
const MIN_DELAY_SHARE: f64 = 0.5;
const COUNTED_TIMES: f64 = 1.5;
const MIN_FRAGMENTED_SHARE: f64 = 0.01;
const STARVED_SHARE: f64 = 0.01;
const STARVED_S: f64 = 1.0;
/// If more flows than this were measured one at a time, only the worst and the best are named.
const MAX_SINGLE_FLOWS: usize = 3;
/// Limiting factors that the facts name.
const MAX_LIMITATIONS: usize = 2;
/// Names in a list of a sentence; the others are counted.
const MAX_LISTED: usize = 3;

/// The story of a result, as data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// The goals that the variants are judged by, without those that were not measured.
    pub goals: Vec<JudgedBy>,
    /// The statements in order: what happened, then goal by goal what helps, then the comparison of the
    /// clocks.
    pub clauses: Vec<Clause>,
    /// The variants that the story is about, the baseline first: indices of the result and of its variant.
    pub about: Vec<[usize; 2]>,
    /// The baseline's flows were measured one at a time, and several are reported: each has an opening,
    /// facts and remedies of its own.
    pub alone: bool,
}

/// A goal with its measure.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedBy {
    pub goal: Goal,
    pub measure: Measure,
    /// The baseline's value, in the measure's unit; `None` if it was not measured.
    pub baseline: Option<f64>,
}

/// The story of labelled results. Empty if the results have no flows.
pub fn story(runs: &[(&str, &Run)]) -> Story {
    let all: Vec<NamedVariant> =
        runs.iter().enumerate().flat_map(|(i, (label, run))| named(i, label, run, runs.len() > 1)).collect();
    let only_run = match runs {
        [(_, run)] => Some(*run),
        _ => None,
    };
    let Some(baseline) = baseline(&all, only_run.and_then(|r| r.baseline.as_deref())) else {
        return Story::default();
    };
    let stated = only_run.map_or(&[][..], |r| &r.goals);
    let flows: Vec<&NamedVariant> = all.iter().filter(|n| n.at == baseline.at).collect();
    let (subjects, extremes) = if flows.len() > MAX_SINGLE_FLOWS {
        let (goal, ends) = extremes(&flows, stated);
        (ends.to_vec(), Some(Clause::Extremes { flows: flows.len(), goal }))
    } else {
        (flows, None)
    };
    let mut story = Story { about: vec![baseline.at], alone: subjects.len() > 1, ..Story::default() };
    for subject in subjects {
        let (goals, clauses) = part(subject, &all, stated);
        let new = |g: &JudgedBy, known: &[JudgedBy]| known.iter().all(|k| k.goal != g.goal);
        goals.into_iter().for_each(|g| {
            if new(&g, &story.goals) {
                story.goals.push(g)
            }
        });
        story.clauses.extend(clauses);
    }
    story.clauses.extend(extremes);
    story.clauses.extend(idle(baseline, &all));
    story.clauses.extend(clocks::agreement(&all, baseline.row.variant.clock));
    let better = story.clauses.iter().filter_map(|c| match c {
        Clause::Better(b) | Clause::AsGood(b) | Clause::Leads(b) => Some(b.at),
        _ => None,
    });
    for at in better {
        if !story.about.contains(&at) {
            story.about.push(at);
        }
    }
    story
}

/// The goals and the clauses for the baseline, or for one of its flows that was measured alone; without the
/// clocks.
fn part(baseline: &NamedVariant, all: &[NamedVariant], stated: &[Goal]) -> (Vec<JudgedBy>, Vec<Clause>) {
    let others = comparable(baseline, all);
    let goals = goals(stated, baseline, &others.list);
    let mut clauses = facts::opening(baseline, &goals);
    let nothing = matches!(clauses[..], [Clause::Nothing { .. }]);
    let too_big = mtu::facts(&baseline.row);
    let starved = facts::starved(&baseline.row).filter(|_| !nothing);
    let (fit, fed) = (too_big.is_empty(), starved.is_none());
    // A starved flow is not reported again as the one with the smallest share.
    let is_repeated = |c: &Clause| match (c, &starved) {
        (Clause::Unfair { least, .. }, Some(Clause::Starved { flow, .. })) => least.0 == *flow,
        _ => false,
    };
    let mut facts = if nothing { Vec::new() } else { facts::facts(&baseline.row, &goals) };
    // A path where packets were too big or flows starved is not clean.
    facts.retain(|c| (*c != Clause::Clean || (fit && fed)) && !is_repeated(c));
    clauses.extend(starved);
    clauses.extend(too_big);
    clauses.extend(facts);
    for judged in &goals {
        clauses.extend(best::remedies(judged, baseline, &others));
    }
    clauses.extend(best::same(baseline, &others));
    clauses.extend(best::other_flows(baseline, all, &others));
    (goals, clauses)
}

/// The worst and the best of the flows that were measured one at a time: by the first goal if all of them
/// have a value, else by goodput.
fn extremes<'a, 'b>(flows: &[&'b NamedVariant<'a>], stated: &[Goal]) -> (Goal, [&'b NamedVariant<'a>; 2]) {
    let values_of =
        |measure: &Measure| flows.iter().map(|n| value_of(measure, &n.row)).collect::<Option<Vec<f64>>>();
    let known = stated.iter().take(1).flat_map(|&g| of_goal(g).into_iter().map(move |m| (g, m)));
    let mut known = known.filter(|(g, _)| *g != Goal::Goodput);
    let found = known.find_map(|(g, m)| Some((g, m.prefers_larger(), values_of(&m)?)));
    let goodput = || (Goal::Goodput, true, flows.iter().map(|n| n.row.goodput()).collect());
    let (goal, prefers_larger, values) = found.unwrap_or_else(goodput);
    let good = |i: &usize| if prefers_larger { values[*i] } else { -values[*i] };
    let by = |a: &usize, b: &usize| good(a).total_cmp(&good(b));
    let (worst, best) = ((0..flows.len()).min_by(by), (0..flows.len()).max_by(by));
    (goal, [flows[worst.unwrap_or(0)], flows[best.unwrap_or(0)]])
}

/// The other variants on the baseline's clock in which no payload arrived, if there are any.
fn idle(baseline: &NamedVariant, all: &[NamedVariant]) -> Option<Clause> {
    let is_other =
        |n: &&NamedVariant| n.row.variant.clock == baseline.row.variant.clock && n.at != baseline.at;
    let is_idle = |n: &&NamedVariant| n.row.flows().iter().all(|f| f.goodput_mbps <= 0.0);
    let variants: Vec<String> = all.iter().filter(is_other).filter(is_idle).map(|n| n.name.clone()).collect();
    (!variants.is_empty()).then_some(Clause::Idle { variants })
}

/// The variant of this name, else the first one. With flows measured one at a time, its first flow.
fn baseline<'a, 'b>(all: &'b [NamedVariant<'a>], name: Option<&str>) -> Option<&'b NamedVariant<'a>> {
    let clock = all.first()?.row.variant.clock;
    let is = |n: &&NamedVariant| n.row.variant.clock == clock && Some(n.row.variant.name.as_str()) == name;
    all.iter().find(is).or(all.first())
}

/// The stated goals that were measured in the baseline or in another variant; else goodput.
fn goals(stated: &[Goal], baseline: &NamedVariant, others: &[&NamedVariant]) -> Vec<JudgedBy> {
    let measured = |goal: Goal| {
        let measured_by = |row: &Row| of_goal(goal).into_iter().find(|m| value_of(m, row).is_some());
        let measure =
            measured_by(&baseline.row).or_else(|| others.iter().find_map(|n| measured_by(&n.row)))?;
        let value = value_of(&measure, &baseline.row);
        Some(JudgedBy { goal, measure, baseline: value })
    };
    let found = |goals: &[Goal]| -> Vec<JudgedBy> { goals.iter().filter_map(|&g| measured(g)).collect() };
    // Probes carry no payload, so results of probes alone are judged by delay.
    let each = [stated, &[Goal::Goodput], &[Goal::Delay]];
    each.into_iter().map(found).find(|goals| !goals.is_empty()).unwrap_or_default()
}

/// The English headline of a run ([`Run::headline`]) and its facts ([`Run::facts`]). Untrustworthy
/// measurements are named first. The headline is `None` if the run has no flows.
pub fn headline(run: &Run) -> (Option<String>, Vec<String>) {
    let story = story(&[("", run)]);
    let plain = |text: String| text.replace(['\u{2068}', '\u{2069}'], "").replace('\u{a0}', " ");
    let text = plain(story.headline(Lang::En));
    let warnings: String = distrust(run, Lang::En).iter().map(|why| format!("{}. ", capital(why))).collect();
    let facts = story.facts(Lang::En).into_iter().map(plain).collect();
    ((!text.is_empty()).then(|| warnings + &text), facts)
}

#[cfg(test)]
mod tests;
