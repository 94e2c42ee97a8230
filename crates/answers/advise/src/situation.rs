//! What cures look at: where the data goes, what limits it there, how far it is.

use path::{Policer, QueueConfig, Stage};
use scenario::{Flow, Hop, PathLimits, Scenario};
use units::{Bytes, Rate, Span};

/// Bytes of the headers of IPv4 and TCP.
const HEADERS: u32 = 40;
/// Bytes of the timestamp option that a segment carries (RFC 7323).
const TIMESTAMPS: u32 = 12;

/// Bytes of the headers of IP and TCP to a host, which may be IPv6.
pub fn headers(s: &Scenario, to: usize) -> u32 {
    HEADERS + s.longer_header(to)
}

/// A stage of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StagePlace {
    /// Index of its link.
    pub link: usize,
    /// From the link's first host to its second.
    pub forward: bool,
    /// Which of the stages of that direction.
    pub index: usize,
}

/// The way of a TCP flow's data.
#[derive(Clone, Debug, PartialEq)]
pub struct DataWay {
    /// Index of the flow.
    pub flow: usize,
    /// The host that sends the data; of requests with larger answers that is the flow's `to`.
    pub from: usize,
    /// The host that receives it.
    pub to: usize,
    /// Links that the data passes, by way of the flow's relays.
    pub hops: Vec<Hop>,
    /// Their stages, in order.
    pub stages: Vec<StagePlace>,
    /// Round trip of the empty path.
    pub rtt: Span,
    /// The tightest limit on the way.
    pub rate: Option<Rate>,
}

/// Scenarios that are equally likely to be the truth, and what the first of them, the reference, is like. They differ in
/// numbers only: hosts, links, stages and flows are the same.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// At least one.
    pub scenarios: &'a [Scenario],
    /// Of the reference's TCP flows.
    pub ways: Vec<DataWay>,
}

impl<'a> Situation<'a> {
    /// Looks at `scenarios`, of which there is at least one.
    pub fn new(scenarios: &'a [Scenario]) -> Situation<'a> {
        let reference = &scenarios[0];
        let limits = PathLimits::new(reference, None);
        let tcp = reference.flows.iter().enumerate().filter(|(_, f)| !f.app.is_datagrams());
        let ways = tcp.filter_map(|(i, f)| DataWay::of(reference, i, f, limits.flows[i]));
        Situation { scenarios, ways: ways.collect() }
    }

    /// The scenario that cures are fitted to.
    pub fn reference(&self) -> &'a Scenario {
        &self.scenarios[0]
    }

