//! BBR's decisions compared with values computed by hand. Every ACK here ends a round and carries
//! the delivery rate of one RTT (100 ms); bandwidths are packets/µs * 2^24, so `n` packets per
//! 100 ms are n * 2^24 / 100,000, rounded down.

use crate::harness::Flow;
use congestion::{CaState, RateSample};
use units::Span;

const RTT: Span = Span::from_millis(100);

fn bbr() -> Flow {
    let mut flow = Flow::new("bbr", 1);
    flow.s.inflight = 10;
    flow
}

fn state(flow: &Flow) -> &'static str {
    flow.c.probe().state
}

/// Advances by one round in which `packets` are delivered in one RTT and `losses` are lost; `inflight`
/// remain.
fn round(flow: &mut Flow, packets: u32, losses: u32, inflight: u32) {
    flow.wait(RTT);
    sample(flow, packets, losses, inflight, RTT);
}

fn sample(flow: &mut Flow, packets: u32, losses: u32, inflight: u32, rtt: Span) {
    flow.s.inflight = inflight + packets;
    flow.ack_with(RateSample {
        prior_delivered: flow.s.delivered,
        delivered: Some(packets),
        interval: RTT,
        rtt: Some(rtt),
        losses,
        acked_sacked: packets,
        prior_in_flight: inflight + packets,
        ..RateSample::default()
    });
}

/// Before an RTT is known: 10 packets per 1 ms. 10 * 2^24 / 1000 = 167,772; times 1460 B, times
/// 739 / 256 (2/ln 2), times 0.99 * 10^6 / 2^24: 41,724,593 B/s.
#[test]
fn the_initial_pacing_rate_is_ten_packets_per_millisecond() {
    let flow = bbr();
    let bw: u64 = 10 * (1 << 24) / 1000;
    let expected = (((bw * 1460 * 739) >> 8) * 990_000) >> 24;
    assert_eq!(flow.w.pacing_rate, expected);
    assert_eq!(expected, 41_724_593);
    assert!(flow.w.pacing && flow.w.ssthresh == u32::MAX && flow.c.owns_window());
    assert_eq!(flow.c.probe().pacing_gain, Some(739.0 / 256.0));
}

/// The same bandwidth four times: the first sets the baseline, the next three fail to exceed it by a
/// quarter. ssthresh is then the BDP, ceil(16,777 * 100,000 / 2^24) = 100, plus three bursts of
/// two packets. With 200 packets in flight DRAIN continues; with 106 it ends.
#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut flow = bbr();
    for _ in 0..3 {
        round(&mut flow, 100, 0, 200);
        assert_eq!(state(&flow), "STARTUP");
    }
    round(&mut flow, 100, 0, 200);
    assert_eq!((state(&flow), flow.w.ssthresh), ("DRAIN", 106));
    assert_eq!(flow.c.probe().pacing_gain, Some(88.0 / 256.0));
    round(&mut flow, 100, 0, 107);
    assert_eq!(state(&flow), "DRAIN");
    round(&mut flow, 100, 0, 106);
    assert_eq!(state(&flow), "PROBE_BW");
}

/// 125 after 100 is a quarter more (20,971 against 16,777 * 320 >> 8 = 20,971) and resets the
/// count; 156 after 125 is not (26,172 against 26,213).
#[test]
fn a_quarter_more_bandwidth_keeps_startup_going() {
    let mut flow = bbr();
    for packets in [100, 100, 100, 125, 156, 156] {
        round(&mut flow, packets, 0, 300);
        assert_eq!(state(&flow), "STARTUP", "{packets}");
    }
    round(&mut flow, 156, 0, 300);
    assert_eq!(state(&flow), "DRAIN");
}

