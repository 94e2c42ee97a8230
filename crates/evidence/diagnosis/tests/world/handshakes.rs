//! Window scaling and round trips as the handshake shows them.

use crate::talk::{CLIENT, MSS, SERVER, Talk, client};
use result::Cause;
use result::diagnosis::CapturePlace;

/// The client offers scaling with a shift of 0, so the server's windows are still shifted by 7 (RFC 7323
/// section 2.2).
#[test]
fn a_window_scale_of_0_still_enables_scaling() {
    let mut t = Talk::default();
    t.open(50_000, [Some(0), Some(7)], [1460; 2]);
    t.window = [60_000, 2_000];
    t.windows(100_000, 60, 100, 50_000);
    let f = t.client();
    assert_eq!(f.measures.max_window_bytes, Some(256_000));
    assert_ne!(f.cause, Cause::ReceiveWindow);
    assert!(!f.notes.iter().any(|n| n.starts_with("window")), "{:?}", f.notes);
}

/// The captured SYN/ACK lacks the window scale option that both ends use: the inflight is a hundred times the
/// unscaled window.
#[test]
fn a_window_smaller_than_the_inflight_is_discarded() {
    let mut t = Talk::default();
    t.open(50_000, [Some(7), None], [1460; 2]);
    t.window[SERVER] = 1_280;
    t.windows(100_000, 60, 150, 50_000);
    let d = t.diagnose();
    let f = client(&d);
    assert_eq!(f.measures.max_window_bytes, None);
    assert_eq!(f.share(Cause::ReceiveWindow), 0.0);
    assert!(f.notes.contains(&"window-scale-refuted".into()), "{:?}", f.notes);
}

/// Captured half way along the path. The handshake's ACK waited 10 ms behind another flow's data, so the
/// sender seems farther away than it is, and data seem to leave before the ACK that opened the window for
/// them.
#[test]
fn a_delayed_handshake_ack_does_not_discredit_the_window() {
    let mut t = Talk { timestamps: false, ..Talk::default() };
    t.syn(0, CLIENT, Some(7), 1460);
    t.syn(45_000, SERVER, Some(7), 1460);
    t.ack(105_000, CLIENT);
    t.window[SERVER] = (20 * 1460 / 128 + 1) as u16;
    let mut at = 105_100;
    for _ in 0..60 {
        for i in 0..20 {
            t.data(at + i * 10, CLIENT, 1460, false);
        }
        t.ack(at + 45_000, SERVER);
        at += 95_000;
    }
    let f = t.client();
    assert!(f.notes.is_empty(), "{:?}", f.notes);
    assert_eq!(f.measures.max_window_bytes, Some(29_312));
    assert_eq!(f.cause, Cause::ReceiveWindow);
}

/// The capture missed some ACKs, so some data exceed the last window that it shows.
#[test]
fn missed_acks_do_not_discredit_the_window() {
    let mut t = Talk::opened(50_000);
    t.window[SERVER] = (10 * MSS / 128 + 1) as u16;
    t.windows(100_000, 100, 10, 50_000);
    let mut n = 0;
    let server = t.packets[1].src;
    t.packets.retain(|p| {
        n += u32::from(p.src == server);
        p.src != server || n % 8 != 7
    });
    let f = t.client();
    assert_eq!(f.cause, Cause::ReceiveWindow);
    assert!(f.measures.max_window_bytes.is_some_and(|w| w < 20_000));
}

/// Captured at the server, which sends its SYN/ACK three times; the client's ACK arrives late.
#[test]
fn a_repeated_syn_ack_does_not_overwrite_the_handshake() {
    let mut t = Talk { timestamps: false, ..Talk::default() };
    let scale = Some(7);
    t.syn(0, CLIENT, scale, 1460);
    t.syn(100, SERVER, scale, 1460);
    t.syn(1_000_000, SERVER, scale, 1460);
    t.ack(1_102_000, CLIENT);
    t.syn(2_400_000, SERVER, scale, 1460);
    t.acked[CLIENT] = 1;
    t.data(2_500_000, CLIENT, 300, true);
    t.ack(2_500_050, SERVER);
    let mut at = 2_500_100;
    for _ in 0..30 {
        for i in 0..10 {
            t.data(at + i * 10, SERVER, 1460, false);
        }
        at += 102_000;
        t.ack(at, CLIENT);
        at += 100;
    }
    let d = t.diagnose();
    let f = d.flows.iter().find(|f| f.from == "10.0.0.2:80").expect("the server's flow");
    println!("{f:#?}");
    // The ACK may answer either SYN/ACK (Karn's algorithm).
    assert_eq!(f.measures.handshake_rtt_ms, None);
    assert_ne!(f.vantage.place, CapturePlace::Receiver);
    assert!((f.measures.rtt_ms.p50 - 102.0).abs() < 3.0, "{:?}", f.measures.rtt_ms);
}
