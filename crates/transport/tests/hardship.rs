//! Paths that no one would want: everything must arrive, in bounded time and with a bounded number
//! of events a packet.

mod pair;

use pair::*;
use transport::{Profile, Stack};
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

/// Events for each packet put on the wire: its arrival, and timers.
fn assert_lively(pair: &Pair) {
    let packets = pair.log.len() as u64;
    assert!(pair.steps < 4 * packets + 100, "{} events, {packets} packets", pair.steps);
}

/// A third of all packets lost means minutes of silence: without timestamps Karn's rule keeps a doubled
/// timeout until new data is acknowledged (RFC 6298 section 5); with them, what the receiver had already
/// brings no timestamp (RFC 7323 section 5), and the ACK that answers it echoes one from before the silence,
/// which is taken for the RTT. A fifth and a tenth are bad enough.
#[test]
fn much_is_lost_both_ways() {
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
            assert_lively(&pair);
        }
    }
}

#[test]
fn everything_at_once() {
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
            assert_lively(&pair);
        }
    }
}

/// Five seconds of nothing: all recover, the first packet goes soon after (RTO doubling makes it at
/// most as long again), and Linux does not sit out a second outage's worth.
#[test]
fn an_outage_of_five_seconds() {
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
            // The first ACK may be taken for an RTT of all that time (see above), and without SACK no probe
            // comes before the timeout that follows from it.
            let slow = stack.timestamps == Some(true) && stack.sack == Some(false);
            pair.run(Span::from_secs(if slow { 20 } else { 5 }));
            let last_second = pair.now - Span::from_secs(1);
            let flying = pair.acks().filter(|s| s.at > last_second).count();
            assert!(flying > 100, "{cc} {stack:?}: {flying}");
            assert_lively(&pair);
        }
    }
}

/// A tunnel begins to carry only 1400 bytes (RFC 1191): what was too big is cut and sent again at
/// once. No timeout, no reduction, and nothing larger than 1400 bytes ever after.
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
            // Without SACK, ACKs of what was sent again needlessly look like duplicates.
            let unreduced = pair.client.tx.w.ssthresh > 1 << 20;
            assert!(unreduced || stack.sack == Some(false), "{stack:?}");
            let told = pair.data().find(|s| s.number == first).unwrap().at + RTT / 2;
            assert!(pair.data().all(|s| s.at < told || s.segment.ip_bytes() <= 1400));
            assert!(took < RTT * 12, "{took} {stack:?}");
            assert_eq!(pair.server.rx.copied, 600 * MSS);
        }
    }
}

/// Twice smaller, in the middle of a recovery.
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
        assert_lively(&pair);
    }
}

/// SACK blocks beside data never make a packet larger than the MSS allows.
#[test]
fn no_packet_outgrows_the_mtu() {
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
