//! IP fragments: the diagnosis reports a flow's own fragmented packets, and ignores fragments of other
//! traffic.

use capture::{CaptureReader, Frame, Payload, PcapWriter, UdpFrame};
use diagnose_test::{Case, PcapSink, Vantage, judge, play};
use result::{Cause, FlowDiagnosis};
use std::io::Cursor;
use std::net::Ipv4Addr;
use units::Time;

/// Parses a pcap. Returns each packet's time, length on the wire, and captured bytes from the IP header on.
fn records(pcap: &[u8]) -> Vec<(Time, u32, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut out) = (24, Vec::new());
    while at < pcap.len() {
        let kept = word(at + 8) as usize;
        let time = Time::from_nanos(u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)));
        out.push((time, word(at + 12), pcap[at + 16..at + 16 + kept].to_vec()));
        at += 16 + kept;
    }
    out
}

/// Payload of a fragment at a path MTU of 1476 bytes: a multiple of 8.
const FRAGMENT_PAYLOAD: usize = 1456;

/// Splits an IP packet into fragments for a path MTU of 1476 bytes.
fn fragment(length: u32, kept: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let payload = length as usize - 20;
    if payload <= FRAGMENT_PAYLOAD {
        return vec![(length, kept.to_vec())];
    }
    let part = |from: usize, len: usize, more: u16, bytes: &[u8]| {
        let mut b = bytes.to_vec();
        b[2..4].copy_from_slice(&(len as u16 + 20).to_be_bytes());
        b[6..8].copy_from_slice(&(more | (from / 8) as u16).to_be_bytes());
        (len as u32 + 20, b)
    };
    vec![
        part(0, FRAGMENT_PAYLOAD, 0x2000, kept),
        part(FRAGMENT_PAYLOAD, payload - FRAGMENT_PAYLOAD, 0, &kept[..20]),
    ]
}

/// Captures an upload over 50 Mbit/s and 30 ms; `loss` is an element of random loss, or empty.
fn upload(vantage: Vantage, loss: &str) -> Vec<u8> {
    let text = format!(
        r#"duration = "8s"
[hosts.a]
[hosts.m]
[hosts.b]
[links.lan]
between = ["a", "m"]
forward = [{{ kind = "link", rate = "100Mbit/s" }}]
backward = [{{ kind = "link", rate = "100Mbit/s" }}]
[links.wan]
between = ["m", "b"]
forward = [{loss}{{ kind = "link", rate = "50Mbit/s", delay = "15ms" }}]
backward = [{{ kind = "link", rate = "50Mbit/s", delay = "15ms" }}]
[flows.f]
from = "a"
to = "b"
app = {{ kind = "bulk" }}
cc = "cubic"
"#
    );
    let (intended, offload) = (Cause::RandomLoss, false);
    let (rate, rtt, outages) = (50e6, 0.03, Vec::new());
    let case = Case { number: 1, seed: 1, intended, vantage, offload, rate, rtt, text, outages };
    let mut file = Vec::new();
    let mut sink = PcapSink::new(&mut file).expect("memory");
    play(&case, &mut sink).expect("parses");
    sink.finish().expect("memory");
    file
}

const LOSS: &str = "{ kind = \"loss\", probability = 0.01 }, ";

/// Diagnoses the largest flow of the records.
fn diagnose(records: &[(Time, u32, Vec<u8>)]) -> FlowDiagnosis {
    let mut file = PcapWriter::new(Vec::new()).expect("memory").finish().expect("memory");
    for (time, length, kept) in records {
        let ns = time.as_nanos();
        let words = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, kept.len() as u32, *length];
        words.iter().for_each(|w| file.extend(w.to_le_bytes()));
        file.extend(kept);
    }
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(file)), "-").expect("a capture");
    let flows = judge::read(reader).flows;
    flows.into_iter().max_by_key(|f| f.measures.data_packets).expect("a flow")
}

fn share(f: &FlowDiagnosis, cause: Cause) -> f64 {
    f.causes.iter().find(|c| c.cause == cause).map_or(0.0, |c| c.share)
}

fn in_fragments(pcap: &[u8]) -> Vec<(Time, u32, Vec<u8>)> {
    let each = records(pcap).into_iter();
    each.flat_map(|(at, n, kept)| fragment(n, &kept).into_iter().map(move |(n, b)| (at, n, b))).collect()
}

