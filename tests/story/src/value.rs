//! Values of a variant, and whether two differ, written anew.

use crate::seen::{Seen, SeenFlow};
use report::story::Measure;
use result::FlowSeries;
use transport::App;
use units::Goal;

/// Sends all it can while it is active.
pub fn greedy(app: &App) -> bool {
    matches!(app, App::Bulk { .. })
}

/// Stillness that a timeout ended, as a share of the flow's time by its samples.
pub fn waited(s: &FlowSeries) -> Option<f64> {
    let state = |i: usize| s.states[usize::from(s.state[i])].as_str();
    let rows: Vec<usize> = (0..s.time_s.len()).filter(|&i| !state(i).is_empty()).collect();
    let (first, last) = (*rows.first()?, *rows.last()?);
    let mut waited = 0.0;
    let mut since = s.time_s[first];
    for (&i, &j) in rows.iter().zip(rows.iter().skip(1)) {
        let still = (s.acked_bytes[i], s.sent_bytes[i], s.retransmitted[i])
            == (s.acked_bytes[j], s.sent_bytes[j], s.retransmitted[j]);
        if still {
            continue;
        }
        if s.retransmitted[j] > s.retransmitted[i] && state(j) == "loss" {
            waited += s.time_s[i] - since;
        }
        since = s.time_s[j];
    }
    let whole = s.time_s[last] - s.time_s[first];
    (whole > 0.0).then(|| waited / whole)
}

/// Share of the flow's time in which it repaired losses, by its samples.
pub fn repaired(s: &FlowSeries) -> f64 {
    let state = |i: usize| s.states.get(usize::from(s.state[i])).map_or("", String::as_str);
    let rows: Vec<usize> = (0..s.time_s.len()).filter(|&i| !state(i).is_empty()).collect();
    let spans = rows.windows(2).map(|w| (state(w[0]), s.time_s[w[1]] - s.time_s[w[0]]));
    let (mut all, mut repairing) = (0.0, 0.0);
    for (state, span) in spans {
        all += span;
        repairing += if matches!(state, "recovery" | "cwr" | "loss") { span } else { 0.0 };
    }
    if all > 0.0 { repairing / all } else { 0.0 }
}

fn tcp(s: &Seen) -> impl Iterator<Item = &SeenFlow> {
    s.flows.iter().filter(|f| f.result.cc != "udp")
}

fn udp(s: &Seen) -> impl Iterator<Item = &SeenFlow> {
    s.flows.iter().filter(|f| f.result.cc == "udp")
}

fn largest(list: impl Iterator<Item = f64>) -> Option<f64> {
    list.fold(None, |most, x| Some(most.map_or(x, |m: f64| m.max(x))))
}

