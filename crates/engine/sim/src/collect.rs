//! Collects the results of a run: time series during the run, the summary at its end.

use crate::end_id::EndId;
use crate::flows::{FlowKind, SimFlow, SimFlows, TcpFlow};
use crate::network::SimNetwork;
use chains::{FlowTally, Whole};
use result::{Clock, ElementSeries, FlowPoint, FlowSeries, Outcome, Resent, RttMeter};
use scenario::Scenario;
use transport::{Retransmission, Side, Tcp};
use units::{Span, Time};

pub struct Collector {
    rtts: Vec<RttMeter>,
    /// RTT samples count from the first of these times to the second.
    counted: [Time; 2],
    flows: Vec<FlowSeries>,
    elements: Vec<ElementSeries>,
}

/// Converts bytes/s to Mbit/s.
fn rate(bytes_per_second: u64) -> f64 {
    bytes_per_second as f64 * 8e-6
}

impl Collector {
    pub fn new(scenario: &Scenario, flows: &SimFlows, network: &SimNetwork) -> Collector {
        let interval = scenario.measure.unwrap_or([Span::ZERO, scenario.duration]);
        Collector {
            counted: interval.map(|t| Time::ZERO + t),
            rtts: flows.flows.iter().map(|_| RttMeter::default()).collect(),
            flows: flows.flows.iter().map(|f| FlowSeries::new(&f.name)).collect(),
            elements: chains::element_series(network.directions.iter()),
        }
    }

    /// Records an RTT sample of a flow, measured at `now`.
    #[inline]
    pub fn record(&mut self, now: Time, flow: usize, sample: Span) {
        self.rtts[flow].record(now, sample, self.counted);
    }

    /// Samples all flows and elements; the network must have caught up to `now`.
    pub fn sample(&mut self, now: Time, flows: &SimFlows, network: &SimNetwork) {
        let t = now.as_secs_f64();
        for (series, flow) in self.flows.iter_mut().zip(&flows.flows) {
            let delivered_bytes = flows.delivered(flow);
            let f = match &flow.kind {
                FlowKind::Tcp(f) => f,
                FlowKind::Udp(u) => {
                    let delay_ms = u.meter.last_delay().map(Span::as_millis_f64);
                    series.push(FlowPoint { time_s: t, delivered_bytes, delay_ms, ..FlowPoint::default() });
                    continue;
                }
            };
            let tx = flows.main_sender(f);
            let model = tx.model();
            series.push(FlowPoint {
                time_s: t,
                delivered_bytes,
                cwnd: tx.w.cwnd.into(),
                ssthresh: (tx.w.ssthresh != u32::MAX).then_some(tx.w.ssthresh.into()),
                inflight: tx.in_flight().into(),
                srtt_ms: tx.rtt.smoothed().map(Span::as_millis_f64),
                rtt_ms: tx.last_rtt.map(Span::as_millis_f64),
                pacing_mbps: (tx.w.pacing && tx.w.pacing_rate != u64::MAX).then(|| rate(tx.w.pacing_rate)),
                retransmitted: flows.retransmitted(f),
                sent_bytes: tx.s.snd_nxt,
                acked_bytes: tx.s.snd_una,
                btl_bw_mbps: model.btl_bw.map(rate),
                rt_prop_ms: model.rt_prop.map(Span::as_millis_f64),
                pacing_gain: model.pacing_gain,
                cwnd_gain: model.cwnd_gain,
                round: model.round,
                delivery_rate_mbps: tx.delivery_rate().map(rate),
                state: if flow.started { tx.state_name() } else { "" },
                delay_ms: None,
            });
        }
        chains::sample(&mut self.elements, network.directions.iter(), now, now);
    }

    /// The outcome of the run, simulated until `end`.
    pub fn finish(
        mut self,
        name: &str,
        scenario: &Scenario,
        flows: &SimFlows,
        network: &SimNetwork,
        only: Option<usize>,
        end: Time,
    ) -> Outcome {
        let duration = end.since(Time::ZERO);
        let whole = Whole { name, clock: Clock::Sim, scenario, only_flow: only, duration };
        let tallies = flows.flows.iter().zip(&self.rtts).map(|(flow, rtts)| {
            let active = flows.active(flow, end);
            let (rtt_ms, rtt_acks_ms) = (rtts.summary(), rtts.over_acks());
            FlowTally { rtt_ms, rtt_acks_ms, active, ..tally(flows, flow, network) }
        });
        let (tallies, elements) = (tallies.collect(), chains::elements(network.directions.iter()));
        if scenario.sample.is_zero() {
            return chains::outcome(whole, tallies, elements, vec![], vec![]);
        }
        for (series, flow) in self.flows.iter_mut().zip(&flows.flows) {
            if let FlowKind::Tcp(t) = &flow.kind {
                series.resent = retransmissions(flows, t);
            }
        }
        chains::outcome(whole, tallies, elements, self.flows, self.elements)
    }
}

/// Counters of a flow.
fn tally(flows: &SimFlows, flow: &SimFlow, network: &SimNetwork) -> FlowTally {
    let mut tally = FlowTally {
        name: flow.name.clone(),
        of: flow.scenario_flow as usize,
        cc: flow.cc.clone(),
        start: flow.start,
        done: flows.done(flow),
        delivered_bytes: flows.delivered(flow),
        ..FlowTally::default()
    };
    match &flow.kind {
        FlowKind::Udp(u) => {
            tally.sent_packets = u.source.sent;
            tally.lost_packets = Some(network.lost[u.numbers()].iter().sum());
            (tally.real_time, tally.lost_in_faults) = u.summary(network);
        }
        FlowKind::Tcp(t) => {
            let first_end = |leg| EndId::new(leg, Side::Client).index();
            let ends = first_end(t.legs.start)..first_end(t.legs.end);
            for end in &flows.ends[ends.clone()] {
                tally.sent_packets += end.tx.stats.sent;
                tally.retransmitted_packets += end.tx.stats.retransmitted;
                tally.timeouts += end.tx.stats.timeouts;
            }
            tally.lost_packets = Some(network.lost[ends].iter().sum());
            tally.mss_bytes = Some(flows.main_sender(t).s.mss);
            if let Some(requester) = &t.app.requester {
                tally.record_requests(requester);
            }
        }
    }
    tally
}

/// Retransmissions of all senders of a flow, in order of time. The sender that the time series show is number
/// 0; the others follow in the order of the legs.
fn retransmissions(flows: &SimFlows, flow: &TcpFlow) -> Vec<Resent> {
    let main: *const Tcp = flows.main_end(flow);
    let others = flow.ends().map(|end| &flows.ends[end.index()]).filter(|end| !std::ptr::eq(*end, main));
    let retransmissions_of = |(end, sender): (&Tcp, u32)| {
        let retransmissions = end.tx.retransmissions.iter().flatten();
        let convert = |a: &Retransmission| Resent {
            time_s: end.in_run(a.at).as_secs_f64(),
            byte: a.seq,
            len: a.len,
            sender,
        };
        retransmissions.map(convert).collect::<Vec<Resent>>()
    };
    let mut all: Vec<Resent> =
        [flows.main_end(flow)].into_iter().chain(others).zip(0..).flat_map(retransmissions_of).collect();
    all.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
    all
}