/// An application-limited round does not indicate whether the pipe is full.
#[test]
fn application_limited_rounds_do_not_end_startup() {
    let mut flow = bbr();
    round(&mut flow, 100, 0, 200);
    for _ in 0..10 {
        flow.wait(RTT);
        flow.ack_with(RateSample {
            prior_delivered: flow.s.delivered,
            delivered: Some(20),
            interval: RTT,
            rtt: Some(RTT),
            acked_sacked: 20,
            is_app_limited: true,
            ..RateSample::default()
        });
    }
    assert_eq!(state(&flow), "STARTUP");
    // 20 packets are below the estimate of 100 and do not change it: 16,777 * 1460 * 10^6 >> 24.
    assert_eq!(flow.c.probe().btl_bw, Some(1_459_981));
}

/// The smallest RTT was measured at 0.1 s (jiffy 25). It expires after jiffy 2525 (10.1 s), so at 10.104 s;
/// an equal RTT at 5 s does not extend it.
#[test]
fn probe_rtt_starts_ten_seconds_after_the_smallest_rtt() {
    let mut flow = bbr();
    flow.at_millis(100);
    sample(&mut flow, 100, 0, 200, RTT);
    flow.at_millis(5_000);
    sample(&mut flow, 100, 0, 200, RTT);
    flow.at_millis(10_103);
    sample(&mut flow, 100, 0, 200, RTT + Span::from_millis(20));
    assert_eq!(state(&flow), "STARTUP");
    assert_eq!(flow.c.probe().rt_prop, Some(RTT));
    let before = flow.w.cwnd;
    flow.at_millis(10_104);
    sample(&mut flow, 1, 0, 200, RTT + Span::from_millis(20));
    assert_eq!((state(&flow), flow.w.cwnd), ("PROBE_RTT", 4));
    assert_eq!(flow.c.probe().rt_prop, Some(RTT + Span::from_millis(20)));
    // Rates measured now count as application-limited, up to delivered + in flight.
    assert_eq!(flow.s.app_limited, flow.s.delivered + 200);

    // The 200 ms run from when four packets are in flight: jiffy 2550 to 2600, and one more.
    flow.at_millis(10_200);
    sample(&mut flow, 1, 0, 4, RTT);
    flow.at_millis(10_400);
    sample(&mut flow, 1, 0, 4, RTT);
    assert_eq!((state(&flow), flow.w.cwnd), ("PROBE_RTT", 4));
    flow.at_millis(10_404);
    sample(&mut flow, 1, 0, 4, RTT);
    // The ACK at 10.104 s was the third without growth, so the pipe counts as full; the previous window
    // is restored up to the target: twice the BDP of 100, an aggregate of 100 packets at
    // once (less than 1 of them expected, so 99: 100 ms at 16,777), three bursts of two, made
    // even: 306; and 2 more if cycling started in the probing phase.
    assert_eq!(state(&flow), "PROBE_BW");
    assert!(before > 308 && [306, 308].contains(&flow.w.cwnd), "{} {before}", flow.w.cwnd);
}

/// A restart from idle (application-limited, nothing in flight) needs no PROBE_RTT: the first RTT
/// becomes the new minimum.
#[test]
fn after_idle_the_rtt_is_measured_without_probe_rtt() {
    let mut flow = bbr();
    flow.at_millis(100);
    sample(&mut flow, 100, 0, 0, RTT);
    flow.s.app_limited = flow.s.delivered;
    flow.at_millis(20_000);
    flow.send(1);
    flow.at_millis(20_110);
    sample(&mut flow, 1, 0, 0, RTT + Span::from_millis(10));
    assert_eq!(state(&flow), "STARTUP");
    assert_eq!(flow.c.probe().rt_prop, Some(RTT + Span::from_millis(10)));
}

