//! The baseline's clauses: what it got, what limits it, and what was observed on the path.

use super::clause::{Clause, Part};
use super::group::{disjoint, groups};
use super::measure::value_of;
use super::named::NamedVariant;
use super::phrases::ASSUMED;
use super::{
    AT_BOUND, JudgedBy, MAX_GOODPUT_RATIO, MAX_LIMITATIONS, MIN_DELAY_SHARE, MIN_DROPPED_SHARE,
    MIN_LOST_PERCENT, MIN_RECOVERY_SHARE, MIN_WAIT_SHARE, NOTICED_DELAY_MS, NOTICED_JAIN, NOTICED_TIMES,
    STANDING_RTT_RATIO, STARVED_S, STARVED_SHARE,
};
use crate::figures::Row;
use result::measure::connections;
use result::topology::{PathLink, PathStage};
use result::{
    ElementResult, FlowKind, FlowResult, Limitation, LimitationEffect, LimitationKind, Measure, Quantity,
    Subject, TimesSummary, TriedSuspect,
};
use units::{Goal, Span};

/// The opening clauses: the baseline's value of the first goal.
pub(super) fn opening(baseline: &NamedVariant, goals: &[JudgedBy]) -> Vec<Clause> {
    let (row, variant) = (&baseline.row, baseline.name.clone());
    let carried = |subject| value_of(&Measure::new(Quantity::Goodput).of_subject(subject), row);
    let (tcp, udp) = (carried(Subject::Tcp), carried(Subject::Datagrams));
    if row.flows().iter().all(|f| f.goodput_mbps <= 0.0) {
        return vec![Clause::Nothing { variant }];
    }
    let carries = || match by_path(row) {
        parts if parts.is_empty() => Clause::Carries {
            variant: variant.clone(),
            tcp,
            udp,
            limit: limit(row),
            varies: limit(row).is_some() && varies(row),
        },
        parts => Clause::CarriesByPath { variant: variant.clone(), parts },
    };
    let other = goals.first().filter(|g| g.goal != Goal::Goodput);
    let Some((measure, value)) = other.and_then(|g| Some((g.measure.clone(), g.baseline?))) else {
        return vec![carries()];
    };
    let completion = measure.quantity == Quantity::Completion;
    let mut list = vec![Clause::Has { variant: variant.clone(), measure, value }];
    if completion {
        list.extend(
            row.variant.completion_s.filter(|t| row.flow.is_none() && t.unfinished > 0).map(unfinished),
        );
    }
    list
}

/// Goodput by path, if flows of one kind take paths that share no direction of a link; else empty.
fn by_path(row: &Row) -> Vec<Part> {
    if row.flow.is_some() {
        return Vec::new();
    }
    // For requests and pages a result does not record which side sends more.
    let is_one_way =
        |f: &&FlowResult| f.kind != FlowKind::Probe && !["request", "page"].contains(&f.app.as_str());
    let (udp, tcp): (Vec<&FlowResult>, Vec<&FlowResult>) =
        row.flows().into_iter().filter(is_one_way).partition(|f| f.is_udp());
    if tcp.len() + udp.len() < row.flows().iter().filter(|f| f.kind != FlowKind::Probe).count() {
        return Vec::new();
    }
    let held = if is_like_simulated(row) { &row.variant.limited_by[..] } else { &[] };
    let parts = |flows: Vec<&FlowResult>| -> Vec<Part> {
        let sets = disjoint(row.variant.path.as_ref(), &flows).into_iter();
        sets.map(|set| Part {
            flow: set[0].name.clone(),
            more: set.len() - 1,
            datagrams: set[0].is_udp(),
            mbps: set.iter().map(|f| f.goodput_mbps).sum(),
            limit: set[0].limit_mbps.filter(|&l| set.len() == 1 && l > 0.0),
            limitation: held.iter().find(|h| gains(h) && is_of(h, &set)).cloned(),
        })
        .collect()
    };
    let (tcp, udp) = (parts(tcp), parts(udp));
    let is_several = tcp.len() > 1 || udp.len() > 1;
    tcp.into_iter().chain(udp).filter(|_| is_several).collect()
}

