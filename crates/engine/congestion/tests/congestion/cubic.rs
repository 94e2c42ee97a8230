//! CUBIC and HyStart compared with windows computed by hand from the kernel's integer arithmetic.
//! Jiffies are 4 ms; `t` is in 1/1024 s; the cube is 410 * offs^3 >> 40.

use crate::harness::Flow;
use congestion::CaState;
use units::Span;

const RTT: Span = Span::from_millis(100);

/// CUBIC in congestion avoidance just after a loss at `w_max`, smallest RTT 100 ms.
fn after_loss_at(w_max: u32) -> Flow {
    let mut flow = Flow::new("cubic", 1);
    flow.w.cwnd = w_max;
    flow.w.ssthresh = w_max;
    flow.ack(1, RTT);
    flow.lose();
    flow
}

/// Number of packets that must be acknowledged, one at a time, until the window grows.
fn acks_per_packet(flow: &mut Flow) -> u32 {
    let cwnd = flow.w.cwnd;
    flow.w.cwnd_cnt = 0;
    for n in 1..=100_000 {
        flow.ack(1, RTT);
        if flow.w.cwnd > cwnd {
            return n;
        }
    }
    panic!("the window never grew");
}

/// beta: 1000 * 717 / 1024 = 700. Fast convergence at the next loss, at 900 < 1000:
/// W_max = 900 * 1741 / 2048 = 765, ssthresh = 900 * 717 / 1024 = 630.
#[test]
fn a_loss_reduces_the_window_by_three_tenths_and_sets_w_max() {
    let mut flow = after_loss_at(1000);
    assert_eq!((flow.w.cwnd, flow.w.ssthresh, flow.w.prior_cwnd), (700, 700, 1000));
    flow.w.cwnd = 900;
    flow.lose();
    assert_eq!(flow.w.cwnd, 630);
    // The new origin is 765, so K is the cube root of 135 / C: 7.0 s. At that time, with 630 packets,
    // the target is 765: 630 / 135 = 4.
    flow.ack(1, RTT);
    flow.wait(Span::from_millis(7_000));
    assert_eq!(acks_per_packet(&mut flow), 4);
}

/// K: 300 * (2^40 / 410) = 804,520,703,100; its cube root by table and Newton step is
/// guess (138 + 10) << 12 >> 6 = 9472, 2 * 9472 + a / (9472 * 9471) = 27,912, * 341 >> 10 = 9294:
/// 9.076 s (exactly 9.083). The first ACK looks one RTT ahead, 25 jiffies: t = 102, offs = 9192, delta = 289,
/// target 711, so one more packet per 700 / 11 = 63 acknowledged.
#[test]
fn the_curve_is_steep_after_a_loss() {
    let mut flow = after_loss_at(1000);
    assert_eq!(acks_per_packet(&mut flow), 63);
    assert_eq!(flow.w.cwnd, 701);
}

/// 2745 jiffies (10.98 s) into the epoch plus 25 of RTT: t = 11,345, 2051 past K:
/// delta = 410 * 2051^3 >> 40 = 3, target 1003. With 1000 packets: one per 1000 / 3 = 333.
#[test]
fn beyond_w_max_the_window_grows_again() {
    let mut flow = after_loss_at(1000);
    flow.ack(1, RTT);
    flow.w.cwnd = 1000;
    flow.wait(Span::from_millis(2745 * 4));
    assert_eq!(acks_per_packet(&mut flow), 333);
}

/// At K with 700 packets the target is 1000: 700 / 300 = 2. At 500 packets it would be 1, but
/// one packet per two acknowledged is the limit, 1.5 times per round trip.
#[test]
fn growth_is_at_most_one_packet_per_two_acknowledged() {
    for cwnd in [700, 500] {
        let mut flow = after_loss_at(1000);
        flow.ack(1, RTT);
        (flow.w.cwnd, flow.w.ssthresh) = (cwnd, cwnd);
        flow.wait(Span::from_millis(9_000));
        assert_eq!(acks_per_packet(&mut flow), 2, "{cwnd}");
    }
}

/// Around K the curve is flat (target = cwnd, which alone gives one packet per 100 windows), so Reno's
/// estimate determines the growth. It gains a packet per 700 * 15 / 8 = 1312 acknowledged: 301 * 1312 packets
/// take it from 700 to 1001. With 1000 packets of window that is 1 ahead: one per 1000 / 1.
#[test]
fn renos_estimate_determines_growth_where_the_curve_is_flat() {
    for (packets, expected) in [(301 * 1312, 1000), (150 * 1312, 100_000)] {
        let mut flow = after_loss_at(1000);
        flow.w.cwnd_clamp = 700; // the window is constant while the estimate grows
        flow.ack(1, RTT);
        flow.wait(Span::from_millis(4_000));
        flow.ack(packets, RTT);
        flow.w.cwnd_clamp = u32::MAX;
        flow.w.cwnd = 1000;
        flow.wait(Span::from_millis(4_900));
        assert_eq!(acks_per_packet(&mut flow), expected);
    }
}

