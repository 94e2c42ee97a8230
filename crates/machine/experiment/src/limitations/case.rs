//! A scenario with its simulated run, prepared for the suspects.

use path::{Stage, StageLimit};
use result::measure::connections;
use result::{Carried, ElementResult, FlowResult, VariantResult};
use scenario::{Flow, PathLimits, Scenario};
use std::collections::BTreeSet;
use transport::App;
use units::{Bytes, Goal, Rate, Span};

/// The round trip time to assume if no flow measured one.
const DEFAULT_RTT: Span = Span::from_millis(100);
/// Payload of a full segment with timestamps, bytes.
const PAYLOAD: f64 = 1448.0;
/// The IP and TCP headers of a full segment with timestamps, bytes.
const HEADERS: f64 = 52.0;
/// IP and UDP headers, bytes.
const UDP_HEADERS: f64 = 28.0;
/// Upper bound for the expected growth of a run's work once the limitation is removed.
const MAX_GROWTH: f64 = 10.0;
/// Upper bound for the expected growth of a run's work, for flows without any limit.
const UNLIMITED_GROWTH: f64 = 4.0;

/// A stage, identified by its indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StageKey {
    pub link: usize,
    pub forward: bool,
    pub index: usize,
}

/// A stage that packets passed.
pub(super) struct SeenStage<'a> {
    pub key: StageKey,
    /// `link.direction.stage`.
    pub name: String,
    pub stage: &'a Stage,
    pub element: &'a ElementResult,
    pub carries: Carried,
    /// Flows that send their data through the stage.
    data: Vec<usize>,
}

/// A scenario with its simulated run.
pub(super) struct Case<'a> {
    pub scenario: &'a Scenario,
    pub result: &'a VariantResult,
    pub goal: Goal,
    /// The shortest round trip of any flow.
    pub rtt: Span,
    /// Indexes of the flows that ran.
    flows: Vec<usize>,
    /// For each of these flows: the link directions of its data and of its ACKs.
    directions: Vec<[BTreeSet<(usize, bool)>; 2]>,
    only: Option<usize>,
    /// Whether the run was shortened. Flows that lasted until its end would continue in the full scenario.
    pub is_shortened: bool,
}

