//! What cures look at: where the data goes, what limits it there, how far it is.

use path::{Policer, QueueConfig, Stage, StageLimit};
use scenario::{Flow, Hop, PathLimits, Scenario};
use transport::App;
use units::{Bytes, Rate, Span};

/// Bytes of a full packet.
const FULL_PACKET: u64 = 1500;
/// A direction with less than this part of the data's rate is filled by acknowledgements alone: 52 bytes for two full packets, and
/// half as much again.
const ACK_SHARE: u64 = 40;
/// IP bits a second of a G.711 call in one direction, the most that a call takes.
const VOICE_BPS: u64 = 80_000;
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

/// The way of a flow's data.
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
    /// Stages that what comes back passes, in order: acknowledgements, echoes, requests.
    pub back: Vec<StagePlace>,
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
    /// Of the reference's datagrams: calls, games, probes.
    pub datagrams: Vec<DataWay>,
}

impl<'a> Situation<'a> {
    /// Looks at `scenarios`, of which there is at least one.
    pub fn new(scenarios: &'a [Scenario]) -> Situation<'a> {
        let reference = &scenarios[0];
        let limits = PathLimits::new(reference, None);
        let ways = |datagrams: bool| {
            let flows = reference.flows.iter().enumerate().filter(|(_, f)| f.app.is_datagrams() == datagrams);
            flows.filter_map(|(i, f)| DataWay::of(reference, i, f, limits.flows[i])).collect()
        };
        Situation { scenarios, ways: ways(false), datagrams: ways(true) }
    }

    /// Ways of all flows, TCP's first.
    pub fn all_ways(&self) -> impl Iterator<Item = &DataWay> {
        self.ways.iter().chain(&self.datagrams)
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

    /// The stage's own name where no other link or direction has one of that name, else with theirs.
    pub fn short_name(&self, place: StagePlace) -> String {
        let name = &named(self.reference(), place).name;
        let stages = self.reference().links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
        if stages.filter(|s| s.name == *name).count() == 1 { name.clone() } else { self.stage_name(place) }
    }

    /// The host that packets come from to a link, and the one they go to.
    pub fn ends(&self, place: StagePlace) -> [&'a str; 2] {
        let [a, b] = self.reference().links[place.link].between;
        let [from, to] = if place.forward { [a, b] } else { [b, a] };
        [self.host(from), self.host(to)]
    }

    /// Stages that data passes and that `wanted` takes, each once, in the order of the links.
    pub fn places(&self, wanted: impl Fn(&Stage) -> bool) -> Vec<StagePlace> {
        let all = self.all_ways().flat_map(|w| &w.stages).copied();
        let mut places: Vec<StagePlace> = all.filter(|&p| wanted(self.stage(p))).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Policers that drop what exceeds them, with one bucket for all flows, on ways of data.
    pub fn policers(&self) -> Vec<StagePlace> {
        self.places(|stage| matches!(stage, Stage::Policer(p) if p.largest().is_some() && !p.per_flow))
    }

    /// Policers that drop what exceeds them, with a bucket for each flow, on ways of data.
    pub fn policers_of_flows(&self) -> Vec<StagePlace> {
        self.places(|stage| matches!(stage, Stage::Policer(p) if p.largest().is_some() && p.per_flow))
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

    /// Ways of TCP data that pass a stage.
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

    /// Ways of all flows that pass a stage with their data.
    pub fn all_through(&self, place: StagePlace) -> impl Iterator<Item = &DataWay> {
        self.all_ways().filter(move |w| w.stages.contains(&place))
    }

    /// Connections of all flows that pass a stage with their data; at least one.
    pub fn connections(&self, place: StagePlace) -> u64 {
        let flows = self.all_through(place).map(|w| u64::from(self.reference().flows[w.flow].count));
        if self.reference().one_at_a_time { flows.max().unwrap_or(1) } else { flows.sum::<u64>().max(1) }
    }

    /// What datagrams take of a stage's rate.
    pub fn taken_by_datagrams(&self, place: StagePlace) -> Rate {
        let flows = self.datagrams.iter().filter(|w| w.stages.contains(&place));
        let bps = flows.map(|w| {
            let flow = &self.reference().flows[w.flow];
            let each = match &flow.app {
                App::Udp { rate, .. } => rate.as_bps(),
                // Little next to bulk data: the largest codec's.
                App::Voice { .. } => VOICE_BPS,
                _ => 0,
            };
            each * u64::from(flow.count)
        });
        Rate::from_bps(bps.sum())
    }

    /// The rate of a stage over all scenarios, the lowest that it may have; `None` where it varies or is unlimited.
    pub fn rate_of(&self, place: StagePlace) -> Option<Rate> {
        let rate = |s: &'a Scenario| match stages(s, place).get(place.index)?.stage.limit() {
            StageLimit::Shared(rate) | StageLimit::Each(rate) => Some(rate),
            StageLimit::None | StageLimit::Varies => None,
        };
        self.scenarios.iter().filter_map(rate).min()
    }

    /// Packets that a queue should hold: the bandwidth-delay product, which keeps a line busy while a window halves
    /// (Villamizar and Song 1994), or the initial windows of all connections, whichever is more; 20 at least. `None` where the
    /// rate is not known.
    pub fn right_depth(&self, place: StagePlace) -> Option<u64> {
        const INITIAL_WINDOW: u64 = 10;
        const PACKETS: [u64; 2] = [20, 2000];
        let rate = self.rate_of(place)?;
        let windows = INITIAL_WINDOW.saturating_mul(self.connections(place)).min(PACKETS[1]);
        Some((rate.bytes_in(self.longest_rtt(place)).get() / FULL_PACKET).max(windows).max(PACKETS[0]))
    }

    /// Queues in which packets wait: of each direction of each flow the one with the least rate for each connection, unless a
    /// policer before or behind it lets less through, and every queue of a varying rate. The direction of acknowledgements counts
    /// where data passes there too, or where it is so slow that they alone fill it.
    pub fn bottlenecks(&self) -> Vec<StagePlace> {
        let mut found = Vec::new();
        for way in self.all_ways() {
            found.extend(self.waits(&way.stages));
            let narrow = |p: &StagePlace| {
                let rates = (self.rate_of(*p), way.rate);
                matches!(rates, (Some(back), Some(data)) if back.as_bps() * ACK_SHARE < data.as_bps())
            };
            let back = self.waits(&way.back);
            found.extend(back.into_iter().filter(|p| self.all_through(*p).next().is_some() || narrow(p)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Where packets wait that pass these stages.
    fn waits(&self, all: &[StagePlace]) -> Vec<StagePlace> {
        let written = || all.iter().copied().filter(|&p| !named(self.reference(), p).assumed);
        let each = |p: StagePlace| match self.stage(p).limit() {
            StageLimit::Shared(rate) => Some(rate.as_bps() / self.connections(p)),
            StageLimit::Each(rate) => Some(rate.as_bps()),
            StageLimit::None | StageLimit::Varies => None,
        };
        let is_varying = |p: &StagePlace| self.stage(*p).limit() == StageLimit::Varies;
        let mut found: Vec<StagePlace> =
            written().filter(|p| is_varying(p) && queue(self.stage(*p)).is_some()).collect();
        let least = written().filter_map(|p| Some((each(p)?, p))).min_by_key(|(rate, _)| *rate);
        // Of equal rates the first holds the packets, be it policer or queue.
        if let Some((_, place)) = least
            && queue(self.stage(place)).is_some()
        {
            found.push(place);
        }
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
        let back = places(s, &back);
        let delays = there.iter().chain(&back).map(|p| delay(&stages(s, *p)[p.index].stage));
        let rtt = Span::from_nanos(delays.map(Span::as_nanos).sum());
        let rate = limit.map(|mbps| Rate::from_bps((mbps * 1e6).round() as u64));
        Some(DataWay { flow: index, from, to, hops, stages: there, back, rtt, rate })
    }

    /// Sizes of a full packet of this way: payload, and all that the stage at `place` counts of it, bytes.
    pub fn sizes_at(&self, s: &Scenario, place: StagePlace) -> [u32; 2] {
        let full = self.full_packet(s);
        let segment = full - headers(s, self.to);
        let mut sizes = vec![full];
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

    /// Whether full packets of this way are dropped for their size without an ICMP message (RFC 2923 section 2.1).
    pub fn is_black_hole(&self, s: &Scenario) -> bool {
        let is_silent = |&p: &StagePlace| {
            let icmp = match &named(s, p).stage {
                Stage::Tunnel(x) => x.icmp,
                Stage::Link(x) => x.icmp,
                Stage::RateTrace(x) => x.icmp,
                Stage::Handover(x) => x.icmp,
                Stage::Train(x) => x.icmp,
                _ => None,
            };
            icmp == Some(false)
        };
        let full = self.full_packet(s);
        self.largest_packet(s).is_some_and(|largest| largest < full) && self.stages.iter().any(is_silent)
    }

    /// A full packet as this way's sender sends it, bytes.
    fn full_packet(&self, s: &Scenario) -> u32 {
        let mss = |host: usize| s.hosts[host].stack.mss.unwrap_or(u32::MAX);
        let headers = headers(s, self.to);
        let segment = mss(self.from).min(mss(self.to)).min(s.mtu(self.from, self.to).saturating_sub(headers));
        segment + headers
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

fn named(s: &Scenario, place: StagePlace) -> &scenario::NamedStage {
    &stages(s, place)[place.index]
}

/// The queue of what has one and may be slower than what comes.
pub fn queue(stage: &Stage) -> Option<QueueConfig> {
    match stage {
        Stage::Link(link) => Some(link.queue.clone()),
        Stage::Shaper(shaper) => Some(shaper.queue()),
        Stage::RateTrace(trace) => Some(trace.queue.clone()),
        Stage::Handover(handover) => Some(handover.queue.clone()),
        Stage::Train(train) => Some(train.queue.clone()),
        _ => None,
    }
}

/// Gives a stage another queue.
pub fn set_queue(stage: &mut Stage, queue: QueueConfig) {
    match stage {
        Stage::Link(link) => link.queue = queue,
        Stage::Shaper(shaper) => (shaper.queue, shaper.latency) = (Some(queue), None),
        Stage::RateTrace(trace) => trace.queue = queue,
        Stage::Handover(handover) => handover.queue = queue,
        Stage::Train(train) => train.queue = queue,
        _ => {}
    }
}

/// Full packets that a queue holds at most.
pub fn depth(queue: &QueueConfig) -> u64 {
    let limits = queue.limits();
    limits.packets.min(limits.bytes / FULL_PACKET).max(1)
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
