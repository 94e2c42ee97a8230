//! Parsing from the frame to the TCP packet.

use crate::build::*;
use crate::encapsulations::{attribute, encapsulations, pflog, radiotap, subframe, wifi};
use capture::{Addr, Endpoint, IcmpMessage, PacketFragments, TcpFlags, Unreachable};

fn frames(link: u32, frames: Vec<Vec<u8>>) -> Contents {
    let records: Vec<Raw> = frames.into_iter().enumerate().map(|(i, b)| raw(i, b)).collect();
    read(&pcap(Layout { link, ..PLAIN }, &records))
}

#[test]
fn tcp_is_found_in_every_encapsulation() {
    for (i, sample) in encapsulations().into_iter().enumerate() {
        let contents = frames(sample.link as u32, vec![sample.bytes]);
        let [packet] = contents.packets[..] else { panic!("sample {i}: {:?}", contents.info) };
        assert_eq!((packet.seq, packet.len), (i as u32, 100), "sample {i}");
        assert_eq!(packet.outside, sample.outside, "sample {i}");
        assert_eq!((packet.ack, packet.window, packet.flags), (77, 502, TcpFlags::ACK), "sample {i}");
        assert_eq!(contents.info.tunnels.first().map(|c| c.name), sample.tunnel, "sample {i}");
        assert_eq!((contents.info.tcp_packets, contents.info.udp_packets), (1, 0));
        let v6 = packet.src.addr.ip().is_ipv6();
        let (src, dst) = if v6 {
            (Addr::v6(v6_address(1)), Addr::v6(v6_address(2)))
        } else {
            (Addr::v4(CLIENT), Addr::v4(SERVER))
        };
        assert_eq!(packet.src, Endpoint { addr: src, port: 40_000 }, "sample {i}");
        assert_eq!(packet.dst, Endpoint { addr: dst, port: 5_201 }, "sample {i}");
        assert_eq!((packet.ttl, packet.id, packet.ecn), if v6 { (62, 0, 2) } else { (63, 7, 2) });
    }
}

#[test]
fn a_record_truncated_anywhere_is_counted() {
    for (i, sample) in encapsulations().into_iter().enumerate() {
        for kept in 0..sample.bytes.len() {
            let wire = sample.bytes.len() as u32;
            let cut = Raw { wire, ..raw(0, sample.bytes[..kept].to_vec()) };
            let contents = read(&pcap(Layout { link: sample.link as u32, ..PLAIN }, &[cut]));
            let others: u64 = contents.info.other.iter().map(|c| c.count).sum();
            assert_eq!(
                contents.info.tcp_packets + contents.info.udp_packets + others,
                1,
                "sample {i} cut at {kept}"
            );
            // The payload length does not depend on the captured bytes; 16 bytes of the header suffice.
            if kept >= sample.bytes.len() - 104 {
                assert_eq!(contents.packets.len(), 1, "sample {i} cut at {kept}");
                assert_eq!(contents.packets[0].len, 100, "sample {i} cut at {kept}");
            }
        }
    }
}

#[test]
fn header_counts_ip_and_tcp_with_their_options() {
    let ts = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let hop = [6, 0, 1, 4, 0, 0, 0, 0];
    let contents = frames(
        1,
        vec![
            ethernet(0x0800, &ipv4(6, &tcp(1, ACK, &ts, 10))),
            ethernet(0x86dd, &ipv6(0, &join(&[&hop, &tcp(1, ACK, &ts, 10)]))),
        ],
    );
    assert_eq!(contents.packets.iter().map(|p| p.header).collect::<Vec<_>>(), [52, 80]);
    assert_eq!(contents.packets[0].options.timestamps, Some((1, 2)));
}

#[test]
fn padding_is_not_payload() {
    let mut frame = ethernet(0x0800, &ipv4(6, &tcp(1, ACK, &[], 0)));
    assert_eq!(frame.len(), 54);
    frame.resize(60, 0);
    assert_eq!(frames(1, vec![frame]).packets[0].len, 0);
}

