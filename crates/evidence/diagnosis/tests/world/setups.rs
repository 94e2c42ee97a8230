//! Connections that were never established, that took several SYNs, or that were reset.

use crate::talk::{CLIENT, MSS, SERVER, Talk, client, read};
use crate::tshark;
use capture::{Frame, PcapWriter, TcpFlags};
use result::diagnosis::{ConnectionEnd, ProofKind, SetupEnd};
use result::{Cause, Diagnosis};
use std::net::Ipv4Addr;

/// Diagnoses a capture and checks the proofs with tshark if it is installed.
fn diagnose(test: &str, file: Vec<u8>) -> Diagnosis {
    let d = read(file.clone());
    if tshark::is_installed(test) {
        assert!(tshark::check_proofs(&file, &d) > 0);
    }
    d
}

/// `n` SYNs, retransmitted as by Linux after 1 s, 2 s, 4 s (RFC 6298 section 5.5).
fn syns(t: &mut Talk, n: usize) {
    for at in [0, 1_000_000, 3_000_000, 7_000_000, 15_000_000].iter().take(n) {
        t.syn(*at, CLIENT, Some(7), 1460);
    }
}

#[test]
fn an_unanswered_syn_is_a_failed_setup() {
    let mut t = Talk::default();
    syns(&mut t, 5);
    let d = diagnose("an_unanswered_syn_is_a_failed_setup", t.pcap(|_| true));
    let f = client(&d);
    let setup = f.setup.as_ref().expect("a setup");
    assert_eq!((f.cause, setup.failed, setup.syns), (Cause::SetupFailed, Some(SetupEnd::Unanswered), 5));
    assert!((setup.retried_s - 15.0).abs() < 1e-6 && (f.duration_s - 15.0).abs() < 1e-6);
    let proof = &f.proofs[0];
    assert_eq!((proof.cause, &proof.packets[..]), (Some(Cause::SetupFailed), &[1, 2, 3, 4, 5][..]));
    assert!(!f.remedies.is_empty());
}

/// A single SYN may be the last packet of the capture, or part of a capture of SYNs only.
#[test]
fn a_single_syn_is_not_reported() {
    let mut t = Talk::default();
    syns(&mut t, 1);
    assert!(t.diagnose().flows.is_empty());
    let mut t = Talk::opened(30_000);
    t.packets.retain(|p| p.flags.has(TcpFlags::SYN));
    assert!(t.diagnose().flows.is_empty());
}

#[test]
fn a_reset_of_the_syn_is_a_refused_setup() {
    let mut t = Talk::default();
    syns(&mut t, 1);
    let mut p = t.packet(30_000, SERVER);
    (p.flags, p.seq, p.window) = (TcpFlags::RST | TcpFlags::ACK, 0, 0);
    t.packets.push(p);
    let d = diagnose("a_reset_of_the_syn_is_a_refused_setup", t.pcap(|_| true));
    let f = client(&d);
    let setup = f.setup.as_ref().expect("a setup");
    assert_eq!((f.cause, setup.failed), (Cause::SetupFailed, Some(SetupEnd::Refused)));
    assert!((setup.refused_after_ms.expect("when") - 30.0).abs() < 1e-6);
    assert_eq!(f.reset.as_ref().map(|r| r.by), Some(ConnectionEnd::Server));
    assert_eq!(f.proofs[0].packets, [1, 2]);
}

/// A router answers with ICMP type 3 code 1 (RFC 792).
#[test]
fn icmp_host_unreachable_is_a_failed_setup() {
    let mut t = Talk::default();
    syns(&mut t, 2);
    let mut file = PcapWriter::new(Vec::new()).unwrap();
    for (i, p) in t.packets.iter().enumerate() {
        let frame = Frame::of(p);
        file.write(&frame).unwrap();
        if i == 1 {
            file.write(&frame.refused(Ipv4Addr::new(10, 9, 9, 9).into(), 1400).unwrap()).unwrap();
        }
    }
    let mut file = file.finish().unwrap();
    // "Fragmentation needed" (type 3 code 4, checksum, MTU 1400) becomes "host unreachable".
    let at = file.windows(8).position(|w| w[..2] == [3, 4] && w[6..] == [5, 120]).expect("the message");
    file[at + 1] = 1;
    let d = diagnose("icmp_host_unreachable_is_a_failed_setup", file);
    let f = client(&d);
    let setup = f.setup.as_ref().expect("a setup");
    assert_eq!((setup.failed, setup.unreachable.as_deref()), (Some(SetupEnd::Unreachable), Some("host")));
    assert_eq!(f.proofs[0].packets, [1, 2, 3]);
}

/// Captured at the server, whose SYN/ACKs get no answer.
#[test]
fn unanswered_syn_acks_are_a_failed_setup() {
    let mut t = Talk::default();
    t.syn(0, CLIENT, Some(7), 1460);
    for at in [50, 1_000_000, 3_000_000, 7_000_000] {
        t.syn(at, SERVER, Some(7), 1460);
    }
    let f = client(&diagnose("unanswered_syn_acks_are_a_failed_setup", t.pcap(|_| true)));
    let setup = f.setup.as_ref().expect("a setup");
    assert_eq!((f.cause, setup.failed, setup.syn_acks), (Cause::SetupFailed, Some(SetupEnd::Unfinished), 4));
}

