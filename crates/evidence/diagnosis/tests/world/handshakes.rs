//! What the SYNs said.

use crate::talk::{CLIENT, MSS, SERVER, Talk, client};
use result::Cause;
use result::diagnosis::CapturePlace;

/// The client offers scaling with a shift of 0; the server's windows are shifted by 7 all the same (RFC 7323
/// section 2.2).
#[test]
fn a_shift_of_0_is_an_offer() {
    let mut t = Talk::default();
    t.open(50_000, [Some(0), Some(7)], [1460; 2]);
    t.window = [60_000, 2_000];
    t.windows(100_000, 60, 100, 50_000);
    let f = t.client();
    assert_eq!(f.measures.max_window_bytes, Some(256_000));
    assert_ne!(f.cause, Cause::ReceiveWindow);
    assert!(!f.notes.iter().any(|n| n.starts_with("window")), "{:?}", f.notes);
}

/// A firewall took the option off the SYN/ACK where it was captured, as the ends did not see it: what is in
/// flight and acknowledged is a hundred times the window.
#[test]
fn a_window_smaller_than_what_was_in_flight_is_none() {
    let mut t = Talk::default();
    t.open(50_000, [Some(7), None], [1460; 2]);
    t.window[SERVER] = 1_280;
    t.windows(100_000, 60, 150, 50_000);
    let d = t.said();
    let f = client(&d);
    assert_eq!(f.measures.max_window_bytes, None);
    assert_eq!(f.share(Cause::ReceiveWindow), 0.0);
    assert!(f.notes.contains(&"window-scale-refuted".into()), "{:?}", f.notes);
}

/// Half way: the ACK of the handshake waited 10 ms behind another flow's data, so the sender seems further
/// off than it is. What follows an ACK's window seems to come before it.
#[test]
fn a_handshake_that_waited_refutes_no_window() {
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

/// ACKs that the capture missed let data out beyond the window that it knows, now and then.
#[test]
fn a_window_of_which_an_ack_is_missing_stays() {
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

/// At the server: its SYN/ACK goes out again after a second, and then once more; the client's ACK came late.
#[test]
fn a_repeated_syn_ack_does_not_overwrite_the_handshake() {
    let mut t = Talk { timestamps: false, ..Talk::default() };
    let scale = Some(7);
    t.syn(0, CLIENT, scale, 1460);
    t.syn(100, SERVER, scale, 1460);
    t.syn(1_000_000, SERVER, scale, 1460);
    t.ack(1_102_000, CLIENT);
    t.syn(2_400_000, SERVER, scale, 1460);
    t.has[CLIENT] = 1;
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
    let d = t.said();
    let f = d.flows.iter().find(|f| f.from == "10.0.0.2:80").expect("the answer");
    println!("{f:#?}");
    // Which of the SYN/ACKs was answered is not known (Karn).
    assert_eq!(f.measures.handshake_rtt_ms, None);
    assert_ne!(f.vantage.place, CapturePlace::Receiver);
    assert!((f.measures.rtt_ms.p50 - 102.0).abs() < 3.0, "{:?}", f.measures.rtt_ms);
}
