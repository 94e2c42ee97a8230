//! The packets named as proof show the cause, and the display filter selects them in Wireshark.

use crate::talk::{CLIENT, MSS, SERVER, Talk, client, read};
use crate::tshark;
use result::Cause;
use result::diagnosis::{PacketProof, ProofKind};

/// Returns the proof of the client's cause. All proofs are checked with tshark if it is installed.
fn proof(test: &str, t: &Talk, cause: Cause) -> PacketProof {
    let file = t.pcap(|_| true);
    let d = read(file.clone());
    if tshark::is_installed(test) {
        assert!(tshark::check_proofs(&file, &d) > 0);
    }
    let f = client(&d);
    assert_eq!(f.cause, cause, "{:?}", f.causes);
    f.proofs.into_iter().find(|p| p.cause == Some(cause)).expect("a proof")
}

/// Packets in order of time, as in the file, numbered from 1.
fn numbered(t: &Talk) -> Vec<(u32, capture::TcpPacket)> {
    let mut packets = t.packets.clone();
    packets.sort_by_key(|p| p.time);
    (1..).zip(packets).collect()
}

/// Ten of 60 rounds lose one of 20 packets, which is retransmitted after duplicate ACKs; there is no queue.
/// Also returns the sequence numbers of the lost packets.
fn lossy() -> (Talk, Vec<u32>) {
    let mut t = Talk::opened(30_000);
    let (mut at, mut lost) = (100_000, Vec::new());
    for round in 0..60u64 {
        for i in 0..20 {
            t.data(at + i * 20, CLIENT, MSS, false);
        }
        if [3, 4, 11, 13, 20, 33, 34, 47, 53, 58].contains(&round) {
            lost.push(t.packets[t.packets.len() - 10].seq);
            for i in 0..10 {
                t.ack_but(at + 29_000 + i * 20, SERVER, 10 * MSS);
            }
            t.retransmit(at + 30_000, CLIENT, 10 * MSS, MSS);
            t.ack(at + 60_000, SERVER);
            at += 60_100;
        } else {
            for i in (1..20).step_by(2) {
                t.ack_but(at + 29_800 + i * 10, SERVER, (19 - i as u32) * MSS);
            }
            at += 30_100;
        }
    }
    (t, lost)
}

#[test]
fn losses_are_shown_by_the_packets_that_were_lost() {
    let (t, lost) = lossy();
    let cause = t.client().cause;
    assert!(matches!(cause, Cause::RandomLoss | Cause::Policed | Cause::Congestion), "{cause:?}");
    let proof = proof("losses_are_shown_by_the_packets_that_were_lost", &t, cause);
    assert_eq!((proof.kind, proof.total), (ProofKind::Lost, 10), "{proof:?}");
    let packets = numbered(&t);
    let first = |seq: &u32| packets.iter().find(|(_, p)| p.len > 0 && p.seq == *seq).expect("it was sent").0;
    assert_eq!(proof.packets, lost.iter().take(5).map(first).collect::<Vec<_>>());
}

/// Lost packets have no number in a capture taken behind the loss, so the packet after the gap is named.
#[test]
fn losses_before_the_capture_are_shown_by_the_packets_after_them() {
    let (mut t, lost) = lossy();
    let mut dropped = std::collections::BTreeSet::new();
    t.packets.retain(|p| !lost.contains(&p.seq) || p.len == 0 || !dropped.insert(p.seq));
    let f = t.client();
    assert_eq!(f.measures.lost_up, 10, "{:?}", f.measures);
    let proof = proof("losses_before_the_capture_are_shown_by_the_packets_after_them", &t, f.cause);
    let packets = numbered(&t);
    let after = |seq: &u32| packets.iter().find(|(_, p)| p.len > 0 && p.seq == seq + MSS).expect("sent").0;
    assert_eq!(proof.packets, lost.iter().take(5).map(after).collect::<Vec<_>>(), "{proof:?}");
}

#[test]
fn a_zero_window_is_shown_by_the_acks_that_announce_it() {
    let mut t = Talk::opened(30_000);
    let mut at = 100_000;
    for _ in 0..3 {
        at = t.windows(at, 4, 10, 30_000);
        t.announce(at + 400, SERVER, 0);
        at += 5_000_000;
        t.announce(at, SERVER, 512);
        at += 100;
    }
    t.windows(at, 4, 10, 30_000);
    let proof = proof("a_zero_window_is_shown_by_the_acks_that_announce_it", &t, Cause::ReceiverStalled);
    let shut: Vec<u32> = numbered(&t).iter().filter(|(_, p)| p.window == 0).map(|(n, _)| *n).collect();
    assert_eq!((proof.kind, proof.packets, proof.total), (ProofKind::ZeroWindows, shut, 3));
}

/// Eight writes, one second apart; the third pause lasts two seconds.
#[test]
fn an_application_pause_is_shown_by_the_packets_before_and_after_it() {
    let mut t = Talk::opened(30_000);
    let mut at = 100_000;
    let mut last = Vec::new();
    for i in 0..8 {
        for j in 0..5 {
            t.data(at + j * 20, CLIENT, if j == 4 { 700 } else { MSS }, j == 4);
        }
        last.push(t.packets[t.packets.len() - 1].seq);
        t.ack(at + 30_000, SERVER);
        at += if i == 2 { 2_000_000 } else { 1_000_000 };
    }
    let proof =
        proof("an_application_pause_is_shown_by_the_packets_before_and_after_it", &t, Cause::Application);
    let packets = numbered(&t);
    let before = packets.iter().find(|(_, p)| p.len > 0 && p.seq == last[2]).expect("sent").0;
    assert!(proof.packets.contains(&before) && proof.packets.contains(&(before + 2)), "{proof:?}");
    assert_eq!(proof.kind, ProofKind::Pauses);
}

/// A filter may name IPv4 and IPv6 fields.
#[test]
fn tshark_accepts_filters_of_both_address_families() {
    if !tshark::is_installed("tshark_accepts_filters_of_both_address_families") {
        return;
    }
    let file = Talk::opened(30_000).pcap(|_| true);
    assert_eq!(tshark::packets_matching(&file, "ipv6.src == 2001:db8::1 && tcp.srcport == 5").len(), 0);
    assert_eq!(
        tshark::packets_matching(&file, "frame.number in {1, 3}").into_iter().collect::<Vec<_>>(),
        [1, 3]
    );
}
