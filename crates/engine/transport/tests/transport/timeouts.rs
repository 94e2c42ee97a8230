//! Retransmission timeouts, F-RTO, tail loss probes, closed windows, and idle periods.

use crate::pair::*;
use transport::{Profile, Stack};
use units::{Bytes, Span, Time};

fn rfc() -> Stack {
    Stack { profile: Profile::Rfc, ..Stack::default() }
}

fn times(pair: &Pair, from: Time) -> Vec<u64> {
    pair.data().filter(|s| s.at > from).map(|s| (s.at.since(from).as_millis_f64()).round() as u64).collect()
}

/// The timeout doubles each time, until an RTT is measured (RFC 6298 section 5.5). Linux: srtt + 200 ms,
/// after a probe at 2 srtt + 200 ms (RFC 8985 section 7.2 allows for a delayed ACK with one packet in
/// flight), which the earlier timeout limits; in whole ticks of 4 ms. Timers of 63 to 503 ticks fire at the
/// end of a bucket of eight ticks, longer ones of 64.
#[test]
fn timeouts_double() {
    for (stack, expect, buckets) in [
        (Stack::default(), [252, 252, 504, 1008, 2016], [32, 32, 32, 32, 256]),
        (rfc(), [1000, 2000, 4000, 8000, 16_000], [0; 5]),
    ] {
        let mut pair = Pair::with("reno", &stack, &stack).sending(MSS);
        pair.finish();
        pair.run(Span::from_secs(1));
        pair.wire(|s| if s.forward { Fate::Lost } else { Fate::Arrive });
        let begin = pair.now;
        pair.write(100);
        pair.run(Span::from_secs(40));
        let sent = times(&pair, begin);
        let gaps = sent.iter().zip(std::iter::once(&0).chain(&sent)).map(|(at, before)| at - before);
        for (gap, (least, bucket)) in gaps.zip(expect.into_iter().zip(buckets)) {
            assert!((least..=least + bucket).contains(&gap), "{sent:?} {stack:?}");
        }
    }
}

/// After a timeout the window is one packet, followed by slow start (RFC 5681 sections 3.1 and 3.2).
#[test]
fn after_a_timeout_slow_start() {
    let mut pair = Pair::with("reno", &rfc(), &rfc());
    pair.wire(|s| if s.forward && (at(190)..at(900)).contains(&s.at) { Fate::Lost } else { Fate::Arrive });
    let mut pair = pair.sending(400 * MSS);
    while pair.client.tx.stats.timeouts == 0 {
        pair.step();
    }
    assert_eq!(pair.cwnd(), 1);
    let threshold = pair.client.tx.w.ssthresh;
    assert!(threshold >= 2);
    pair.finish();
    assert_eq!(pair.server.rx.copied, 400 * MSS);
}

/// A delay spike of a second causes a timeout (RFC 5682). The ACKs of originals show that it was spurious:
/// the window is restored, and only the first packet of the window was retransmitted. With timestamps, Eifel
/// (RFC 3522) detects it on the first ACK.
#[test]
fn a_delay_spike_is_not_mistaken_for_loss() {
    for timestamps in [true, false] {
        let stack = Stack { timestamps: Some(timestamps), ..Stack::default() };
        let mut pair = Pair::with("reno", &stack, &stack).sending(u32::MAX as u64);
        pair.run(RTT * 3 + ms(10));
        let (before, spike) = (pair.cwnd(), pair.now);
        pair.wire(move |s| {
            let over = spike + Span::from_secs(1);
            if s.at < over { Fate::Late(over.since(s.at)) } else { Fate::Arrive }
        });
        pair.run(Span::from_secs(2));
        let stats = pair.client.tx.stats;
        assert!(stats.timeouts >= 1);
        assert_eq!(stats.undone, 1, "timestamps {timestamps}: {stats:?}");
        assert!(pair.cwnd() >= before, "{} < {before}", pair.cwnd());
        assert!(pair.client.tx.w.ssthresh > 1 << 20);
        // The packets of the timeouts, and the probe before them.
        assert!(stats.retransmitted <= stats.timeouts + stats.probes, "{stats:?}");
    }
}

/// A genuine loss of the window's end is not mistaken for a delay spike (RFC 5682 section 3.1 steps 2.b and
/// 3.a).
#[test]
fn a_genuine_loss_is_not_undone() {
    let mut pair = Pair::new("reno");
    pair.wire(|s| if s.forward && (60..120).contains(&s.number) { Fate::Lost } else { Fate::Arrive });
    let mut pair = pair.sending(600 * MSS);
    pair.finish();
    let stats = pair.client.tx.stats;
    assert_eq!(stats.undone, 0, "{stats:?}");
    assert_eq!(pair.server.rx.copied, 600 * MSS);
}