#[test]
fn options_of_a_syn_and_of_a_sack() {
    let syn = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 7];
    let mut sack = vec![1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8, 1, 1, 5, 26];
    for n in 1..=6u32 {
        sack.extend((n * 1000).to_be_bytes());
    }
    sack.extend([0, 0]);
    let four: Vec<u8> = [1, 1, 5, 34].into_iter().chain((1..=8u32).flat_map(|n| n.to_be_bytes())).collect();
    let whole = ipv4(6, &tcp(1, ACK, &sack, 0));
    let frames = [ipv4(6, &tcp(1, 2, &syn, 0)), whole.clone(), ipv4(6, &tcp(1, ACK, &four, 0)), whole];
    let mut records: Vec<Raw> = frames.into_iter().enumerate().map(|(i, b)| raw(i, b)).collect();
    records[3].bytes.truncate(20 + 20 + 30);
    let contents = read(&pcap(Layout { link: 101, ..PLAIN }, &records));
    let [syn, sack, four, cut] = [0, 1, 2, 3].map(|i| contents.packets[i].options);
    assert_eq!((syn.mss, syn.wscale, syn.sack_ok), (Some(1460), Some(7), true));
    assert_eq!((syn.timestamps, syn.cut), (Some((9, 0)), false));
    assert_eq!(sack.sack_blocks(), [(1000, 2000), (3000, 4000), (5000, 6000)]);
    assert_eq!((sack.timestamps, sack.cut), (Some((9, 8)), false));
    assert_eq!(four.sack_blocks(), [(1, 2), (3, 4), (5, 6), (7, 8)]);
    assert_eq!((cut.timestamps, cut.sacks, cut.cut), (Some((9, 8)), 0, true));
}

#[test]
fn packets_of_more_than_64_kb_from_offload() {
    let headers = |mut b: Vec<u8>, at: usize| {
        b[at..at + 2].fill(0);
        b
    };
    let jumbo = join(&[&[6, 0, 0xc2, 4], &200_028u32.to_be_bytes(), &tcp(3, ACK, &[], 0)]);
    let mut records = [
        raw(0, ethernet(0x0800, &headers(ipv4(6, &tcp(1, ACK, &[], 0)), 2))),
        raw(1, ethernet(0x86dd, &headers(ipv6(6, &tcp(2, ACK, &[], 0)), 4))),
        raw(2, ethernet(0x86dd, &headers(ipv6(0, &jumbo), 4))),
    ];
    for r in &mut records {
        r.wire = 14 + 40 + 180_020;
    }
    let contents = read(&pcap(PLAIN, &records));
    let lens: Vec<u32> = contents.packets.iter().map(|p| p.len).collect();
    assert_eq!(lens, [14 + 40 + 180_020 - 54, 180_000, 200_000]);
    assert_eq!(contents.packets[2].header, 68);
}

/// A TCP packet of 3,000 bytes in three fragments.
fn fragments(seq: u32, id: u16) -> [Vec<u8>; 3] {
    let whole = tcp(seq, ACK, &[], 2_980);
    let part = |from: usize, to: usize, more: u16| {
        ethernet(0x0800, &ipv4_part(6, id, more | (from / 8) as u16, &whole[from..to]))
    };
    [part(0, 1_480, 0x2000), part(1_480, 2_960, 0x2000), part(2_960, 3_000, 0)]
}

#[test]
fn a_fragmented_packet_has_the_length_of_all_its_fragments() {
    let [[a1, a2, a3], [b1, b2, b3]] = [fragments(1, 1), fragments(2, 2)];
    let contents = frames(1, vec![a1, b3, a2, b2, a3, b1]);
    assert_eq!(contents.packets.iter().map(|p| (p.seq, p.len)).collect::<Vec<_>>(), [(1, 2_980), (2, 2_980)]);
    assert_eq!(contents.packets[0].time.as_nanos() % 1_000_000_000, 4_000);
    let fragments = PacketFragments { count: 3, is_partial: false, fits: 1_500 };
    assert!(contents.packets.iter().all(|p| p.fragments == fragments), "{:?}", contents.packets[0].fragments);
    assert_eq!((contents.info.tcp_packets, contents.info.fragments, contents.info.records), (2, 4, 6));
}

#[test]
fn fragments_of_ipv6() {
    let whole = tcp(5, ACK, &[], 2_000);
    let part = |from: usize, to: usize, more: u16| {
        let place = (from as u16 | more).to_be_bytes();
        let header = [6, 0, place[0], place[1], 0, 1, 2, 3];
        ethernet(0x86dd, &ipv6(44, &join(&[&header, &whole[from..to]])))
    };
    let contents = frames(1, vec![part(0, 1_232, 1), part(1_232, 2_020, 0)]);
    assert_eq!(contents.packets.iter().map(|p| (p.seq, p.len)).collect::<Vec<_>>(), [(5, 2_000)]);
    assert_eq!(contents.info.fragments, 1);
}

