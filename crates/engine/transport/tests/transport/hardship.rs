//! Extreme paths: all data must arrive, in bounded time and with a bounded number of events per packet.

use crate::pair::*;
use transport::{MtuProbing, Profile, Stack};
use units::{Bytes, Span, Stream};

fn stacks() -> Vec<Stack> {
    let mut list = Vec::new();
    for profile in [Profile::Linux, Profile::Rfc] {
        for sack in [true, false] {
            for timestamps in [true, false] {
                list.push(Stack {
                    profile,
                    sack: Some(sack),
                    timestamps: Some(timestamps),
                    ..Stack::default()
                });
            }
        }
    }
    list
}

/// Bounds the number of events per packet on the wire: its arrival, and timers.
fn assert_few_events(pair: &Pair) {
    let packets = pair.log.len() as u64;
    assert!(pair.steps < 4 * packets + 100, "{} events, {packets} packets", pair.steps);
}

/// A third of all packets lost would mean minutes of silence. Without timestamps, Karn's rule keeps a doubled
/// timeout until new data is acknowledged (RFC 6298 section 5). With timestamps, duplicate data does not
/// update the timestamp to echo (RFC 7323 section 5), and the ACK that answers it echoes one from before the
/// silence, which counts as RTT. So the tests use losses of a fifth and a tenth.
#[test]
fn data_arrives_despite_heavy_loss_in_both_directions() {
    for (i, stack) in stacks().iter().enumerate() {
        let bears = stack.profile == Profile::Linux && stack.timestamps == Some(true);
        let share = if bears && stack.sack == Some(true) { 0.2 } else { 0.1 };
        for cc in ["cubic", "bbr"] {
            let mut pair = Pair::with(cc, stack, stack);
            let mut stream = Stream::new(i as u64, cc);
            pair.wire(move |_| if stream.chance(share) { Fate::Lost } else { Fate::Arrive });
            let mut pair = pair.sending(100 * MSS);
            pair.finish();
            assert_eq!(pair.server.rx.copied, 100 * MSS);
            assert_few_events(&pair);
        }
    }
}

#[test]
fn data_arrives_despite_loss_reordering_and_duplication_at_once() {
    for (i, stack) in stacks().iter().enumerate() {
        for cc in ["reno", "cubic", "bbr"] {
            let stack = Stack { ecn: Some(true), ..stack.clone() };
            let mut pair = Pair::with(cc, &stack, &stack);
            let mut s = Stream::new(i as u64, cc);
            pair.wire(move |_| match s.below(20) {
                0 => Fate::Lost,
                1 => Fate::Twice,
                2..5 => Fate::Late(Span::from_nanos(s.below(150_000_000))),
                5 => Fate::Marked,
                _ => Fate::Arrive,
            });
            let mut pair = pair.sending(500 * MSS);
            pair.act(false, |tcp, out| tcp.write(at(100), 200 * MSS, true, out));
            pair.finish();
            while pair.client.rx.copied < 200 * MSS {
                pair.step();
            }
            assert_eq!(pair.server.rx.copied, 500 * MSS);
            assert_few_events(&pair);
        }
    }
}

/// Five seconds of outage: all stacks recover, the first packet is sent soon after (exponential backoff at
/// most doubles the time), and Linux does not wait for the duration of a second outage.
#[test]
fn all_stacks_recover_from_an_outage_of_five_seconds() {
    for stack in stacks() {
        let stack = Stack { receive_window: Some(Bytes::new(200_000)), ..stack };
        for cc in ["reno", "cubic", "bbr"] {
            let mut pair = Pair::with(cc, &stack, &stack);
            let gone = at(1000)..at(6000);
            pair.wire(move |s| if gone.contains(&s.at) { Fate::Lost } else { Fate::Arrive });
            let mut pair = pair.sending(u32::MAX as u64);
            pair.run(at(12_500).since(pair.now));
            let first = pair.acks().find(|s| s.at > at(6000)).map(|s| s.at);
            assert!(first.is_some_and(|t| t < at(12_000)), "{cc} {stack:?}: {first:?}");
            // The first ACK may count as an RTT of the whole outage (see above), and without SACK no probe
            // precedes the timeout that results.
            let slow = stack.timestamps == Some(true) && stack.sack == Some(false);
            pair.run(Span::from_secs(if slow { 20 } else { 5 }));
            let last_second = pair.now - Span::from_secs(1);
            let flying = pair.acks().filter(|s| s.at > last_second).count();
            assert!(flying > 100, "{cc} {stack:?}: {flying}");
            assert_few_events(&pair);
        }
    }
}

