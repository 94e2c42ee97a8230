//! Westwood+ compared with its paper (Grieco, Mascolo, CCR 2004) and with values of Linux's integer
//! arithmetic, computed by hand.

use crate::harness::Flow;
use crate::pipe::Pipe;
use congestion::{CaState, HZ};
use units::Span;

const MS: fn(u64) -> Span = Span::from_millis;

/// The bandwidth estimate, bytes per second.
fn estimate(flow: &Flow) -> Option<u64> {
    flow.c.probe().btl_bw
}

/// ACKs of `packets` each, every `gap`, `times` times.
fn stream(flow: &mut Flow, times: u32, packets: u32, gap: Span, rtt: Span) {
    for _ in 0..times {
        flow.wait(gap);
        flow.ack(packets, rtt);
    }
}

/// A sample ends with the first ACK more than max(RTT, 12 ticks) after its start, and counts the bytes
/// before that ACK. The first ACK only sets the start of counting.
#[test]
fn samples_are_a_round_trip_long_but_at_least_fifty_milliseconds() {
    // RTT 20 ms, an ACK of 2 packets every 8 ms (2 ticks): the 7th comes 14 ticks after the start, the first
    // past 12; 6 came before it, of which the first is not counted: 10 packets of 1460 B in 14 ticks are 1042
    // B a tick (14600 / 14 = 1042.8).
    let mut flow = Flow::new("westwood", 1);
    stream(&mut flow, 6, 2, MS(8), MS(20));
    assert_eq!(estimate(&flow), None);
    stream(&mut flow, 1, 2, MS(8), MS(20));
    assert_eq!(estimate(&flow), Some(1042 * HZ));

    // RTT 100 ms (25 ticks): past 25 ticks is the 13th ACK, 26 ticks after the start.
    let mut flow = Flow::new("westwood", 1);
    stream(&mut flow, 12, 2, MS(8), MS(100));
    assert_eq!(estimate(&flow), None);
    stream(&mut flow, 1, 2, MS(8), MS(100));
    assert_eq!(estimate(&flow), Some(11 * 2 * 1460 / 26 * HZ));
}

/// The second sample has a weight of 1/8 in the first filter, and its output has a weight of 1/8 in the
/// second filter.
#[test]
fn two_filters_smooth_the_estimate() {
    let mut flow = Flow::new("westwood", 1);
    stream(&mut flow, 7, 2, MS(8), MS(20));
    assert_eq!(estimate(&flow), Some(1042 * HZ));
    // Twice the rate: 7 ACKs of 4 packets; the ACK that ended the first sample counts in the second
    // with its 2 packets: 2 + 6 * 4 = 26 packets in 14 ticks, 2711 B a tick.
    stream(&mut flow, 7, 4, MS(8), MS(20));
    let once = (7 * 1042 + 2711) / 8; // 1250
    let twice = (7 * 1042 + once) / 8; // 1068
    assert_eq!((once, twice), (1250, 1068));
    assert_eq!(estimate(&flow), Some(twice * HZ));
}

/// "cwnd = ssthresh = BWE * RTTmin" at the end of recovery: 4 packets every 8 ms over 40 ms carry 20 packets,
/// regardless of the window at the loss.
#[test]
fn after_a_loss_the_window_is_bandwidth_times_smallest_rtt() {
    let mut flow = Flow::new("westwood", 1);
    flow.w.ssthresh = 2; // congestion avoidance
    stream(&mut flow, 400, 4, MS(8), MS(40));
    let carried = estimate(&flow).unwrap() * 40 / 1000 / 1460;
    assert!((19..=20).contains(&carried), "{carried}");
    for (window, half) in [(200, 100), (24, 12)] {
        flow.w.cwnd = window;
        flow.enter(CaState::Recovery);
        assert_eq!(flow.w.ssthresh, half, "recovery itself halves as Reno does");
        flow.leave();
        assert_eq!((flow.w.cwnd, flow.w.ssthresh), (carried as u32, carried as u32));
    }
}

/// After a timeout ssthresh is the estimate, and the next RTT becomes the minimum even if it is larger.
#[test]
fn a_timeout_resets_the_smallest_rtt() {
    let mut flow = Flow::new("westwood", 1);
    stream(&mut flow, 100, 2, MS(8), MS(40));
    assert_eq!(flow.c.probe().rt_prop, Some(MS(40)));
    stream(&mut flow, 100, 2, MS(8), MS(60));
    assert_eq!(flow.c.probe().rt_prop, Some(MS(40)), "kept");
    let carried = (estimate(&flow).unwrap() / HZ * 10 / 1460) as u32;
    flow.time_out();
    assert_eq!((flow.w.ssthresh, flow.w.cwnd), (carried, 1));
    stream(&mut flow, 1, 1, MS(8), MS(60));
    assert_eq!(flow.c.probe().rt_prop, Some(MS(60)), "measured again");
}

/// ACKs compressed into a burst do not raise the estimate, because a sample is a round trip long. (The
/// first Westwood took a sample from each pair of ACKs.)
#[test]
fn ack_compression_does_not_change_the_estimate() {
    let rate = |spread: bool| {
        let mut flow = Flow::new("westwood", 1);
        for _ in 0..100 {
            for i in 0..10 {
                flow.wait(if spread || i == 0 { MS(if spread { 8 } else { 80 }) } else { Span::ZERO });
                flow.ack(2, MS(80));
            }
        }
        estimate(&flow).unwrap() as f64
    };
    let ratio = rate(false) / rate(true);
    assert!((0.8..1.15).contains(&ratio), "{ratio:.2}");
}

/// The paper's claim: a loss without congestion halves Reno's window, but hardly reduces Westwood+'s.
#[test]
fn random_loss_reduces_the_rate_less_than_renos() {
    // 20 Mbit/s, 100 ms: 167 packets; one packet in 2,000 lost, a buffer of half the pipe.
    let share = |name: &str| Pipe::new(name, 167, MS(100), 83).lossy(2_000).run(Span::from_secs(120));
    let (westwood, reno) = (share("westwood"), share("reno"));
    assert!(westwood > 0.85, "Westwood+ uses {westwood:.2}");
    assert!(reno < 0.6 && westwood > 1.5 * reno, "Reno uses {reno:.2}");
}

/// On a path without random loss the pipe is full, and after each loss the
/// queue is empty at once.
#[test]
fn a_loss_by_overflow_empties_the_queue_but_not_the_pipe() {
    let mut pipe = Pipe::new("westwood", 100, MS(80), 100);
    let share = pipe.run(Span::from_secs(120));
    assert!(share > 0.97, "uses {share:.3}");
    assert!(pipe.losses > 5, "{} losses", pipe.losses);
    let after = pipe.after_loss.iter().skip(2).max().unwrap();
    assert!((95..=101).contains(after), "after a loss {:?}", pipe.after_loss);
}
