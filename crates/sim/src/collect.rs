//! Gathers what a run yields: time series while it runs, the summary at its end.

use crate::flows::{Flows, Kind};
use crate::network::Network;
use result::{Clock, ElementSeries, Flow, FlowPoint, FlowSeries, Histogram, Outcome, Resent, Variant};
use scenario::{Limits, Scenario};
use transport::Sender;
use units::{Span, Time};

/// RTT histograms and time series.
pub struct Collector {
    pub rtts: Vec<Histogram>,
    flows: Vec<FlowSeries>,
    elements: Vec<ElementSeries>,
}

/// Mbit/s of `bytes` in `span`.
fn mbps(bytes: u64, span: Span) -> f64 {
    if span.is_zero() { 0.0 } else { bytes as f64 * 8.0 / span.as_secs_f64() / 1e6 }
}

/// Mbit/s of bytes per second.
fn rate(bytes_per_second: u64) -> f64 {
    bytes_per_second as f64 * 8e-6
}

impl Collector {
    pub fn new(flows: &Flows, network: &Network) -> Collector {
        let elements = network.ways.iter().flat_map(|w| scenario::element_series(&w.name, &w.chain));
        Collector {
            rtts: flows.flows.iter().map(|_| Histogram::default()).collect(),
            flows: flows.flows.iter().map(|f| FlowSeries::new(&f.name)).collect(),
            elements: elements.collect(),
        }
    }

    /// Takes one sample of everything; the network has caught up to `now`.
    pub fn sample(&mut self, now: Time, flows: &Flows, network: &Network) {
        let t = now.as_secs_f64();
        for (series, flow) in self.flows.iter_mut().zip(&flows.flows) {
            let delivered_bytes = flows.delivered(flow);
            let Kind::Tcp(f) = &flow.kind else {
                series.push(FlowPoint { time_s: t, delivered_bytes, ..FlowPoint::default() });
                continue;
            };
            let tx = flows.first_sender(f);
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
                retransmitted: tx.stats.retransmitted,
                sent_bytes: tx.s.snd_nxt,
                acked_bytes: tx.s.snd_una,
                btl_bw_mbps: model.btl_bw.map(rate),
                rt_prop_ms: model.rt_prop.map(Span::as_millis_f64),
                pacing_gain: model.pacing_gain,
                cwnd_gain: model.cwnd_gain,
                round: model.round,
                delivery_rate_mbps: tx.delivery_rate().map(rate),
                state: if flow.started { tx.state_name() } else { "" },
            });
        }
        let mut at = self.elements.iter_mut();
        for way in &network.ways {
            for i in 0..way.chain.len() {
                let Some(series) = at.next() else { return };
                scenario::sample_element(series, now, &way.chain, i, now);
            }
        }
    }

    /// The summary at the end of the run.
    pub fn finish(
        mut self,
        name: &str,
        scenario: &Scenario,
        flows: &Flows,
        network: &Network,
        only: Option<usize>,
        sampled: bool,
    ) -> Outcome {
        let end = Time::ZERO + scenario.duration;
        let limits = Limits::new(scenario, only);
        let host = |i: u32| scenario.hosts[i as usize].name.clone();
        let mut summary = Vec::new();
        for (flow, rtts) in flows.flows.iter().zip(&self.rtts) {
            let delivered = flows.delivered(flow);
            let mut f = Flow {
                name: flow.name.clone(),
                from: host(flow.from),
                to: host(flow.to),
                cc: flow.cc.clone(),
                goodput_mbps: mbps(delivered, flows.measured(flow, end)),
                rtt_ms: rtts.summary(),
                delivered_bytes: delivered,
                limit_mbps: limits.flows.get(flow.of as usize).copied().flatten(),
                ..Flow::default()
            };
            match &flow.kind {
                Kind::Udp(u) => {
                    f.sent_packets = u.source.sent;
                    f.lost_packets = Some(network.lost[u.number as usize]);
                }
                Kind::Tcp(t) => {
                    for leg in t.legs.clone() {
                        for side in 0..2 {
                            let s = &flows.ends[2 * leg as usize + side].tx.stats;
                            f.sent_packets += s.sent;
                            f.retransmitted_packets += s.retransmitted;
                            f.timeouts += s.timeouts;
                        }
                    }
                    let ends = 2 * t.legs.start as usize..2 * t.legs.end as usize;
                    f.lost_packets = Some(network.lost[ends].iter().sum());
                    f.mss_bytes = Some(flows.first_sender(t).s.mss);
                    f.completed = t.app.counts_exchanges().then_some(t.app.completed);
                }
            }
            summary.push(f);
        }
        let elements = network.ways.iter().flat_map(|w| scenario::elements(&w.name, &w.kinds, &w.chain));
        let variant = Variant {
            name: name.into(),
            clock: Clock::Sim,
            duration_s: scenario.duration.as_secs_f64(),
            limit_mbps: limits.all,
            flows: summary,
            elements: elements.collect(),
            path: Some(scenario::outline(scenario)),
            ..Variant::default()
        };
        if !sampled {
            return Outcome::new(variant, vec![], vec![]);
        }
        for (series, flow) in self.flows.iter_mut().zip(&flows.flows) {
            if let Kind::Tcp(t) = &flow.kind {
                series.resent = resent(flows.first_sender(t));
            }
        }
        Outcome::new(variant, self.flows, self.elements)
    }
}

fn resent(tx: &Sender) -> Vec<Resent> {
    let again = tx.again.iter().flatten();
    again.map(|a| Resent { time_s: a.at.as_secs_f64(), byte: a.seq, len: a.len }).collect()
}