/// A tunnel starts to carry only 1400 bytes (RFC 1191): larger packets are split and retransmitted at once,
/// without timeout and reduction, and nothing larger than 1400 bytes is sent afterwards.
#[test]
fn a_smaller_mtu_is_learned_at_once() {
    for stack in stacks() {
        for (first, window) in [(1, 10), (100, 10), (100, 300)] {
            let stack = Stack { initial_window: Some(window), ..stack.clone() };
            let mut pair = Pair::with("reno", &stack, &stack);
            let mut tunnel = false;
            pair.wire(move |s| {
                tunnel |= s.forward && s.number >= first;
                if tunnel && s.forward { Fate::TooBig(1400) } else { Fate::Arrive }
            });
            let mut pair = pair.sending(600 * MSS);
            let took = pair.finish();
            let stats = pair.client.tx.stats;
            assert_eq!(stats.timeouts, 0, "{stack:?}");
            // Without SACK, ACKs of unnecessary retransmissions look like duplicates.
            let unreduced = pair.client.tx.w.ssthresh > 1 << 20;
            assert!(unreduced || stack.sack == Some(false), "{stack:?}");
            let reported = pair.data().find(|s| s.number == first).unwrap().at + RTT / 2;
            assert!(pair.data().all(|s| s.at < reported || s.segment.ip_bytes() <= 1400));
            assert!(took < RTT * 12, "{took} {stack:?}");
            assert_eq!(pair.server.rx.copied, 600 * MSS);
        }
    }
}

/// The MTU falls twice during a recovery.
#[test]
fn an_mtu_that_falls_while_packets_are_lost() {
    for stack in stacks() {
        let mut pair = Pair::with("cubic", &stack, &stack);
        let mut s = Stream::new(5, "mtu");
        pair.wire(move |p| match p.number {
            _ if s.chance(0.03) => Fate::Lost,
            n if p.forward && n > 200 => Fate::TooBig(576),
            n if p.forward && n > 80 => Fate::TooBig(1300),
            _ => Fate::Arrive,
        });
        let mut pair = pair.sending(400 * MSS);
        pair.finish();
        assert_eq!(pair.server.rx.copied, 400 * MSS);
        assert_few_events(&pair);
    }
}

/// SACK blocks in data packets never make a packet exceed the MSS.
#[test]
fn no_packet_exceeds_the_mtu() {
    let mut pair = Pair::new("cubic");
    let mut s = Stream::new(9, "both ways");
    pair.wire(move |_| if s.chance(0.05) { Fate::Lost } else { Fate::Arrive });
    let mut pair = pair.sending(500 * MSS);
    let now = pair.now;
    pair.act(false, |tcp, out| tcp.write(now, 500 * MSS, true, out));
    pair.finish();
    while pair.client.rx.copied < 500 * MSS {
        pair.step();
    }
    assert!(pair.log.iter().all(|s| s.segment.ip_bytes() <= 1500));
}

/// A path with an MTU smaller than that of the first link, and no ICMP.
fn black_hole(probing: MtuProbing, carries: u32) -> Pair {
    let client = Stack { mtu_probing: Some(probing), ..Stack::default() };
    let mut p = Pair::with("cubic", &client, &Stack::default());
    p.wire(move |s| if s.segment.ip_bytes() > carries { Fate::Lost } else { Fate::Arrive });
    p
}

/// Each size that was larger than all before it, and whether it passed. `tcp_mtu_probe` of Linux 6.x halves
/// the distance from 1024 bytes to 1448: (1024 + 1448) / 2 = 1236, (1236 + 1448) / 2 = 1342, and so on.
fn probes(p: &Pair, carries: u32) -> Vec<(u32, bool)> {
    let mut sizes: Vec<(u32, bool)> = Vec::new();
    for s in p.data().filter(|s| !s.again && s.at > at(4_500)) {
        let larger = sizes.iter().filter(|known| known.1).all(|known| s.segment.len > known.0);
        if s.segment.len > 1024 && larger && sizes.last().is_none_or(|last| last.0 != s.segment.len) {
            sizes.push((s.segment.len, s.segment.ip_bytes() <= carries));
        }
    }
    sizes
}

