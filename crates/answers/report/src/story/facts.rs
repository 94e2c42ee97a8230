//! What the path did to the baseline.

use super::clause::{Clause, Part};
use super::group::{disjoint, groups};
use super::measure::value_of;
use super::named::NamedVariant;
use super::phrases::ASSUMED;
use super::{
    AT_BOUND, DROPPED, JudgedBy, LOST, MOST_HOLDERS, NOTICED_DELAY_MS, NOTICED_JAIN, REASON, REPAIRED,
    STARVED, STARVED_S, STOOD, WAITED,
};
use crate::figures::Row;
use result::topology::{PathLink, PathStage};
use result::{
    ElementResult, FlowKind, FlowResult, Holder, HolderEffect, Measure, Quantity, Subject, TimesSummary,
};
use units::{Goal, Span};

/// What the baseline got, by the first goal.
pub(super) fn opening(baseline: &NamedVariant, goals: &[JudgedBy]) -> Vec<Clause> {
    let (row, variant) = (&baseline.row, baseline.name.clone());
    let carried = |subject| value_of(&Measure::new(Quantity::Goodput).of_subject(subject), row);
    let (tcp, udp) = (carried(Subject::Tcp), carried(Subject::Datagrams));
    if row.flows().iter().all(|f| f.goodput_mbps <= 0.0) {
        return vec![Clause::Nothing { variant }];
    }
    let carries = || match apart(row) {
        parts if parts.is_empty() => Clause::Carries {
            variant: variant.clone(),
            tcp,
            udp,
            limit: limit(row),
            varies: limit(row).is_some() && varies(row),
        },
        parts => Clause::CarriesApart { variant: variant.clone(), parts },
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

/// Goodput by path, where flows of one kind take paths that share no direction of a link; else empty.
fn apart(row: &Row) -> Vec<Part> {
    if row.flow.is_some() {
        return Vec::new();
    }
    // Of requests and pages a result does not tell which side sends more.
    let is_one_way =
        |f: &&FlowResult| f.kind != FlowKind::Probe && !["request", "page"].contains(&f.app.as_str());
    let (udp, tcp): (Vec<&FlowResult>, Vec<&FlowResult>) =
        row.flows().into_iter().filter(is_one_way).partition(|f| f.is_udp());
    if tcp.len() + udp.len() < row.flows().iter().filter(|f| f.kind != FlowKind::Probe).count() {
        return Vec::new();
    }
    let of = |flows: Vec<&FlowResult>| -> Vec<Part> {
        let sets = disjoint(row.variant.path.as_ref(), &flows).into_iter();
        sets.map(|set| Part {
            flow: set[0].name.clone(),
            more: set.len() - 1,
            datagrams: set[0].is_udp(),
            mbps: set.iter().map(|f| f.goodput_mbps).sum(),
            limit: set[0].limit_mbps.filter(|&l| set.len() == 1 && l > 0.0),
        })
        .collect()
    };
    let (tcp, udp) = (of(tcp), of(udp));
    let is_several = tcp.len() > 1 || udp.len() > 1;
    tcp.into_iter().chain(udp).filter(|_| is_several).collect()
}

fn unfinished(t: TimesSummary) -> Clause {
    Clause::Unfinished { unfinished: t.unfinished, all: t.count + t.unfinished }
}

/// The limit that all of the row's payload met together.
fn limit(row: &Row) -> Option<f64> {
    row.limit().filter(|&l| l > 0.0)
}

/// Flows that carried nothing in the whole run, or next to nothing of what the first of their group did.
pub(super) fn starved(row: &Row) -> Option<Clause> {
    let flows = row.flows();
    let by = |a: &&&FlowResult, b: &&&FlowResult| a.goodput_mbps.total_cmp(&b.goodput_mbps);
    let most = flows.iter().max_by(by).filter(|f| f.goodput_mbps > 0.0 && flows.len() > 1)?;
    // What pauses may not have wanted to send.
    let wants =
        |f: &FlowResult| f.sent_packets > 0 || ["", "bulk", "request", "page"].contains(&f.app.as_str());
    let nothing = |f: &FlowResult| f.delivered_bytes == 0 && wants(f);
    let groups = groups(row);
    let little = |f: &FlowResult| {
        let mine = groups.iter().filter(|g| g.iter().any(|other| std::ptr::eq(*other, f)));
        mine.flatten().any(|other| f.goodput_mbps < STARVED * other.goodput_mbps)
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

/// What hurts by these goals: what runs without it measured, then what was seen, the first goal's first.
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
            // Who dropped most is not who costs most, where that is known.
            let guessed = matches!(clause, Clause::Dropped { .. }) && measured;
            if !guessed && !list.contains(&clause) {
                list.push(clause);
            }
        }
    }
    // A queue that stands says more than that no single change helps.
    if list.iter().any(|c| matches!(c, Clause::Queued { .. })) {
        list.retain(|c| !matches!(c, Clause::Unheld { .. }));
    }
    if list.is_empty() {
        list.extend(nothing_special(row));
    }
    list
}

/// What holds the row's flows, the largest cost first, two places at most. One whose numbers of the run itself do not show
/// what the others do is left out.
fn held(row: &Row) -> Vec<Clause> {
    let of = |h: &&Holder| {
        let mine = row.flow.is_none() || h.flow.is_none() || h.flow.as_deref() == row.flow.map(|f| &*f.name);
        mine && h.effects.first().is_some_and(gains)
    };
    let mut holders: Vec<&Holder> = Vec::new();
    for holder in row.variant.held_by.iter().filter(of) {
        if holders.iter().all(|h| h.place != holder.place) && holders.len() < MOST_HOLDERS {
            holders.push(holder);
        }
    }
    if holders.is_empty() {
        // Of flows that were measured alone the search is of all.
        let search = row.variant.holder_search.as_ref().filter(|_| row.flow.is_none());
        let search = search.filter(|s| s.unknown.is_none() && s.left_out.is_empty() && !s.tried.is_empty());
        return search.map(|s| Clause::Unheld { tried: s.tried.len() }).into_iter().collect();
    }
    let held = holders.into_iter().enumerate();
    held.map(|(i, holder)| Clause::Held { holder: holder.clone(), most: i == 0 }).collect()
}

/// Whether the number without the suspect is the better one.
fn gains(e: &HolderEffect) -> bool {
    let [with, without] = e.numbers();
    e.parsed_measure().is_some_and(|measure| measure.is_better(without, with))
}

fn nothing_special(row: &Row) -> Option<Clause> {
    let bounded = row.flows().iter().all(|f| is_at_own_bound(row, f));
    // However few packets they were: at a full queue 0.03 % may cost more than half of the rate.
    let least = if bounded { LOST } else { f64::MIN_POSITIVE };
    if let Some(share) = Measure::new(Quantity::Lost).of_flows(&row.flows()).filter(|&share| share >= least) {
        return Some(Clause::Lost { share });
    }
    if !bounded {
        let search = row.variant.holder_search.as_ref().filter(|_| row.flow.is_none());
        return Some(Clause::Unexplained { too_large: search.is_some_and(|s| !s.left_out.is_empty()) });
    }
    let gone = |f: &FlowResult| f.lost_packets.unwrap_or(f.retransmitted_packets) as f64;
    let loses = row.flows().iter().any(|f| 100.0 * gone(f) >= LOST * f.sent_packets as f64);
    let waits = row.flows().iter().any(|f| stood(f.rtt_ms.min, f.rtt_ms.p95));
    let silent = row.flows().iter().any(|f| f.delivered_bytes == 0 || f.timeouts > 0);
    (!loses && !waits && !silent).then_some(Clause::Clean)
}

/// Whether what a flow got is what it could have at most: the limit of its path, or what its application sends. Flows that share
/// their path are at it together.
fn is_at_own_bound(row: &Row, flow: &FlowResult) -> bool {
    let ended = flow.completed.is_some() || flow.completion_s.is_some();
    if flow.is_udp() || ended || !["", "bulk"].contains(&flow.app.as_str()) {
        return true;
    }
    let together = limit(row).is_some_and(|limit| row.goodput() >= AT_BOUND * limit);
    together || flow.limit_mbps.is_some_and(|limit| flow.goodput_mbps >= AT_BOUND * limit)
}

/// The element that dropped most.
fn dropped(row: &Row) -> Option<Clause> {
    let elements = row.elements().into_iter().filter(|e| e.dropped_packets > 0);
    let most = elements.max_by_key(|e| e.dropped_packets)?;
    let came = most.passed_packets + most.dropped_packets;
    let (element, kind, dropped) = (most.name.clone(), kind(row, most), most.dropped_packets);
    (dropped as f64 >= DROPPED * came as f64).then_some(Clause::Dropped { element, kind, dropped, came })
}

/// What the congestion control of most flows spent its time on, when that was loss.
fn time_lost(row: &Row) -> Option<Clause> {
    let repairing = |f: &FlowResult| {
        let states = f.states.iter().filter(|s| ["recovery", "cwr", "loss"].contains(&s.state.as_str()));
        states.map(|s| s.share).sum()
    };
    let waited = worst(row, |f| f.timeout_wait.unwrap_or(0.0)).filter(|w| w.1 >= WAITED);
    let waited = waited.map(|(cc, share)| Clause::Waited { cc, share });
    waited.or_else(|| {
        let (cc, share) = worst(row, repairing).filter(|w| w.1 >= REPAIRED)?;
        Some(Clause::Repaired { cc, share })
    })
}

/// The congestion control whose flows have the largest mean share.
fn worst(row: &Row, share: impl Fn(&FlowResult) -> f64) -> Option<(String, f64)> {
    let flows: Vec<&FlowResult> = row.flows().into_iter().filter(|f| !f.is_udp()).collect();
    let mut ccs: Vec<&str> = flows.iter().map(|f| f.cc.as_str()).collect();
    ccs.sort_unstable();
    ccs.dedup();
    let of = |cc: &str| {
        let shares: Vec<f64> = flows.iter().filter(|f| f.cc == cc).map(|f| share(f)).collect();
        shares.iter().sum::<f64>() / shares.len() as f64
    };
    let each = ccs.into_iter().map(|cc| (cc.to_string(), of(cc)));
    each.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn stood(least: f64, p95: f64) -> bool {
    p95 - least >= NOTICED_DELAY_MS && p95 >= STOOD * least
}

/// Round trips beside the shortest, and the longest queue of those that held packets long enough to be the reason.
fn queued(row: &Row) -> Option<Clause> {
    // The least and the 95th percentile of the same flow: a short path next to a long one is not growth.
    let flows = row.flows().into_iter().filter(|f| !f.is_udp() && !f.rtt_ms.is_empty());
    let slowest = flows.max_by(|a, b| a.rtt_ms.p95.total_cmp(&b.rtt_ms.p95))?;
    let (least_ms, p95_ms) = (slowest.rtt_ms.min, slowest.rtt_ms.p95);
    let held = |e: &&ElementResult| {
        e.max_queue_packets > 0 && e.delay_ms.max - travel_ms(row, &e.name) >= REASON * (p95_ms - least_ms)
    };
    let queue = row.elements().into_iter().filter(held).max_by_key(|e| e.max_queue_packets)?;
    let (element, kind, packets) = (queue.name.clone(), kind(row, queue), queue.max_queue_packets);
    stood(least_ms, p95_ms).then_some(Clause::Queued { least_ms, p95_ms, element, kind, packets })
}

/// The element's kind; [`ASSUMED`] of a network card that the scenario does not have.
fn kind(row: &Row, element: &ElementResult) -> String {
    let name = element.name.split('@').next().unwrap_or_default();
    let is = |link: &PathLink, way: &str, s: &PathStage| {
        s.assumed
            && s.kind == "link"
            && name.strip_prefix(&*link.name).is_some_and(|rest| rest == format!(".{way}.{}", s.name))
    };
    let mut links = row.variant.path.iter().flat_map(|p| &p.links);
    let assumed = links.any(|l| {
        l.forward.iter().any(|s| is(l, "forward", s)) || l.backward.iter().any(|s| is(l, "backward", s))
    });
    if assumed { ASSUMED.into() } else { element.kind.clone() }
}

/// The propagation delay of an element, ms: no packet waits for that.
fn travel_ms(row: &Row, element: &str) -> f64 {
    let name = element.split('@').next().unwrap_or_default();
    let stages = row.variant.path.iter().flat_map(|p| &p.links).flat_map(|l| {
        let way = |way: &'static str, list: &'_ [PathStage]| -> Vec<(String, Option<String>)> {
            let of =
                |s: &PathStage| (format!("{}.{way}.{}", l.name, s.name), s.settings.get("delay").cloned());
            list.iter().map(of).collect()
        };
        [way("forward", &l.forward), way("backward", &l.backward)].concat()
    });
    let delay = stages.into_iter().find(|s| s.0 == name).and_then(|s| s.1?.parse::<Span>().ok());
    delay.map_or(0.0, |d| d.as_secs_f64() * 1e3)
}

/// The group whose flows got the most unlike shares: its first and its last.
fn unfair(row: &Row) -> Option<Clause> {
    let jain = |g: &Vec<&FlowResult>| result::jain(&g.iter().map(|f| f.goodput_mbps).collect::<Vec<_>>());
    let groups = groups(row);
    let worst = groups.iter().min_by(|a, b| jain(a).total_cmp(&jain(b)))?;
    let by = |a: &&&FlowResult, b: &&&FlowResult| a.goodput_mbps.total_cmp(&b.goodput_mbps);
    let (least, most) = (worst.iter().min_by(by)?, worst.iter().max_by(by)?);
    let of = |f: &FlowResult| (f.name.clone(), f.goodput_mbps);
    (jain(worst) <= 1.0 - NOTICED_JAIN).then(|| Clause::Unfair { most: of(most), least: of(least) })
}
