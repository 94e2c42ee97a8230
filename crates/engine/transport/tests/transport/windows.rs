//! The profile of Windows 10: its differences from the others (`windows.rs`).

use crate::pair::*;
use transport::{Profile, Stack};
use units::{Bytes, Span};

fn windows() -> Stack {
    Stack { profile: Profile::Windows, ..Stack::default() }
}

/// The client writes, and may write more.
fn write(pair: &mut Pair, bytes: u64) {
    let now = pair.now;
    pair.act(true, |tcp, out| tcp.write(now, bytes, false, out));
}

#[test]
fn the_profile_has_the_documented_constants() {
    let l = windows().limits(&windows(), 1500, None);
    assert_eq!((l.initial_window, l.mss, l.timestamps, l.sack, l.ecn), (10, 1460, false, true, false));
    assert_eq!((l.rto_min, l.delayed_ack, l.tso), (ms(300), ms(40), false));
    // A Linux peer offers timestamps; Windows does not agree.
    assert!(!windows().limits(&Stack::default(), 1500, None).timestamps);
}

/// RACK and TLP are used if the RTT is at least 10 ms: the lost tail is probed after 2 RTT and the allowance
/// for a delayed ACK. Below, only the timeout detects the loss: 300 ms after the last ACK, which may be a
/// delayed one.
#[test]
fn the_tail_is_probed_only_on_long_paths() {
    for (rtt, probes, timeouts) in [(ms(50), 1, 0), (ms(10), 1, 0), (ms(8), 0, 1), (ms(5), 0, 1)] {
        let mut pair = Pair::with("reno", &windows(), &windows()).rtt(rtt);
        pair.wire(lose(&[10]));
        let mut pair = pair.sending(9 * 1460 + 100);
        pair.finish();
        let stats = pair.client.tx.stats;
        assert_eq!((stats.probes, stats.timeouts), (probes, timeouts), "RTT {rtt}");
        let lost = pair.data().find(|s| s.number == 10).unwrap().at;
        let waited = pair.resent()[0].at.since(lost);
        if timeouts > 0 {
            assert!(waited >= ms(300) && waited < ms(340) + rtt * 2 + ms(1), "RTT {rtt}: {waited}");
        }
    }
}

/// Reordering by four packets counts as loss in RFC 6675, but not in RACK if it is short enough.
#[test]
fn short_paths_count_sacks() {
    for (rtt, resent) in [(ms(5), 1), (ms(50), 0)] {
        let mut pair = Pair::with("reno", &windows(), &windows()).rtt(rtt);
        // RACK must first see reordering once; counting SACKs does not adapt to it.
        pair.wire(move |s| if s.forward && s.number % 40 == 0 { Fate::Late(rtt / 8) } else { Fate::Arrive });
        let mut pair = pair.sending(400 * 1460);
        pair.finish();
        let again = pair.resent().len();
        assert!(if resent == 0 { again <= 2 } else { again >= 5 }, "RTT {rtt}: {again}");
    }
}

/// `CwndRestart` false: five idle seconds do not change the window. The RFC profile restarts it.
#[test]
fn idle_time_does_not_reduce_the_window() {
    let rfc = Stack { profile: Profile::Rfc, ..Stack::default() };
    for (stack, keeps) in [(windows(), true), (rfc, false)] {
        let mut pair = Pair::with("reno", &stack, &stack);
        pair.connect();
        write(&mut pair, 300 * 1460);
        pair.run(ms(2000));
        let before = pair.cwnd();
        assert!(before >= 100, "{before}");
        pair.run(Span::from_secs(5));
        write(&mut pair, 200 * 1460);
        pair.run(ms(10));
        assert_eq!(pair.cwnd(), if keeps { before } else { 10 });
    }
}

/// The receive window starts below 64 KiB and opens with reading; a fixed one does not change.
#[test]
fn the_receive_window_opens_from_64_kib() {
    let flight = |stack: &Stack| {
        let mut pair = Pair::with("reno", &windows(), stack).sending(u32::MAX as u64);
        let first = pair.log.iter().find(|s| !s.forward).unwrap().segment.window;
        let mut most = 0;
        for _ in 0..12 {
            pair.run(RTT);
            most = most.max(pair.client.tx.s.snd_nxt - pair.client.tx.s.snd_una);
        }
        (first, most)
    };
    let (first, most) = flight(&windows());
    assert!(first == 65_535 && most > 500_000, "{first}, {most}");
    let fixed = Stack { receive_window: Some(Bytes::new(64_512)), ..windows() };
    let (first, most) = flight(&fixed);
    assert!(first == 64_512 && most <= 64_512 && most > 60_000, "{first}, {most}");
}

/// After a timeout, new data shows whether it was spurious (RFC 5682). Here it was: a flight and its
/// successor arrive half a second late, and few packets are retransmitted. The RFC profile retransmits all
/// packets.
#[test]
fn f_rto_detects_a_spurious_timeout() {
    let again = |stack: &Stack| {
        let mut pair = Pair::with("reno", stack, stack);
        pair.wire(|s| {
            let late = s.forward && !s.again && (31..=75).contains(&s.number);
            if late { Fate::Late(ms(500)) } else { Fate::Arrive }
        });
        let mut pair = pair.sending(200 * 1460);
        pair.finish();
        let stats = pair.client.tx.stats;
        assert_eq!(stats.timeouts, 1);
        (stats.undone, pair.resent().len())
    };
    let rfc = Stack { profile: Profile::Rfc, rto_min: Some(ms(300)), ..Stack::default() };
    let ((undone, few), (never, many)) = (again(&windows()), again(&rfc));
    assert!((undone, never) == (1, 0) && few * 3 < many, "{few} and {many} retransmitted");
}