#[test]
fn losses_of_fragmented_packets_are_attributed_to_fragmentation_at_either_vantage() {
    for vantage in [Vantage::Sender, Vantage::Receiver] {
        let f = diagnose(&in_fragments(&upload(vantage, LOSS)));
        assert_eq!(f.cause, Cause::Fragmented, "{vantage:?} {:?}", f.causes);
        assert!(share(&f, Cause::Fragmented) > 0.5 && share(&f, Cause::RandomLoss) < 0.05, "{:?}", f.causes);
        let m = &f.measures;
        assert_eq!((m.fragments, m.incomplete_packets), (2 * m.fragmented_packets, 0));
        assert!(
            m.fragmented_packets * 10 > m.data_packets * 9,
            "{} {}",
            m.fragmented_packets,
            m.data_packets
        );
        assert_eq!(m.path_mtu_bytes, Some(1476));
        let clamp = f.remedies.iter().find_map(|r| r.setting);
        assert_eq!(clamp.map(|s| s.to), Some(1436.0), "{:?}", f.remedies);
    }
}

/// The second fragment of every 50th packet is missing from the capture.
#[test]
fn a_packet_with_a_missing_fragment_counts_as_partially_lost() {
    let whole = in_fragments(&upload(Vantage::Receiver, ""));
    let mut later = 0;
    let incomplete: Vec<_> = whole
        .iter()
        .filter(|(_, _, b)| {
            let second = b[6] & 0x1f != 0 || b[7] != 0;
            later += u32::from(second);
            !(second && later.is_multiple_of(50))
        })
        .cloned()
        .collect();
    let (f, before) = (diagnose(&incomplete), diagnose(&whole));
    assert_eq!(f.measures.incomplete_packets, u64::from(later) / 50);
    assert_eq!(before.measures.incomplete_packets, 0);
    assert_eq!(f.measures.data_packets + f.measures.incomplete_packets, before.measures.data_packets);
}

#[test]
fn fragments_of_other_traffic_do_not_make_a_flow_fragmented() {
    let pcap = upload(Vantage::Receiver, LOSS);
    let mut mixed = Vec::new();
    for (i, (time, n, kept)) in records(&pcap).into_iter().enumerate() {
        if i % 10 == 0 {
            let datagram = Frame {
                time,
                src: Ipv4Addr::new(10, 0, 0, 1).into(),
                dst: Ipv4Addr::new(10, 0, 0, 3).into(),
                id: i as u16,
                dscp: 0,
                ecn: 0,
                ttl: 64,
                payload: Payload::Udp(UdpFrame { sport: 9, dport: 9, payload_len: 1472 }),
            };
            let (headers, length) = datagram.headers().expect("fits");
            mixed.extend(fragment(length, &headers).into_iter().map(|(n, b)| (time, n, b)));
        }
        mixed.push((time, n, kept));
    }
    let f = diagnose(&mixed);
    assert_eq!((f.cause, f.measures.fragmented_packets, f.measures.fragments), (Cause::RandomLoss, 0, 0));
    assert_eq!(share(&f, Cause::Fragmented), 0.0);
    // A minority of fragmented packets is not the cause either.
    let few = records(&pcap).into_iter().enumerate().flat_map(|(i, (at, n, kept))| {
        let parts = if i % 20 == 0 { fragment(n, &kept) } else { vec![(n, kept)] };
        parts.into_iter().map(move |(n, b)| (at, n, b))
    });
    let f = diagnose(&few.collect::<Vec<_>>());
    assert!(f.measures.fragmented_packets > 50, "{}", f.measures.fragmented_packets);
    assert_eq!((f.cause, share(&f, Cause::Fragmented)), (Cause::RandomLoss, 0.0), "{:?}", f.causes);
}

/// Fragmentation without loss does not slow a flow.
#[test]
fn fragmentation_without_loss_is_not_a_cause() {
    let f = diagnose(&in_fragments(&upload(Vantage::Sender, "")));
    assert!(f.measures.fragmented_packets > 1000);
    assert_eq!(share(&f, Cause::Fragmented), 0.0, "{:?}", f.causes);
}
