//! The event loop: takes the earliest deadline, wakes its owner, and delivers the packets that result.

mod relayed;

use crate::agenda::{Agenda, Owner};
use crate::collect::Collector;
use crate::end_id::EndId;
use crate::flows::{DirectedFlow, FlowKind, OwnControls, SimFlows, ip_bytes};
use crate::host_jitter::HostJitter;
use crate::network::{BouncedPacket, HostArrival, SimNetwork};
use crate::tap::{Passage, SizeRefusal, Tap};
use chains::NumberSet;
use path::{Ecn, Packet};
use result::Outcome;
use scenario::Scenario;
use std::ops::ControlFlow;
use transport::{Segment, Side, Tcp, answer};
use units::{Span, Time};

/// Options of a run, in addition to its scenario.
#[derive(Default)]
pub struct SimOptions<'a> {
    /// Seed of every random stream.
    pub seed: u64,
    /// Runs only this flow (an index of the scenario's flows).
    pub only_flow: Option<usize>,
    /// Whether hosts have random scheduling delays (the scenario's key `host_jitter`), drawn from `seed`.
    pub host_jitter: bool,
    /// Observer of every packet.
    pub tap: Option<&'a mut dyn Tap>,
    /// Called with the virtual time every 65,536 events; `Break` ends the run.
    pub progress: Option<&'a mut dyn FnMut(Time) -> ControlFlow<()>>,
    /// Controllers that replace those of the scenario.
    pub controls: Option<&'a OwnControls<'a>>,
}

/// Number of events between two calls of [`SimOptions::progress`].
const REPORT_EVERY: u64 = 1 << 16;

pub(crate) struct SimRun<'a> {
    now: Time,
    network: SimNetwork,
    pub(crate) flows: SimFlows,
    collector: Collector,
    agenda: Agenda,
    jitter: HostJitter,
    next_id: u64,
    events: u64,
    segments: Vec<Segment>,
    others: Vec<Segment>,
    /// Whether [`SimOptions::progress`] ended the run.
    pub(crate) ended: bool,
    options: SimOptions<'a>,
}

impl<'a> SimRun<'a> {
    /// Prepares a run at time zero.
    pub(crate) fn new(
        scenario: &Scenario,
        options: SimOptions<'a>,
        controls: Option<&OwnControls<'_>>,
    ) -> SimRun<'a> {
        let mut network = SimNetwork::new(scenario, options.seed);
        let mut flows = SimFlows::new(scenario, options.seed, options.only_flow, controls);
        let sampled = !scenario.sample.is_zero();
        if sampled {
            flows.record_retransmissions();
        }
        network.lost = vec![0; flows.directed.len()];
        network.datagrams = flows.ends.len() as u32;
        network.dropped = vec![NumberSet::default(); network.lost.len() - flows.ends.len()];
        if options.tap.as_ref().is_some_and(|tap| tap.watches_stages()) {
            network.directions.iter_mut().for_each(|direction| direction.chain.watch());
        }
        network.set_flows(scenario, (0..flows.directed.len()).map(|number| flows.hosts_of(number as u32)));
        let collector = Collector::new(scenario, &flows, &network);
        let jitter = match options.host_jitter {
            true => HostJitter::new(scenario, options.seed, &mut flows),
            false => HostJitter::default(),
        };
        let agenda =
            Agenda::new(network.directions.len(), jitter.hosts.len(), flows.ends.len(), flows.flows.len());
        let mut run = SimRun {
            now: Time::ZERO,
            network,
            flows,
            collector,
            agenda,
            jitter,
            next_id: 0,
            events: 0,
            segments: Vec::new(),
            others: Vec::new(),
            ended: false,
            options,
        };
        run.begin(sampled);
        run
    }

    /// The outcome of a run that was simulated until `end`.
    pub(crate) fn summary(self, variant: &str, scenario: &Scenario, end: Time) -> Outcome {
        let only = self.options.only_flow;
        let SimRun { collector, flows, network, next_id, .. } = self;
        if cfg!(debug_assertions) {
            network.check(next_id);
            flows.ends.iter().for_each(Tcp::check);
        }
        collector.finish(variant, scenario, &flows, &network, only, end)
    }
}

