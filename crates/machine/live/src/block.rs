//! Decodes the packets in a block of a `TPACKET_V3` ring (linux/if_packet.h).
//!
//! ```text
//! block:  version, offset to private data, status, packets, offset to the first packet, bytes, ...
//! packet: offset to the next, seconds, nanoseconds, bytes kept, bytes on the wire, status, offset to the link and the
//!         network header, ...; at 48 a sockaddr_ll; the packet's first bytes
//! ```

use units::Time;

/// Offsets of `num_pkts` and `offset_to_first_pkt` in `struct tpacket_block_desc`.
const PACKET_COUNT: usize = 12;
const FIRST_PACKET: usize = 16;
/// Offset of the `sockaddr_ll` after `struct tpacket3_hdr`, and of its fields.
const ADDRESS: usize = 48;
const DEVICE_TYPE: usize = ADDRESS + 8;
const DIRECTION: usize = ADDRESS + 10;
/// `ARPHRD_LOOPBACK` (linux/if_arp.h).
const LOOPBACK: u16 = 772;
/// `PACKET_OUTGOING` (linux/if_packet.h).
const OUTGOING: u8 = 4;

/// A packet in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingPacket<'a> {
    /// Time of capture, nanoseconds since 1970.
    pub time: Time,
    /// First bytes, starting with the network header.
    pub bytes: &'a [u8],
    /// Length of the whole packet, bytes.
    pub length: u32,
}

/// Iterates over the packets of a block in order. The loopback device captures each packet twice, when sent
/// and when received; the first copy is skipped.
pub fn packets(block: &[u8]) -> impl Iterator<Item = RingPacket<'_>> {
    let mut left = u32_at(block, PACKET_COUNT).unwrap_or(0);
    let mut at = u32_at(block, FIRST_PACKET).unwrap_or(0) as usize;
    std::iter::from_fn(move || {
        while left > 0 {
            left -= 1;
            let packet = block.get(at..)?;
            let next = u32_at(packet, 0)? as usize;
            // The last packet's offset is 0.
            at = if next == 0 { block.len() } else { at.checked_add(next)? };
            let is_loopback_copy =
                u16_at(packet, DEVICE_TYPE)? == LOOPBACK && packet.get(DIRECTION) == Some(&OUTGOING);
            if !is_loopback_copy {
                return decode_packet(packet);
            }
        }
        None
    })
}

fn decode_packet(packet: &[u8]) -> Option<RingPacket<'_>> {
    let (seconds, nanoseconds) = (u32_at(packet, 4)?, u32_at(packet, 8)?);
    let (kept, length) = (u32_at(packet, 12)? as usize, u32_at(packet, 16)?);
    let network = usize::from(u16_at(packet, 26)?);
    let time = Time::from_nanos(u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds));
    Some(RingPacket { time, bytes: packet.get(network..network.checked_add(kept)?)?, length })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_ne_bytes(*b))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_ne_bytes(*b))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Builds a block of packets: time, device type, direction, bytes, length on the wire.
    pub fn block(packets: &[(u64, u16, u8, &[u8], u32)]) -> Vec<u8> {
        let mut block = vec![0; 48];
        let put = |to: &mut [u8], at: usize, value: u32| to[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        put(&mut block, PACKET_COUNT, packets.len() as u32);
        put(&mut block, FIRST_PACKET, 48);
        for (i, (ns, device, direction, bytes, length)) in packets.iter().enumerate() {
            let network = 68 + 12;
            let mut packet = vec![0; (network + bytes.len()).next_multiple_of(16)];
            let next = if i + 1 == packets.len() { 0 } else { packet.len() };
            let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
            let words = [next as u64, seconds, rest, bytes.len() as u64, u64::from(*length)];
            words.iter().enumerate().for_each(|(i, word)| put(&mut packet, 4 * i, *word as u32));
            packet[26..28].copy_from_slice(&(network as u16).to_ne_bytes());
            packet[DEVICE_TYPE..DEVICE_TYPE + 2].copy_from_slice(&device.to_ne_bytes());
            packet[DIRECTION] = *direction;
            packet[network..network + bytes.len()].copy_from_slice(bytes);
            block.extend(packet);
        }
        block.resize(block.len().max(4096), 0);
        block
    }

    #[test]
    fn packets_keep_their_order_and_loopback_packets_appear_once() {
        let bytes = block(&[
            (1_700_000_000_000_000_007, 1, OUTGOING, b"first", 1500),
            (1_700_000_000_000_000_008, LOOPBACK, OUTGOING, b"leaves", 60),
            (1_700_000_000_000_000_009, LOOPBACK, 0, b"arrives", 60),
        ]);
        let seen: Vec<RingPacket> = packets(&bytes).collect();
        let shown: Vec<(u64, &[u8], u32)> =
            seen.iter().map(|p| (p.time.as_nanos(), p.bytes, p.length)).collect();
        let expected: [(u64, &[u8], u32); 2] =
            [(1_700_000_000_000_000_007, b"first", 1500), (1_700_000_000_000_000_009, b"arrives", 60)];
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_invalid_block_ends_without_a_panic() {
        let bytes = block(&[(1, 1, 0, b"first", 1500), (2, 1, 0, b"second", 1500)]);
        for n in 0..bytes.len().min(400) {
            packets(&bytes[..n]).count();
        }
        for (at, value) in
            [(PACKET_COUNT, u32::MAX), (FIRST_PACKET, u32::MAX), (48, u32::MAX), (48 + 12, u32::MAX)]
        {
            let mut bad = bytes.clone();
            bad[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            assert!(packets(&bad).count() <= 2);
        }
    }
}