#[test]
fn a_connection_that_took_three_syns_is_reported() {
    let mut t = Talk::default();
    syns(&mut t, 3);
    t.syn(3_030_000, SERVER, Some(7), 1460);
    t.ack(3_030_020, CLIENT);
    t.windows(3_100_000, 40, 20, 30_000);
    let d = diagnose("a_connection_that_took_three_syns_is_reported", t.pcap(|_| true));
    let f = client(&d);
    let setup = f.setup.as_ref().expect("a setup");
    assert_eq!((setup.syns, setup.failed), (3, None));
    assert!((setup.retried_s - 3.0).abs() < 1e-6);
    assert!(f.proofs.iter().any(|p| p.kind == ProofKind::Setup && p.packets == [1, 2, 3, 4]));
    // A normal handshake is not reported.
    assert_eq!(Talk::opened(30_000).diagnose().flows.len(), 0);
    let mut plain = Talk::opened(30_000);
    plain.windows(100_000, 40, 20, 30_000);
    assert_eq!((plain.client().setup, plain.client().reset), (None, None));
}

/// The server resets during the upload, or the client after the last ACK.
#[test]
fn a_reset_is_reported_with_its_time_and_bytes() {
    for by in [SERVER, CLIENT] {
        let mut t = Talk::opened(30_000);
        let mut at = t.windows(100_000, 40, 20, 30_000);
        if by == SERVER {
            t.data(at, CLIENT, MSS, false);
        }
        at += 10_000;
        let mut p = t.packet(at, by);
        p.flags = TcpFlags::RST | TcpFlags::ACK;
        t.packets.push(p);
        let d = diagnose("a_reset_is_reported_with_its_time_and_bytes", t.pcap(|_| true));
        let f = client(&d);
        let reset = f.reset.as_ref().expect("a reset");
        let end = if by == SERVER { ConnectionEnd::Server } else { ConnectionEnd::Client };
        assert_eq!((reset.by, reset.outstanding, reset.after_fin), (end, by == SERVER, false));
        assert_eq!((reset.client_bytes, reset.server_bytes), (u64::from(t.sent[CLIENT] - 1), 0));
        assert!((reset.at_s - at as f64 * 1e-6).abs() < 1e-6, "{reset:?}");
        let number = t.packets.len() as u32;
        assert!(f.proofs.iter().any(|p| p.kind == ProofKind::Resets && p.packets == [number]));
    }
}

/// A request is retransmitted repeatedly and never answered, with or without the handshake in the capture.
#[test]
fn an_unanswered_request_is_an_outage_not_random_loss() {
    for opened in [true, false] {
        let mut t = if opened {
            Talk::opened(30_000)
        } else {
            Talk { sent: [1; 2], acked: [1; 2], ..Talk::default() }
        };
        t.data(100_000, CLIENT, 300, true);
        let mut at = 100_000;
        for wait in [230_000, 460_000, 920_000, 1_840_000, 3_680_000] {
            at += wait;
            t.retransmit(at, CLIENT, 300, 300);
        }
        let f = client(&diagnose("an_unanswered_request_is_an_outage_not_random_loss", t.pcap(|_| true)));
        assert_eq!(f.cause, Cause::Outage, "{:?}", f.causes);
        assert!(f.share(Cause::RandomLoss) < 0.1 && f.share(Cause::Outage) > 0.8, "{:?}", f.causes);
    }
}

/// A transfer that gets no more answers after a good start.
fn answers_that_stop() -> Talk {
    let mut t = Talk::opened(30_000);
    let mut at = t.windows(100_000, 40, 20, 30_000);
    for i in 0..20 {
        t.data(at + i * 20, CLIENT, MSS, false);
    }
    for wait in [230_000, 460_000, 920_000, 1_840_000, 3_680_000] {
        at += wait;
        t.retransmit(at, CLIENT, 20 * MSS, MSS);
    }
    t
}

#[test]
fn a_transfer_whose_answers_stop_is_an_outage_not_random_loss() {
    let t = answers_that_stop();
    let f = client(&diagnose("a_transfer_whose_answers_stop_is_an_outage_not_random_loss", t.pcap(|_| true)));
    assert_eq!(f.cause, Cause::Outage, "{:?}", f.causes);
}

/// Another connection between the hosts is answered all the time, so the path is up and the packets were
/// dropped.
#[test]
fn an_unanswered_flow_next_to_an_answered_one_is_not_an_outage() {
    let mut t = answers_that_stop();
    let mut other = Talk::opened(30_000);
    other.windows(100_000, 300, 20, 30_000);
    for mut p in other.packets {
        let port = if p.src.port == 80 { &mut p.dst.port } else { &mut p.src.port };
        *port = 40_001;
        t.packets.push(p);
    }
    let f = t.client();
    assert!(f.share(Cause::Outage) < 0.05, "{:?}", f.causes);
}

/// The only ACK comes half a minute later, in answer to the FIN.
#[test]
fn data_acknowledged_only_at_the_fin_went_through_an_outage() {
    let mut t = Talk { sent: [1; 2], acked: [1; 2], ..Talk::default() };
    t.data(0, CLIENT, 25, true);
    let mut at = 0;
    for wait in [500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000] {
        at += wait;
        t.retransmit(at, CLIENT, 25, 25);
    }
    let mut fin = t.packet(32_000_000, CLIENT);
    fin.flags = fin.flags | TcpFlags::FIN;
    t.packets.push(fin);
    t.sent[CLIENT] += 1;
    t.ack(32_000_500, SERVER);
    let f = t.client();
    assert_eq!(f.cause, Cause::Outage, "{:?}", f.causes);
}
