//! UDP headers (RFC 768), and the first bytes behind them.

use super::ip::Net;
use super::tally::Other;
use super::walk::Walk;
use crate::Endpoint;
use units::Time;

/// Bytes kept of a datagram's payload: a QUIC long header with both connection IDs (RFC 9000 section 17.2) has 47.
pub const DATAGRAM_HEAD: usize = 48;

/// A UDP datagram as a capture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpDatagram {
    /// When it was captured: nanoseconds since 1970.
    pub time: Time,
    /// From where.
    pub src: Endpoint,
    /// To where.
    pub dst: Endpoint,
    /// Bytes of payload, by its header; of several that segmentation offload hands the capture as one, all.
    pub len: u32,
    /// Bytes of IP and UDP headers.
    pub header: u16,
    /// IP identification (of IPv4; 0 for IPv6).
    pub id: u16,
    /// The first bytes of the payload.
    head: [u8; DATAGRAM_HEAD],
    kept: u8,
}

impl UdpDatagram {
    /// The first bytes of the payload, as far as they were captured.
    pub fn head(&self) -> &[u8] {
        &self.head[..self.kept as usize]
    }
}

/// The datagram whose UDP header stands at `w.at`.
pub(super) fn datagram(time: Time, net: &Net, w: &Walk) -> Result<UdpDatagram, Other> {
    let h: [u8; 8] = w.array(w.at)?;
    let [sport, dport, length] = [0, 2, 4].map(|i| u16::from_be_bytes([h[i], h[i + 1]]));
    // Of a jumbogram, and of what offload joined, the header says 0 (RFC 2675 section 4).
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
    // What stands behind the payload is the link layer's padding.
    let kept = payload.len().min(len as usize).min(DATAGRAM_HEAD);
    datagram.head[..kept].copy_from_slice(&payload[..kept]);
    datagram.kept = kept as u8;
    Ok(datagram)
}
