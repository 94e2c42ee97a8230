//! BBR over a simulated path: packets are paced through one bottleneck queue and acknowledged one by one,
//! with Linux's delivery-rate samples. The values that the model must find are known: bandwidth, RTT, and the
//! cost of measuring them.

use crate::harness::Flow;
use congestion::RateSample;
use std::collections::VecDeque;
use units::{Rate, Span, Time};

struct Packet {
    sent: Time,
    acked: Time,
    app_limited: bool,
    /// The connection's state when the packet was sent (`tcp_rate_skb_sent`).
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
}

/// A bulk flow over a bottleneck with an unlimited queue.
struct Path {
    flow: Flow,
    rate: Rate,
    propagation: Span,
    queue_free: Time,
    next_send: Time,
    first_sent: Time,
    packets: VecDeque<Packet>,
}

/// Size of an IP packet with 1460 B of payload.
const WIRE: u64 = 1500;

impl Path {
    fn new(rate: Rate, propagation: Span, seed: u64) -> Path {
        let mut flow = Flow::new("bbr", seed);
        flow.s.delivered_time = Time::ZERO;
        let (z, packets) = (Time::ZERO, VecDeque::new());
        Path { flow, rate, propagation, queue_free: z, next_send: z, first_sent: z, packets }
    }

    /// Sends a packet or processes an ACK, whichever is due first.
    fn step(&mut self) {
        let may_send = self.flow.s.inflight < self.flow.w.cwnd;
        match self.packets.front().map(|p| p.acked) {
            Some(acked) if !may_send || acked <= self.next_send => self.acknowledge(),
            _ => self.send(),
        }
    }

    fn send(&mut self) {
        let now = self.next_send.max(self.flow.s.now);
        self.flow.s.now = now;
        if self.packets.is_empty() {
            (self.first_sent, self.flow.s.delivered_time) = (now, now);
        }
        self.flow.send(1);
        self.queue_free = self.queue_free.max(now) + self.rate.time_for(WIRE);
        self.packets.push_back(Packet {
            sent: now,
            acked: self.queue_free + self.propagation,
            app_limited: self.flow.s.app_limited > 0,
            delivered: self.flow.s.delivered,
            delivered_time: self.flow.s.delivered_time,
            first_sent: self.first_sent,
        });
        let gap = Span::from_nanos(1_460_000_000_000 / self.flow.w.pacing_rate);
        self.next_send = now + gap;
        self.flow.s.next_departure = self.next_send;
    }

    fn acknowledge(&mut self) {
        let p = self.packets.pop_front().unwrap();
        self.flow.s.now = p.acked;
        self.first_sent = p.sent;
        let interval = p.acked.since(p.delivered_time).max(p.sent.since(p.first_sent));
        let s = &self.flow.s;
        let rs = RateSample {
            prior_delivered: p.delivered,
            delivered: Some((s.delivered + 1 - p.delivered) as u32),
            interval,
            rtt: Some(p.acked.since(p.sent)),
            acked_sacked: 1,
            prior_in_flight: s.inflight,
            is_app_limited: p.app_limited,
            ..RateSample::default()
        };
        self.flow.ack_with(rs);
    }

    fn run_until(&mut self, seconds: u64, mut see: impl FnMut(&Path)) {
        while self.flow.s.now < Time::ZERO + Span::from_secs(seconds) {
            self.step();
            see(self);
        }
    }

    fn state(&self) -> &'static str {
        self.flow.c.probe().state
    }
}

/// 20 Mbit/s and 40 ms: 1460 B per 600 µs are 2.433 MB/s; alone, a packet takes 40.6 ms; the BDP
/// is 67.7 packets.
fn path(seed: u64) -> Path {
    Path::new(Rate::from_bps(20_000_000), Span::from_millis(40), seed)
}