/// The last packet is lost (RFC 8985 section 7): a probe two RTTs later repairs that long before the timeout,
/// at the cost of one reduction (section 7.4.2).
#[test]
fn a_probe_repairs_the_tail() {
    let mut pair = Pair::new("reno").sending(20 * MSS);
    pair.finish();
    let before = pair.cwnd();
    let last = pair.data().count() as u64 + 10;
    pair.wire(move |s| if s.forward && s.number == last { Fate::Lost } else { Fate::Arrive });
    pair.write(10 * MSS);
    let took = pair.finish();
    let stats = pair.client.tx.stats;
    assert_eq!((stats.probes, stats.timeouts, stats.retransmitted), (1, 0, 1));
    // The ACK after one RTT rearms the probe. One packet is left, so the probe is due after 2 RTT + 200 ms,
    // limited by the RTO of RTT + 200 ms, at the end of a bucket of 32 ms; then one RTT passes.
    assert!(took <= RTT * 3 + ms(242), "{took}");
    pair.write(MSS);
    pair.finish();
    assert!(pair.client.tx.w.ssthresh <= before, "the probe repaired a loss");
}

/// The original arrives after all, and a D-SACK reports the probe as a duplicate (section 7.4.2). Later data
/// finds window and threshold unchanged.
#[test]
fn an_unnecessary_probe_costs_nothing() {
    let mut pair = Pair::new("reno").sending(20 * MSS);
    pair.finish();
    let last = pair.data().count() as u64 + 10;
    // Late enough for a probe, but not for a timeout.
    pair.wire(move |s| if s.forward && s.number == last { Fate::Late(ms(300)) } else { Fate::Arrive });
    pair.write(10 * MSS);
    pair.finish();
    pair.run(RTT);
    assert_eq!((pair.client.tx.stats.probes, pair.client.tx.stats.timeouts), (1, 0));
    for _ in 0..5 {
        pair.write(10 * MSS);
        pair.finish();
    }
    assert_eq!(pair.client.tx.w.ssthresh, u32::MAX);
}

/// The reader stops and the window closes. The sender probes it at doubling intervals (RFC 9293 section
/// 3.8.6.1), and continues when the reader does.
#[test]
fn a_closed_window_is_probed() {
    let receiver = Stack { receive_window: Some(Bytes::new(20_000)), ..Stack::default() };
    let mut pair = Pair::with("reno", &Stack::default(), &receiver);
    pair.server.rx.auto_read = false;
    let mut pair = pair.sending(100_000);
    pair.run(Span::from_secs(20));
    let full = pair.server.rx.readable();
    assert!((20_000 - MSS..=20_000).contains(&full), "{full}");
    let probes: Vec<Time> = pair
        .log
        .iter()
        .filter(|s| s.forward && s.segment.len == 0 && s.at > at(1000))
        .map(|s| s.at)
        .collect();
    let gaps: Vec<f64> = probes.windows(2).map(|w| w[1].since(w[0]).as_secs_f64()).collect();
    assert!(gaps.len() >= 3 && gaps.windows(2).all(|g| (g[1] / g[0] - 2.0).abs() < 0.25), "{gaps:?}");
    let now = pair.now;
    while pair.server.rx.copied < 100_000 {
        pair.act(false, |tcp, out| tcp.read(now, 100_000, out));
        pair.run(ms(100));
        assert!(pair.now.since(now) < Span::from_secs(60));
    }
}

/// The announcement of an opened window is lost; the window probe prevents a deadlock.
#[test]
fn a_lost_window_update_causes_no_deadlock() {
    let receiver = Stack { receive_window: Some(Bytes::new(20_000)), ..Stack::default() };
    let mut pair = Pair::with("reno", &Stack::default(), &receiver);
    pair.server.rx.auto_read = false;
    let mut pair = pair.sending(30_000);
    pair.run(Span::from_secs(1));
    let now = pair.now;
    pair.wire(move |s| if !s.forward && s.at == now { Fate::Lost } else { Fate::Arrive });
    pair.act(false, |tcp, out| tcp.read(now, 100_000, out));
    pair.server.rx.auto_read = true;
    pair.run(Span::from_secs(5));
    assert_eq!(pair.server.rx.rcv_nxt, 30_000);
}

/// A window smaller than a segment is used in halves (`tcp_bound_to_half_wnd`).
#[test]
fn tiny_windows_pass_data() {
    for window in [300u64, 536, 1000, 2000, 3000] {
        let receiver = Stack { receive_window: Some(Bytes::new(window)), ..Stack::default() };
        let mut pair = Pair::with("reno", &Stack::default(), &receiver).sending(20 * window);
        let took = pair.finish();
        // One window per RTT, except for the delayed ACKs of the smallest window.
        assert!(took >= RTT * 19 && took < (RTT + ms(40)) * 22, "{window}: {took}");
    }
}

