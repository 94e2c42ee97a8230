//! UDP headers (RFC 768) and the first bytes of the payload.

use super::ip::Net;
use super::tally::Other;
use super::walk::Walk;
use crate::Endpoint;
use units::Time;

/// Stored payload bytes of a datagram: a QUIC long header with both connection IDs (RFC 9000 section 17.2)
/// has 47.
pub const DATAGRAM_HEAD: usize = 48;

/// A UDP datagram as a capture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpDatagram {
    /// Capture time, ns since 1970.
    pub time: Time,
    /// Source.
    pub src: Endpoint,
    /// Destination.
    pub dst: Endpoint,
    /// Payload bytes according to the header; for datagrams merged by segmentation offload, of all together.
    pub len: u32,
    /// Length of IP and UDP headers, bytes.
    pub header: u16,
    /// IP identification; 0 for IPv6.
    pub id: u16,
    /// The first bytes of the payload, of which `kept` are valid.
    head: [u8; DATAGRAM_HEAD],
    kept: u8,
}

impl UdpDatagram {
    /// The first bytes of the payload, as far as they were captured.
    pub fn head(&self) -> &[u8] {
        &self.head[..self.kept as usize]
    }
}

/// Reads the datagram whose UDP header is at `w.at`.
pub(super) fn datagram(time: Time, net: &Net, w: &Walk) -> Result<UdpDatagram, Other> {
    let h: [u8; 8] = w.array(w.at)?;
    let [sport, dport, length] = [0, 2, 4].map(|i| u16::from_be_bytes([h[i], h[i + 1]]));
    // The length field is 0 in jumbograms (RFC 2675 section 4) and in packets merged by offload.
    let len = if length < 8 { net.payload.saturating_sub(8) } else { u32::from(length) - 8 };
    let mut datagram = UdpDatagram {
        time,
        src: Endpoint { addr: net.src, port: sport },
        dst: Endpoint { addr: net.dst, port: dport },
        len,
        header: (w.at + 8 - net.start).min(u16::MAX as usize) as u16,
        id: net.id,
        head: [0; DATAGRAM_HEAD],
        kept: 0,
    };
    let payload = w.bytes.get(w.at + 8..).unwrap_or_default();
    // Bytes after the payload are padding of the link layer.
    let kept = payload.len().min(len as usize).min(DATAGRAM_HEAD);
    datagram.head[..kept].copy_from_slice(&payload[..kept]);
    datagram.kept = kept as u8;
    Ok(datagram)
}