/// Whether a limitation was found for these flows alone.
fn is_of(limitation: &Limitation, set: &[&FlowResult]) -> bool {
    limitation.flow.as_ref().is_some_and(|flow| set.iter().any(|f| is_connection(f, flow)))
}

/// Whether a flow's result belongs to this flow of the scenario, or to one of its connections.
fn is_connection(f: &FlowResult, flow: &str) -> bool {
    !connections(std::slice::from_ref(f), flow).is_empty()
}

fn unfinished(t: TimesSummary) -> Clause {
    Clause::Unfinished { unfinished: t.unfinished, all: t.count + t.unfinished }
}

/// The limit that all payload of the row shares.
fn limit(row: &Row) -> Option<f64> {
    row.limit().filter(|&l| l > 0.0)
}

/// Flows that carried nothing in the whole run, or next to nothing compared with another flow of their group.
pub(super) fn starved(row: &Row) -> Option<Clause> {
    let flows = row.flows();
    let by = |a: &&&FlowResult, b: &&&FlowResult| a.goodput_mbps.total_cmp(&b.goodput_mbps);
    let most = flows.iter().max_by(by).filter(|f| f.goodput_mbps > 0.0 && flows.len() > 1)?;
    // An application that pauses may have had nothing to send.
    let wants =
        |f: &FlowResult| f.sent_packets > 0 || ["", "bulk", "request", "page"].contains(&f.app.as_str());
    let nothing = |f: &FlowResult| f.delivered_bytes == 0 && wants(f);
    let groups = groups(row);
    let little = |f: &FlowResult| {
        let mine = groups.iter().filter(|g| g.iter().any(|other| std::ptr::eq(*other, f)));
        mine.flatten().any(|other| f.goodput_mbps < STARVED_SHARE * other.goodput_mbps)
    };
    let starved: Vec<&FlowResult> =
        flows.iter().copied().filter(|f| f.active_s >= STARVED_S && (nothing(f) || little(f))).collect();
    let least = starved.iter().min_by(by)?;
    let silent = starved.iter().all(|f| nothing(f));
    Some(Clause::Starved {
        flow: least.name.clone(),
        more: starved.len() - 1,
        mbps: starved.iter().map(|f| f.goodput_mbps).fold(0.0, f64::max),
        seconds: silent.then(|| starved.iter().map(|f| f.active_s).fold(f64::INFINITY, f64::min)),
        most: (most.name.clone(), most.goodput_mbps),
    })
}

/// Whether the path has a stage whose rate varies.
fn varies(row: &Row) -> bool {
    let links = row.variant.path.iter().flat_map(|p| &p.links);
    let mut stages = links.flat_map(|l| l.forward.iter().chain(&l.backward));
    stages.any(|s| ["train", "rate-trace"].contains(&s.kind.as_str()))
}

/// The limits and observations that matter for these goals: first those that runs without them measured, then
/// those that were observed, in the order of the goals.
pub(super) fn facts(row: &Row, goals: &[JudgedBy]) -> Vec<Clause> {
    let mut list = held(row);
    let measured = list.iter().any(|c| matches!(c, Clause::Held { .. }));
    for judged in goals {
        let found = match judged.goal {
            Goal::Goodput => vec![dropped(row), time_lost(row), queued(row), unfair(row)],
            Goal::Delay => vec![queued(row), dropped(row)],
            Goal::Completion | Goal::Page => vec![dropped(row), time_lost(row), queued(row)],
            Goal::Fairness => vec![unfair(row), dropped(row)],
        };
        for clause in found.into_iter().flatten() {
            // If the limiting factor is measured, the stage that dropped most adds nothing.
            let is_guess = matches!(clause, Clause::Dropped { .. }) && measured;
            if !is_guess && !list.contains(&clause) {
                list.push(clause);
            }
        }
    }
    // A standing queue says more than that no single change helps.
    if list.iter().any(|c| matches!(c, Clause::Queued { .. })) {
        list.retain(|c| !matches!(c, Clause::NoSuspectHelps { .. }));
    }
    if list.is_empty() {
        list.extend(without_findings(row));
    }
    list
}