/// Idle time does not count: after 5 s the curve is where it was (one packet per 63). If
/// the epoch had not moved, t would be 5222, delta 25, target 975: one per 700 / 275 = 2.
#[test]
fn idle_time_shifts_the_epoch() {
    for (announced, expected) in [(true, 63), (false, 2)] {
        let mut flow = after_loss_at(1000);
        flow.send(1);
        flow.ack(1, RTT);
        flow.wait(Span::from_secs(5));
        if announced {
            flow.send(1);
        }
        assert_eq!(acks_per_packet(&mut flow), expected);
    }
}

/// A timeout resets W_max: growth is then one packet per 20 acknowledged, 5 % per round trip.
#[test]
fn a_timeout_resets_w_max() {
    let mut flow = after_loss_at(1000);
    flow.time_out();
    assert_eq!((flow.w.cwnd, flow.w.ssthresh), (1, 490));
    flow.leave();
    flow.w.cwnd = 490; // reached by slow start
    assert_eq!(acks_per_packet(&mut flow), 20);
}

/// After a spurious loss the window is restored, but not W_max (table at the head of `cubic.rs`).
#[test]
fn undo_restores_the_window() {
    let mut flow = Flow::new("cubic", 1);
    flow.w.cwnd = 1000;
    flow.enter(CaState::Recovery);
    flow.w.cwnd = 700;
    flow.undo();
    assert_eq!((flow.w.cwnd, flow.w.ssthresh), (1000, u32::MAX));
}

/// A flow in slow start: smallest RTT 100 ms, window of 20 packets, 1000 in flight.
fn in_slow_start() -> Flow {
    let mut flow = Flow::new("cubic", 1);
    flow.send(1000);
    flow.at_millis(100);
    flow.ack(10, RTT);
    assert_eq!(flow.w.cwnd, 20);
    flow
}

/// An eighth of 100 ms is 12.5 ms. ACKs 3 ms apart (no train) with RTT 113 ms: eight are
/// collected, the ninth ends slow start at the current window, 28. One sample of
/// 112.5 ms in the round prevents that.
#[test]
fn hystart_ends_slow_start_when_delay_rose_by_an_eighth() {
    for (third_rtt_us, exit) in [(113_000, Some(28)), (112_501, Some(28)), (112_500, None)] {
        let mut flow = in_slow_start();
        for i in 1..=9 {
            flow.at_millis(100 + 3 * i);
            let rtt_us = if i == 3 { third_rtt_us } else { 113_000 };
            flow.ack(1, Span::from_micros(rtt_us));
        }
        assert_eq!(flow.w.ssthresh, exit.unwrap_or(u32::MAX));
    }
}

/// ACKs 1 ms apart are a train. It may last half of (RTT + allowance): the rate, 200 % of 20 * 1460 B per 100
/// ms, makes the allowance its cap of 1 ms, so 50.5 ms: the ACK 51 ms into the round ends slow start, when 50
/// ACKs have opened the window to 70. With pacing it may last 101 ms: the 102nd ACK, window 121. ACKs 3 ms
/// apart are not a train.
#[test]
fn hystart_ends_slow_start_when_the_ack_train_fills_half_an_rtt() {
    for (gap_ms, pacing, exit) in [(1, false, 70), (1, true, 121), (3, false, u32::MAX)] {
        let mut flow = in_slow_start();
        flow.w.pacing = pacing;
        for i in 1..=110 {
            flow.at_millis(100 + gap_ms * i);
            flow.ack(1, RTT);
        }
        assert_eq!(flow.w.ssthresh, exit, "gap {gap_ms} ms, pacing {pacing}");
    }
}

/// Below a window of 16 packets HyStart does nothing: a train of 200 ms from a window of 1.
#[test]
fn hystart_ignores_small_windows() {
    let mut flow = in_slow_start();
    flow.w.cwnd_clamp = 15;
    flow.w.cwnd = 15;
    for i in 1..=200 {
        flow.at_millis(100 + i);
        flow.ack(1, RTT);
    }
    assert_eq!(flow.w.ssthresh, u32::MAX);
}
