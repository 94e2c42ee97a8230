//! Counters and measurements stay right in captures that invite a misreading.

use crate::link::Transfer;
use crate::talk::{CLIENT, MSS, SERVER, Talk};
use capture::TcpFlags;
use result::Cause;

/// A host that closes or resets with a window of zero did not stop reading.
#[test]
fn a_zero_window_on_a_fin_or_reset_is_not_a_stall() {
    for flags in [TcpFlags::FIN | TcpFlags::ACK, TcpFlags::RST, TcpFlags::RST | TcpFlags::ACK] {
        let mut t = Talk::opened(30_000);
        let at = t.windows(100_000, 6, 20, 30_000);
        let mut p = t.packet(at, SERVER);
        (p.flags, p.window) = (flags, 0);
        t.packets.push(p);
        t.data(at + 100, CLIENT, MSS, true);
        let f = t.client();
        assert_eq!((f.measures.zero_windows, f.share(Cause::ReceiverStalled)), (0, 0.0), "{flags:?}");
    }
}

/// A FIN occupies a sequence number whether it arrives before or after the data.
#[test]
fn a_fin_that_overtakes_data_is_not_counted_as_a_byte() {
    for data in [1, 4] {
        let mut t = Talk::opened(50_000);
        t.data(100_000, CLIENT, 100, true);
        t.ack(150_000, SERVER);
        let mut fin = t.packet(150_100, SERVER);
        fin.seq = fin.seq.wrapping_add(data * 185);
        fin.flags = fin.flags | TcpFlags::FIN;
        t.packets.push(fin);
        for i in 0..data {
            t.data(150_200 + u64::from(i) * 10, SERVER, 185, true);
        }
        t.sent[SERVER] += 1;
        t.ack(150_400, CLIENT);
        let d = t.diagnose();
        assert_eq!(d.capture.missed_bytes, 0);
        assert!(d.flows.iter().all(|f| f.measures.missing_share.is_none()));
    }
}

/// Each retransmission of a segment is answered by a reset, so packets do pass.
#[test]
fn resets_as_answers_are_not_an_outage() {
    let mut t = Talk::opened(20_000);
    t.data(100_000, CLIENT, MSS, true);
    for i in 0..12u64 {
        let at = 120_000 + i * 1_000_000;
        let mut p = t.packet(at, SERVER);
        p.flags = TcpFlags::RST;
        t.packets.push(p);
        t.retransmit(at + 900_000, CLIENT, MSS, MSS);
    }
    let d = t.diagnose();
    assert!(d.flows.iter().all(|f| f.share(Cause::Outage) == 0.0), "{:?}", d.flows[0].causes);
}

/// MPTCP's options (RFC 8684) take 20 bytes of the MSS that the SYNs announce.
#[test]
fn room_for_mptcp_options_is_not_a_shrunken_mss() {
    let mut t = Talk::opened(30_000);
    for round in 0..20u64 {
        for i in 0..20 {
            t.data(100_000 + round * 30_000 + i * 20, CLIENT, MSS - 20, i == 19);
            t.packets.last_mut().expect("a packet").header += 20;
        }
        t.ack(100_000 + round * 30_000 + 29_900, SERVER);
    }
    let m = t.client().measures;
    assert_eq!((m.mss_before_bytes, m.mss_bytes), (None, MSS - 20));
}

/// A window of 40 segments fills the path. The inflight measured at the receiver is no larger either.
#[test]
fn inflight_does_not_exceed_the_receive_window() {
    for at_receiver in [false, true] {
        let t = Transfer {
            initial_window: 40,
            max_window: 40,
            segments: 2000,
            packet_us: 100,
            at_receiver,
            ..Transfer::default()
        };
        let mut talk = t.talk();
        let field = (40 * MSS / 128 + 1) as u16;
        for p in talk.packets.iter_mut().filter(|p| p.src.port == 80 && !p.flags.has(TcpFlags::SYN)) {
            p.window = field;
        }
        for p in talk.packets.iter_mut().filter(|p| p.flags.has(TcpFlags::SYN)) {
            p.options.wscale = Some(7);
        }
        let m = talk.client().measures;
        let window = u64::from(field) * 128;
        assert_eq!(m.max_window_bytes, Some(window));
        assert!((38 * u64::from(MSS)..=window).contains(&m.max_inflight_bytes), "{}", m.max_inflight_bytes);
    }
}

/// Entire flights are lost and retransmitted after a timeout, while the receiver keeps sending data.
#[test]
fn a_timeout_is_counted_from_the_last_data_sent() {
    let mut t = Talk::opened(30_000);
    let mut at = 100_000;
    for _ in 0..5 {
        at = t.windows(at, 10, 10, 30_000);
        t.data(at, CLIENT, MSS, false);
        t.data(at + 20, CLIENT, MSS, false);
        for i in 1..20u64 {
            t.data(at + i * 15_000, SERVER, 200, true);
        }
        t.retransmit(at + 300_000, CLIENT, 2 * MSS, MSS);
        t.ack(at + 330_000, SERVER);
        at += 340_000;
    }
    t.windows(at, 10, 10, 30_000);
    let m = t.client().measures;
    assert_eq!(m.timeouts, 5);
    assert!((m.timeout_s - 5.0 * 0.3).abs() < 0.1, "{} s", m.timeout_s);
}
