//! A silence is an outage only if lost data are retransmitted at its end.

use crate::talk::{CLIENT, SERVER, Talk, client, read};
use result::Cause;

/// A request every two seconds, answered at once with 20 segments.
fn requests() -> Talk {
    let mut t = Talk::opened(30_000);
    for i in 0..30 {
        let at = 100_000 + i * 2_000_000;
        t.data(at, CLIENT, 400, true);
        t.ack(at + 29_990, SERVER);
        for j in 0..20 {
            t.data(at + 30_000 + j * 100, SERVER, 1448, j == 19);
        }
        t.ack(at + 33_000, CLIENT);
    }
    t
}

fn assert_no_outage(file: Vec<u8>) {
    let d = read(file);
    for f in &d.flows {
        println!("{} {:?} {:?} {:?}", f.from, f.causes, f.measures, f.notes);
        assert_eq!(f.share(Cause::Outage), 0.0, "{}: {:?}", f.from, f.causes);
        assert_ne!(f.cause, Cause::Outage);
    }
    assert!(!d.flows.is_empty());
}

#[test]
fn a_capture_of_one_direction_shows_no_outage() {
    let t = requests();
    let (client, server) = (t.packets[0].src, t.packets[0].dst);
    assert_no_outage(t.pcap(|p| p.src == client));
    assert_no_outage(t.pcap(|p| p.src == server));
    assert!(read(t.pcap(|p| p.src == server)).flows[0].confidence <= 0.5);
}

/// As after a display filter that keeps only packets with payload.
#[test]
fn a_capture_without_bare_acks_shows_no_outage() {
    let t = requests();
    assert_no_outage(t.pcap(|p| p.len > 0));
    let from = client(&read(t.pcap(|p| p.len > 0)));
    assert_eq!(from.cause, Cause::Application);
}

/// Keep-alives (RFC 9293 section 3.8.4) with no byte or one byte before the next sequence number, every 45 s;
/// every tenth packet carries data.
#[test]
fn keep_alives_of_an_idle_session_are_not_an_outage() {
    for len in [0, 1] {
        let mut t = Talk::opened(30_000);
        for i in 0..40u64 {
            let at = 100_000 + i * 45_000_000;
            if i % 10 == 0 {
                t.data(at, CLIENT, 700, true);
                t.ack(at + 30_000, SERVER);
            } else {
                let mut p = t.packet(at, CLIENT);
                (p.seq, p.len) = (p.seq - 1, len);
                t.packets.push(p);
                t.ack(at + 30_000, SERVER);
            }
        }
        assert_no_outage(t.pcap(|_| true));
        assert_eq!(t.client().cause, Cause::Application);
    }
}

/// Eight times, a flight gets no ACK for two seconds. `retransmitted`: its segments are then sent again.
fn silences(retransmitted: bool) -> Talk {
    let mut t = Talk::opened(30_000);
    let mut at = 100_000;
    for _ in 0..8 {
        at = t.windows(at, 20, 20, 30_000);
        for i in 0..20 {
            t.data(at + i * 20, CLIENT, 1448, false);
        }
        at += 2_000_000;
        if retransmitted {
            for i in 0..20 {
                t.retransmit(at + i * 20, CLIENT, (20 - i as u32) * 1448, 1448);
            }
            at += 30_000;
        }
        t.ack(at, SERVER);
        at += 100;
    }
    t.windows(at, 20, 20, 30_000);
    t
}

#[test]
fn a_silence_that_ends_with_retransmissions_is_an_outage() {
    let f = silences(true).client();
    assert_eq!(f.cause, Cause::Outage);
}
