//! Finds the variants that do better by a goal, what they cost, and which differences repeats do not confirm.

use super::JudgedBy;
use super::changes::changes;
use super::clause::{Better, Clause, Effect};
use super::measure::{compared, is_ahead, is_chance, noticed, value_of};
use super::named::{NamedVariant, Others};
use crate::figures::Row;
use result::{FlowResult, Measure, Quantity, Subject};
use std::collections::BTreeMap;
use units::Goal;

/// Variants that are named for a measure other than the goal.
const MAX_LEADING: usize = 2;

/// The clauses on the other variants by one goal: the best one and, if it has a cost, the best one with a
/// smaller cost; else one that is equally good and better by another goal; else that none is better. Then the
/// variants that are best by another measure, and those whose difference repeats do not confirm. Empty
/// without other variants.
pub(super) fn remedies(judged: &JudgedBy, baseline: &NamedVariant, others: &Others) -> Vec<Clause> {
    let (goal, measure) = (judged.goal, &judged.measure);
    let (mut list, mut open): (Vec<Better>, Vec<Better>) = (Vec::new(), Vec::new());
    for other in others.list.iter().filter(|other| !is_same(&baseline.row, &other.row)) {
        let Some(better) = compare_with(goal, measure, baseline, other) else { continue };
        let differs = is_ahead(measure, better.effect.was, better.effect.is)
            || is_ahead(measure, better.effect.is, better.effect.was);
        if differs && is_chance(measure, &baseline.row, &other.row) {
            open.push(better.clone());
        }
        list.push(better);
    }
    if list.is_empty() {
        return Vec::new();
    }
    let is_open = |b: &Better| open.iter().any(|o| o.at == b.at);
    let is_as_good = |b: &&Better| is_open(b) || !is_ahead(measure, b.effect.is, b.effect.was);
    let ahead: Vec<&Better> =
        list.iter().filter(|b| is_ahead(measure, b.effect.was, b.effect.is) && !is_open(b)).collect();
    let mut clauses: Vec<Clause> = match top(measure, &ahead) {
        Some(best) => {
            let fewer = || ahead.iter().copied().filter(|b| b.costs.len() < best.costs.len());
            let free: Vec<&Better> = fewer().filter(|b| b.costs.is_empty()).collect();
            let near: Vec<&Better> =
                fewer().filter(|b| !is_ahead(measure, b.effect.is, best.effect.is)).collect();
            let gentle = top(measure, &free).or_else(|| top(measure, &near));
            [Some(best), gentle].into_iter().flatten().cloned().map(Clause::Better).collect()
        }
        None => {
            // Of those with equally many gains, the first in the scenario's order.
            let free = list.iter().filter(|b| is_as_good(b) && b.costs.is_empty() && !b.gains.is_empty());
            let gentle = free.rev().max_by_key(|b| b.gains.len()).cloned().map(Clause::AsGood);
            let all = others.all && list.len() == others.list.len();
            vec![gentle.unwrap_or(Clause::Best { goal, others: list.len(), all })]
        }
    };
    clauses.extend(leads(&clauses, &list));
    if !open.is_empty() {
        clauses.push(Clause::Open {
            goal,
            measure: measure.clone(),
            was: judged.baseline,
            variants: open.iter().map(|b| (b.variant.clone(), b.effect.is)).collect(),
            repeats: baseline.row.variant.repeats.as_ref().map_or(1, |r| r.n),
        });
    }
    clauses
}

/// Variants that are the best by a measure other than the goal, and noticeably better by it than the variants
/// already named. Each comes with the measures by which it is the best.
fn leads(named: &[Clause], list: &[Better]) -> Vec<Clause> {
    let named: Vec<&Better> = named
        .iter()
        .filter_map(|c| match c {
            Clause::Better(b) | Clause::AsGood(b) => Some(b),
            _ => None,
        })
        .collect();
    fn gain<'b>(b: &'b Better, m: &Measure) -> Option<&'b Effect> {
        b.gains.iter().find(|e| e.measure == *m)
    }
    let mut winners: Vec<(usize, Effect)> = Vec::new();
    for measure in compared() {
        let all = list.iter().enumerate().filter_map(|(i, b)| Some((i, b, gain(b, &measure)?)));
        let best = all.reduce(|a, b| if measure.is_better(b.2.is, a.2.is) { b } else { a });
        let Some((i, b, effect)) = best else { continue };
        let mut known = named.iter().filter_map(|n| gain(n, &measure));
        let is_named = named.iter().any(|n| n.at == b.at);
        if is_named || known.any(|other| noticed(&measure, other.is, effect.is) != Some(true)) {
            continue;
        }
        winners.push((i, effect.clone()));
    }
    let mut leading: Vec<usize> = winners.iter().map(|(i, _)| *i).collect();
    leading.dedup();
    let gains_of =
        |i: &usize| winners.iter().filter(|(j, _)| j == i).map(|(_, e)| e.clone()).collect::<Vec<_>>();
    leading
        .iter()
        .take(MAX_LEADING)
        .map(|i| Clause::Leads(Better { gains: gains_of(i), ..list[*i].clone() }))
        .collect()
}

