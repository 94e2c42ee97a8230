//! Values of a variant's measures, and comparisons of two variants, by the checker's own code.

use crate::checked_run::{ComparedFlow, ComparedVariant};
use result::{FlowKind, FlowResult, FlowSeries, Measure, TimesSummary, VariantResult};
use std::collections::BTreeMap;
use transport::App;
use units::Goal;

/// Returns whether the application sends as much as it can while it is active.
pub fn greedy(app: &App) -> bool {
    matches!(app, App::Bulk { .. })
}

/// Time without progress that a timeout ended, as a share of the flow's time, by its samples.
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

/// Share of the flow's time in loss recovery, by its samples.
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

/// A measure of a variant, by the checker's own names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Number {
    /// MOS of the worst call.
    Mos,
    /// Load time of pages, p95, s.
    Page,
    /// Response time, p95, s.
    Response,
    /// Completion time of transfers, p95, s.
    Completion,
    /// One-way delay, p95, ms: of the slowest call, otherwise of the slowest datagram flow.
    OneWay,
    /// Round trip, p95, ms: of the slowest probe.
    Ping,
    /// Round trip, p95, ms: of the slowest TCP flow.
    Rtt,
    /// Goodput of all TCP flows, Mbit/s.
    Tcp,
    /// Goodput of all datagram flows except probes, Mbit/s.
    Datagrams,
    /// Lost TCP packets, %.
    TcpLoss,
    /// Retransmitted TCP packets, %.
    Resent,
    /// Lost datagrams, %: of the worst datagram flow.
    DatagramLoss,
    /// Jain's fairness index.
    Jain,
    /// Goodput of one flow of the scenario, all its connections, Mbit/s.
    Flow(String),
}

impl Number {
    /// Measures that variants are compared by, the most important first.
    pub const ALL: [Number; 13] = [
        Number::Mos,
        Number::Page,
        Number::Response,
        Number::Completion,
        Number::OneWay,
        Number::Ping,
        Number::Rtt,
        Number::Tcp,
        Number::Datagrams,
        Number::TcpLoss,
        Number::Resent,
        Number::DatagramLoss,
        Number::Jain,
    ];

    /// Name in results and expectations.
    pub fn name(&self) -> String {
        match self {
            Number::Mos => "mos".into(),
            Number::Page => "page.p95".into(),
            Number::Response => "response.p95".into(),
            Number::Completion => "completion.p95".into(),
            Number::OneWay => "delay.p95".into(),
            Number::Ping => "probe.p95".into(),
            Number::Rtt => "rtt.p95".into(),
            Number::Tcp => "tcp.goodput".into(),
            Number::Datagrams => "udp.goodput".into(),
            Number::TcpLoss => "tcp.lost".into(),
            Number::Resent => "tcp.resent_share".into(),
            Number::DatagramLoss => "udp.lost".into(),
            Number::Jain => "jain".into(),
            Number::Flow(name) => format!("{name}.goodput"),
        }
    }

    /// Returns the number that represents a measure of the result.
    ///
    /// # Panics
    /// If no headline compares variants by the measure.
    pub fn of(measure: &Measure) -> Number {
        let name = measure.name();
        let known = Number::ALL.into_iter().find(|n| n.name() == name);
        let flow = || name.strip_suffix(".goodput").map(|flow| Number::Flow(flow.into()));
        known.or_else(flow).unwrap_or_else(|| panic!("no headline compares {name}"))
    }

    /// Returns whether a larger value is better.
    pub fn is_higher_better(&self) -> bool {
        matches!(self, Number::Tcp | Number::Datagrams | Number::Flow(_) | Number::Mos | Number::Jain)
    }
}

fn of_kind(s: &ComparedVariant, kind: FlowKind) -> impl Iterator<Item = &FlowResult> {
    s.flows.iter().map(|f| &f.result).filter(move |f| f.kind == kind)
}

fn tcp(s: &ComparedVariant) -> impl Iterator<Item = &FlowResult> {
    of_kind(s, FlowKind::Tcp)
}

