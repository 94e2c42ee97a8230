//! The headline of a result and its facts: what the baseline got, what holds it, and which variant does better by the goal that
//! it is judged by; then, a sentence each, the numbers that this rests on, what the better variant gains and costs, and what
//! repeats leave open. Every clause is a fact of the result; one that does not hold is not said.
//!
//! It is made as data first ([`Clause`]) and worded then, in English and Chinese. What holds the flows is measured by runs
//! without it ([`result::Holder`]); where there are no such runs, what was seen is said and no cause is named. Compared are
//! the variants on the first clock with the baseline's flows, those first that meet no higher limit: more capacity is not a
//! cure. Of repeats a difference counts that its paired interval shows. Older results, and several results together, are
//! judged by goodput next to the first variant.
//!
//! | threshold | value | why this |
//! |---|---|---|
//! | [`ALIKE`] | 5 % | simulator and kernel are nearer than this in 92 % of the exact emulator's cells (docs/fidelity.md) |
//! | [`NOTICED_TIMES`] | 1.2 | durations nearer than this are not told apart (Seow, Designing and Engineering Time, 2008: 20 %) |
//! | [`NOTICED_DELAY_MS`] | 10 ms | half a packet of speech (RFC 3551 section 4.2) |
//! | [`NOTICED_LOSS`] | 1 point | what ITU-T G.1010 table I.1 allows of video calls |
//! | [`NOTICED_MOS`] | 0.3 | narrower than any category of ITU-T G.109 table 1 (4.34, 4.03, 3.60, 3.10) |
//! | [`NOTICED_JAIN`] | 0.1 | from equal shares to two flows of which one gets twice the other's |
//! | [`DROPPED`] | 0.05 % | prints as 0.1 % at one decimal |
//! | [`LOST`] | 0.1 % | less than this TCP at 100 ms hardly feels up to 4 Mbit/s (Mathis et al. 1997) |
//! | [`AT_BOUND`] | 0.9 | TCP through a queue of a quarter of the bandwidth-delay product keeps about 95 %, and headers are 3.5 % |
//! | [`WAITED`], [`REPAIRED`] | 3 %, 25 % | less of the time than what is ALIKE in goodput; half of it at half the rate |
//! | [`STOOD`] | 1.5 | round trips this much longer than the shortest: half as much waiting as travelling |
//! | [`LIKE`] | 1.3 | what a part of a run yields and what all of it does: slow start alone costs a short run that much |
//! | [`REASON`] | 0.5 | a queue that never held a packet for half of what round trips grew by is not what they grew by |
//! | [`COUNTED_TIMES`] | 1.5 | what both clocks send again is nearer in 29 of 30 cells (docs/fidelity.md); and twice their scatter by chance |
//! | [`FRAGMENTED`] | 1 % | as [`NOTICED_LOSS`]: a fragment more is a packet that can be lost |
//! | [`STARVED`], [`STARVED_S`] | 1 %, 1 s | of what the first of a group got, nothing to work with; a lost SYN is sent again after 1 s (RFC 6298) |
//! | [`ACTIVE`](crate::figures::ACTIVE) | 0.9 | flows of a group were there for nearly the same time: the tenth that [`NOTICED_JAIN`] is |

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

pub use change::{Change, QueueSetting, SettingOf};
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

const ALIKE: f64 = 0.05;
const NOTICED_TIMES: f64 = 1.2;
const NOTICED_DELAY_MS: f64 = 10.0;
const NOTICED_LOSS: f64 = 1.0;
const NOTICED_MOS: f64 = 0.3;
const NOTICED_JAIN: f64 = 0.1;
const DROPPED: f64 = 0.0005;
const LOST: f64 = 0.1;
const AT_BOUND: f64 = 0.9;
const WAITED: f64 = 0.03;
const REPAIRED: f64 = 0.25;
const STOOD: f64 = 1.5;
const LIKE: f64 = 1.3;
const REASON: f64 = 0.5;
const COUNTED_TIMES: f64 = 1.5;
const FRAGMENTED: f64 = 0.01;
const STARVED: f64 = 0.01;
const STARVED_S: f64 = 1.0;
/// Of more flows that were measured one at a time only the worst and the best are named.
const MOST_ALONE: usize = 3;
/// Holders that facts name.
const MOST_HOLDERS: usize = 2;
/// Variants that a list in a sentence names.
const MOST_OPEN: usize = 3;

/// What is told of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// What the variants are judged by; goals that nothing was measured of are left out.
    pub goals: Vec<JudgedBy>,
    /// The statements, in the order in which they are said: what happened, then goal by goal what helps, then the clocks.
    pub clauses: Vec<Clause>,
    /// Which variants it is about, the baseline first: indexes of the result and of its variant.
    pub about: Vec<[usize; 2]>,
    /// It is about several flows of the baseline that were measured one at a time: each has its opening, its facts and what
    /// helps.
    pub alone: bool,
}

/// A goal and how it is measured here.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedBy {
    /// What the variants are judged by.
    pub goal: Goal,
    /// How that is measured.
    pub measure: Measure,
    /// The baseline's value, in the measure's unit, if it has one.
    pub baseline: Option<f64>,
}

