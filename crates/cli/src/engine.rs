//! What runs a scenario. A stand-in with the simulator's interface, until that can be linked.

use path::Packet;
use result::{ElementSeries, Flow, FlowSeries, Outcome, RttSummary, Variant, jain};
use scenario::Scenario;
use transport::Segment;
use units::{Span, Stream, Time};

/// How to run.
pub struct Options<'a> {
    pub seed: u64,
    pub only_flow: Option<usize>,
    pub tap: Option<&'a mut dyn Tap>,
    pub progress: Option<&'a mut dyn FnMut(Time)>,
}

/// Sees every packet that a host sends or receives.
pub trait Tap {
    /// `host` sent or received this packet.
    fn packet(&mut self, now: Time, host: usize, outgoing: bool, packet: &Packet<Segment>, from: usize, to: usize);
}

/// Makes numbers up.
pub fn run(variant_name: &str, scenario: &Scenario, options: Options) -> Outcome {
    let chosen: Vec<&scenario::Flow> = match options.only_flow {
        Some(i) => vec![&scenario.flows[i]],
        None => scenario.flows.iter().collect(),
    };
    let hosts = &scenario.hosts;
    let mut progress = options.progress;
    let (mut flows, mut flow_series) = (Vec::new(), Vec::new());
    for f in chosen {
        for n in 1..=f.count {
            let name = if f.count > 1 { format!("{}-{n}", f.name) } else { f.name.clone() };
            let mut draw = Stream::new(options.seed, &name);
            let mut series = FlowSeries { name: name.clone(), states: vec!["avoidance".into()], ..Default::default() };
            let mut sum = 0.0;
            let steps = if scenario.sample.is_zero() { 0 } else { scenario.duration.as_nanos() / scenario.sample.as_nanos() };
            for i in 0..=steps {
                let t = Time::ZERO + Span::from_nanos(scenario.sample.as_nanos() * i);
                if let Some(p) = &mut progress {
                    p(t);
                }
                sum += draw.unit() * 1e6 * scenario.sample.as_secs_f64();
                series.time_s.push(t.as_secs_f64());
                series.delivered_bytes.push(sum as u64);
                series.cwnd.push(10);
                series.ssthresh.push(u32::MAX);
                series.inflight.push(10);
                series.srtt_ms.push(30.0);
                series.rtt_ms.push(30.0);
                series.pacing_mbps.push(f64::NAN);
                series.retransmitted.push(i);
                series.state.push(0);
            }
            let rtt = RttSummary { min: 30.0, mean: 33.0, p50: 31.0, p95: 47.0, p99: 55.0, max: 61.0 };
            flows.push(Flow {
                name,
                from: hosts[f.from].name.clone(),
                to: hosts[f.to].name.clone(),
                cc: f.cc.clone(),
                goodput_mbps: sum * 8.0 / 1e6 / scenario.duration.as_secs_f64(),
                sent_packets: 1000,
                rtt_ms: rtt,
                delivered_bytes: sum as u64,
                ..Default::default()
            });
            flow_series.push(series);
        }
    }
    if let Some(tap) = options.tap {
        let segment = Segment {
            seq: 0,
            ack: 0,
            sent: Time::ZERO,
            len: 0,
            window: 65_535,
            ts_val: 1,
            ts_ecr: 0,
            sack: [(0, 0); 4],
            sacks: 0,
            flags: transport::Flags::SYN,
            ect: false,
            ce: false,
        };
        let size = segment.ip_bytes();
        let packet = Packet { id: 0, size, overhead: 0, flow: 0, dscp: 0, ecn: path::Ecn::NotEct, fragment: None, body: segment };
        tap.packet(Time::ZERO, 0, true, &packet, 0, 1);
    }
    let shares: Vec<f64> = flows.iter().map(|f| f.goodput_mbps).collect();
    let variant = Variant {
        name: variant_name.into(),
        duration_s: scenario.duration.as_secs_f64(),
        total_goodput_mbps: shares.iter().sum(),
        jain_index: jain(&shares),
        flows,
        ..Default::default()
    };
    Outcome { variant, flow_series, element_series: Vec::<ElementSeries>::new() }
}
