//! Describes what cures need to know: the path of the data, what limits it, and how long it is.

use path::{Policer, QueueConfig, Stage, StageLimit};
use scenario::{Flow, Hop, PathLimits, Scenario};
use transport::App;
use units::{Bytes, Rate, Span};

/// Bytes of a full packet.
const FULL_PACKET: u64 = 1500;
/// A direction slower than the data's rate by this factor is filled by acknowledgements alone: 52 bytes for
/// two full packets, plus a margin of a half.
const ACK_RATE_DIVISOR: u64 = 40;
/// IP bit rate of a G.711 call in one direction, the highest of all codecs.
const VOICE_BPS: u64 = 80_000;
/// Bytes of the headers of IPv4 and TCP.
const HEADERS: u32 = 40;
/// Name of a stage that limits the rate between the ends.
const LIMITER: &str = "limiter";
/// Bytes of the timestamp option in a segment (RFC 7323).
const TIMESTAMPS: u32 = 12;

/// Returns the bytes of the IP and TCP headers of packets to a host, which may use IPv6.
pub fn headers(s: &Scenario, to: usize) -> u32 {
    HEADERS + s.extra_ip_header(to)
}

/// Identifies a stage of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StagePlace {
    /// Index of its link.
    pub link: usize,
    /// Whether it is in the direction from the link's first host to its second.
    pub forward: bool,
    /// Index among the stages of that direction.
    pub index: usize,
}

/// The path of a flow's data.
#[derive(Clone, Debug, PartialEq)]
pub struct DataPath {
    /// Index of the flow.
    pub flow: usize,
    /// The host that sends the data. For requests with larger responses it is the flow's `to`.
    pub from: usize,
    /// The host that receives the data.
    pub to: usize,
    /// Links that the data passes, including those to the flow's relays.
    pub hops: Vec<Hop>,
    /// Stages of these links, in order.
    pub stages: Vec<StagePlace>,
    /// Stages that the opposite direction passes, in order: acknowledgements, echoes, requests.
    pub back: Vec<StagePlace>,
    /// Round-trip time of the empty path.
    pub rtt: Span,
    /// The lowest rate limit on the path.
    pub rate: Option<Rate>,
}

/// Equally likely scenarios, and the paths of the first one, the reference. The scenarios differ only in
/// numbers: hosts, links, stages and flows are the same.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// The scenarios, at least one.
    pub scenarios: &'a [Scenario],
    /// Paths of the reference's TCP flows.
    pub paths: Vec<DataPath>,
    /// Paths of the reference's datagram flows: calls, games, probes.
    pub datagrams: Vec<DataPath>,
}

impl<'a> Situation<'a> {
    /// Analyses `scenarios`, of which there must be at least one.
    pub fn new(scenarios: &'a [Scenario]) -> Situation<'a> {
        let reference = &scenarios[0];
        let limits = PathLimits::new(reference, None);
        let paths = |datagrams: bool| {
            let flows = reference.flows.iter().enumerate().filter(|(_, f)| f.app.is_datagrams() == datagrams);
            flows.filter_map(|(i, f)| DataPath::of(reference, i, f, limits.flows[i])).collect()
        };
        Situation { scenarios, paths: paths(false), datagrams: paths(true) }
    }

    /// Returns the paths of all flows, those of TCP first.
    pub fn all_paths(&self) -> impl Iterator<Item = &DataPath> {
        self.paths.iter().chain(&self.datagrams)
    }

    /// Returns the scenario that cures are fitted to.
    pub fn reference(&self) -> &'a Scenario {
        &self.scenarios[0]
    }