#[test]
fn the_search_for_the_mtu_is_binary() {
    for (carries, sizes) in [
        // 1424 bytes of payload: 1434 and 1427 are too large; 1421 and 1426 differ by less than 8.
        (1_476, vec![(1236, true), (1342, true), (1395, true), (1421, true), (1434, false), (1427, false)]),
        // 1248 bytes: 1342 is too large, and the search continues between 1236 and 1341.
        (1_300, vec![(1236, true), (1342, false), (1288, false), (1261, false), (1248, true), (1254, false)]),
        (1_340, vec![(1236, true), (1342, false), (1288, true), (1314, false), (1300, false), (1293, false)]),
        // Little more than 1024 passes: 1235, 1129, 1076, 1049, 1036, 1029 are tried.
        (
            1_080,
            vec![(1236, false), (1129, false), (1076, false), (1049, false), (1036, false), (1029, false)],
        ),
    ] {
        let mut p = black_hole(MtuProbing::OnBlackhole, carries).sending(40_000_000);
        p.finish();
        assert_eq!(probes(&p, carries), sizes, "{carries}");
        let last = sizes.iter().filter(|s| s.1).map(|s| s.0).max().unwrap_or(1024);
        assert_eq!(p.client.tx.s.mss, last);
        // Losses because of the size cause no further timeout, no recovery, and one retransmission each.
        let lost = sizes.iter().filter(|s| !s.1).count();
        assert_eq!(p.client.tx.stats.recoveries, 0, "{carries}");
        let small = p.resent().iter().filter(|s| s.at > at(4_500)).map(|s| s.segment.len).sum::<u32>();
        assert_eq!(small, sizes.iter().filter(|s| !s.1).map(|s| s.0).sum::<u32>(), "{carries} {lost}");
    }
}

/// `tcp_mtu_probing` = 2 starts with 1024 bytes and finds the path MTU; 0 never searches; sizes below
/// `tcp_base_mss` are not found.
#[test]
fn the_search_starts_according_to_the_sysctl() {
    let mut always = black_hole(MtuProbing::Always, 1_500).sending(20_000_000);
    always.finish();
    let lens = |p: &Pair| p.data().map(|s| s.segment.len).collect::<Vec<_>>();
    let all = lens(&always);
    assert_eq!(all[..5], [1024; 5]);
    assert!((1441..=1448).contains(&always.client.tx.s.mss), "{}", always.client.tx.s.mss);
    assert!(always.resent().is_empty());
    for probing in [MtuProbing::Off, MtuProbing::OnBlackhole] {
        let mut p = black_hole(probing, 1_500).sending(5_000_000);
        p.finish();
        assert!(lens(&p).iter().rev().skip(1).all(|len| *len == 1448));
    }
}

/// The window keeps its size in bytes when segments grow, and losing a probe because of its size costs
/// nothing.
#[test]
fn an_mtu_probe_does_not_reduce_the_window() {
    let mut p = black_hole(MtuProbing::OnBlackhole, 1_476).sending(40_000_000);
    let seen = |p: &Pair| (p.cwnd(), p.client.tx.s.mss, p.client.tx.w.ssthresh);
    p.run(ms(4_500));
    let (mut grown, mut before) = (0, seen(&p));
    while p.client.tx.unacked() > 0 {
        p.step();
        let now = seen(&p);
        assert!(now.2 >= before.2, "ssthresh fell from {} to {}", before.2, now.2);
        if now.1 > before.1 {
            // Headers of 52 bytes count (`tcp_mtup_probe_success`); the same ACK opens the window by a packet
            // or two.
            let bytes = |of: (u32, u32, u32)| i64::from(of.0 * (of.1 + 52));
            let packets = (bytes(now) - bytes(before)) / i64::from(now.1 + 52);
            assert!((-1..=2).contains(&packets), "{before:?} {now:?}");
            grown += 1;
        }
        before = now;
    }
    assert_eq!(grown, 4);
}

/// A size that did not pass is tried again ten minutes later (`tcp_probe_interval`).
#[test]
fn a_larger_mtu_is_found_after_ten_minutes() {
    let client = Stack { mtu_probing: Some(MtuProbing::OnBlackhole), ..Stack::default() };
    let mut p = Pair::with("cubic", &client, &Stack::default());
    p.wire(|s| if s.at < at(60_000) && s.segment.ip_bytes() > 1_300 { Fate::Lost } else { Fate::Arrive });
    p.connect();
    for _ in 0..70 {
        p.write(400_000);
        p.run(ms(10_000));
        if p.now == at(590_000) {
            assert_eq!(p.client.tx.s.mss, 1248);
        }
    }
    assert!(p.client.tx.s.mss > 1_440, "{}", p.client.tx.s.mss);
}