/// Datagram flows. Probes are included only if one was measured alone.
fn datagrams(s: &ComparedVariant) -> impl Iterator<Item = &FlowResult> {
    let probes = of_kind(s, FlowKind::Probe).filter(|_| s.alone);
    of_kind(s, FlowKind::Datagrams).chain(probes)
}

fn sum<'a>(flows: impl Iterator<Item = &'a FlowResult>) -> Option<f64> {
    flows.map(|f| f.goodput_mbps).reduce(|a, b| a + b)
}

/// A part of the packets sent, in percent; `None` if the part is unknown or nothing was sent.
fn percent<'a>(
    flows: impl Iterator<Item = &'a FlowResult>,
    of: impl Fn(&FlowResult) -> Option<u64>,
) -> Option<f64> {
    let (mut part, mut whole) = (0, 0);
    for flow in flows {
        part += of(flow)?;
        whole += flow.sent_packets;
    }
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}

fn p95<'a>(flows: impl Iterator<Item = &'a FlowResult>) -> Option<f64> {
    flows
        .filter_map(|f| f.real_time)
        .filter(|r| r.delay_ms.max > 0.0)
        .map(|r| r.delay_ms.p95)
        .reduce(f64::max)
}

/// The value in a variant; `None` if nothing of the kind was measured.
pub fn value(n: &Number, s: &ComparedVariant) -> Option<f64> {
    let alone = s.flows.first().filter(|_| s.alone).map(|f| &f.result);
    match n {
        Number::Tcp => sum(tcp(s)),
        Number::Datagrams => sum(datagrams(s)),
        Number::Flow(name) => sums(s).get(name).copied(),
        Number::Rtt => tcp(s).filter(|f| f.rtt_ms.max > 0.0).map(|f| f.rtt_ms.p95).reduce(f64::max),
        Number::OneWay => {
            let calls = || of_kind(s, FlowKind::Datagrams).filter(|f| f.app == "voice");
            if calls().count() > 0 { p95(calls()) } else { p95(of_kind(s, FlowKind::Datagrams)) }
        }
        Number::Ping => p95(of_kind(s, FlowKind::Probe)),
        Number::Mos => s.flows.iter().filter_map(|f| f.result.real_time.and_then(|r| r.mos)).reduce(f64::min),
        Number::TcpLoss => percent(tcp(s), |f| f.lost_packets),
        Number::Resent => percent(tcp(s), |f| Some(f.retransmitted_packets)),
        Number::DatagramLoss => {
            datagrams(s).filter_map(|f| f.real_time).map(|r| 100.0 * r.lost).reduce(f64::max)
        }
        Number::Completion => match alone {
            Some(f) => f.completion_s.or(if f.unfinished { Some(f64::INFINITY) } else { None }),
            None => s.result.completion_s.and_then(|t| match (t.count, t.unfinished) {
                (0, 0) => None,
                (count, unfinished) if unfinished * 20 > count + unfinished => Some(f64::INFINITY),
                _ => Some(t.p95),
            }),
        },
        Number::Response => times(alone.map_or(s.result.response_s, |f| f.response_s)),
        Number::Page => times(alone.map_or(s.result.page_s, |f| f.page_s)),
        // Checked against the flows' goodputs when the run is read.
        Number::Jain => s.result.jain_index.filter(|_| !s.alone),
    }
}

/// The p95; infinite if nothing completed. The last exchange is cut off by the end of the run, which says
/// nothing about the others.
fn times(t: Option<TimesSummary>) -> Option<f64> {
    let t = t?;
    match (t.count, t.unfinished) {
        (0, 0) => None,
        (0, _) => Some(f64::INFINITY),
        _ => Some(t.p95),
    }
}

/// TCP goodput of each of the scenario's flows, Mbit/s.
pub fn sums(s: &ComparedVariant) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for f in tcp(s) {
        let of = |name: &str| {
            let number = f.name.strip_prefix(name).and_then(|r| r.strip_prefix('-'));
            f.name == name || number.is_some_and(|n| n.parse::<u32>().is_ok())
        };
        // The longest matching name is the flow's own.
        let names = s.scenario.flows.iter().map(|f| f.name.as_str()).filter(|n| of(n));
        let name = names.max_by_key(|n| n.len()).unwrap_or_default();
        *sums.entry(name.to_string()).or_insert(0.0) += f.goodput_mbps;
    }
    sums
}