#[test]
fn packets_are_not_delayed_if_all_later_fragments_are_missing() {
    let firsts: Vec<Vec<u8>> = (0..400).map(|n| fragments(n, n as u16)[0].clone()).collect();
    let contents = frames(1, firsts);
    assert_eq!(contents.packets.len(), 400);
    assert!(
        contents.packets.iter().all(|p| p.len == 1_460 && p.fragments.count == 1 && !p.fragments.is_partial)
    );
    // Once the table is full and some packets were abandoned, the others are returned at once.
    let late = contents.packets.iter().position(|p| p.seq == 300).unwrap();
    assert!(late < 60, "{late}");
}

#[test]
fn a_packet_with_a_missing_fragment_is_lost_if_others_are_complete() {
    let [[a1, a2, a3], [b1, b2, _], [c1, ..]] = [fragments(1, 1), fragments(2, 2), fragments(3, 3)];
    let contents = frames(1, vec![a1, a2, a3, b1, b2, c1]);
    let got: Vec<_> =
        contents.packets.iter().map(|p| (p.seq, p.len, p.fragments.count, p.fragments.is_partial)).collect();
    assert_eq!(got, [(1, 2_980, 3, false), (2, 2_940, 2, true), (3, 1_460, 1, true)]);
}

/// GRE over IPv4 with a fragmented outer packet: the inner header is in the first fragment.
#[test]
fn a_packet_in_a_fragmented_tunnel_packet_counts_as_fragmented() {
    let inner = ipv4(6, &tcp(1, ACK, &[], 1_460));
    let outer = join(&[&[0, 0, 8, 0], &inner]);
    let parts = [
        ethernet(0x0800, &ipv4_part(47, 9, 0x2000, &outer[..1_480])),
        ethernet(0x0800, &ipv4_part(47, 9, 1_480 / 8, &outer[1_480..])),
    ];
    let contents = frames(1, parts.to_vec());
    let [packet] = contents.packets[..] else { panic!("{:?}", contents.info) };
    assert_eq!(
        (packet.len, packet.fragments),
        (1_460, PacketFragments { count: 2, is_partial: false, fits: 1_476 })
    );
    let whole = frames(1, vec![ethernet(0x0800, &ipv4(47, &outer))]);
    assert_eq!(whole.packets[0].fragments, PacketFragments::default());
}

#[test]
fn icmp_reports_that_a_packet_was_too_big() {
    let quoted = &ipv4(6, &tcp(9, ACK, &[], 1_400))[..28];
    let v4 = ipv4(1, &join(&[&[3, 4, 0, 0, 0, 0, 5, 0x14], quoted]));
    let quoted = &ipv6(6, &tcp(9, ACK, &[], 1_400))[..60];
    let v6 = ipv6(58, &join(&[&[2, 0, 0, 0, 0, 0, 5, 0], quoted]));
    let about_udp = ipv4(1, &join(&[&[3, 4, 0, 0, 0, 0, 5, 0x14], &ipv4(17, &udp(1, 2, &[]))]));
    let unreachable = ipv4(1, &join(&[&[3, 1, 0, 0, 0, 0, 0, 0], &ipv4(6, &tcp(9, ACK, &[], 0))]));
    let contents = frames(101, vec![v4, v6, about_udp, unreachable]);
    let [v4, v6, gone] = contents.reports[..] else { panic!("{:?}", contents.reports) };
    let too_big = |mtu| IcmpMessage::TooBig(Some(mtu));
    assert_eq!((v4.says, v4.from.addr, v4.from.port), (too_big(1_300), Addr::v4(CLIENT), 40_000));
    assert_eq!((v6.says, v6.to.addr, v6.to.port), (too_big(1_280), Addr::v6(v6_address(2)), 5_201));
    assert_eq!((gone.says, gone.from.port), (IcmpMessage::Unreachable(Unreachable::Host), 40_000));
    assert_eq!((count(&contents.info, "icmp"), count(&contents.info, "icmpv6")), (3, 1));
}

