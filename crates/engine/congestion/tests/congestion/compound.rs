//! Compound TCP compared with its paper (INFOCOM 2006) and draft-sridharan-tcpm-ctcp-02.

use crate::harness::Flow;
use crate::pipe::Pipe;
use units::Span;

const MS: fn(u64) -> Span = Span::from_millis;

/// A flow in congestion avoidance with a window of `cwnd`.
fn avoiding(name: &str, cwnd: u32) -> Flow {
    let mut flow = Flow::new(name, 1);
    (flow.w.cwnd, flow.w.ssthresh) = (cwnd, cwnd);
    flow
}

/// One round trip: the window is sent and acknowledged packet by packet.
fn round(flow: &mut Flow, rtt: Span) {
    let window = flow.w.cwnd;
    flow.send(window);
    for _ in 0..window {
        flow.wait(rtt / window as u64);
        flow.ack(1, rtt);
    }
}

/// Draft section 7: below 38 packets it "behaves exactly like Standard TCP", losses included.
#[test]
fn a_small_window_behaves_as_reno() {
    let mut flows = ["compound", "reno"].map(|name| avoiding(name, 12));
    for i in 0..400 {
        for flow in &mut flows {
            round(flow, MS(100));
            if flow.w.cwnd >= 38 || i % 17 == 16 {
                flow.lose();
            }
        }
        assert_eq!(flows[0].w, flows[1].w, "round {i}");
    }
}

/// Without a queue the window follows dW/dt = alpha W^k per round trip: from W0 to W it takes
/// (W^(1-k) - W0^(1-k)) / (alpha (1 - k)) round trips, which is 32 (W^(1/4) - W0^(1/4)).
#[test]
fn an_empty_path_is_filled_by_the_power_law() {
    for (from, to) in [(100u32, 1_000u32), (1_000, 10_000)] {
        let mut flow = avoiding("compound", from);
        let mut rounds = 0.0;
        while flow.w.cwnd < to {
            round(&mut flow, MS(100));
            rounds += 1.0;
        }
        let root = |w: u32| libm::sqrt(libm::sqrt(w as f64));
        let expected = 32.0 * (root(to) - root(from));
        assert!((rounds / expected - 1.0).abs() < 0.05, "{from} to {to}: {rounds}, not {expected:.1}");
        assert!(rounds * 10.0 < (to - from) as f64, "Reno needs a round trip a packet");
    }
}

/// When a queue builds up the delay window shrinks by the queued packets; Reno's part keeps growing by one
/// packet per round, and when the delay window is zero the sum is Reno's window.
#[test]
fn the_delay_window_yields_to_a_queue() {
    let mut flow = avoiding("compound", 500);
    for _ in 0..20 {
        round(&mut flow, MS(100));
    }
    let peak = flow.w.cwnd;
    assert!(peak > 500 + 20 + 200, "{peak}");
    // Other flows fill the queue: 100 ms become 110. 1/11 of the window is then queued, more than gamma.
    let mut windows = vec![peak];
    for i in 1..=30 {
        let before = flow.w.cwnd;
        round(&mut flow, MS(110));
        windows.push(flow.w.cwnd);
        if flow.w.cwnd > 500 + 20 + i {
            let fell = before as f64 + 1.0 - flow.w.cwnd as f64;
            let waiting = (before as f64 + 1.0) / 11.0;
            assert!((fell - waiting).abs() < 2.0, "{before} fell by {fell}, {waiting:.1} wait");
        }
    }
    // A packet per round; a round in which the window grew is a few ACKs shorter.
    let reno = 500 + 20 + 30;
    assert!((reno - 2..=reno).contains(&flow.w.cwnd), "only Reno's part is left: {windows:?}");
}

/// The paper's claim (figures 6 and 7): Compound TCP fills a long fat pipe with occasional random loss,
/// which Reno does not.
#[test]
fn compound_fills_a_long_fat_pipe_that_reno_does_not() {
    // 200 Mbit/s, 100 ms: 1667 packets; one packet in 100,000 lost.
    let share = |name: &str| Pipe::new(name, 1_667, MS(100), 400).lossy(100_000).run(Span::from_secs(300));
    let (compound, reno) = (share("compound"), share("reno"));
    assert!(compound > 0.85, "Compound uses {compound:.2}");
    assert!(reno < 0.6 && compound > 1.5 * reno, "Reno uses {reno:.2}");
}

/// The draft's response function (equation 8): w = 0.255 / p^0.8, in table 1. A deterministic loss
/// every 1/p packets gives the same average within the approximations of the model.
#[test]
fn the_average_window_agrees_with_table_1() {
    for (one_in, table) in [(10_000, 404.0), (100_000, 2_552.0)] {
        // A pipe without a queue.
        let mut pipe = Pipe::new("compound", 1 << 20, MS(100), 0).lossy(one_in);
        pipe.flow.w.cwnd = table as u32;
        pipe.flow.w.ssthresh = table as u32;
        while pipe.losses < 4 {
            pipe.round();
        }
        let begin = pipe.windows.len();
        while pipe.losses < 24 {
            pipe.round();
        }
        let cycle = &pipe.windows[begin..];
        let mean = cycle.iter().map(|&w| w as f64).sum::<f64>() / cycle.len() as f64;
        assert!((mean / table - 1.0).abs() < 0.15, "p = 1/{one_in}: {mean:.0}, not {table}");
    }
}

/// The sum stays at about gamma = 30 queued packets, as long as Reno's part alone does not fill the
/// path: the queue of 300 is not filled, nothing is lost.
#[test]
fn compound_does_not_fill_the_queue_by_itself() {
    let mut pipe = Pipe::new("compound", 800, MS(80), 300);
    pipe.flow.w.ssthresh = 400;
    // Reno's part gains a packet in 80 ms: from 400 it stays below 800 for 30 s.
    let share = pipe.run(Span::from_secs(30));
    assert!(share > 0.97, "uses {share:.2}");
    let late = &pipe.windows[pipe.windows.len() / 2..];
    let most = *late.iter().max().unwrap();
    // One round's growth, alpha 830^k = 19 packets, beyond gamma.
    assert!((825..=830 + 20).contains(&most), "{most} packets at most");
    assert_eq!(pipe.losses, 0);
}