/// Parts of sums of packets; `None` where one is not known or nothing was sent.
fn share<'a>(
    flows: impl Iterator<Item = &'a SeenFlow>,
    of: impl Fn(&SeenFlow) -> Option<u64>,
) -> Option<f64> {
    let (mut part, mut whole) = (0, 0);
    for flow in flows {
        part += of(flow)?;
        whole += flow.result.sent_packets;
    }
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn lost(f: &SeenFlow) -> Option<u64> {
    f.result.lost_packets
}

/// The value of a measure.
pub fn value(m: Measure, s: &Seen) -> Option<f64> {
    let has = |of: usize| of > 0;
    let alone = s.flows.first().filter(|_| s.alone).map(|f| &f.result);
    match m {
        Measure::TcpGoodput => has(tcp(s).count()).then(|| tcp(s).map(|f| f.result.goodput_mbps).sum()),
        Measure::UdpGoodput => has(udp(s).count()).then(|| udp(s).map(|f| f.result.goodput_mbps).sum()),
        Measure::FlowGoodput => None,
        Measure::Rtt => {
            let known: Vec<&SeenFlow> = tcp(s).filter(|f| f.result.rtt_ms.max > 0.0).collect();
            let sent: u64 = known.iter().map(|f| f.result.sent_packets).sum();
            let sum: f64 = known.iter().map(|f| f.result.rtt_ms.p95 * f.result.sent_packets as f64).sum();
            (sent > 0).then(|| sum / sent as f64)
        }
        Measure::SlowestRtt => {
            let known = tcp(s).filter(|f| f.result.rtt_ms.max > 0.0);
            if tcp(s).count() > 1 { largest(known.map(|f| f.result.rtt_ms.p95)) } else { None }
        }
        Measure::OneWay => {
            let calls = |f: &&SeenFlow| ["voice", "probe"].contains(&f.result.app.as_str());
            let p95 = |f: &SeenFlow| {
                let all = f.result.real_time.map_or(f.result.rtt_ms, |r| r.delay_ms);
                (all.max > 0.0).then_some(all.p95)
            };
            if has(udp(s).filter(calls).count()) {
                largest(udp(s).filter(calls).filter_map(p95))
            } else {
                largest(udp(s).filter_map(p95))
            }
        }
        Measure::Mos => {
            largest(udp(s).filter_map(|f| f.result.real_time.and_then(|r| r.mos)).map(|m| -m)).map(|m| -m)
        }
        Measure::TcpLoss => share(tcp(s), lost),
        Measure::Resent => {
            let known = tcp(s).all(|f| lost(f).is_some());
            if known { None } else { share(tcp(s), |f| Some(f.result.retransmitted_packets)) }
        }
        Measure::UdpLoss => share(udp(s), lost),
        Measure::Completion => match alone {
            Some(f) => f.completion_s.or(if f.unfinished { Some(f64::INFINITY) } else { None }),
            None => s.result.completion_s.map(|t| {
                let all = t.count + t.unfinished;
                if t.count == 0 || t.unfinished * 20 > all { f64::INFINITY } else { t.p95 }
            }),
        },
        Measure::Response => times(alone.map_or(s.result.response_s, |f| f.response_s)),
        Measure::Page => times(alone.map_or(s.result.page_s, |f| f.page_s)),
        Measure::Jain => groups(s).iter().map(|g| jain(g)).min_by(f64::total_cmp),
    }
}

fn times(t: Option<result::TimesSummary>) -> Option<f64> {
    let t = t?;
    match (t.count, t.unfinished) {
        (0, 0) => None,
        (0, _) => Some(f64::INFINITY),
        _ => Some(t.p95),
    }
}

/// (Σx)² / (n Σx²) of the goodputs.
pub fn jain(group: &[&SeenFlow]) -> f64 {
    let (sum, squares) = group.iter().fold((0.0, 0.0), |(s, q), f| {
        let x = f.result.goodput_mbps;
        (s + x, q + x * x)
    });
    if squares > 0.0 { sum * sum / (group.len() as f64 * squares) } else { 1.0 }
}

/// Flows that wanted all they could get and met on a direction of a link, under the same limit, for the same time.
pub fn groups(s: &Seen) -> Vec<Vec<&SeenFlow>> {
    let mut all = Vec::new();
    let mut ways: Vec<(usize, bool)> = s.flows.iter().flat_map(|f| f.ways.clone()).collect();
    ways.sort_unstable();
    ways.dedup();
    for way in ways {
        // What came to its end wanted no more.
        let wants = |f: &&SeenFlow| f.greedy && f.result.completion_s.is_none();
        let here: Vec<&SeenFlow> = tcp(s).filter(|f| wants(f) && f.ways.contains(&way)).collect();
        for limit in here.iter().map(|f| kbit(f.limit)) {
            let same: Vec<&SeenFlow> = here.iter().copied().filter(|f| kbit(f.limit) == limit).collect();
            let longest = same.iter().map(|f| f.result.active_s).fold(0.0, f64::max);
            let group: Vec<&SeenFlow> =
                same.into_iter().filter(|f| f.result.active_s >= 0.9 * longest).collect();
            if group.len() > 1 {
                all.push(group);
            }
        }
    }
    all
}

/// Flows that had a second at least and got nothing at all, or less than a hundredth of what another of their group did; and
/// whether all of them got nothing.
pub fn starved(s: &Seen) -> (Vec<&SeenFlow>, bool) {
    let asks = ["bulk", "request", "page"];
    let nothing = |f: &SeenFlow| {
        f.result.delivered_bytes == 0 && (f.result.sent_packets > 0 || asks.contains(&f.result.app.as_str()))
    };
    let groups = groups(s);
    let little = |f: &SeenFlow| {
        groups.iter().any(|g| {
            let first = g.iter().map(|x| x.result.goodput_mbps).fold(0.0, f64::max);
            g.iter().any(|x| x.result.name == f.result.name) && f.result.goodput_mbps * 100.0 < first
        })
    };
    let carried = !s.alone && s.flows.len() > 1 && s.flows.iter().any(|f| f.result.goodput_mbps > 0.0);
    let all: Vec<&SeenFlow> =
        s.flows.iter().filter(|f| carried && f.result.active_s >= 1.0 && (nothing(f) || little(f))).collect();
    let silent = all.iter().all(|f| nothing(f));
    (all, silent)
}

/// A limit to compare.
pub fn kbit(limit: Option<f64>) -> Option<i64> {
    limit.map(|l| (l * 1e3).round() as i64)
}

/// Larger is better.
fn up(m: Measure) -> bool {
    use Measure::*;
    [TcpGoodput, UdpGoodput, FlowGoodput, Mos, Jain].contains(&m)
}

/// Better by more than 5 %.
pub fn ahead(m: Measure, was: f64, is: f64) -> bool {
    if up(m) { was < 0.95 * is } else { is < 0.95 * was }
}

/// Noticeably worse.
pub fn worse(m: Measure, was: f64, is: f64) -> bool {
    use Measure::*;
    let (good, bad) = (was, is);
    match m {
        TcpGoodput | UdpGoodput => bad < 0.95 * good,
        FlowGoodput => good > 0.0 && bad * 1.2 <= good,
        Rtt | SlowestRtt | OneWay => bad - good >= 10.0 && bad >= 1.2 * good,
        TcpLoss | Resent | UdpLoss => bad - good >= 0.01,
        Completion | Response | Page => bad > good && bad >= 1.2 * good,
        Mos => good - bad >= 0.3,
        Jain => good - bad >= 0.1,
    }
}

/// What a goal may be measured by.
pub fn measures_of(goal: Goal) -> &'static [Measure] {
    match goal {
        Goal::Goodput => &[Measure::TcpGoodput, Measure::UdpGoodput],
        Goal::Delay => &[Measure::OneWay, Measure::Rtt],
        Goal::Completion => &[Measure::Completion, Measure::Response],
        Goal::Page => &[Measure::Page],
        Goal::Fairness => &[Measure::Jain],
    }
}