#[test]
fn packets_other_than_tcp_are_counted_by_protocol() {
    let esp = [0, 0, 1, 0, 0, 0, 0, 1, 9, 9, 9, 9];
    let mut data = vec![4, 0, 0, 0, 1, 2, 3, 4];
    data.resize(64, 7);
    let over_udp = |port, payload: &[u8]| ethernet(0x0800, &ipv4(17, &udp(port, port, payload)));
    let contents = frames(
        1,
        vec![
            ethernet(0x0806, &[0; 28]),
            ethernet(0x88cc, &[0; 28]),
            ethernet(0x0800, &ipv4(50, &esp)),
            over_udp(4_500, &esp),
            over_udp(4_500, &[0, 0, 0, 0, 1, 2, 3, 4]),
            over_udp(51_820, &data),
            over_udp(53, &[1, 2, 3]),
            ethernet(0x0800, &ipv4(132, &[0; 20])),
            // A port number alone proves nothing: this is not a frame.
            over_udp(4_789, &[0xff; 40]),
            ethernet(0x0800, &[0x45; 8]),
            vec![1, 2, 3],
        ],
    );
    let names = ["arp", "lldp", "esp", "sctp", "esp-in-udp", "wireguard-like", "bad header", "vxlan"];
    assert_eq!(names.map(|n| count(&contents.info, n)), [1, 1, 1, 1, 1, 1, 2, 0]);
    assert_eq!((contents.info.udp_packets, contents.info.tcp_packets, contents.info.records), (5, 0, 11));
}

#[test]
fn nested_tunnels_are_followed_to_a_limit() {
    let mut bytes = ipv4(6, &tcp(1, ACK, &[], 0));
    for _ in 0..40 {
        bytes = ipv4(4, &bytes);
    }
    let contents = frames(101, vec![bytes]);
    assert_eq!((contents.packets.len(), count(&contents.info, "too many layers")), (0, 1));
}

/// LLC and SNAP header before IPv4.
const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

#[test]
fn frames_of_802_11_without_unencrypted_data_are_counted() {
    let data = |number, seq| join(&[&wifi(0, 1, number, &[]), &SNAP, &ipv4(6, &tcp(seq, ACK, &[], 10))]);
    let again = |number, seq| join(&[&wifi(0, 9, number, &[]), &SNAP, &ipv4(6, &tcp(seq, ACK, &[], 10))]);
    let with = |at: usize, byte: u8| {
        let mut b = data(70, 9);
        b[at] = byte;
        b
    };
    let contents = frames(
        105,
        vec![
            data(1, 1),
            again(1, 1),
            again(2, 2),
            data(3, 3),
            with(1, 0x41),
            with(0, 0x80),
            with(0, 0xd4),
            with(0, 0x48),
            with(22, 0x61),
            with(0, 9),
        ],
    );
    assert_eq!(contents.packets.iter().map(|p| p.seq).collect::<Vec<_>>(), [1, 2, 3]);
    let names = ["encrypted 802.11", "802.11 management", "802.11 control", "802.11 without data"];
    assert_eq!(names.map(|n| count(&contents.info, n)), [1; 4]);
    let names = ["repeated 802.11", "later 802.11 fragment", "bad header"];
    assert_eq!(names.map(|n| count(&contents.info, n)), [1; 3]);
    assert_eq!(
        (contents.info.tcp_packets, contents.info.records, &contents.info.links[..]),
        (3, 10, &["802.11".into()][..])
    );
    let bad = join(&[&radiotap(&[2], &[0x40]), &data(1, 1)]);
    assert_eq!(count(&frames(127, vec![bad]).info, "802.11 with a wrong checksum"), 1);
}

#[test]
fn new_senders_of_802_11_replace_the_oldest() {
    let sent = |sender: u16, flags: u8| {
        let mut b = join(&[&wifi(0, flags, 5, &[]), &SNAP, &ipv4(6, &tcp(1, ACK, &[], 10))]);
        b[14..16].copy_from_slice(&sender.to_be_bytes());
        b
    };
    let once = (0..300).map(|n| sent(n, 1));
    let again = [sent(299, 9), sent(0, 9), sent(0, 9)];
    let contents = frames(105, once.chain(again).collect());
    assert_eq!((contents.packets.len(), count(&contents.info, "repeated 802.11")), (301, 2));
}