    /// The name of a host.
    pub fn host(&self, host: usize) -> &'a str {
        &self.reference().hosts[host].name
    }

    /// A stage of the reference.
    pub fn stage(&self, place: StagePlace) -> &'a Stage {
        &stages(self.reference(), place)[place.index].stage
    }

    /// `link.direction.stage`, as results name it.
    pub fn stage_name(&self, place: StagePlace) -> String {
        let link = &self.reference().links[place.link];
        let way = if place.forward { "forward" } else { "backward" };
        format!("{}.{way}.{}", link.name, stages(self.reference(), place)[place.index].name)
    }

    /// The host that packets come from to a link, and the one they go to.
    pub fn ends(&self, place: StagePlace) -> [&'a str; 2] {
        let [a, b] = self.reference().links[place.link].between;
        let [from, to] = if place.forward { [a, b] } else { [b, a] };
        [self.host(from), self.host(to)]
    }

    /// Stages that data passes and that `wanted` takes, each once, in the order of the links.
    pub fn places(&self, wanted: impl Fn(&Stage) -> bool) -> Vec<StagePlace> {
        let all = self.ways.iter().flat_map(|w| &w.stages).copied();
        let mut places: Vec<StagePlace> = all.filter(|&p| wanted(self.stage(p))).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Policers that drop what exceeds them, on ways of data; those aside that have a bucket for each flow.
    pub fn policers(&self) -> Vec<StagePlace> {
        self.places(|stage| matches!(stage, Stage::Policer(p) if p.largest().is_some() && !p.per_flow))
    }

    /// The policer at `place`.
    pub fn policer(&self, place: StagePlace) -> Option<&'a Policer> {
        if let Stage::Policer(policer) = self.stage(place) { Some(policer) } else { None }
    }

    /// The lowest rate that a policer may have, over all scenarios.
    pub fn policed_rate(&self, place: StagePlace) -> Option<Rate> {
        let rate = |s: &'a Scenario| match &stages(s, place).get(place.index)?.stage {
            Stage::Policer(p) => Some(p.rate),
            _ => None,
        };
        self.scenarios.iter().filter_map(rate).min()
    }

    /// The smallest bucket that a policer may have, over all scenarios.
    pub fn policed_burst(&self, place: StagePlace) -> Option<Bytes> {
        let burst = |s: &'a Scenario| match &stages(s, place).get(place.index)?.stage {
            Stage::Policer(p) => p.largest(),
            _ => None,
        };
        self.scenarios.iter().filter_map(burst).min()
    }

    /// Ways that pass a stage.
    pub fn through(&self, place: StagePlace) -> impl Iterator<Item = &DataWay> {
        self.ways.iter().filter(move |w| w.stages.contains(&place))
    }

    /// The longest round trip of the ways that pass a stage.
    pub fn longest_rtt(&self, place: StagePlace) -> Span {
        self.through(place).map(|w| w.rtt).max().unwrap_or_default()
    }

    /// Hosts that send data, each once, in the order of the flows.
    pub fn senders(&self) -> Vec<usize> {
        once(self.ways.iter().map(|w| w.from))
    }

    /// Hosts that receive data, each once, in the order of the flows.
    pub fn receivers(&self) -> Vec<usize> {
        once(self.ways.iter().map(|w| w.to))
    }

    /// The stage that limits each way's rate: queues of links and shapers of the least rate that are no policers.
    pub fn bottlenecks(&self) -> Vec<StagePlace> {
        let mut found = Vec::new();
        for way in &self.ways {
            let rated = way.stages.iter().filter_map(|&p| Some((queued_rate(self.stage(p))?, p)));
            let least = rated.min_by_key(|(rate, _)| *rate);
            let Some((rate, place)) = least else { continue };
            // What a policer lets through never waits at a faster link behind it.
            if way.rate.is_none_or(|limit| rate <= limit) {
                found.push(place);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl DataWay {
    fn of(s: &Scenario, index: usize, flow: &Flow, limit: Option<f64>) -> Option<DataWay> {
        let mut hosts = vec![flow.from];
        hosts.extend(flow.via.iter().map(|&r| s.relays[r].host));
        hosts.push(flow.to);
        if flow.app.answers() {
            hosts.reverse();
        }
        let (from, to) = (hosts[0], hosts[hosts.len() - 1]);
        let mut hops = Vec::new();
        let mut back = Vec::new();
        for leg in hosts.windows(2) {
            hops.extend(s.route(leg[0], leg[1])?);
            back.extend(s.route(leg[1], leg[0])?);
        }
        let there = places(s, &hops);
        let delays =
            there.iter().copied().chain(places(s, &back)).map(|p| delay(&stages(s, p)[p.index].stage));
        let rtt = Span::from_nanos(delays.map(Span::as_nanos).sum());
        let rate = limit.map(|mbps| Rate::from_bps((mbps * 1e6).round() as u64));
        Some(DataWay { flow: index, from, to, hops, stages: there, rtt, rate })
    }

    /// Sizes of a full packet of this way: payload, and all that the stage at `place` counts of it, bytes.
    pub fn sizes_at(&self, s: &Scenario, place: StagePlace) -> [u32; 2] {
        let mss = |host: usize| s.hosts[host].stack.mss.unwrap_or(u32::MAX);
        let headers = headers(s, self.to);
        let segment = mss(self.from).min(mss(self.to)).min(s.mtu(self.from, self.to).saturating_sub(headers));
        let mut sizes = vec![segment + headers];
        for &at in self.stages.iter().take_while(|&&p| p != place) {
            let size = sizes[sizes.len() - 1];
            match &stages(s, at)[at.index].stage {
                Stage::Tunnel(tunnel) => sizes.push(tunnel.outer(size)),
                Stage::TunnelEnd(_) if sizes.len() > 1 => drop(sizes.pop()),
                _ => {}
            }
        }
        [segment.saturating_sub(TIMESTAMPS), sizes[sizes.len() - 1]]
    }

    /// The largest packet of this way's sender that no stage refuses or cuts, bytes; `None`: any.
    pub fn largest_packet(&self, s: &Scenario) -> Option<u32> {
        let mut tunnels = Vec::new();
        let mut least: Option<u32> = None;
        for &place in &self.stages {
            let stage = &stages(s, place)[place.index].stage;
            let limit = match stage {
                Stage::Tunnel(tunnel) => {
                    tunnels.push(tunnel);
                    tunnel.mtu
                }
                Stage::TunnelEnd(_) => {
                    tunnels.pop();
                    None
                }
                Stage::Link(s) => s.mtu,
                Stage::RateTrace(s) => s.mtu,
                Stage::Handover(s) => s.mtu,
                Stage::Train(s) => s.mtu,
                _ => None,
            };
            let inner = limit.map(|mtu| tunnels.iter().rev().fold(mtu, |mtu, t| t.largest_inner(mtu)));
            least = least.into_iter().chain(inner).min();
        }
        least
    }

    /// Bytes that the way holds at its rate.
    pub fn bdp(&self) -> Option<Bytes> {
        self.rate.map(|rate| rate.bytes_in(self.rtt))
    }
}

/// The stages of a link's direction.
pub fn stages(s: &Scenario, place: StagePlace) -> &Vec<scenario::NamedStage> {
    let link = &s.links[place.link];
    if place.forward { &link.forward } else { &link.backward }
}

/// The same, to change.
pub fn stages_mut(s: &mut Scenario, place: StagePlace) -> &mut Vec<scenario::NamedStage> {
    let link = &mut s.links[place.link];
    if place.forward { &mut link.forward } else { &mut link.backward }
}

/// The rate of what has a queue.
fn queued_rate(stage: &Stage) -> Option<Rate> {
    match stage {
        Stage::Link(link) => link.rate,
        Stage::Shaper(shaper) => Some(shaper.rate),
        _ => None,
    }
}

/// The queue of a link or a shaper.
pub fn queue(stage: &Stage) -> Option<QueueConfig> {
    match stage {
        Stage::Link(link) => Some(link.queue.clone()),
        Stage::Shaper(shaper) => Some(shaper.queue()),
        _ => None,
    }
}

/// What a packet takes through an empty stage, transmission aside; of delays that vary the mean.
fn delay(stage: &Stage) -> Span {
    match stage {
        Stage::Link(s) => s.delay,
        Stage::Delay(s) => s.delay,
        Stage::Jitter(s) if s.delays.is_empty() => s.delay,
        Stage::Jitter(s) => {
            let sum: u128 = s.delays.iter().map(|d| u128::from(d.as_nanos())).sum();
            Span::from_nanos((sum / s.delays.len() as u128) as u64)
        }
        Stage::RateTrace(s) => s.delay,
        Stage::Handover(s) => s.delay,
        Stage::Train(s) => s.delay,
        _ => Span::ZERO,
    }
}

fn places(s: &Scenario, hops: &[Hop]) -> Vec<StagePlace> {
    let of = |hop: &Hop| {
        let place = StagePlace { link: hop.link, forward: hop.forward, index: 0 };
        (0..stages(s, place).len()).map(move |index| StagePlace { index, ..place })
    };
    hops.iter().flat_map(of).collect()
}

fn once(all: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut list = Vec::new();
    for host in all {
        if !list.contains(&host) {
            list.push(host);
        }
    }
    list
}