    /// Returns the name of a host.
    pub fn host(&self, host: usize) -> &'a str {
        &self.reference().hosts[host].name
    }

    /// Returns a stage of the reference.
    pub fn stage(&self, place: StagePlace) -> &'a Stage {
        &stages(self.reference(), place)[place.index].stage
    }

    /// Returns a stage's name as in results: `link.direction.stage`.
    pub fn stage_name(&self, place: StagePlace) -> String {
        let link = &self.reference().links[place.link];
        let direction = if place.forward { "forward" } else { "backward" };
        format!("{}.{direction}.{}", link.name, stages(self.reference(), place)[place.index].name)
    }

    /// Returns the stage's own name if it is unique in the scenario, else the full name.
    pub fn short_name(&self, place: StagePlace) -> String {
        let name = &named(self.reference(), place).name;
        let stages = self.reference().links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
        if stages.filter(|s| s.name == *name).count() == 1 { name.clone() } else { self.stage_name(place) }
    }

    /// Returns the names of the hosts at the two ends of a stage's direction: where packets come from, and
    /// where they go to.
    pub fn ends(&self, place: StagePlace) -> [&'a str; 2] {
        let [a, b] = self.reference().links[place.link].between;
        let [from, to] = if place.forward { [a, b] } else { [b, a] };
        [self.host(from), self.host(to)]
    }

    /// Whether a stage is the port of the host that sends into it: the first stage of its direction that
    /// limits the rate, and not called `limiter`. That is the name of a limit between the ends in `longfat
    /// new`, `longfat fit` and the examples, where two hosts are often all there is.
    pub fn is_port(&self, place: StagePlace) -> bool {
        let before = &stages(self.reference(), place)[..place.index];
        let limits = |s: &scenario::NamedStage| !s.assumed && s.stage.limit() != StageLimit::None;
        named(self.reference(), place).name != LIMITER && !before.iter().any(limits)
    }

    /// Returns the stages that data passes and `wanted` accepts, each once, in the order of the links.
    pub fn places(&self, wanted: impl Fn(&Stage) -> bool) -> Vec<StagePlace> {
        let all = self.all_paths().flat_map(|w| &w.stages).copied();
        let mut places: Vec<StagePlace> = all.filter(|&p| wanted(self.stage(p))).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Returns the policers that drop excess data, with one bucket for all flows.
    pub fn policers(&self) -> Vec<StagePlace> {
        self.places(|stage| matches!(stage, Stage::Policer(p) if p.largest().is_some() && !p.per_flow))
    }

    /// Returns the policers that drop excess data, with a bucket for each flow.
    pub fn policers_of_flows(&self) -> Vec<StagePlace> {
        self.places(|stage| matches!(stage, Stage::Policer(p) if p.largest().is_some() && p.per_flow))
    }

    /// Returns the policer at `place`.
    pub fn policer(&self, place: StagePlace) -> Option<&'a Policer> {
        if let Stage::Policer(policer) = self.stage(place) { Some(policer) } else { None }
    }

    /// Returns the lowest rate of a policer over all scenarios.
    pub fn policed_rate(&self, place: StagePlace) -> Option<Rate> {
        let rate = |s: &'a Scenario| match &stages(s, place).get(place.index)?.stage {
            Stage::Policer(p) => Some(p.rate),
            _ => None,
        };
        self.scenarios.iter().filter_map(rate).min()
    }

    /// Returns the smallest bucket of a policer over all scenarios.
    pub fn policed_burst(&self, place: StagePlace) -> Option<Bytes> {
        let burst = |s: &'a Scenario| match &stages(s, place).get(place.index)?.stage {
            Stage::Policer(p) => p.largest(),
            _ => None,
        };
        self.scenarios.iter().filter_map(burst).min()
    }

    /// Returns the paths of TCP data that pass a stage.
    pub fn through(&self, place: StagePlace) -> impl Iterator<Item = &DataPath> {
        self.paths.iter().filter(move |w| w.stages.contains(&place))
    }

    /// Returns the longest round-trip time of the paths that pass a stage.
    pub fn longest_rtt(&self, place: StagePlace) -> Span {
        self.through(place).map(|w| w.rtt).max().unwrap_or_default()
    }

    /// Returns the hosts that send data, each once, in the order of the flows.
    pub fn senders(&self) -> Vec<usize> {
        distinct(self.paths.iter().map(|w| w.from))
    }

    /// Returns the hosts that receive data, each once, in the order of the flows.
    pub fn receivers(&self) -> Vec<usize> {
        distinct(self.paths.iter().map(|w| w.to))
    }

    /// Returns the paths of all flows whose data passes a stage.
    pub fn all_through(&self, place: StagePlace) -> impl Iterator<Item = &DataPath> {
        self.all_paths().filter(move |w| w.stages.contains(&place))
    }

    /// Returns the number of connections of all flows whose data passes a stage, at least one.
    pub fn connections(&self, place: StagePlace) -> u64 {
        let flows = self.all_through(place).map(|w| u64::from(self.reference().flows[w.flow].count));
        if self.reference().one_at_a_time { flows.max().unwrap_or(1) } else { flows.sum::<u64>().max(1) }
    }

    /// Returns the share of a stage's rate that datagrams take.
    pub fn taken_by_datagrams(&self, place: StagePlace) -> Rate {
        let flows = self.datagrams.iter().filter(|w| w.stages.contains(&place));
        let bps = flows.map(|w| {
            let flow = &self.reference().flows[w.flow];
            let each = match &flow.app {
                App::Udp { rate, .. } => rate.as_bps(),
                // Small compared with bulk data; the rate of the largest codec is assumed.
                App::Voice { .. } => VOICE_BPS,
                _ => 0,
            };
            each * u64::from(flow.count)
        });
        Rate::from_bps(bps.sum())
    }

    /// Returns the lowest rate of a stage over all scenarios; `None` where it varies or is unlimited.
    pub fn rate_of(&self, place: StagePlace) -> Option<Rate> {
        let rate = |s: &'a Scenario| match stages(s, place).get(place.index)?.stage.limit() {
            StageLimit::Shared(rate) | StageLimit::Each(rate) => Some(rate),
            StageLimit::None | StageLimit::Varies => None,
        };
        self.scenarios.iter().filter_map(rate).min()
    }

    /// Returns the right depth of a queue in packets: the bandwidth-delay product, which keeps a link busy
    /// while a window halves (Villamizar and Song 1994), or the initial windows of all connections, whichever
    /// is more, but at least 20. `None` where the rate is unknown.
    pub fn right_depth(&self, place: StagePlace) -> Option<u64> {
        const INITIAL_WINDOW: u64 = 10;
        const PACKETS: [u64; 2] = [20, 2000];
        let rate = self.rate_of(place)?;
        let windows = INITIAL_WINDOW.saturating_mul(self.connections(place)).min(PACKETS[1]);
        Some((rate.bytes_in(self.longest_rtt(place)).get() / FULL_PACKET).max(windows).max(PACKETS[0]))
    }

    /// Returns the queues in which packets wait. For each direction of each flow it is the queue with the
    /// lowest rate per connection, unless a policer on the path has a lower one; queues of a varying rate
    /// always count. The direction of acknowledgements counts if data passes there, too, or if it is so slow
    /// that acknowledgements alone fill it.
    pub fn bottlenecks(&self) -> Vec<StagePlace> {
        let mut found = Vec::new();
        for path in self.all_paths() {
            found.extend(self.bottlenecks_of(&path.stages));
            let narrow = |p: &StagePlace| {
                let rates = (self.rate_of(*p), path.rate);
                matches!(rates, (Some(back), Some(data)) if back.as_bps() * ACK_RATE_DIVISOR < data.as_bps())
            };
            let back = self.bottlenecks_of(&path.back);
            found.extend(back.into_iter().filter(|p| self.all_through(*p).next().is_some() || narrow(p)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the queues in which packets wait that pass these stages.
    fn bottlenecks_of(&self, all: &[StagePlace]) -> Vec<StagePlace> {
        let explicit = || all.iter().copied().filter(|&p| !named(self.reference(), p).assumed);
        let each = |p: StagePlace| match self.stage(p).limit() {
            StageLimit::Shared(rate) => Some(rate.as_bps() / self.connections(p)),
            StageLimit::Each(rate) => Some(rate.as_bps()),
            StageLimit::None | StageLimit::Varies => None,
        };
        let is_varying = |p: &StagePlace| self.stage(*p).limit() == StageLimit::Varies;
        let mut found: Vec<StagePlace> =
            explicit().filter(|p| is_varying(p) && queue(self.stage(*p)).is_some()).collect();
        let slowest = explicit().filter_map(|p| Some((each(p)?, p))).min_by_key(|(rate, _)| *rate);
        // If rates are equal, the first stage holds the packets, be it a policer or a queue.
        if let Some((_, place)) = slowest
            && queue(self.stage(place)).is_some()
        {
            found.push(place);
        }
        found
    }
}

impl DataPath {
    fn of(s: &Scenario, index: usize, flow: &Flow, limit: Option<f64>) -> Option<DataPath> {
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
        Some(DataPath { flow: index, from, to, hops, stages: there, back, rtt, rate })
    }

    /// Returns the sizes of a full packet in bytes: its payload, and what the stage at `place` counts.
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

    /// Returns the largest packet, in bytes, that no stage refuses or fragments; `None` for no limit.
    pub fn largest_packet(&self, s: &Scenario) -> Option<u32> {
        let mut tunnels = Vec::new();
        let mut smallest_limit: Option<u32> = None;
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
            smallest_limit = smallest_limit.into_iter().chain(inner).min();
        }
        smallest_limit
    }

    /// Whether full packets on this path are dropped for their size without an ICMP message (RFC 2923 section
    /// 2.1).
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

    /// Returns the bytes of a full packet as its sender sends it.
    fn full_packet(&self, s: &Scenario) -> u32 {
        let mss = |host: usize| s.hosts[host].stack.mss.unwrap_or(u32::MAX);
        let headers = headers(s, self.to);
        let segment = mss(self.from).min(mss(self.to)).min(s.mtu(self.from, self.to).saturating_sub(headers));
        segment + headers
    }

    /// Returns the bandwidth-delay product.
    pub fn bdp(&self) -> Option<Bytes> {
        self.rate.map(|rate| rate.bytes_in(self.rtt))
    }
}

/// Returns the stages of a link's direction.
pub fn stages(s: &Scenario, place: StagePlace) -> &Vec<scenario::NamedStage> {
    let link = &s.links[place.link];
    if place.forward { &link.forward } else { &link.backward }
}

/// Returns the stages of a link's direction, for changes.
pub fn stages_mut(s: &mut Scenario, place: StagePlace) -> &mut Vec<scenario::NamedStage> {
    let link = &mut s.links[place.link];
    if place.forward { &mut link.forward } else { &mut link.backward }
}

fn named(s: &Scenario, place: StagePlace) -> &scenario::NamedStage {
    &stages(s, place)[place.index]
}

/// Returns the queue of a stage that has one and may be slower than its input.
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

/// Replaces the queue of a stage.
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

/// Returns the limit of a queue in full packets.
pub fn depth(queue: &QueueConfig) -> u64 {
    let limits = queue.limits();
    limits.packets.min(limits.bytes / FULL_PACKET).max(1)
}

/// Returns the delay of an empty stage without transmission; the mean if it varies.
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
    let stages_of = |hop: &Hop| {
        let place = StagePlace { link: hop.link, forward: hop.forward, index: 0 };
        (0..stages(s, place).len()).map(move |index| StagePlace { index, ..place })
    };
    hops.iter().flat_map(stages_of).collect()
}

fn distinct(all: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut list = Vec::new();
    for host in all {
        if !list.contains(&host) {
            list.push(host);
        }
    }
    list
}