#[test]
fn every_frame_of_an_aggregate_is_read() {
    let part = |seq| {
        let mut b = subframe(&ipv4(6, &tcp(seq, ACK, &[], 9)));
        b.resize(b.len().next_multiple_of(4), 0);
        b
    };
    let whole = join(&[&wifi(8, 1, 4, &[0x80, 0]), &part(1), &part(2), &part(3), &[1, 2, 3, 4]]);
    let again = join(&[&wifi(8, 9, 4, &[0x80, 0]), &part(1), &part(2), &part(3)]);
    let contents = frames(105, vec![whole.clone(), again]);
    let got: Vec<_> = contents.packets.iter().map(|p| (p.seq, p.len, p.outside)).collect();
    assert_eq!(got, [(1, 9, 22), (2, 9, 22), (3, 9, 22)]);
    assert_eq!(
        (contents.info.tcp_packets, contents.info.records, count(&contents.info, "repeated 802.11")),
        (3, 4, 1)
    );
    for kept in 0..whole.len() {
        let wire = whole.len() as u32;
        let contents =
            read(&pcap(Layout { link: 105, ..PLAIN }, &[Raw { wire, ..raw(0, whole[..kept].to_vec()) }]));
        let others: u64 = contents.info.other.iter().map(|c| c.count).sum();
        assert_eq!(contents.info.records, contents.info.tcp_packets + others, "cut at {kept}");
    }
}

#[test]
fn wrong_headers_of_logs_and_links_are_counted() {
    let ip = ipv4(6, &tcp(1, ACK, &[], 10));
    let log = |family, head: &[u8]| join(&[&[family, 0, 0, 5], head, &attribute(false, 9, &ip)]);
    let mut short = pflog(2);
    short[0] = 44;
    for (link, frame, said) in [
        (117, join(&[&pflog(17), &ip]), "other ethertype"),
        (117, join(&[&short, &ip]), "bad header"),
        (239, log(9, &[]), "other ethertype"),
        (239, log(2, &[3, 0, 1, 0]), "bad header"),
        (239, join(&[&[2, 0, 0, 5], &attribute(false, 10, b"no packet")]), "bad header"),
        (104, join(&[&[0xff, 3, 8, 0], &ip]), "bad header"),
        (104, join(&[&[0x8f, 0, 0x80, 0x35], &ip]), "other ethertype"),
        (127, join(&[&radiotap(&[0xffff_ffff], &[]), &ip]), "bad header"),
        (127, join(&[&radiotap(&[3], &[0; 8]), &ip]), "bad header"),
        (192, join(&[&[0, 0, 8, 0, 192, 0, 0, 0], &ip]), "unknown link type"),
        (192, join(&[&[0, 0, 7, 0, 101, 0, 0, 0], &ip]), "bad header"),
        (192, join(&[&[0, 0, 8, 0, 101, 0, 1, 0], &ip]), "unknown link type"),
    ] {
        let contents = frames(link, vec![frame]);
        assert_eq!(
            (contents.packets.len(), count(&contents.info, said)),
            (0, 1),
            "{link}: {:?}",
            contents.info.other
        );
    }
}

#[test]
fn ambiguous_l2tp_sessions_are_not_guessed() {
    let inner = ethernet(0x0800, &ipv4(6, &tcp(1, ACK, &[], 100)));
    let over = |protocol, payload: Vec<u8>| ethernet(0x0800, &ipv4(protocol, &payload));
    let datagram =
        |header: &[u8]| over(17, udp(1701, 1701, &join(&[header, &[0xff, 3, 0, 0x21], &inner[14..]])));
    let contents = frames(
        1,
        vec![
            // Control messages of both versions, a frame that ends too early, a session of ARP, and a
            // coincidental match.
            over(115, join(&[&[0; 4], &inner])),
            over(115, join(&[&[0, 0, 0, 1], &inner, &[0; 3]])),
            over(115, join(&[&[0, 0, 0, 1], &ethernet(0x0806, &[0; 28])])),
            over(115, vec![7; 40]),
            datagram(&[0xc8, 2, 0, 12, 0, 1, 0, 2]),
            // Reserved bits set, another version, a length beyond the end, an offset beyond the end.
            datagram(&[0x20, 2, 0, 1, 0, 2]),
            datagram(&[0, 4, 0, 1, 0, 2]),
            datagram(&[0x40, 2, 1, 0, 0, 1, 0, 2]),
            datagram(&[2, 2, 0, 1, 0, 2, 0xff, 0xff]),
        ],
    );
    assert_eq!((contents.packets.len(), count(&contents.info, "unknown tunnel payload")), (0, 4));
    assert_eq!((contents.info.udp_packets, count(&contents.info, "l2tp")), (5, 4));
    let padded = ethernet(0x0800, &ipv4(6, &tcp(8, ACK, &[], 0)));
    let contents = frames(1, vec![over(115, join(&[&[0, 0, 0, 1], &padded, &[0; 6]]))]);
    assert_eq!(contents.packets.iter().map(|p| (p.seq, p.len)).collect::<Vec<_>>(), [(8, 0)]);
}