impl<'a> Case<'a> {
    pub fn new(
        scenario: &'a Scenario,
        result: &'a VariantResult,
        only: Option<usize>,
        goal: Goal,
        is_shortened: bool,
    ) -> Case<'a> {
        let flows: Vec<usize> = only.map_or_else(|| (0..scenario.flows.len()).collect(), |i| vec![i]);
        let directions = flows.iter().map(|&i| directions(scenario, &scenario.flows[i])).collect();
        let tcp = result.flows.iter().filter(|f| !f.is_udp() && f.rtt_ms.min > 0.0);
        let min_ms = tcp.map(|f| f.rtt_ms.min).min_by(f64::total_cmp);
        let rtt = min_ms.map_or(DEFAULT_RTT, |ms| Span::from_secs_f64(ms / 1e3));
        Case { scenario, result, goal, rtt, flows, directions, only, is_shortened }
    }

    /// The flows that ran, with their indexes.
    pub fn flows(&self) -> impl Iterator<Item = (usize, &'a Flow)> {
        self.flows.iter().map(|&i| (i, &self.scenario.flows[i]))
    }

    /// The TCP flows that ran, with their indexes.
    pub fn tcp_flows(&self) -> impl Iterator<Item = (usize, &'a Flow)> {
        self.flows().filter(|(_, f)| is_tcp(f))
    }

    /// Flows that share a link direction with the data of this flow, including the flow itself.
    pub fn sharing(&self, flow: usize) -> impl Iterator<Item = &'a Flow> {
        let own = self
            .flows
            .iter()
            .position(|&i| i == flow)
            .map(|at| self.directions[at][0].clone())
            .unwrap_or_default();
        let meets = |directions: &[BTreeSet<(usize, bool)>; 2]| !directions[0].is_disjoint(&own);
        let all: Vec<usize> = self
            .flows
            .iter()
            .zip(&self.directions)
            .filter(|(_, directions)| meets(directions))
            .map(|(&i, _)| i)
            .collect();
        all.into_iter().map(|i| &self.scenario.flows[i])
    }

    /// The connections of a flow.
    pub fn results(&self, flow: usize) -> Vec<&'a FlowResult> {
        connections(&self.result.flows, &self.scenario.flows[flow].name)
    }

    /// A stage's result by name.
    pub fn element(&self, name: &str) -> Option<&'a ElementResult> {
        self.result.elements.iter().find(|e| e.name == name)
    }

    /// The scenario's stages that packets passed, link by link.
    pub fn stages(&self) -> Vec<SeenStage<'a>> {
        let mut all = Vec::new();
        for (l, link) in self.scenario.links.iter().enumerate() {
            for (forward, direction, stages) in
                [(true, "forward", &link.forward), (false, "backward", &link.backward)]
            {
                let carrying = |kind: usize| -> Vec<usize> {
                    let pairs = self.flows.iter().zip(&self.directions);
                    pairs
                        .filter(|(_, directions)| directions[kind].contains(&(l, forward)))
                        .map(|(&i, _)| i)
                        .collect()
                };
                let (data, acks) = (carrying(0), carrying(1));
                let carries = match (data.is_empty(), acks.is_empty()) {
                    (true, false) => Carried::Acks,
                    (false, false) => Carried::Both,
                    // This also covers packets that a fault diverted from their configured route.
                    _ => Carried::Data,
                };
                for (index, named) in stages.iter().enumerate().filter(|(_, s)| !s.assumed) {
                    let name = format!("{}.{direction}.{}", link.name, named.name);
                    let passed =
                        |e: &&ElementResult| e.passed_packets + e.dropped_packets + e.too_big_packets > 0;
                    let Some(element) = self.element(&name).filter(passed) else { continue };
                    let key = StageKey { link: l, forward, index };
                    all.push(SeenStage {
                        key,
                        name,
                        stage: &named.stage,
                        element,
                        carries,
                        data: data.clone(),
                    });
                }
            }
        }
        all
    }

    /// The rate of a stage. For a rate trace: the mean over the run, if the trace does not repeat.
    pub fn rate(&self, stage: &Stage) -> Option<Rate> {
        match (stage.limit(), stage) {
            (StageLimit::Shared(rate) | StageLimit::Each(rate), _) => Some(rate),
            (StageLimit::Varies, Stage::RateTrace(trace)) => {
                let end = self.scenario.duration;
                let ends = trace.steps.iter().skip(1).map(|s| s.at.min(end)).chain([end]);
                let bits = trace
                    .steps
                    .iter()
                    .zip(ends)
                    .map(|(s, until)| s.rate.as_bps() as f64 * until.saturating_sub(s.at).as_secs_f64());
                Some(Rate::from_bps((bits.sum::<f64>() / end.as_secs_f64()) as u64))
            }
            _ => None,
        }
    }

    /// The share of a stage's rate that its flows reach with their delivered data, including headers. For a
    /// shared limit: of all flows together over the measured time, or of one connection while it has
    /// something to send, whichever is larger. For a per-flow limit: of the fastest connection.
    pub fn reached(&self, stage: &SeenStage<'_>) -> Option<f64> {
        let limit = self.rate(stage.stage).filter(|r| r.as_bps() > 0)?.as_mbps();
        let mut total = 0.0;
        let mut fastest: f64 = 0.0;
        for &i in &stage.data {
            let factor = self.wire_factor(&self.scenario.flows[i]);
            let results = self.results(i);
            total += factor * results.iter().map(|f| f.goodput_mbps).sum::<f64>();
            fastest = results.iter().map(|f| factor * busy_mbps(f)).fold(fastest, f64::max);
        }
        let shared = matches!(stage.stage.limit(), StageLimit::Shared(_) | StageLimit::Varies);
        Some(if shared { total.max(fastest) } else { fastest } / limit)
    }

    /// IP bytes per byte of payload.
    fn wire_factor(&self, flow: &Flow) -> f64 {
        match flow.app {
            App::Udp { size, .. } => {
                let size = f64::from(size.unwrap_or(1500));
                size / (size - UDP_HEADERS).max(1.0)
            }
            App::Voice { .. } | App::Probe { .. } => 1.0,
            _ => {
                let mss = self.scenario.hosts[sender(flow)].stack.mss.map_or(PAYLOAD, f64::from);
                (mss + HEADERS) / mss
            }
        }
    }

    /// The bandwidth-delay product for this rate and the shortest round trip, at least 20 full packets.
    pub fn bdp(&self, rate: Rate) -> Bytes {
        Bytes::new(rate.bytes_in(self.rtt).get().max(20 * 1500))
    }

    /// The rate that a flow could reach: its tightest limit, or ten times its goodput if there is no limit.
    pub fn possible_rate(&self, flow: usize) -> Rate {
        let limit = PathLimits::new(self.scenario, self.only).flows[flow];
        let got: f64 = self.results(flow).iter().map(|f| f.goodput_mbps).sum();
        Rate::from_bps((limit.unwrap_or(10.0 * got) * 1e6) as u64)
    }

    /// By which factor the work of a run may grow if nothing holds the flows.
    pub fn growth(&self) -> f64 {
        let limits = PathLimits::new(self.scenario, self.only).flows;
        let tightest: Option<f64> =
            self.flows.iter().map(|&i| limits[i]).try_fold(0.0, |max: f64, l| Some(max.max(l?)));
        match (tightest, self.result.total_goodput_mbps) {
            (Some(limit), got) if got > 0.0 => (limit / got).clamp(1.0, MAX_GROWTH),
            _ => UNLIMITED_GROWTH,
        }
    }
}

