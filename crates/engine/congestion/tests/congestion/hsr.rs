//! BBR-HSR's decisions compared with values computed by hand. As in `bbr.rs` every ACK ends a round
//! and carries the rate of 100 packets per 100 ms: 100 * 2^24 / 100,000 = 16,777 rounded down.

use crate::harness::{Flow, Subject};
use congestion::hsr::{Bound, HsrParameters, RecoveryBandwidth};
use congestion::{Bbr, CaState, RateSample};
use units::{Rate, Span, Stream};

const INTERVAL: Span = Span::from_millis(100);

fn flow(parameters: HsrParameters) -> Flow {
    let mut flow = Flow::with(Box::new(Bbr::hsr(Stream::new(1, "flow"), &parameters)));
    flow.start(&vectors::Start::default());
    flow.s.inflight = 10;
    flow
}

fn unbounded() -> HsrParameters {
    HsrParameters { t: Bound::None, ..HsrParameters::default() }
}

/// Advances by one round in which `packets` are delivered in 100 ms, the last of them with an RTT of
/// `rtt_ms`.
fn round(flow: &mut Flow, packets: u32, rtt_ms: u64, inflight: u32) {
    flow.wait(INTERVAL);
    flow.s.inflight = inflight + packets;
    flow.ack_with(RateSample {
        prior_delivered: flow.s.delivered,
        delivered: Some(packets),
        interval: INTERVAL,
        rtt: Some(Span::from_millis(rtt_ms)),
        acked_sacked: packets,
        prior_in_flight: inflight + packets,
        ..RateSample::default()
    });
}

/// Rounds with 300 packets in flight, then 16 with fewer than the pipe holds: PROBE_BW with the full window.
fn cruise(parameters: HsrParameters, rtts_ms: &[u64]) -> Flow {
    let mut flow = flow(parameters);
    for _ in 0..4 {
        round(&mut flow, 100, rtts_ms[0], 300);
    }
    for &rtt_ms in rtts_ms {
        round(&mut flow, 100, rtt_ms, 50);
    }
    assert_eq!(flow.c.probe().state, "PROBE_BW");
    flow
}

/// The window of PROBE_BW: twice the BDP, the aggregate, three bursts of two, made even, and two
/// more in the probing phase.
fn window(flow: &Flow, bdp_twice: u32, aggregate: u32) -> u32 {
    let probing = if flow.c.probe().pacing_gain == Some(1.25) { 2 } else { 0 };
    (bdp_twice + aggregate + 6).div_ceil(2) * 2 + probing
}

/// 100 packets at once, 100 ms after the last ACK: none is expected in zero time, so the
/// aggregate is 100, which is limited to 100 ms at 16,777: 99.
const AGGREGATE: u32 = 99;

/// RTprop 100 ms; then 180 ms once: RTT_avg = 100 + 80 / 8 = 110 ms, and twice the BDP is
/// ceil(2 * 16,777 * 110,000 / 2^24) = 220 instead of 200.
#[test]
fn the_window_follows_the_average_rtt() {
    let rtts = [vec![100; 16], vec![180]].concat();
    let f = cruise(unbounded(), &rtts);
    assert_eq!(f.w.cwnd, window(&f, 220, AGGREGATE));
    assert_eq!(f.c.probe().rt_prop, Some(Span::from_millis(100)), "RTprop is not the estimate");
    // T = 105 ms: 210.
    let t = Bound::At(Span::from_millis(105));
    let f = cruise(HsrParameters { t, ..unbounded() }, &rtts);
    assert_eq!(f.w.cwnd, window(&f, 210, AGGREGATE));
    // The published T is below RTprop, which is the lower bound.
    let f = cruise(HsrParameters::default(), &rtts);
    assert_eq!(f.w.cwnd, window(&f, 200, AGGREGATE));
    // alpha = 1/2: 100 + 40 ms, so 280.
    let f = cruise(HsrParameters { alpha: 0.5, ..unbounded() }, &rtts);
    assert_eq!(f.w.cwnd, window(&f, 280, AGGREGATE));
}