/// The limits of the row's flows, the most costly first, at most [`MAX_LIMITATIONS`]. If parts of the flows
/// were searched separately, the main limit of each part. A row that its partial simulation does not
/// represent has none.
fn held(row: &Row) -> Vec<Clause> {
    let is_of_row = |flow: &Option<String>| match (row.flow, flow) {
        (Some(own), Some(flow)) => is_connection(own, flow),
        _ => true,
    };
    if !is_like_simulated(row) {
        return Vec::new();
    }
    let mut limitations: Vec<&Limitation> = Vec::new();
    let in_parts = |h: &Limitation| row.flow.is_none() && h.flow.is_some();
    for limitation in row.variant.limited_by.iter().filter(|h| is_of_row(&h.flow) && gains(h)) {
        let is_known = |h: &&Limitation| {
            if in_parts(limitation) { h.flow == limitation.flow } else { h.place == limitation.place }
        };
        if !limitations.iter().any(is_known) && (limitations.len() < MAX_LIMITATIONS || in_parts(limitation))
        {
            limitations.push(limitation);
        }
    }
    if !limitations.is_empty() {
        let clause = |(i, limitation): (usize, &Limitation)| {
            let of_part = in_parts(limitation);
            Clause::Held { limitation: limitation.clone(), most: i == 0 || of_part, of_part }
        };
        return limitations.into_iter().enumerate().map(clause).collect();
    }
    let search = row.variant.limitation_search.as_ref().filter(|s| s.unknown.is_none());
    let tried: Vec<&TriedSuspect> =
        search.iter().flat_map(|s| &s.tried).filter(|t| is_of_row(&t.flow)).collect();
    let gain = |t: &TriedSuspect| t.gain.unwrap_or(1.0);
    let best = tried.iter().copied().max_by(|a, b| gain(a).total_cmp(&gain(b)));
    if let Some(best) = best.filter(|t| gain(t) >= NOTICED_TIMES) {
        return vec![Clause::Perhaps { suspect: best.clone() }];
    }
    let mut places: Vec<(LimitationKind, &String)> = tried.iter().map(|t| (t.kind, &t.place)).collect();
    places.sort();
    places.dedup();
    let is_of_goodput = search.is_some_and(|s| s.measure.ends_with("goodput"));
    let at_limit = is_of_goodput && row.flows().iter().all(|f| is_at_limit(row, f));
    let all = !at_limit && !places.is_empty() && search.is_some_and(|s| s.untried.is_empty());
    all.then_some(Clause::NoSuspectHelps { tried: places.len() }).into_iter().collect()
}

/// Whether the simulated part of the scenario, in which limitations were searched for, had the goodput of the
/// whole run. If a flow loses its first packet after ten seconds, the first three do not show what limits it.
fn is_like_simulated(row: &Row) -> bool {
    let search = row.variant.limitation_search.as_ref().filter(|s| s.simulated_s.is_some());
    let Some((simulated, name)) = search.and_then(|s| Some((s.simulated?, &s.measure))) else { return true };
    let whole = Measure::parse(name, |_| false).ok().and_then(|measure| value_of(&measure, row));
    let whole = whole.filter(|&whole| whole > 0.0 && simulated > 0.0);
    whole.is_none_or(|whole| (simulated / whole).max(whole / simulated) < MAX_GOODPUT_RATIO)
}

/// Whether the value without the suspect is the better one.
fn gains(limitation: &Limitation) -> bool {
    let better = |e: &LimitationEffect| {
        let [with, without] = e.numbers();
        e.parsed_measure().is_some_and(|measure| measure.is_better(without, with))
    };
    limitation.effects.first().is_some_and(better)
}

/// Whether the scenario was too large to simulate without each suspect, or in full.
fn is_too_large(row: &Row) -> bool {
    let search = row.variant.limitation_search.as_ref().filter(|_| row.flow.is_none());
    search.is_some_and(|s| !s.untried.is_empty() || !is_like_simulated(row))
}

