//! Ethernet headers of packets that pass a TAP device. The path carries IP packets; the headers of the few
//! neighbours wait here and are put back on delivery.

use super::{NEEDS_CSUM, VIRTIO, ip_header, total_length};
use std::collections::BTreeMap;

/// Bytes of a header without VLAN tags: addresses and EtherType (IEEE 802.3 clause 3).
const PLAIN: usize = 14;
/// Bytes of a VLAN tag (IEEE 802.1Q clause 9), and their largest number.
const TAG: usize = 4;
const MAX_TAGS: usize = 2;
/// EtherTypes of tags: customer, service.
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
/// Largest number of different headers. Each is in use for at most as long as a packet is on the path, so the
/// oldest is replaced.
const MAX_HEADERS: usize = 60_000;

/// The Ethernet headers that packets had, by number from 1.
#[derive(Default)]
pub struct Ethernet {
    headers: Vec<Vec<u8>>,
    numbers: BTreeMap<Vec<u8>, u16>,
    /// Index of the next header to replace.
    oldest: usize,
    /// A frame to be written.
    frame: Vec<u8>,
}

impl Ethernet {
    /// Removes the Ethernet header of a frame as read from a TAP device: a virtio header, an Ethernet header,
    /// an IP packet, and perhaps padding. Returns where in the frame a virtio header followed by the IP
    /// packet now begins and ends, and the header's number; `None` for frames without IP.
    pub fn strip(&mut self, frame: &mut [u8]) -> Option<(std::ops::Range<usize>, u16)> {
        let mut len = PLAIN;
        while TAGS.iter().any(|tag| frame.get(VIRTIO + len - 2..VIRTIO + len) == Some(tag)) {
            len += TAG;
            if len > PLAIN + MAX_TAGS * TAG {
                return None;
            }
        }
        let header = frame.get(VIRTIO..VIRTIO + len)?;
        let number = match self.numbers.get(header) {
            Some(number) => *number,
            None => {
                let header = header.to_vec();
                self.add(header)
            }
        };
        let ip = frame.get(VIRTIO + len..)?;
        ip_header(ip)?;
        // A super-packet's length field may be zero (BIG TCP), but only small packets are padded.
        let is_super = frame[1] != 0;
        let end = total_length(ip).filter(|_| !is_super).map_or(ip.len(), |n| ip.len().min(n as usize));
        let mut virtio: [u8; VIRTIO] = *frame.first_chunk()?;
        shift(&mut virtio, len, false);
        frame[len..len + VIRTIO].copy_from_slice(&virtio);
        Some((len..len + VIRTIO + end, number))
    }

    fn add(&mut self, header: Vec<u8>) -> u16 {
        let at = if self.headers.len() < MAX_HEADERS {
            self.headers.push(Vec::new());
            self.headers.len() - 1
        } else {
            self.oldest = (self.oldest + 1) % MAX_HEADERS;
            self.oldest
        };
        self.numbers.remove(&self.headers[at]);
        self.headers[at] = header.clone();
        self.numbers.insert(header, at as u16 + 1);
        at as u16 + 1
    }

    fn header(&self, number: u16) -> &[u8] {
        usize::from(number).checked_sub(1).and_then(|at| self.headers.get(at)).map_or(&[], Vec::as_slice)
    }

    /// Returns the header of an answer to a packet with this header.
    pub fn answer(&mut self, number: u16) -> u16 {
        let mut header = self.header(number).to_vec();
        if header.len() < 12 {
            return 0;
        }
        let (to, from) = header[..12].split_at_mut(6);
        to.swap_with_slice(from);
        match self.numbers.get(&header) {
            Some(number) => *number,
            None => self.add(header),
        }
    }

    /// Puts a header back: returns the frame to write for a virtio header followed by an IP packet.
    pub fn dress(&mut self, number: u16, packet: &[u8]) -> &[u8] {
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        let header = self.header(number);
        if let Some((virtio, ip)) = packet.split_first_chunk::<VIRTIO>() {
            let mut virtio = *virtio;
            shift(&mut virtio, header.len(), true);
            frame.extend_from_slice(&virtio);
            frame.extend_from_slice(header);
            frame.extend_from_slice(ip);
        }
        self.frame = frame;
        &self.frame
    }
}

/// Adapts the offsets of a virtio header (`hdr_len`, `csum_start`; linux/virtio_net.h) to `len` more bytes
/// before the IP packet, or less.
fn shift(virtio: &mut [u8; VIRTIO], len: usize, more: bool) {
    let needs_checksum = virtio[0] & NEEDS_CSUM != 0;
    let is_super = virtio[1] != 0;
    for at in [(2, is_super), (6, needs_checksum)].into_iter().filter(|p| p.1).map(|p| p.0) {
        let old = u16::from_ne_bytes([virtio[at], virtio[at + 1]]);
        let new = if more { old.saturating_add(len as u16) } else { old.saturating_sub(len as u16) };
        virtio[at..at + 2].copy_from_slice(&new.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Pool, receive, tests::super_packet};

    fn framed(header: &[u8], packet: &[u8]) -> Vec<u8> {
        let mut virtio: [u8; VIRTIO] = *packet.first_chunk().unwrap();
        shift(&mut virtio, header.len(), true);
        [&virtio, header, &packet[VIRTIO..]].concat()
    }

    const HEADER: [u8; PLAIN] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];

    #[test]
    fn a_stripped_frame_is_restored() {
        let tagged = [&HEADER[..12], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9, 8, 0]].concat();
        for header in [&HEADER[..], &tagged] {
            let mut packet = super_packet(2500, 1000);
            packet[2..4].copy_from_slice(&40u16.to_ne_bytes());
            packet[6..8].copy_from_slice(&20u16.to_ne_bytes());
            let mut ethernet = Ethernet::default();
            let mut frame = framed(header, &packet);
            let before = frame.clone();
            let (range, number) = ethernet.strip(&mut frame).unwrap();
            assert_eq!(frame[range.clone()], packet[..]);
            let mut count = 0;
            receive(&frame[range.clone()], &mut Pool::default(), &mut 0, |_| count += 1);
            assert_eq!(count, 3);
            assert_eq!(ethernet.dress(number, &packet), before);
        }
    }

    #[test]
    fn padding_is_cut_and_other_protocols_are_refused() {
        let mut packet = super_packet(2, 0);
        packet[1] = 0;
        let mut frame = framed(&HEADER, &packet);
        frame.extend([0; 4]);
        let (range, _) = Ethernet::default().strip(&mut frame).unwrap();
        assert_eq!(range.len(), VIRTIO + 42);
        let arp = [&[0; VIRTIO][..], &HEADER[..12], &[8, 6, 0, 1]].concat();
        assert!(Ethernet::default().strip(&mut arp.clone()).is_none());
        for n in 0..frame.len() {
            Ethernet::default().strip(&mut frame[..n].to_vec());
        }
    }

    #[test]
    fn an_answer_goes_back_to_the_sender() {
        let mut ethernet = Ethernet::default();
        let mut frame = framed(&HEADER, &super_packet(10, 0));
        let (_, number) = ethernet.strip(&mut frame).unwrap();
        let answer = ethernet.answer(number);
        assert_eq!(ethernet.header(answer), [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        assert_eq!(ethernet.answer(answer), number);
        assert_eq!(ethernet.answer(0), 0);
    }
}