/// The variants whose results are identical to the baseline's.
pub(super) fn same(baseline: &NamedVariant, others: &Others) -> Option<Clause> {
    let same: Vec<&&NamedVariant> =
        others.list.iter().filter(|other| is_same(&baseline.row, &other.row)).collect();
    let first = same.first()?;
    Some(Clause::Same {
        baseline: baseline.name.clone(),
        variants: same.iter().map(|n| n.name.clone()).collect(),
        changes: changes(&baseline.row, &first.row),
    })
}

/// Whether two rows have identical measurements.
fn is_same(a: &Row, b: &Row) -> bool {
    let flows = |row: &Row| -> Vec<FlowResult> {
        let bare = |f: &FlowResult| FlowResult { limit_mbps: None, ..f.clone() };
        row.flows().into_iter().map(bare).collect()
    };
    let pooled = |row: &Row| (row.variant.completion_s, row.variant.response_s, row.variant.page_s);
    let simulated = |row: &Row| row.variant.clock == result::Clock::Sim && row.flow.is_none();
    simulated(a) && simulated(b) && flows(a) == flows(b) && pooled(a) == pooled(b)
}

/// Variants with other flows, each with the flow in common that changed most.
pub(super) fn other_flows(baseline: &NamedVariant, all: &[NamedVariant], compared: &Others) -> Vec<Clause> {
    let is_other = |n: &&NamedVariant| {
        n.at != baseline.at
            && n.row.variant.clock == baseline.row.variant.clock
            && !compared.list.iter().any(|c| c.at == n.at)
    };
    let compare = |n: &NamedVariant| {
        let (before, after) = (by_name(&baseline.row), by_name(&n.row));
        let common = before.iter().filter(|(name, was)| after.contains_key(*name) && **was > 0.0);
        let effects = common.map(|(name, &was)| Effect { measure: flow_goodput(name), was, is: after[name] });
        let most = effects.max_by(|a, b| (a.is / a.was).ln().abs().total_cmp(&(b.is / b.was).ln().abs()))?;
        let different = before.keys().ne(after.keys());
        (different && noticed(&most.measure, most.was, most.is).is_some())
            .then(|| Clause::OtherFlows { variant: n.name.clone(), effect: most })
    };
    all.iter().filter(is_other).filter_map(compare).collect()
}

fn flow_goodput(name: &str) -> Measure {
    Measure::new(Quantity::Goodput).of_subject(Subject::Flow(name.into()))
}

/// The best variant by the goal; among equals, the one with the fewest costs.
fn top<'a>(measure: &Measure, list: &[&'a Better]) -> Option<&'a Better> {
    let value = |b: &Better| if measure.prefers_larger() { -b.effect.is } else { b.effect.is };
    let costs = |b: &Better| b.costs.len();
    list.iter().copied().min_by(|a, b| value(a).total_cmp(&value(b)).then(costs(a).cmp(&costs(b))))
}

/// The value of a baseline without a measured one: the worst possible; `None` for measures without a worst
/// value.
fn worst(measure: &Measure) -> Option<f64> {
    use Quantity::*;
    match measure.quantity {
        Goodput => Some(0.0),
        Completion | Response | Page => Some(f64::INFINITY),
        _ => None,
    }
}

/// A variant's effect by the goal, with all other noticeable gains and costs.
fn compare_with(
    goal: Goal,
    measure: &Measure,
    baseline: &NamedVariant,
    other: &NamedVariant,
) -> Option<Better> {
    let (was, is) = (value_of(measure, &baseline.row), value_of(measure, &other.row)?);
    let was = was.or(worst(measure))?;
    let effect = Effect { measure: measure.clone(), was, is };
    let (gains, costs) = effects(measure, &baseline.row, &other.row);
    let changes = changes(&baseline.row, &other.row);
    Some(Better { goal, variant: other.name.clone(), at: other.at, changes, effect, gains, costs })
}

