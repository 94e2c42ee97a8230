//! Loss-based and delay-based controllers on a simulated path, compared with the closed forms of their
//! papers. Reno (Mathis) and CUBIC (RFC 9438) are in `truths.rs`.

use crate::common::*;

/// Mean window of Tahoe between two losses, which are N = 1/p packets apart. The window grows from W/2 to W,
/// one packet per round: W/2 rounds, 3/8 W^2 packets. The loss is detected a round later: one round, W
/// packets. The fast retransmission takes a round; slow start from 1 to W/2 takes log2(W/2) rounds and W/2
/// packets.
///
/// N = 3/8 W^2 + 3/2 W, mean window = N / (W/2 + log2(W/2) + 2).
fn tahoe(n: f64) -> f64 {
    let w = (-1.5 + (2.25 + 1.5 * n).sqrt()) / 0.75;
    n / (w / 2.0 + (w / 2.0).log2() + 2.0)
}

#[test]
fn tahoe_slow_starts_after_each_loss() {
    for (every, rtt) in [(400, 50.0), (1000, 100.0), (10_000, 20.0)] {
        let (ours, reno) = (window("tahoe", every, rtt), window("reno", every, rtt));
        close(&format!("tahoe, p 1/{every}, RTT {rtt} ms"), ours, tahoe(every as f64), 8.0);
        assert!(ours < 0.97 * reno, "1/{every}: tahoe {ours:.1}, reno {reno:.1}");
    }
}

/// Without queueing, Vegas adds a packet per round and halves its window at a loss, as Reno does, but between
/// two losses three rounds bring no growth: the one in which the loss is detected (W packets), recovery, and
/// the first round that Vegas observes after it (W/2 each). N = 3/8 W^2 + 2 W, mean = N / (W/2 + 3).
#[test]
fn vegas_without_a_queue_is_reno_but_for_three_rounds() {
    // Delayed ACKs add 40 to 44 ms, which the closed form ignores; that is little compared with 200 ms.
    for (every, rtt) in [(400, 200.0), (1000, 100.0), (10_000, 20.0)] {
        let n = every as f64;
        let w = (-2.0 + (4.0 + 1.5 * n).sqrt()) / 0.75;
        close(&format!("vegas, p 1/{every}"), window("vegas", every, rtt), n / (w / 2.0 + 3.0), 10.0);
    }
}

/// Compound's window equals Reno's up to 38 packets (draft-sridharan-tcpm-ctcp-02, Low_Window); with p =
/// 1/400 its maximum is 33, 4/3 of the mean sqrt(3/2) / sqrt(p) (Mathis 1997).
#[test]
fn a_small_compound_window_is_reno() {
    let (ours, reno) = (window("compound", 400, 50.0), window("reno", 400, 50.0));
    close("compound, p 1/400: window", ours, 1.5f64.sqrt() * 20.0, 10.0);
    close("compound compared with reno", ours, reno, 0.5);
}

/// Brakmo and Peterson 1995, section III-B: each flow keeps alpha = 2 to beta = 4 packets in the queue
/// (rounded down: less than 5), the bottleneck is full and nothing is lost. The controller judges by a
/// round's minimum RTT; the second packet of a delayed ACK adds to the queue.
#[test]
fn vegas_keeps_alpha_to_beta_packets_in_the_queue() {
    for (flows, rate, rtt) in [(1.0, 20.0, 40.0), (1.0, 5.0, 100.0), (3.0, 20.0, 40.0)] {
        let head = "duration = \"60s\"\nsample = \"5ms\"\n[hosts.a]\nstack = { tso = false }";
        let link = format!("{{ kind = \"link\", rate = \"{rate}Mbit/s\" }}");
        let vegas = format!("{}count = {flows}\n", bulk("vegas"));
        let o = run(&path(head, &link, rtt, &vegas));
        let link = element(&o, "link");
        let s = element_series(&o, "link");
        let settled = s.queue_bytes.iter().zip(&s.time_s).filter(|(_, t)| **t > 20.0);
        let queue = mean(settled.map(|(&q, _)| q as f64 / 1500.0));
        let total: f64 = o.variant.flows.iter().map(|f| f.goodput_mbps).sum();
        println!("{flows} x vegas, {rate} Mbit/s, {rtt} ms: {queue:.2} packets queued, {total:.2} Mbit/s");
        assert!(queue >= 2.0 * flows && queue <= 5.0 * flows + 1.0, "{queue}");
        assert!(total > 0.98 * rate * 1448.0 / 1500.0, "{total}");
        assert_eq!(link.dropped_packets, 0);
    }
}

/// The delivery rate that a sender measures over a busy link is the link's rate, whatever the congestion
/// control. It is unknown before the first ACK, and for datagrams.
#[test]
fn the_delivery_rate_of_a_busy_link_is_its_rate() {
    let link = "{ kind = \"link\", rate = \"20Mbit/s\", queue = { kind = \"fifo\", packets = 100 } }";
    // BBR lets the queue run empty at times.
    for (cc, percent) in [("cubic", 1.0), ("bbr", 3.0)] {
        let o = run(&path("duration = \"5s\"\nsample = \"10ms\"", link, 20.0, &bulk(cc)));
        let rates = &series(&o, "f").delivery_rate_mbps;
        assert_eq!((rates[0], rates[1]), (None, None), "{cc}: half a round trip");
        let last: Vec<f64> = rates[200..].iter().map(|rate| rate.expect("a rate")).collect();
        close(cc, mean(last.iter().copied()), 20.0 * 1448.0 / 1500.0, percent);
    }
    let udp = "[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"udp\", rate = \"1Mbit/s\" }\n";
    let o = run(&path("duration = \"1s\"\nsample = \"10ms\"", link, 20.0, udp));
    assert!(series(&o, "f").delivery_rate_mbps.iter().all(Option::is_none));
}