impl SimRun<'_> {
    fn begin(&mut self, sampled: bool) {
        for direction in 0..self.network.directions.len() {
            self.network.touched.push(direction as u32);
        }
        self.settle();
        if sampled {
            self.agenda.set(Owner::Sampler, Some(Time::ZERO));
        }
        let starts = self.jitter.starts(&self.flows);
        for (flow, start) in (0..).zip(starts) {
            self.agenda.set(Owner::Flow(flow), Some(start));
        }
    }

    /// Routes packets around the links `down` from now on.
    pub(crate) fn reroute(&mut self, scenario: &Scenario, down: &[usize]) {
        self.network.find_routes(scenario, down);
    }

    /// Simulates all events up to `end`, or until [`SimOptions::progress`] ends the run; returns the time
    /// reached. The run can be continued.
    pub(crate) fn play(&mut self, mut end: Time, sample: Span) -> Time {
        while let Some((at, owner)) = self.agenda.take_next(end) {
            self.now = at;
            match owner {
                Owner::Direction(direction) => self.wake_direction(direction),
                Owner::Sampler => {
                    self.sample();
                    self.agenda.set(Owner::Sampler, Some(at + sample));
                }
                Owner::Host(host) => {
                    self.wake_host(host);
                    self.settle();
                }
                Owner::End(_) | Owner::Flow(_) => self.wake_timer(owner),
            }
            self.events += 1;
            if self.events % REPORT_EVERY == 0
                && let Some(report) = &mut self.options.progress
                && report(at).is_break()
            {
                self.ended = true;
                end = at;
                break;
            }
        }
        end
    }

    /// Ends the run: packets and data in flight are counted where they are at `end`.
    pub(crate) fn stop(&mut self, end: Time) {
        self.now = end;
        self.network.catch_up(end);
        self.settle();
    }

    /// Wakes a direction of a link at its deadline: packets leave its elements.
    #[inline]
    fn wake_direction(&mut self, direction: u32) {
        if let Some(HostArrival { host, packet }) = self.network.wake(self.now, direction) {
            self.arrive(host, packet);
        }
        self.settle();
        self.arm_direction(direction);
    }

    /// Records a point of the time series.
    fn sample(&mut self) {
        self.network.catch_up(self.now);
        self.settle();
        self.collector.sample(self.now, &self.flows, &self.network);
        if let Some(tap) = &mut self.options.tap {
            self.flows.ends.iter().zip(0..).for_each(|(end, number)| tap.end(self.now, number, end));
        }
    }

    /// Wakes a host with jitter, which handles the packets queued there.
    #[inline(never)]
    fn wake_host(&mut self, host: u32) {
        while let Some(packet) = self.jitter.hosts[host as usize].next_packet(self.now) {
            self.deliver(packet);
        }
        let wake = self.jitter.hosts[host as usize].next_wake();
        self.agenda.set(Owner::Host(host), wake);
    }

    /// Handles the deadline of an end or a flow.
    fn wake_timer(&mut self, owner: Owner) {
        if let Some(fires) = self.jitter.defer(owner, self.now, &self.flows) {
            self.agenda.set(owner, Some(fires));
            return;
        }
        match owner {
            Owner::End(end) => self.wake_end(end),
            Owner::Flow(flow) => self.wake_flow(flow),
            Owner::Direction(_) | Owner::Sampler | Owner::Host(_) => {}
        }
        self.settle();
    }

    fn wake_end(&mut self, end: EndId) {
        let tcp = &mut self.flows.ends[end.index()];
        tcp.handle_wake(self.now, &mut self.segments);
        let wake = tcp.next_wake();
        self.emit_segments(end);
        self.agenda.renew(Owner::End(end), wake.map(|wake| wake.max(self.now)));
    }

    /// Starts a flow, wakes its application, or sends its next datagram.
    fn wake_flow(&mut self, index: u32) {
        let now = self.now;
        let flow = &mut self.flows.flows[index as usize];
        let out = &mut self.segments;
        let wake = match &mut flow.kind {
            FlowKind::Udp(u) => {
                u.source.handle_wake(now, out);
                let (wake, number) = (u.source.next_wake(), u.number);
                self.emit_datagrams(number);
                wake
            }
            FlowKind::Tcp(t) => {
                let client = EndId::new(t.legs.start, Side::Client);
                let end = &mut self.flows.ends[client.index()];
                let begins = !std::mem::replace(&mut flow.started, true);
                if !begins {
                    t.app.handle_wake(now, end, out);
                    // Data that the application waited for may have arrived already.
                    let server = EndId::new(t.legs.start + t.hops - 1, Side::Server);
                    let server = &mut self.flows.ends[server.index()];
                    t.app.handle_progress(now, Side::Server, 0, server, &mut self.others);
                } else {
                    t.app.start(now, end, out);
                    end.connect(now, out);
                }
                let (wake, clients) = (t.app.next_wake(), t.outer_ends(Side::Client));
                self.emit_segments(client);
                self.arm_end(client);
                for end in clients.skip(1).filter(|_| begins) {
                    self.flows.ends[end.index()].connect(now, &mut self.segments);
                    self.emit_segments(end);
                    self.arm_end(end);
                }
                self.write_requests(index);
                wake
            }
        };
        self.agenda.renew(Owner::Flow(index), wake);
    }

    /// Writes the requests that a flow's application has pending for its connections.
    fn write_requests(&mut self, flow_index: u32) {
        while let FlowKind::Tcp(t) = &mut self.flows.flows[flow_index as usize].kind
            && let Some(request) = t.app.take_request()
        {
            let end = EndId::new(t.legs.start + request.connection as u32 * t.hops, Side::Client);
            self.flows.ends[end.index()].write(self.now, request.request, true, &mut self.segments);
            self.emit_segments(end);
            self.arm_end(end);
        }
    }

    /// Sends the segments in `segments`, which come from an end.
    #[inline]
    fn emit_segments(&mut self, end: EndId) {
        if !self.segments.is_empty() {
            let mut out = std::mem::take(&mut self.segments);
            self.emit_as(end.number(), false, &mut out);
            self.segments = out;
        }
    }

    /// Sends the datagrams in `segments`.
    fn emit_datagrams(&mut self, number: u32) {
        let mut out = std::mem::take(&mut self.segments);
        self.emit_as(number, true, &mut out);
        self.segments = out;
    }

    /// Sends the segments of an end.
    fn emit(&mut self, end: EndId, out: &mut Vec<Segment>) {
        if !out.is_empty() {
            self.emit_as(end.number(), false, out);
        }
    }

    /// Sends packets of a directed flow.
    fn emit_as(&mut self, number: u32, udp: bool, out: &mut Vec<Segment>) {
        let DirectedFlow { from, to, extra_header, dscp, .. } = self.flows.directed[number as usize];
        let direction = self.network.next_hop(from, number);
        for segment in &*out {
            let mut packet = self.network.spare();
            packet.id = self.next_id;
            packet.size = ip_bytes(udp, segment) + extra_header;
            packet.overhead = 0;
            packet.flow = number;
            packet.dscp = dscp;
            packet.ecn = if segment.ect { Ecn::Ect0 } else { Ecn::NotEct };
            packet.fragment = None;
            packet.body.clone_from(segment);
            self.next_id += 1;
            if let Some(tap) = &mut self.options.tap {
                tap.packet(self.now, from as usize, true, &packet, from as usize, to as usize);
            }
            self.network.leaving.push(packet);
        }
        out.clear();
        match direction {
            Some(direction) => {
                self.network.enter(self.now, direction);
                self.network.collect(direction);
            }
            None => self.network.discard_leaving(),
        }
    }

    /// Moves the end's deadline to its next wake-up if that is earlier. A later wake-up needs no update: the
    /// end wakes early, which is harmless, and is armed again.
    #[inline]
    fn arm_end(&mut self, end: EndId) {
        let Some(wake) = self.flows.ends[end.index()].next_wake() else { return };
        if !self.jitter.is_deferred(end) {
            self.agenda.advance(Owner::End(end), wake.max(self.now));
        }
    }

    /// Handles arrivals and their consequences until nothing is left to do at this time.
    #[inline(always)]
    fn settle(&mut self) {
        if !self.network.arrivals.is_empty() || !self.network.bounced.is_empty() {
            self.handle_arrivals();
        }
        while let Some(direction) = self.network.touched.pop() {
            self.arm_direction(direction);
        }
    }

    /// Sets the deadline of a direction of a link, unless it is set already.
    #[inline(always)]
    fn arm_direction(&mut self, direction: u32) {
        let chain = &mut self.network.directions[direction as usize].chain;
        let wake = chain.next_wake();
        if chain.is_watched() {
            self.show_stages(direction);
        }
        let armed = &mut self.network.armed[direction as usize];
        if *armed != wake {
            *armed = wake;
            self.agenda.renew(Owner::Direction(direction), wake);
        }
    }

    /// Shows the packets that left stages of a direction of a link.
    #[cold]
    fn show_stages(&mut self, direction: u32) {
        let Some(tap) = &mut self.options.tap else { return };
        let direction = &mut self.network.directions[direction as usize];
        for (i, now, packet) in direction.chain.drain_seen() {
            let (from, to) = self.flows.hosts_of(packet.flow);
            tap.stage(Passage { now, stage: &direction.elements[i], packet: &packet, from, to });
        }
    }

    /// Handles packets that several at a time reached a host, or that were bounced.
    #[inline(never)]
    fn handle_arrivals(&mut self) {
        self.handle_queued_arrivals();
        while !self.network.bounced.is_empty() {
            std::mem::take(&mut self.network.bounced).into_iter().for_each(|bounced| self.bounce(bounced));
        }
    }

    #[inline(never)]
    fn handle_queued_arrivals(&mut self) {
        while let Some(HostArrival { host, packet }) = self.network.arrivals.pop_front() {
            self.arrive(host, packet);
        }
    }

    /// A packet reaches a host, which delivers or forwards it.
    #[inline(always)]
    fn arrive(&mut self, host: u32, packet: Box<Packet<Segment>>) {
        let number = packet.flow;
        let to = self.flows.directed[number as usize].to;
        if let Some(tap) = &mut self.options.tap {
            let (from, to) = self.flows.hosts_of(number);
            tap.packet(self.now, host as usize, false, &packet, from, to);
        }
        if host != to {
            return self.network.forward(self.now, host, packet);
        }
        if packet.fragment.is_some() && !self.network.is_complete(&packet) {
            self.network.reuse(packet);
            return;
        }
        if let Some(jittery) = self.jitter.hosts.get_mut(host as usize) {
            jittery.queue_packet(self.now, packet);
            self.agenda.set(Owner::Host(host), jittery.next_wake());
            return;
        }
        self.deliver(packet);
    }

    /// Delivers a packet to its connection or datagram flow at the destination host.
    #[inline(always)]
    fn deliver(&mut self, mut packet: Box<Packet<Segment>>) {
        let number = packet.flow;
        if number as usize >= self.flows.ends.len() {
            self.handle_datagram(number, &packet.body);
        } else {
            packet.body.ce = packet.ecn == Ecn::Ce;
            self.handle(EndId::of_sender(number).peer(), &packet.body);
        }
        self.network.reuse(packet);
    }

    /// Handles a datagram at its host: measures it there, or returns it, to be measured at its source.
    fn handle_datagram(&mut self, number: u32, seg: &Segment) {
        let flow = self.flows.directed[number as usize].flow;
        let FlowKind::Udp(u) = &mut self.flows.flows[flow as usize].kind else { return };
        let back = number != u.number;
        if !back {
            u.received_bytes += seg.len as u64;
        }
        if u.answered && !back {
            self.segments.push(answer(seg));
            self.emit_datagrams(number + 1);
        } else {
            u.last = self.now;
            u.meter.handle_arrival(seg.seq, self.now.since(seg.sent));
        }
    }

    /// Handles a segment that reaches an end.
    #[inline(always)]
    fn handle(&mut self, end: EndId, seg: &Segment) {
        let now = self.now;
        let out = &mut self.segments;
        let tcp = &mut self.flows.ends[end.index()];
        tcp.handle_segment(now, seg, out);
        let (side, connection) = (end.side(), end.connection() as usize);
        let flow_index = self.flows.directed[end.index()].flow;
        let flow = &mut self.flows.flows[flow_index as usize];
        let rtt = tcp.tx.take_rtt();
        if side == Side::Client && self.flows.established[connection].is_none() && tcp.is_established() {
            self.flows.established[connection] = Some(now);
        }
        let FlowKind::Tcp(t) = &mut flow.kind else { return };
        if let Some(rtt) = rtt
            && side == t.sending
        {
            self.collector.record(now, flow_index as usize, rtt);
        }
        let is_direct = t.hops == 1;
        let mut has_requests = false;
        if is_direct && t.app.awaits_progress() {
            let number = connection - t.legs.start as usize;
            let before = t.app.next_wake();
            t.app.handle_progress(now, side, number, tcp, out);
            let after = t.app.next_wake();
            if before != after {
                self.agenda.set(Owner::Flow(flow_index), after);
            }
            has_requests = t.app.has_requests();
        }
        self.emit_segments(end);
        if has_requests {
            self.write_requests(flow_index);
        }
        if !is_direct {
            self.handle_relayed(flow_index, end);
        }
        self.arm_end(end);
    }

    /// Delivers an ICMP "packet too big" to the packet's sender. The message takes no time and is never lost.
    /// Datagram sources ignore it.
    fn bounce(&mut self, BouncedPacket { packet, mtu, router }: BouncedPacket) {
        let (number, router) = (packet.flow, router as usize);
        if let Some(tap) = &mut self.options.tap {
            let (from, to) = self.flows.hosts_of(number);
            let refusal = SizeRefusal { packet: &packet, mtu, router, from, to };
            self.network
                .hosts_on_route(router, from)
                .into_iter()
                .for_each(|host| tap.too_big(self.now, host, &refusal));
        }
        if number as usize >= self.flows.ends.len() {
            return;
        }
        let mtu = mtu.saturating_sub(self.flows.directed[number as usize].extra_header);
        let end = EndId::of_sender(number);
        self.flows.ends[end.index()].handle_mtu(self.now, mtu, &mut self.segments);
        self.emit_segments(end);
        self.arm_end(end);
        self.handle_queued_arrivals();
    }
}