/// Mean difference between two variants and half of its 95 % interval, over the seeds that both ran with;
/// `None` with fewer than two seeds.
pub fn paired(n: &Number, was: &ComparedVariant, is: &ComparedVariant) -> Option<[f64; 2]> {
    let name = match was.flows.first().filter(|_| was.alone) {
        Some(f) => format!("{}.{}", f.result.name, n.name().rsplit("tcp.").next()?.rsplit("udp.").next()?),
        None => n.name(),
    };
    let of = |s: &ComparedVariant| -> Option<BTreeMap<u64, f64>> {
        let repeats = s.result.repeats.as_ref()?;
        Some(repeats.seeds.iter().copied().zip(repeats.values.get(&name)?.iter().copied()).collect())
    };
    let (a, b) = (of(was)?, of(is)?);
    let d: Vec<f64> = a.iter().filter_map(|(seed, a)| Some(b.get(seed)? - a)).collect();
    if d.len() < 2 {
        return None;
    }
    let count = d.len() as f64;
    let mean = d.iter().sum::<f64>() / count;
    let variance = d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some([mean, student(d.len() - 1) * (variance / count).sqrt()])
}

/// The 97.5 % quantile of Student's t, by bisection of its integral.
fn student(degrees: usize) -> f64 {
    let v = degrees as f64;
    let density = |x: f64| (1.0 + x * x / v).powf(-(v + 1.0) / 2.0);
    // Simpson's rule after the substitution x = tan u, which makes the tail finite.
    let area = |to: f64| {
        let (steps, end) = (400, to.atan());
        let h = end / f64::from(steps);
        let f = |i: i32| {
            let u = h * f64::from(i);
            density(u.tan()) / u.cos().powi(2)
        };
        let inner: f64 = (1..steps).map(|i| f(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        (f(0) + inner + f(steps)) * h / 3.0
    };
    let half = area(1e9);
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if area(middle) < 0.95 * half { low = middle } else { high = middle }
    }
    low
}

/// Returns whether the repeats leave open which of two variants has the larger value.
pub fn is_within_chance(n: &Number, was: &ComparedVariant, is: &ComparedVariant) -> bool {
    paired(n, was, is).is_some_and(|[mean, half]| mean.abs() <= half)
}

/// Jain's index of the goodputs: (Σx)² / (n Σx²).
pub fn jain(group: &[&ComparedFlow]) -> f64 {
    let (sum, squares) = group.iter().fold((0.0, 0.0), |(s, q), f| {
        let x = f.result.goodput_mbps;
        (s + x, q + x * x)
    });
    if squares > 0.0 { sum * sum / (group.len() as f64 * squares) } else { 1.0 }
}

fn tcp_seen(s: &ComparedVariant) -> impl Iterator<Item = &ComparedFlow> {
    s.flows.iter().filter(|f| f.result.kind == FlowKind::Tcp)
}

/// Flows that wanted as much as possible and shared a link direction, under the same limit, for the same
/// time.
pub fn groups(s: &ComparedVariant) -> Vec<Vec<&ComparedFlow>> {
    let mut all = Vec::new();
    let mut directions: Vec<(usize, bool)> = s.flows.iter().flat_map(|f| f.directions.clone()).collect();
    directions.sort_unstable();
    directions.dedup();
    for direction in directions {
        // A flow that has finished wanted no more.
        let wants = |f: &&ComparedFlow| f.greedy && f.result.completion_s.is_none();
        let here: Vec<&ComparedFlow> =
            tcp_seen(s).filter(|f| wants(f) && f.directions.contains(&direction)).collect();
        for limit in here.iter().map(|f| kbit(f.limit)) {
            let same: Vec<&ComparedFlow> = here.iter().copied().filter(|f| kbit(f.limit) == limit).collect();
            let longest = same.iter().map(|f| f.result.active_s).fold(0.0, f64::max);
            let group: Vec<&ComparedFlow> =
                same.into_iter().filter(|f| f.result.active_s >= 0.9 * longest).collect();
            if group.len() > 1 {
                all.push(group);
            }
        }
    }
    all
}

/// Checks Jain's index of a single run against its flows: the TCP flows, or all if there are none. For
/// transfers it is computed from their rates, which is not checked.
pub fn check_jain(variant: &VariantResult, complain: &mut impl FnMut(String)) {
    let tcp = variant.flows.iter().any(|f| f.kind == FlowKind::Tcp);
    let shares: Vec<&FlowResult> = variant.flows.iter().filter(|f| !tcp || f.kind == FlowKind::Tcp).collect();
    let ends = shares.iter().any(|f| f.completion_s.is_some() || f.unfinished);
    let Some(reported) = variant.jain_index.filter(|_| !ends) else { return };
    let sum: f64 = shares.iter().map(|f| f.goodput_mbps).sum();
    let squares: f64 = shares.iter().map(|f| f.goodput_mbps.powi(2)).sum();
    let own = if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 };
    if (reported - own).abs() > 1e-9 {
        complain(format!("Jain's index is {reported}, by the flows {own}"));
    }
}