fn without_findings(row: &Row) -> Vec<Clause> {
    let mut list = Vec::new();
    let bounded = row.flows().iter().all(|f| is_at_own_bound(row, f));
    // Without a bound any loss counts: at a full queue 0.03 % may cost more than half of the rate.
    let least = if bounded { MIN_LOST_PERCENT } else { f64::MIN_POSITIVE };
    if let Some(share) = Measure::new(Quantity::Lost).of_flows(&row.flows()).filter(|&share| share >= least) {
        list.push(Clause::Lost { share });
    }
    if !bounded {
        list.push(Clause::Unexplained { too_large: is_too_large(row) });
        return list;
    }
    let lost = |f: &FlowResult| f.lost_packets.unwrap_or(f.retransmitted_packets) as f64;
    let loses = row.flows().iter().any(|f| 100.0 * lost(f) >= MIN_LOST_PERCENT * f.sent_packets as f64);
    let waits = row.flows().iter().any(|f| has_queue_delay(f.rtt_ms.min, f.rtt_ms.p95));
    let silent = row.flows().iter().any(|f| f.delivered_bytes == 0 || f.timeouts > 0);
    list.extend((!loses && !waits && !silent && list.is_empty()).then_some(Clause::Clean));
    list
}

/// Whether a flow got the most that it could: the limit of its path, which it may share, or what its
/// application sends. For an application that pauses, requests or ends, this is known only if every suspect
/// was tried.
fn is_at_own_bound(row: &Row, flow: &FlowResult) -> bool {
    let ended = flow.completed.is_some() || flow.completion_s.is_some();
    let is_greedy = !ended && ["", "bulk"].contains(&flow.app.as_str());
    let search = row.variant.limitation_search.as_ref();
    let is_searched =
        search.is_some_and(|s| s.unknown.is_none() && s.untried.is_empty() && is_like_simulated(row));
    flow.is_udp() || is_at_limit(row, flow) || !is_greedy && is_searched
}

/// Whether a flow reached the limit of its path, alone or together with the flows that share it. A flow that
/// ended is judged by its goodput while it lasted.
fn is_at_limit(row: &Row, flow: &FlowResult) -> bool {
    let ended = flow.completed.is_some() || flow.completion_s.is_some();
    let rate = if ended { flow.own_goodput_mbps().max(flow.goodput_mbps) } else { flow.goodput_mbps };
    let together = limit(row).is_some_and(|limit| row.goodput() >= AT_BOUND * limit);
    together || flow.limit_mbps.is_some_and(|limit| rate >= AT_BOUND * limit)
}

/// The element that dropped the most packets.
fn dropped(row: &Row) -> Option<Clause> {
    let elements = row.elements().into_iter().filter(|e| e.dropped_packets > 0);
    let most = elements.max_by_key(|e| e.dropped_packets)?;
    let came = most.passed_packets + most.dropped_packets;
    let (element, kind, dropped) = (most.name.clone(), kind(row, most), most.dropped_packets);
    (dropped as f64 >= MIN_DROPPED_SHARE * came as f64).then_some(Clause::Dropped {
        element,
        kind,
        dropped,
        came,
    })
}

/// The time that flows of one congestion control spent on losses: waiting for timeouts, else in recovery.
fn time_lost(row: &Row) -> Option<Clause> {
    let repairing = |f: &FlowResult| {
        let states = f.states.iter().filter(|s| ["recovery", "cwr", "loss"].contains(&s.state.as_str()));
        states.map(|s| s.share).sum()
    };
    let waited = worst(row, |f| f.timeout_wait.unwrap_or(0.0)).filter(|w| w.1 >= MIN_WAIT_SHARE);
    let waited = waited.map(|(cc, share)| Clause::Waited { cc, share });
    waited.or_else(|| {
        let (cc, share) = worst(row, repairing).filter(|w| w.1 >= MIN_RECOVERY_SHARE)?;
        Some(Clause::Repaired { cc, share })
    })
}