/// A policer: a burst of 300 packets, then 100 a round with 25 lost. The first loss starts an
/// interval; rounds 2 to 4 make 300 delivered, 75 lost (75 * 256 >= 50 * 300) and so 16,777;
/// rounds 5 to 8 give the same rate, which is taken as a policer's. After 48 rounds of PROBE_BW the path is
/// probed again, and the estimate is the maximum of the last ten rounds, 110 packets.
#[test]
fn two_lossy_intervals_with_the_same_rate_indicate_a_policer() {
    let rate = |packets: u64| Some(((packets * (1 << 24) / 100_000) * 1_460_000_000) >> 24);
    let mut flow = bbr();
    round(&mut flow, 300, 25, 50);
    for n in 2..=7 {
        round(&mut flow, 100, 25, 50);
        assert_eq!(flow.c.probe().btl_bw, rate(300), "round {n}");
    }
    round(&mut flow, 100, 25, 50);
    assert_eq!(state(&flow), "PROBE_BW");
    assert_eq!(flow.c.probe().btl_bw, rate(100), "the policer's rate");
    for _ in 9..=55 {
        round(&mut flow, 110, 0, 50);
        assert_eq!(flow.c.probe().btl_bw, rate(100));
        assert_eq!(flow.c.probe().pacing_gain, Some(1.0));
    }
    round(&mut flow, 110, 0, 50);
    assert_eq!(flow.c.probe().btl_bw, rate(110), "48 rounds are over");
}

/// Recovery: the first round sends as many packets as are acknowledged (in flight + acked); the next grows by
/// them; at the end the previous window is restored, up to the target.
#[test]
fn recovery_conserves_packets_and_restores_the_window() {
    let mut flow = bbr();
    for _ in 0..6 {
        round(&mut flow, 100, 0, 100);
    }
    assert_eq!(state(&flow), "PROBE_BW");
    while flow.w.cwnd < 206 {
        round(&mut flow, 100, 0, 100);
    }
    let full = flow.w.cwnd;
    flow.enter(CaState::Recovery);
    // Not the end of a round: the packet was sent before the last one ended.
    flow.s.inflight = 60;
    let mid_round = RateSample {
        prior_delivered: 0,
        delivered: Some(2),
        interval: RTT,
        acked_sacked: 2,
        losses: 40,
        ..RateSample::default()
    };
    flow.ack_with(mid_round);
    assert_eq!(flow.w.cwnd, 58 + 2);
    flow.s.inflight = 60;
    flow.ack_with(RateSample { losses: 0, ..mid_round });
    assert_eq!(flow.w.cwnd, 58 + 2);
    // The round ends, and with it conservation: slow start towards the target.
    flow.s.inflight = 60;
    flow.ack_with(RateSample { losses: 0, prior_delivered: flow.s.delivered, ..mid_round });
    assert_eq!(flow.w.cwnd, 62);
    flow.leave();
    flow.ack_with(RateSample { losses: 0, ..mid_round });
    assert!(flow.w.cwnd >= 206 && flow.w.cwnd <= full, "{} of {full}", flow.w.cwnd);
}

/// Single packets below 1.2 Mbit/s, pairs above.
#[test]
fn slow_flows_send_single_packets() {
    let mut flow = bbr();
    flow.w.pacing_rate = 149_999;
    assert_eq!(flow.c.min_tso_segs(&flow.w), 1);
    flow.w.pacing_rate = 150_000;
    assert_eq!(flow.c.min_tso_segs(&flow.w), 2);
    assert_eq!(flow.c.sndbuf_expand(), 3);
}

/// The phase PROBE_BW starts in is drawn from the seed, and is never the draining one.
#[test]
fn flows_start_cycling_in_different_phases() {
    let gain = |seed| {
        let mut flow = Flow::new("bbr", seed);
        for _ in 0..4 {
            round(&mut flow, 100, 0, 50);
        }
        assert_eq!(state(&flow), "PROBE_BW");
        flow.c.probe().pacing_gain.unwrap()
    };
    let gains: Vec<f64> = (0..70).map(gain).collect();
    assert_eq!(gains, (0..70).map(gain).collect::<Vec<_>>());
    let probing = gains.iter().filter(|&&g| g == 1.25).count();
    assert!((3..=20).contains(&probing), "{probing} of 70, about a seventh");
    assert!(gains.iter().all(|&g| g == 1.25 || g == 1.0));
}