/// Flows that had at least a second and got nothing at all, or less than a hundredth of another flow in their
/// group; and whether all of them got nothing.
pub fn starved(s: &ComparedVariant) -> (Vec<&ComparedFlow>, bool) {
    let asks = ["bulk", "request", "page"];
    let nothing = |f: &ComparedFlow| {
        f.result.delivered_bytes == 0 && (f.result.sent_packets > 0 || asks.contains(&f.result.app.as_str()))
    };
    let groups = groups(s);
    let little = |f: &ComparedFlow| {
        groups.iter().any(|g| {
            let first = g.iter().map(|x| x.result.goodput_mbps).fold(0.0, f64::max);
            g.iter().any(|x| x.result.name == f.result.name) && f.result.goodput_mbps * 100.0 < first
        })
    };
    let carried = !s.alone && s.flows.len() > 1 && s.flows.iter().any(|f| f.result.goodput_mbps > 0.0);
    let all: Vec<&ComparedFlow> =
        s.flows.iter().filter(|f| carried && f.result.active_s >= 1.0 && (nothing(f) || little(f))).collect();
    let silent = all.iter().all(|f| nothing(f));
    (all, silent)
}

/// A limit in kbit/s, rounded for comparison.
pub fn kbit(limit: Option<f64>) -> Option<i64> {
    limit.map(|l| (l * 1e3).round() as i64)
}

/// Returns whether `is` is better than `was` by more than 5 %.
pub fn is_clearly_better(n: &Number, was: f64, is: f64) -> bool {
    if n.is_higher_better() { was < 0.95 * is } else { is < 0.95 * was }
}

/// Returns whether `is` is noticeably worse than `was`.
pub fn is_noticeably_worse(n: &Number, was: f64, is: f64) -> bool {
    use Number::*;
    let (good, bad) = (was, is);
    match n {
        Tcp | Datagrams => bad < 0.95 * good,
        Flow(_) => good > 0.0 && bad * 1.2 <= good,
        Rtt | Ping | OneWay => bad - good >= 10.0 && bad >= 1.2 * good,
        TcpLoss | Resent | DatagramLoss => bad - good >= 1.0,
        Completion | Response | Page => bad > good && bad >= 1.2 * good,
        Mos => good - bad >= 0.3,
        Jain => good - bad >= 0.1,
    }
}

/// The measures that a goal may be judged by.
pub fn numbers_of(goal: Goal) -> &'static [Number] {
    match goal {
        Goal::Goodput => &[Number::Tcp, Number::Datagrams],
        Goal::Delay => &[Number::OneWay, Number::Ping, Number::Rtt],
        Goal::Completion => &[Number::Completion, Number::Response],
        Goal::Page => &[Number::Page],
        Goal::Fairness => &[Number::Jain],
    }
}

#[cfg(test)]
mod tests {
    use super::student;

    #[test]
    fn t_quantiles_agree_with_the_tables() {
        for (degrees, t) in [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042)] {
            assert!((student(degrees) - t).abs() < 6e-4, "{degrees}: {}", student(degrees));
        }
    }
}