/// After an RTO of idle time the window is the initial one (RFC 5681 section 4.1); Linux halves it for every
/// RTO that has passed (RFC 2861).
#[test]
fn idle_time_reduces_the_window() {
    for (stack, pause, expect) in [
        (Stack::default(), 100, 1.0),
        (Stack::default(), 400, 0.5),
        (Stack::default(), 650, 0.25),
        (Stack::default(), 20_000, 0.0),
        (rfc(), 1500, 0.0),
    ] {
        let mut pair = Pair::with("reno", &stack, &stack).sending(300 * MSS);
        pair.finish();
        let before = pair.cwnd();
        assert!(before > 60);
        pair.run(ms(pause));
        pair.write(1);
        let want = ((before as f64 * expect) as u32).max(10);
        assert!(pair.cwnd().abs_diff(want) <= 1, "{pause} ms: {before} to {}, not {want}", pair.cwnd());
    }
}

/// Minshall's variant of Nagle's algorithm: of many small writes, one small packet is in flight at a time
/// (RFC 9293 section 3.7.4); the others wait for its ACK and are sent together.
#[test]
fn single_bytes_are_merged() {
    let mut pair = Pair::new("reno");
    pair.connect();
    for _ in 0..100 {
        let now = pair.now;
        pair.act(true, |tcp, out| tcp.write(now, 1, false, out));
        pair.run(Span::from_micros(100));
    }
    pair.finish();
    let sizes: Vec<u32> = pair.data().map(|s| s.segment.len).collect();
    assert_eq!(sizes, [1, 99]);
}

/// One window per RTT: 64 kB at 50 ms are 10.5 Mbit/s (limited by the fixed window).
#[test]
fn throughput_is_window_over_rtt() {
    // Even numbers of segments: an odd one would wait for the next round's ACK.
    for window in [12 * MSS, 46 * MSS, 690 * MSS] {
        let receiver = Stack { receive_window: Some(Bytes::new(window)), ..Stack::default() };
        // Without TSO, as a full-size burst would be waited for.
        let sender = Stack { tso: Some(false), ..Stack::default() };
        let mut pair = Pair::with("cubic", &sender, &receiver).sending(u64::MAX >> 8);
        pair.run(Span::from_secs(2));
        let begin = pair.server.rx.copied;
        pair.run(Span::from_secs(10));
        let rate = (pair.server.rx.copied - begin) as f64 / 10.0;
        let truth = window as f64 / RTT.as_secs_f64();
        assert!((rate / truth - 1.0).abs() < 0.01, "{window}: {rate:.0} B/s, window/RTT {truth:.0} B/s");
        assert_eq!(pair.client.tx.stats.retransmitted, 0);
    }
}

/// The window is restarted before it sizes bursts: after a pause of a second, a large window has shrunk, and
/// the first burst has the size for the new window (`tcp_skb_entail` checks, not `tcp_event_data_sent`).
#[test]
fn the_first_burst_after_a_pause_is_sized_by_the_new_window() {
    let stack = Stack { pacing: Some(true), ..Stack::default() };
    let mut pair = Pair::with("reno", &stack, &stack).rtt(ms(4)).sending(60 * MSS);
    pair.finish();
    let before = pair.cwnd();
    pair.run(Span::from_secs(20));
    let (begin, sent) = (pair.now, pair.data().count());
    pair.write(40 * MSS);
    assert!(before >= 40 && pair.cwnd() == 10, "{before} to {}", pair.cwnd());
    let burst = pair.data().skip(sent).filter(|s| s.at == begin).count();
    assert_eq!(burst, 5, "half the window (`tcp_cwnd_test`)");
}

/// With `tcp_slow_start_after_idle` = 0, idle time does not reduce the window.
#[test]
fn the_reduction_after_idle_time_can_be_disabled() {
    let stack = Stack { idle_restart: Some(false), ..Stack::default() };
    let mut pair = Pair::with("reno", &stack, &stack).sending(300 * MSS);
    pair.finish();
    let before = pair.cwnd();
    pair.run(Span::from_secs(20));
    pair.write(1);
    assert!(before > 60 && pair.cwnd() == before, "{before} to {}", pair.cwnd());
}

/// With `tcp_early_retrans` = 0, only the timeout detects the loss of the last packet. The RFC profile can
/// use probes if configured.
#[test]
fn probes_can_be_disabled_and_enabled() {
    for (profile, tlp, probes) in [
        (Profile::Linux, None, 1),
        (Profile::Linux, Some(false), 0),
        (Profile::Rfc, None, 0),
        (Profile::Rfc, Some(true), 1),
        (Profile::Windows, None, 1),
        (Profile::Windows, Some(false), 0),
    ] {
        let stack = Stack { profile, tlp, ..Stack::default() };
        let mut pair = Pair::with("reno", &stack, &stack).sending(20 * MSS);
        pair.finish();
        let last = pair.data().count() as u64 + 3;
        pair.wire(move |s| if s.forward && s.number == last { Fate::Lost } else { Fate::Arrive });
        pair.write(2 * pair.client.tx.s.mss as u64 + 100);
        pair.finish();
        let stats = pair.client.tx.stats;
        assert_eq!((stats.probes, stats.timeouts), (probes, 1 - probes), "{profile:?} {tlp:?}");
    }
}