#[test]
fn bbr_finds_bandwidth_and_rtt_and_fills_the_pipe() {
    let mut p = path(1);
    let mut states = vec!["STARTUP"];
    p.run_until(2, |p| {
        if states.last() != Some(&p.state()) {
            states.push(p.state());
        }
    });
    assert_eq!(states, ["STARTUP", "DRAIN", "PROBE_BW"]);

    let (begin, at) = (p.flow.s.delivered, p.flow.s.now);
    let (mut acks, mut rtt_sum) = (0u64, 0.0);
    p.run_until(30, |p| {
        if let Some(next) = p.packets.front() {
            acks += 1;
            rtt_sum += next.acked.since(next.sent).as_millis_f64();
        }
    });
    let probe = p.flow.c.probe();
    let bw = probe.btl_bw.unwrap() as f64 / (1460.0 / 600e-6);
    assert!((0.98..=1.02).contains(&bw), "bandwidth estimate {bw:.3} of the true one");
    let rt_prop = probe.rt_prop.unwrap().as_millis_f64();
    assert!((40.6..41.0).contains(&rt_prop), "RTprop {rt_prop} ms");

    // The cost is 1 % of pacing margin and 2 % of PROBE_RTT (200 ms in 10 s).
    let seconds = p.flow.s.now.since(at).as_secs_f64();
    let share = (p.flow.s.delivered - begin) as f64 * 600e-6 / seconds;
    assert!((0.95..=1.0).contains(&share), "uses {share:.3} of the bottleneck");
    // The probing phase queues a quarter of the BDP for one RTT in eight: the mean stays low.
    let rtt = rtt_sum / acks as f64;
    assert!(rtt < 40.6 * 1.25, "mean RTT {rtt:.1} ms");
}

/// PROBE_RTT about every 10 s, for 200 ms and a round trip; the window never exceeds twice the
/// BDP by more than the bursts (6), the aggregates and the probing phase (2).
#[test]
fn probe_rtt_takes_two_percent_of_the_time() {
    let mut p = path(2);
    let mut entries = Vec::new();
    let (mut inside, mut last, mut max_inflight) = (0.0, (p.flow.s.now, "STARTUP"), 0);
    p.run_until(45, |p| {
        let now = p.flow.s.now;
        if last.1 == "PROBE_RTT" {
            inside += now.since(last.0).as_secs_f64();
        } else if p.state() == "PROBE_RTT" {
            entries.push(now.as_secs_f64());
        }
        if now > Time::ZERO + Span::from_secs(2) {
            max_inflight = max_inflight.max(p.flow.s.inflight);
        }
        last = (now, p.state());
    });
    assert!((3..=4).contains(&entries.len()), "entered at {entries:?}");
    assert!(entries.windows(2).all(|e| (9.9..11.0).contains(&(e[1] - e[0]))), "{entries:?}");
    let each = inside / entries.len() as f64;
    assert!((0.2..0.32).contains(&each), "{each} s each");
    assert!(max_inflight <= 2 * 68 + 6 + 2 + 12, "{max_inflight} in flight");
}

/// When the bandwidth doubles, the probing phases find it within a few cycles; when it halves,
/// the old maximum expires after ten rounds.
#[test]
fn bbr_follows_a_changing_bottleneck() {
    let mut p = path(3);
    for (until, mbps) in [(8, 20), (16, 40), (24, 10)] {
        p.rate = Rate::from_bps(mbps * 1_000_000);
        p.run_until(until, |_| {});
        let bw = p.flow.c.probe().btl_bw.unwrap() as f64 * 1500.0 / 1460.0 * 8e-6;
        assert!((bw / mbps as f64 - 1.0).abs() < 0.03, "{bw:.1} of {mbps} Mbit/s");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut p = path(seed);
        let mut trace = Vec::new();
        p.run_until(5, |p| trace.push((p.flow.s.now, p.flow.w.cwnd, p.flow.w.pacing_rate)));
        trace
    };
    assert_eq!(run(5), run(5));
    assert!((6..20).any(|seed| run(seed) != run(5)), "phases differ by seed");
}