/// The congestion control whose flows have the largest mean share.
fn worst(row: &Row, share: impl Fn(&FlowResult) -> f64) -> Option<(String, f64)> {
    let flows: Vec<&FlowResult> = row.flows().into_iter().filter(|f| !f.is_udp()).collect();
    let mut ccs: Vec<&str> = flows.iter().map(|f| f.cc.as_str()).collect();
    ccs.sort_unstable();
    ccs.dedup();
    let mean_share = |cc: &str| {
        let shares: Vec<f64> = flows.iter().filter(|f| f.cc == cc).map(|f| share(f)).collect();
        shares.iter().sum::<f64>() / shares.len() as f64
    };
    let each = ccs.into_iter().map(|cc| (cc.to_string(), mean_share(cc)));
    each.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Whether the RTT grew far above its minimum, so that a queue must have stood.
fn has_queue_delay(least: f64, p95: f64) -> bool {
    p95 - least >= NOTICED_DELAY_MS && p95 >= STANDING_RTT_RATIO * least
}

/// The growth of the RTT, and the longest queue of those that delayed packets enough to explain it.
fn queued(row: &Row) -> Option<Clause> {
    // Minimum and 95th percentile of the same flow: a short path next to a long one is not growth.
    let flows = row.flows().into_iter().filter(|f| !f.is_udp() && !f.rtt_ms.is_empty());
    let slowest = flows.max_by(|a, b| a.rtt_ms.p95.total_cmp(&b.rtt_ms.p95))?;
    let (min_delay_ms, p95_ms) = (slowest.rtt_ms.min, slowest.rtt_ms.p95);
    let held = |e: &&ElementResult| {
        e.max_queue_packets > 0
            && e.delay_ms.max - propagation_ms(row, &e.name) >= MIN_DELAY_SHARE * (p95_ms - min_delay_ms)
    };
    let queue = row.elements().into_iter().filter(held).max_by_key(|e| e.max_queue_packets)?;
    let (element, kind, packets) = (queue.name.clone(), kind(row, queue), queue.max_queue_packets);
    has_queue_delay(min_delay_ms, p95_ms).then_some(Clause::Queued {
        min_delay_ms,
        p95_ms,
        element,
        kind,
        packets,
    })
}

/// The element's kind; [`ASSUMED`] for a network card that the scenario does not have.
fn kind(row: &Row, element: &ElementResult) -> String {
    let name = element.name.split('@').next().unwrap_or_default();
    let is_assumed = |link: &PathLink, direction: &str, s: &PathStage| {
        s.assumed
            && s.kind == "link"
            && name.strip_prefix(&*link.name).is_some_and(|rest| rest == format!(".{direction}.{}", s.name))
    };
    let mut links = row.variant.path.iter().flat_map(|p| &p.links);
    let assumed = links.any(|l| {
        l.forward.iter().any(|s| is_assumed(l, "forward", s))
            || l.backward.iter().any(|s| is_assumed(l, "backward", s))
    });
    if assumed { ASSUMED.into() } else { element.kind.clone() }
}

/// The propagation delay of an element, ms, which is not queueing.
fn propagation_ms(row: &Row, element: &str) -> f64 {
    let name = element.split('@').next().unwrap_or_default();
    let stages = row.variant.path.iter().flat_map(|p| &p.links).flat_map(|l| {
        let delays = |direction: &'static str, list: &'_ [PathStage]| -> Vec<(String, Option<String>)> {
            let delay = |s: &PathStage| {
                (format!("{}.{direction}.{}", l.name, s.name), s.settings.get("delay").cloned())
            };
            list.iter().map(delay).collect()
        };
        [delays("forward", &l.forward), delays("backward", &l.backward)].concat()
    });
    let delay = stages.into_iter().find(|s| s.0 == name).and_then(|s| s.1?.parse::<Span>().ok());
    delay.map_or(0.0, |d| d.as_secs_f64() * 1e3)
}

/// The flows with the largest and the smallest share in the group with the lowest Jain index.
fn unfair(row: &Row) -> Option<Clause> {
    let jain = |g: &Vec<&FlowResult>| result::jain(&g.iter().map(|f| f.goodput_mbps).collect::<Vec<_>>());
    let groups = groups(row);
    let worst = groups.iter().min_by(|a, b| jain(a).total_cmp(&jain(b)))?;
    let by = |a: &&&FlowResult, b: &&&FlowResult| a.goodput_mbps.total_cmp(&b.goodput_mbps);
    let (least, most) = (worst.iter().min_by(by)?, worst.iter().max_by(by)?);
    let share = |f: &FlowResult| (f.name.clone(), f.goodput_mbps);
    (jain(worst) <= 1.0 - NOTICED_JAIN).then(|| Clause::Unfair { most: share(most), least: share(least) })
}
