//! Tests of reading, segmenting, joining, marking and rejecting packets.

use super::icmp::ICMPV6;
use super::*;

pub fn super_packet(payload: usize, gso: u16) -> Vec<u8> {
    let mut f = vec![0; VIRTIO + 40 + payload];
    f[0] = NEEDS_CSUM;
    f[1] = GSO_TCPV4;
    f[4..6].copy_from_slice(&gso.to_ne_bytes());
    let ip = &mut f[VIRTIO..];
    ip[0] = 0x45;
    put16(ip, 2, (40 + payload) as u16);
    put16(ip, 4, 65_535);
    ip[9] = TCP;
    ip[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    ip[20..24].copy_from_slice(&[1, 2, 3, 4]);
    ip[24..28].copy_from_slice(&(u32::MAX - 10).to_be_bytes());
    ip[32] = 5 << 4;
    ip[33] = 0x18;
    for (i, b) in ip[40..].iter_mut().enumerate() {
        *b = i as u8;
    }
    f
}

#[test]
fn a_super_packet_is_cut_into_wire_segments() {
    let frame = super_packet(2500, 1000);
    let mut segments = Vec::new();
    receive(&frame, &mut Pool::default(), &mut 0, |p| segments.push(p));
    let sizes: Vec<u32> = segments.iter().map(|p| p.size).collect();
    assert_eq!(sizes, [1040, 1040, 540]);
    let mut payload = Vec::new();
    for (i, p) in segments.iter().enumerate() {
        let ip = p.body.ip();
        assert_eq!(be16(ip, 2) as u32, p.size);
        assert_eq!(checksum(&ip[..20]), 0);
        assert_eq!(be16(ip, 4), 65_535u16.wrapping_add(i as u16));
        let seq = u32::from_be_bytes(*ip[24..28].first_chunk().unwrap());
        assert_eq!(seq, (u32::MAX - 10).wrapping_add(1000 * i as u32));
        assert_eq!(ip[33] & 8 != 0, i == 2, "PSH on the last only");
        assert_eq!(p.flow, segments[0].flow);
        payload.extend_from_slice(&ip[40..]);
    }
    assert_eq!(payload, frame[VIRTIO + 40..]);
}

#[test]
fn dscp_and_ecn_are_written_to_the_header_with_its_checksum() {
    let mut segments = Vec::new();
    receive(&super_packet(100, 0), &mut Pool::default(), &mut 0, |p| segments.push(p));
    let mut p = segments.remove(0);
    assert_eq!(data_ports(p.body.ip()), Some([0x0102, 0x0304]));
    let tcp = tcp_data(p.body.ip()).unwrap();
    assert_eq!((tcp.ports, tcp.seq, tcp.len, tcp.syn), ([0x0102, 0x0304], u32::MAX - 10, 100, false));
    assert_eq!(tcp.endpoints[..12], [10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4]);
    (p.dscp, p.ecn) = (46, Ecn::Ce);
    write_marks(&mut p);
    assert_eq!(p.body.ip()[1], 46 << 2 | 3);
    assert_eq!(checksum(&p.body.ip()[..20]), 0);
}

#[test]
fn too_big_quotes_the_packet_and_names_the_mtu() {
    let frame = super_packet(1000, 0);
    let icmp = too_big(&frame[VIRTIO..], 1400).unwrap();
    let ip = &icmp[VIRTIO..];
    assert_eq!((checksum(&ip[..20]), checksum(&ip[20..])), (0, 0));
    assert_eq!((be16(ip, 26), &ip[28..48]), (1400, &frame[VIRTIO..VIRTIO + 20]));
}

#[test]
fn esp_differs_from_ike_and_keepalives() {
    let mut ip = super_packet(100, 0).split_off(VIRTIO);
    ip[9] = UDP;
    ip[20..24].copy_from_slice(&[0x4e, 0x21, 0x4e, 0x21]);
    ip[28..32].copy_from_slice(&[1, 2, 3, 4]);
    assert!(is_esp(&ip, 0x4e21) && !is_esp(&ip, 0x4e22));
    assert_eq!(total_length(&ip), Some(140));
    ip[28..32].fill(0);
    assert!(!is_esp(&ip, 0x4e21), "IKE");
    ip.truncate(29);
    assert!(!is_esp(&ip, 0x4e21), "a keepalive");
}

/// A super-packet from 2001:db8::1 to 2001:db8::2.
pub fn super_packet_v6(payload: usize, gso: u16) -> Vec<u8> {
    let mut f = super_packet(payload, gso);
    f[1] = GSO_TCPV6;
    let tcp = f.split_off(VIRTIO + 20);
    f.truncate(VIRTIO);
    f.resize(VIRTIO + IPV6, 0);
    let ip = &mut f[VIRTIO..];
    ip[0] = 0x60;
    ip[3] = 7; // the flow label
    put16(ip, 4, tcp.len() as u16);
    (ip[6], ip[7]) = (TCP, 64);
    for (at, last) in [(8, 1), (24, 2)] {
        ip[at..at + 4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        ip[at + 15] = last;
    }
    f.extend(tcp);
    f
}

#[test]
fn an_ipv6_super_packet_is_cut_marked_and_joined_again() {
    let frame = super_packet_v6(2500, 1000);
    let mut segments = Vec::new();
    receive(&frame, &mut Pool::default(), &mut 0, |p| segments.push(p));
    assert_eq!(segments.iter().map(|p| p.size).collect::<Vec<_>>(), [1060, 1060, 560]);
    let [own, other] = ["2001:db8::1", "2001:db8::2"].map(|a| a.parse::<IpAddr>().unwrap());
    for p in &segments {
        let ip = p.body.ip();
        assert_eq!(total_length(ip), Some(p.size));
        assert!(is_from(ip, own) && !is_from(ip, other) && is_data_to(ip, other));
        assert_eq!(data_ports(ip), Some([0x0102, 0x0304]));
    }
    // Only the pseudo-header is summed; the kernel does the rest.
    let ip = segments[1].body.ip();
    assert_eq!(be16(ip, 56), fold(sum(&ip[8..40]) + 6 + 1020));
    let mut joiner = crate::gro::Joiner::default();
    segments.iter().for_each(|p| assert!(joiner.add(&p.body.bytes)));
    let joined = joiner.finish();
    assert_eq!((joined.len(), joined[1]), (frame.len(), GSO_TCPV6));
    assert_eq!(joined[VIRTIO..VIRTIO + IPV6 + 12], frame[VIRTIO..VIRTIO + IPV6 + 12]);
    let mut p = segments.remove(0);
    (p.dscp, p.ecn) = (46, Ecn::Ce);
    write_marks(&mut p);
    assert_eq!((tos(p.body.ip()), p.body.ip()[3]), (46 << 2 | 3, 7));
}

#[test]
fn icmpv6_packet_too_big_names_the_mtu() {
    let frame = super_packet_v6(1400, 0);
    let icmp = too_big(&frame[VIRTIO..], 1280).unwrap();
    let ip = &icmp[VIRTIO..];
    assert_eq!((ip.len(), ip[6], ip[40], be16(ip, 46)), (1280, ICMPV6, 2, 1280));
    assert_eq!(fold(sum(&ip[8..40]) + (ip.len() - 40) as u32 + 58 + sum(&ip[40..])), 0xffff);
    assert_eq!((&ip[24..40], &ip[48..52]), (&frame[VIRTIO + 8..VIRTIO + 24], &frame[VIRTIO..VIRTIO + 4]));
}

#[test]
fn ipv6_multicast_is_dropped() {
    let mut frame = super_packet_v6(10, 0);
    frame[VIRTIO + 24] = 0xff;
    receive(&frame, &mut Pool::default(), &mut 0, |_| panic!("a multicast packet"));
}

#[test]
fn malformed_packets_are_dropped() {
    for n in 0..64 {
        receive(&vec![0x4f; n], &mut Pool::default(), &mut 0, |_| ());
        receive(&vec![0x45; n], &mut Pool::default(), &mut 0, |_| ());
        assert!(tcp_data(&vec![0x45; n]).is_none());
    }
}
