//! Which variant does best by a goal, and at what cost.

use super::changes::changes;
use super::clause::{Better, Clause, Effect};
use super::measure::Measure;
use super::named::{NamedVariant, Others};
use super::{DROPPED, JudgedBy};
use crate::figures::Row;
use result::FlowResult;
use std::collections::BTreeMap;
use units::Goal;

/// The best variant by the goal, and where that costs something, the best that costs nothing; else one that is as good by
/// the goal and better by something else; else that the baseline is the best. Nothing where nothing is compared.
pub(super) fn remedies(
    &JudgedBy { goal, measure, .. }: &JudgedBy,
    baseline: &NamedVariant,
    others: &Others,
) -> Vec<Clause> {
    let tried: Vec<Better> =
        others.list.iter().filter_map(|other| tried(goal, measure, baseline, other)).collect();
    if tried.is_empty() {
        return Vec::new();
    }
    let ahead: Vec<&Better> = tried.iter().filter(|b| measure.is_ahead(b.effect.was, b.effect.is)).collect();
    if let Some(best) = top(measure, &ahead) {
        let free: Vec<&Better> = ahead.into_iter().filter(|b| b.costs.is_empty()).collect();
        let gentle = top(measure, &free).filter(|_| !best.costs.is_empty());
        return [Some(best), gentle].into_iter().flatten().cloned().map(Clause::Better).collect();
    }
    let as_good = |b: &&Better| {
        !measure.is_ahead(b.effect.is, b.effect.was) && b.costs.is_empty() && !b.gains.is_empty()
    };
    // Of those that gain as many things the first one: they are in the scenario's order.
    let gentle = tried.iter().filter(as_good).rev().max_by_key(|b| b.gains.len());
    let best =
        Clause::Best { goal, others: tried.len(), all: others.all && tried.len() == others.list.len() };
    vec![gentle.cloned().map_or(best, Clause::AsGood)]
}

/// The best by the goal; among those that are alike the one that costs least, then the best.
fn top<'a>(measure: Measure, list: &[&'a Better]) -> Option<&'a Better> {
    let value = |b: &Better| if measure.is_better_large() { -b.effect.is } else { b.effect.is };
    let first = list.iter().copied().min_by(|a, b| value(a).total_cmp(&value(b)))?;
    let near = list.iter().copied().filter(|b| !measure.is_ahead(b.effect.is, first.effect.is));
    near.min_by(|a, b| a.costs.len().cmp(&b.costs.len()).then(value(a).total_cmp(&value(b))))
}

/// What a baseline got that got nothing of it; `None` where nothing measured is not the worst.
fn worst(measure: Measure) -> Option<f64> {
    use Measure::*;
    match measure {
        TcpGoodput | UdpGoodput => Some(0.0),
        Completion | Response | Page => Some(f64::INFINITY),
        _ => None,
    }
}

/// What another variant does by the goal, and all that differs to speak of.
fn tried(goal: Goal, measure: Measure, baseline: &NamedVariant, other: &NamedVariant) -> Option<Better> {
    let (was, is) = (measure.of(&baseline.row), measure.of(&other.row)?);
    let was = was.or(worst(measure))?;
    let effect = Effect { measure, flow: None, was, is };
    let (gains, costs) = effects(measure, &baseline.row, &other.row);
    let told = |list: &[Effect]| list.iter().any(|e| e.measure == Measure::TcpLoss);
    let loses = Measure::TcpLoss.of(&other.row).filter(|&l| l >= DROPPED && !told(&gains) && !told(&costs));
    let changes = changes(&baseline.row, &other.row);
    Some(Better { goal, variant: other.name.clone(), at: other.at, changes, effect, gains, loses, costs })
}

/// What is better and what is worse by other measures.
fn effects(goal: Measure, was: &Row, is: &Row) -> (Vec<Effect>, Vec<Effect>) {
    let mut found: Vec<Effect> = Vec::new();
    for measure in Measure::ALL.into_iter().filter(|&m| m != goal) {
        if let (Some(was), Some(is)) = (measure.of(was), measure.of(is)) {
            found.push(Effect { measure, flow: None, was, is });
        }
    }
    found.extend(poorest(was, is));
    let worse = |e: &Effect| e.measure.noticed(e.was, e.is) == Some(false);
    let (costs, rest): (Vec<Effect>, Vec<Effect>) = found.into_iter().partition(worse);
    let gains = rest.into_iter().filter(|e| e.measure.noticed(e.was, e.is) == Some(true));
    (briefly(goal, gains.collect(), 2), briefly(goal, costs, usize::MAX))
}

/// Without what another of them says already.
fn briefly(goal: Measure, mut list: Vec<Effect>, most: usize) -> Vec<Effect> {
    use Measure::*;
    let told: Vec<Measure> = list.iter().map(|e| e.measure).chain([goal]).collect();
    let implied = |m: Measure| match m {
        SlowestRtt => told.contains(&Rtt),
        OneWay => told.contains(&Mos),
        UdpGoodput => told.contains(&UdpLoss),
        FlowGoodput => told.contains(&Jain),
        _ => false,
    };
    list.retain(|e| !implied(e.measure));
    list.truncate(most);
    list
}

/// Of several names of flows that one whose flows together lost the largest share of what they carried.
fn poorest(was: &Row, is: &Row) -> Option<Effect> {
    let (before, after) = (by_name(was), by_name(is));
    let effects = before.iter().filter(|(_, was)| **was > 0.0).map(|(name, &was)| Effect {
        measure: Measure::FlowGoodput,
        flow: Some(name.clone()),
        was,
        is: after.get(name).copied().unwrap_or(0.0),
    });
    let poorest = effects.min_by(|a, b| (a.is / a.was).total_cmp(&(b.is / b.was)));
    poorest.filter(|e| before.len() > 1 && e.is < e.was)
}

/// Goodput of TCP flows by name; the flows of a count, which are `name-1` to `name-n`, together.
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