/// The story of results with their labels. Empty where there is no flow at all.
pub fn story(runs: &[(&str, &Run)]) -> Story {
    let all: Vec<NamedVariant> =
        runs.iter().enumerate().flat_map(|(i, (label, run))| named(i, label, run, runs.len() > 1)).collect();
    let told = match runs {
        [(_, run)] => Some(*run),
        _ => None,
    };
    let Some(baseline) = baseline(&all, told.and_then(|r| r.baseline.as_deref())) else {
        return Story::default();
    };
    let stated = told.map_or(&[][..], |r| &r.goals);
    let flows: Vec<&NamedVariant> = all.iter().filter(|n| n.at == baseline.at).collect();
    let (told, extremes) = if flows.len() > MOST_ALONE {
        let (goal, ends) = extremes(&flows, stated);
        (ends.to_vec(), Some(Clause::Extremes { flows: flows.len(), goal }))
    } else {
        (flows, None)
    };
    let mut story = Story { about: vec![baseline.at], alone: told.len() > 1, ..Story::default() };
    for subject in told {
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

/// What is told of the baseline, or of one of its flows that was measured alone: what it is judged by, and all but the clocks.
fn part(baseline: &NamedVariant, all: &[NamedVariant], stated: &[Goal]) -> (Vec<JudgedBy>, Vec<Clause>) {
    let others = comparable(baseline, all);
    let goals = goals(stated, baseline, &others.list);
    let mut clauses = facts::opening(baseline, &goals);
    let nothing = matches!(clauses[..], [Clause::Nothing { .. }]);
    let too_big = mtu::facts(&baseline.row);
    let starved = facts::starved(&baseline.row).filter(|_| !nothing);
    let (fit, fed) = (too_big.is_empty(), starved.is_none());
    // Who got nothing is not told again as who got least.
    let again = |c: &Clause| match (c, &starved) {
        (Clause::Unfair { least, .. }, Some(Clause::Starved { flow, .. })) => least.0 == *flow,
        _ => false,
    };
    let mut facts = if nothing { Vec::new() } else { facts::facts(&baseline.row, &goals) };
    // What was too big is no clean path.
    facts.retain(|c| (*c != Clause::Clean || (fit && fed)) && !again(c));
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

/// The worst and the best of flows that were measured one at a time, by the first goal that all of them have a value of,
/// else by goodput.
fn extremes<'a, 'b>(flows: &[&'b NamedVariant<'a>], stated: &[Goal]) -> (Goal, [&'b NamedVariant<'a>; 2]) {
    let of =
        |measure: &Measure| flows.iter().map(|n| value_of(measure, &n.row)).collect::<Option<Vec<f64>>>();
    let known = stated.iter().take(1).flat_map(|&g| of_goal(g).into_iter().map(move |m| (g, m)));
    let mut known = known.filter(|(g, _)| *g != Goal::Goodput);
    let found = known.find_map(|(g, m)| Some((g, m.is_better_large(), of(&m)?)));
    let goodput = || (Goal::Goodput, true, flows.iter().map(|n| n.row.goodput()).collect());
    let (goal, up, values) = found.unwrap_or_else(goodput);
    let good = |i: &usize| if up { values[*i] } else { -values[*i] };
    let by = |a: &usize, b: &usize| good(a).total_cmp(&good(b));
    let (worst, best) = ((0..flows.len()).min_by(by), (0..flows.len()).max_by(by));
    (goal, [flows[worst.unwrap_or(0)], flows[best.unwrap_or(0)]])
}

/// The variant of this name; else the first. Of flows measured one at a time its first flow.
fn baseline<'a, 'b>(all: &'b [NamedVariant<'a>], name: Option<&str>) -> Option<&'b NamedVariant<'a>> {
    let clock = all.first()?.row.variant.clock;
    let is = |n: &&NamedVariant| n.row.variant.clock == clock && Some(n.row.variant.name.as_str()) == name;
    all.iter().find(is).or(all.first())
}

/// The stated goals that something was measured of, in the baseline or in another; else goodput.
fn goals(stated: &[Goal], baseline: &NamedVariant, others: &[&NamedVariant]) -> Vec<JudgedBy> {
    let measured = |goal: Goal| {
        let of = |row: &Row| of_goal(goal).into_iter().find(|m| value_of(m, row).is_some());
        let measure = of(&baseline.row).or_else(|| others.iter().find_map(|n| of(&n.row)))?;
        let value = value_of(&measure, &baseline.row);
        Some(JudgedBy { goal, measure, baseline: value })
    };
    let found = |goals: &[Goal]| -> Vec<JudgedBy> { goals.iter().filter_map(|&g| measured(g)).collect() };
    // Probes alone carry nothing that counts: they measure.
    let each = [stated, &[Goal::Goodput], &[Goal::Delay]];
    each.into_iter().map(found).find(|goals| !goals.is_empty()).unwrap_or_default()
}

/// The headline of a run and its facts, in English: [`Run::headline`], [`Run::facts`]. What was measured and is not to be
/// trusted comes first. `None` where there is no flow.
pub fn headline(run: &Run) -> (Option<String>, Vec<String>) {
    let story = story(&[("", run)]);
    let plain = |text: String| text.replace(['\u{2068}', '\u{2069}'], "").replace('\u{a0}', " ");
    let text = plain(story.headline(Lang::En));
    let untrusted: String = distrust(run, Lang::En).iter().map(|why| format!("{}. ", capital(why))).collect();
    let facts = story.facts(Lang::En).into_iter().map(plain).collect();
    ((!text.is_empty()).then(|| untrusted + &text), facts)
}

#[cfg(test)]
mod tests;