/// Whether the flow uses TCP.
pub(super) fn is_tcp(flow: &Flow) -> bool {
    !matches!(flow.app, App::Udp { .. } | App::Voice { .. } | App::Probe { .. })
}

/// The host that sends most of a flow's data.
pub(super) fn sender(flow: &Flow) -> usize {
    if flow.app.answers() { flow.to } else { flow.from }
}

/// The host that receives most of a flow's data.
pub(super) fn receiver(flow: &Flow) -> usize {
    if flow.app.answers() { flow.from } else { flow.to }
}

/// The rate of a connection while it had something to send, Mbit/s of payload.
fn busy_mbps(f: &FlowResult) -> f64 {
    let busy = f.page_s.or(f.response_s).map(|t| t.count as f64 * t.mean);
    let over = |seconds: f64| f.delivered_bytes as f64 * 8e-6 / seconds;
    match busy {
        Some(seconds) if seconds > 0.0 => over(seconds),
        Some(_) => 0.0,
        None if f.app == "bulk" => f.own_goodput_mbps(),
        None => f.goodput_mbps,
    }
}

/// The link directions of a flow's data and of its ACKs, each as (link index, is forward).
pub(super) fn directions(scenario: &Scenario, flow: &Flow) -> [BTreeSet<(usize, bool)>; 2] {
    let mut hosts = vec![flow.from];
    hosts.extend(flow.via.iter().map(|&r| scenario.relays[r].host));
    hosts.push(flow.to);
    if flow.app.answers() {
        hosts.reverse();
    }
    let along = |hosts: &[usize]| -> BTreeSet<(usize, bool)> {
        let legs = hosts.windows(2).flat_map(|leg| scenario.route(leg[0], leg[1]).unwrap_or_default());
        legs.map(|hop| (hop.link, hop.forward)).collect()
    };
    let there = along(&hosts);
    hosts.reverse();
    // Datagrams have no ACKs, but probes come back.
    let has_back = is_tcp(flow) || matches!(flow.app, App::Probe { .. });
    [there, if has_back { along(&hosts) } else { BTreeSet::new() }]
}
