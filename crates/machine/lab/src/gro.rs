//! Joins segments that leave a path at the same moment into one super-packet.
//!
//! One write then carries up to 64 kB. The receiver sees what a network card with receive offload would show
//! it: fewer ACKs than packets. Therefore the engine joins only when there are too many packets to write them
//! separately. Below that rate every packet is delivered separately, as in the simulator.

use crate::wire::{VIRTIO, finish_join, ip_header, same_stream};

/// Largest IP packet, in bytes.
const MAX_IP_BYTES: usize = 65_535;

/// Builds one super-packet.
#[derive(Default)]
pub struct Joiner {
    bytes: Vec<u8>,
    /// Bytes of IP and TCP header.
    headers: usize,
    gso: usize,
    count: usize,
    closed: bool,
}

impl Joiner {
    /// Adds a segment if it continues the current super-packet or if that is empty. Returns false otherwise.
    pub fn add(&mut self, frame: &[u8]) -> bool {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(frame);
            self.count = 1;
            self.closed = true;
            if let Some(headers) = same_stream(frame, frame, 0) {
                self.headers = headers;
                self.gso = frame.len() - VIRTIO - headers;
                self.closed = self.gso == 0;
            }
            return true;
        }
        if self.closed {
            return false;
        }
        let sent = self.bytes.len() - VIRTIO - self.headers;
        let Some(headers) = same_stream(&self.bytes, frame, sent) else { return false };
        let len = frame.len() - VIRTIO - headers;
        if headers != self.headers
            || len == 0
            || len > self.gso
            || self.bytes.len() + len - VIRTIO > MAX_IP_BYTES
        {
            return false;
        }
        self.bytes.extend_from_slice(&frame[VIRTIO + headers..]);
        self.count += 1;
        // FIN, PSH or a shorter segment closes the super-packet.
        let Some(header) = ip_header(&frame[VIRTIO..]) else { return false };
        // Both segments have the same header length, because they belong to one stream.
        let at = VIRTIO + header + 13;
        let flags = frame[at] & 0x09;
        self.bytes[at] |= flags;
        self.closed = len < self.gso || flags != 0;
        true
    }

    /// Returns the frame, ready to be written, or an empty slice if there is none. Call [`Joiner::clear`]
    /// afterwards.
    pub fn finish(&mut self) -> &[u8] {
        if self.count > 1 {
            finish_join(&mut self.bytes, self.headers, self.gso);
        }
        &self.bytes
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Pool, receive, tests::super_packet};

    #[test]
    fn joining_cut_segments_restores_the_super_packet() {
        let frame = super_packet(2500, 1000);
        let mut joiner = Joiner::default();
        receive(&frame, &mut Pool::default(), &mut 0, |p| assert!(joiner.add(&p.body.bytes)));
        let joined = joiner.finish();
        // Everything is equal but the checksums, which the joiner writes.
        let ip = VIRTIO;
        assert_eq!(joined.len(), frame.len());
        assert_eq!(joined[ip..ip + 8], frame[ip..ip + 8]);
        assert_eq!(crate::wire::checksum(&joined[ip..ip + 20]), 0);
        assert_eq!(joined[ip + 20..ip + 36], frame[ip + 20..ip + 36]);
        assert_eq!(joined[ip + 40..], frame[ip + 40..]);
        assert_eq!((joined[1], joined[4..6].to_vec()), (1, 1000u16.to_ne_bytes().to_vec()));
    }

    #[test]
    fn a_gap_or_another_flow_is_not_joined() {
        let mut frames = Vec::new();
        receive(&super_packet(3000, 1000), &mut Pool::default(), &mut 0, |p| frames.push(p.body.bytes));
        let mut joiner = Joiner::default();
        assert!(joiner.add(&frames[0]));
        assert!(!joiner.add(&frames[2]), "the second is missing");
        let mut other = frames[1].clone();
        other[VIRTIO + 20] ^= 1;
        assert!(!joiner.add(&other), "another port");
        let mut marked = frames[1].clone();
        marked[VIRTIO + 1] |= 3;
        assert!(!joiner.add(&marked), "another mark");
        assert!(joiner.add(&frames[1]));
        assert!(joiner.add(&frames[2]));
        joiner.clear();
        assert!(joiner.finish().is_empty());
    }
}