/// Noticeable gains and costs by other measures. A difference that repeats do not confirm is neither.
fn effects(goal: &Measure, was: &Row, is: &Row) -> (Vec<Effect>, Vec<Effect>) {
    let mut found: Vec<Effect> = Vec::new();
    for measure in compared().into_iter().filter(|m| m != goal) {
        // Retransmissions say the same as losses, if losses are known.
        let known =
            |row: &Row| value_of(&Measure::new(Quantity::Lost).of_subject(Subject::Tcp), row).is_some();
        if measure.quantity == Quantity::ResentShare && known(was) && known(is) {
            continue;
        }
        if let (Some(a), Some(b)) = (value_of(&measure, was), value_of(&measure, is))
            && !is_chance(&measure, was, is)
        {
            found.push(Effect { measure, was: a, is: b });
        }
    }
    found.extend(poorest(was, is));
    let better = |wanted: bool| move |e: &&Effect| noticed(&e.measure, e.was, e.is) == Some(wanted);
    let gains: Vec<Effect> = found.iter().filter(better(true)).cloned().collect();
    let costs: Vec<Effect> = found.iter().filter(better(false)).cloned().collect();
    let measures: Vec<Measure> =
        gains.iter().chain(&costs).map(|e| e.measure.clone()).chain([goal.clone()]).collect();
    (without_implied(&measures, gains), without_implied(&measures, costs))
}

/// Removes the effects that another one of `measures` implies.
fn without_implied(measures: &[Measure], mut list: Vec<Effect>) -> Vec<Effect> {
    use Quantity::*;
    let has = |quantity: Quantity| measures.iter().any(|m| m.quantity == quantity);
    let implied = |m: &Measure| match (&m.subject, m.quantity) {
        (_, Delay) => has(Mos),
        (Subject::Datagrams, Goodput) => {
            measures.contains(&Measure::new(Lost).of_subject(Subject::Datagrams))
        }
        // When shares become more equal, some flow gets less than before.
        (Subject::Flow(_), Goodput) => has(Jain),
        _ => false,
    };
    list.retain(|e| !implied(&e.measure));
    list
}

/// If there are several names of flows: the one whose flows together lost the largest share of their goodput.
fn poorest(was: &Row, is: &Row) -> Option<Effect> {
    let (before, after) = (by_name(was), by_name(is));
    let effects = before.iter().filter(|(_, was)| **was > 0.0).map(|(name, &was)| Effect {
        measure: flow_goodput(name),
        was,
        is: after.get(name).copied().unwrap_or(0.0),
    });
    let poorest = effects.min_by(|a, b| (a.is / a.was).total_cmp(&(b.is / b.was)));
    poorest.filter(|e| before.len() > 1 && e.is < e.was && !is_chance(&e.measure, was, is))
}

/// Goodput of TCP flows by name. The connections of a flow with a `count`, `name-1` to `name-n`, are summed
/// up.
fn by_name(row: &Row) -> BTreeMap<String, f64> {
    let mut counted: BTreeMap<&str, Vec<(u64, f64)>> = BTreeMap::new();
    let tcp: Vec<&FlowResult> = row.flows().into_iter().filter(|f| !f.is_udp()).collect();
    let number = |f: &FlowResult| f.name.rsplit_once('-')?.1.parse().ok();
    let base = |f: &'_ FlowResult| f.name.rsplit_once('-').map_or(0, |n| n.0.len());
    for flow in &tcp {
        if let Some(n) = number(flow) {
            counted.entry(&flow.name[..base(flow)]).or_default().push((n, flow.goodput_mbps));
        }
    }
    counted.retain(|_, list| list.len() > 1 && list.iter().zip(1..).all(|(&(n, _), i)| n == i));
    let is_counted = |f: &FlowResult| number(f).is_some() && counted.contains_key(&f.name[..base(f)]);
    let alone = tcp.iter().filter(|f| !is_counted(f)).map(|f| (f.name.clone(), f.goodput_mbps));
    let together = counted.iter().map(|(name, list)| (name.to_string(), list.iter().map(|x| x.1).sum()));
    alone.chain(together).collect()
}
