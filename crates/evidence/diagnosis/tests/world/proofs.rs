//! The packets that are named show what is said, and Wireshark shows them through the filter.

use crate::talk::{CLIENT, MSS, SERVER, Talk, client, read};
use crate::tshark;
use result::Cause;
use result::diagnosis::{PacketProof, ProofKind};

/// What shows the cause of the client's flow; all proofs are held against tshark, where that is.
fn proof(test: &str, t: &Talk, cause: Cause) -> PacketProof {
    let file = t.pcap(|_| true);
    let d = read(file.clone());
    if tshark::installed(test) {
        assert!(tshark::holds(&file, &d) > 0);
    }
    let f = client(&d);
    assert_eq!(f.cause, cause, "{:?}", f.causes);
    f.proofs.into_iter().find(|p| p.cause == Some(cause)).expect("a proof")
}

/// Packets in the order of time, as they stand in the file, numbered from 1.
fn numbered(t: &Talk) -> Vec<(u32, capture::TcpPacket)> {
    let mut packets = t.packets.clone();
    packets.sort_by_key(|p| p.time);
    (1..).zip(packets).collect()
}

/// One in 20 packets is lost now and then, and sent again when three duplicate ACKs tell; no queue.
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
            t.again(at + 30_000, CLIENT, 10 * MSS, MSS);
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
    let all = numbered(&t);
    let first = |seq: &u32| all.iter().find(|(_, p)| p.len > 0 && p.seq == *seq).expect("it was sent").0;
    assert_eq!(proof.packets, lost.iter().take(5).map(first).collect::<Vec<_>>());
}

/// Captured behind the loss: what is missing has no number, the packet behind the gap has.
#[test]
fn losses_before_the_capture_are_shown_by_what_came_behind_them() {
    let (mut t, lost) = lossy();
    let mut seen = std::collections::BTreeSet::new();
    t.packets.retain(|p| !lost.contains(&p.seq) || p.len == 0 || !seen.insert(p.seq));
    let f = t.client();
    assert_eq!(f.measures.lost_up, 10, "{:?}", f.measures);
    let proof = proof("losses_before_the_capture_are_shown_by_what_came_behind_them", &t, f.cause);
    let all = numbered(&t);
    let behind = |seq: &u32| all.iter().find(|(_, p)| p.len > 0 && p.seq == seq + MSS).expect("sent").0;
    assert_eq!(proof.packets, lost.iter().take(5).map(behind).collect::<Vec<_>>(), "{proof:?}");
}

#[test]
fn a_shut_window_is_shown_by_the_acks_that_shut_it() {
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
    let proof = proof("a_shut_window_is_shown_by_the_acks_that_shut_it", &t, Cause::ReceiverStalled);
    let shut: Vec<u32> = numbered(&t).iter().filter(|(_, p)| p.window == 0).map(|(n, _)| *n).collect();
    assert_eq!((proof.kind, proof.packets, proof.total), (ProofKind::ZeroWindows, shut, 3));
}

/// Eight writes a second apart, the third pause two seconds long.
#[test]
fn a_writer_that_pauses_is_shown_by_its_packets_on_both_sides() {
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
    let proof = proof("a_writer_that_pauses_is_shown_by_its_packets_on_both_sides", &t, Cause::Application);
    let all = numbered(&t);
    let before = all.iter().find(|(_, p)| p.len > 0 && p.seq == last[2]).expect("sent").0;
    assert!(proof.packets.contains(&before) && proof.packets.contains(&(before + 2)), "{proof:?}");
    assert_eq!(proof.kind, ProofKind::Pauses);
}

/// A filter that names IPv6, as tshark takes it.
#[test]
fn filters_of_both_families_are_what_tshark_takes() {
    if !tshark::installed("filters_of_both_families_are_what_tshark_takes") {
        return;
    }
    let file = Talk::opened(30_000).pcap(|_| true);
    assert_eq!(tshark::shows(&file, "ipv6.src == 2001:db8::1 && tcp.srcport == 5").len(), 0);
    assert_eq!(tshark::shows(&file, "frame.number in {1, 3}").into_iter().collect::<Vec<_>>(), [1, 3]);
}