/// The pacing rate does not depend on the RTT: 16,777 * 1460 * gain, less 1 %, as in BBR.
#[test]
fn pacing_is_as_in_bbr() {
    let rtts = [vec![100; 16], vec![180]].concat();
    let (f, bbr) = (cruise(unbounded(), &rtts), cruise(HsrParameters::default(), &rtts));
    assert_eq!(f.w.pacing_rate, bbr.w.pacing_rate);
    assert!(f.w.cwnd > bbr.w.cwnd);
}

/// DRAIN still ends at RTprop's BDP, 100 packets and three bursts, though RTT_est is
/// 100 + (200 - 100) * (1 - (7/8)^3) = 133 ms by then.
#[test]
fn drain_ends_at_rt_props_bdp() {
    let mut f = flow(unbounded());
    for rtt_ms in [100, 200, 200, 200] {
        round(&mut f, 100, rtt_ms, 300);
    }
    assert_eq!((f.c.probe().state, f.w.ssthresh), ("DRAIN", 106));
    round(&mut f, 100, 200, 107);
    assert_eq!(f.c.probe().state, "DRAIN");
    round(&mut f, 100, 200, 106);
    assert_eq!(f.c.probe().state, "PROBE_BW");
}

/// The rate falls to 10 packets per 100 ms after an RTT above T1. In ten rounds BtlBw would follow
/// (and does while RTTs are not below T2); three short RTTs restore 16,777 * 1460 * 10^6
/// / 2^24 = 1,459,981 B/s, for ten rounds.
fn handover(parameters: HsrParameters) -> (Vec<Option<u64>>, Flow) {
    let mut f = cruise(HsrParameters { t2: Span::from_millis(120), ..parameters }, &[100; 16]);
    round(&mut f, 10, 1_001, 50);
    f.enter(CaState::Recovery);
    f.leave();
    for _ in 0..11 {
        round(&mut f, 10, 120, 50);
    }
    let mut seen = vec![f.c.probe().btl_bw];
    for _ in 0..3 {
        round(&mut f, 10, 119, 50);
        seen.push(f.c.probe().btl_bw);
    }
    (seen, f)
}

/// 10 packets per 100 ms: 1,677 * 1460 * 10^6 / 2^24.
const LOW: Option<u64> = Some(145_937);
const HIGH: Option<u64> = Some(1_459_981);

#[test]
fn the_previous_bandwidth_is_restored_after_a_handover() {
    let (seen, mut f) = handover(HsrParameters::default());
    assert_eq!(seen, [LOW, LOW, LOW, HIGH]);
    // It counts as a sample of that round: ten rounds later it is still the maximum, then it expires.
    for _ in 0..10 {
        round(&mut f, 10, 100, 50);
        assert_eq!(f.c.probe().btl_bw, HIGH);
    }
    round(&mut f, 10, 100, 50);
    assert_eq!(f.c.probe().btl_bw, LOW);
}

/// 4 Mbit/s are 500,000 B/s: 500,000 * 2^24 / 1460 / 10^6 = 5,745; back, 5,745 * 1460 * 10^6 / 2^24.
#[test]
fn a_given_bandwidth_is_restored_after_a_handover() {
    let bw_rec = RecoveryBandwidth::At(Rate::from_bps(4_000_000));
    let (seen, _) = handover(HsrParameters { bw_rec, ..HsrParameters::default() });
    assert_eq!(seen, [LOW, LOW, LOW, Some(499_945)]);
    // A bandwidth below the estimate changes nothing.
    let bw_rec = RecoveryBandwidth::At(Rate::from_bps(400_000));
    let (seen, _) = handover(HsrParameters { bw_rec, ..HsrParameters::default() });
    assert_eq!(seen, [LOW; 4]);
}

#[test]
fn nothing_is_restored_without_an_rtt_above_t1() {
    let (seen, _) =
        handover(HsrParameters { t1: Bound::At(Span::from_millis(1_001)), ..HsrParameters::default() });
    assert_eq!(seen, [LOW; 4]);
}
