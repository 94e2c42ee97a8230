//! UDP datagrams: endpoints, length and first bytes, with any part captured.

use crate::build::udp;
use capture::{Batch, CaptureReader, DATAGRAM_HEAD, PacketFilter, PcapWriter, UdpDatagram};
use std::io::Cursor;
use units::{Span, Time};

fn read(packets: &[Vec<u8>], filter: PacketFilter) -> Vec<UdpDatagram> {
    let mut file = PcapWriter::new(Vec::new()).unwrap();
    for (i, packet) in packets.iter().enumerate() {
        let time = Time::ZERO + Span::from_secs(i as u64);
        file.write_packet(time, packet).unwrap();
    }
    let bytes = file.finish().unwrap();
    let mut reader = CaptureReader::from_reader(Box::new(Cursor::new(bytes)), "-").unwrap();
    reader.keep(filter);
    let mut batch = Batch::default();
    while reader.fill(&mut batch) {}
    batch.datagrams
}

#[test]
fn length_and_first_bytes_of_datagrams_are_kept() {
    let payload: Vec<u8> = (0..100).collect();
    let mut short = crate::build::ipv4(17, &udp(40_000, 443, &[1, 2, 3]));
    // Padding of the link layer is not payload.
    short.extend([0xee; 20]);
    let long = crate::build::ipv4(17, &udp(443, 40_000, &payload));
    let contents = read(&[short.clone(), long.clone()], PacketFilter::default());
    assert_eq!(contents.len(), 2);
    assert_eq!(
        (contents[0].len, contents[0].head(), contents[0].src.port, contents[0].header),
        (3, &[1, 2, 3][..], 40_000, 28)
    );
    // The writer stores 112 bytes of a packet, more than `DATAGRAM_HEAD`.
    assert_eq!((contents[1].len, contents[1].head()), (100, &payload[..DATAGRAM_HEAD]));
    assert_eq!(contents[1].time, Time::ZERO + Span::from_secs(1));
    let some = read(&[short.clone(), long], PacketFilter { ports: vec![53], ..PacketFilter::default() });
    assert!(some.is_empty());
    // The datagram of a tunnel is not returned, only its contents.
    let tunnel = crate::build::ipv4(
        17,
        &udp(1, 4789, &[8, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0]),
    );
    let inside = [&tunnel[..], &short[..]].concat();
    let contents = read(&[inside], PacketFilter::default());
    assert!(contents.iter().all(|d| d.dst.port == 443), "{contents:?}");
}
