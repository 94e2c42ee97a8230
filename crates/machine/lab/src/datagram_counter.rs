//! Counts the datagrams of programs. The kernel keeps no counters per UDP socket, so packet sockets
//! (packet(7)) in both hosts receive a copy of each datagram's headers.

use crate::options::receive_buffer;
use crate::plan::PlannedFlow;
use crate::wire::ip_header;
use linux::packet::{self, FilterStep, PacketSocket, Received};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use units::Time;

const UDP: u32 = 17;
const UDP_HEADER: u64 = 8;
/// Smaller datagrams belong to the handshake before the measurement.
const MIN_PAYLOAD: u64 = 16;
/// Bytes of an IP header with every option and a UDP header.
const HEADERS: usize = 68;

/// Counter at one end of a flow.
pub struct DatagramCounter {
    socket: PacketSocket,
    sends: bool,
}

impl DatagramCounter {
    /// Counts datagrams to this port that leave (`sends`) or reach the host of the calling thread's
    /// namespace.
    pub fn new(port: u16, sends: bool) -> io::Result<DatagramCounter> {
        let socket = PacketSocket::new(&filter(port), 0)?;
        receive_buffer(socket.as_fd(), 8 << 20)?;
        Ok(DatagramCounter { socket, sends })
    }

    /// Adds the datagrams since the last call to the flow's counters.
    pub fn update(&self, flow: &PlannedFlow, now: Time) -> io::Result<()> {
        let mut header = [0; HEADERS];
        loop {
            let direction = match self.socket.receive(&mut header) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The device went down, or a copy was dropped for lack of buffer space.
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENETDOWN | libc::ENOBUFS)) => continue,
                direction => direction?,
            };
            let Some(payload) = payload(&header).filter(|&n| n >= MIN_PAYLOAD) else { continue };
            if self.sends && direction == Received::Outgoing {
                PlannedFlow::set_once(&flow.established, now);
                flow.sent.fetch_add(1, Relaxed);
            } else if !self.sends && direction == Received::Here {
                flow.delivered.fetch_add(payload, Relaxed);
            }
        }
    }
}

/// Returns the payload bytes of a UDP datagram, by its own header.
fn payload(ip: &[u8]) -> Option<u64> {
    let at = ip_header(ip)?;
    let length = u16::from_be_bytes(*ip.get(at + 4..)?.first_chunk()?);
    (length as u64).checked_sub(UDP_HEADER)
}

/// Classic BPF over an IP packet: UDP to this port, and of a fragmented datagram only the first fragment. The
/// kernel puts no extension header but the fragment header between IPv6 and UDP; iperf3 sends no fragments.
fn filter(port: u16) -> [FilterStep; 16] {
    let step = |code: u32, jt, jf, k| FilterStep { code: code as u16, jt, jf, k };
    [
        step(packet::BPF_LD | packet::BPF_B | packet::BPF_ABS, 0, 0, 0),
        step(packet::BPF_ALU | packet::BPF_RSH | packet::BPF_K, 0, 0, 4),
        step(packet::BPF_JMP | packet::BPF_JEQ | packet::BPF_K, 7, 0, 6),
        // IPv4.
        step(packet::BPF_LD | packet::BPF_B | packet::BPF_ABS, 0, 0, 9),
        step(packet::BPF_JMP | packet::BPF_JEQ | packet::BPF_K, 0, 10, UDP),
        step(packet::BPF_LD | packet::BPF_H | packet::BPF_ABS, 0, 0, 6),
        step(packet::BPF_JMP | packet::BPF_JSET | packet::BPF_K, 8, 0, 0x1fff),
        step(packet::BPF_LDX | packet::BPF_B | packet::BPF_MSH, 0, 0, 0),
        step(packet::BPF_LD | packet::BPF_H | packet::BPF_IND, 0, 0, 2),
        step(packet::BPF_JMP | packet::BPF_JA, 0, 0, 3),
        // IPv6.
        step(packet::BPF_LD | packet::BPF_B | packet::BPF_ABS, 0, 0, 6),
        step(packet::BPF_JMP | packet::BPF_JEQ | packet::BPF_K, 0, 3, UDP),
        step(packet::BPF_LD | packet::BPF_H | packet::BPF_ABS, 0, 0, 42),
        step(packet::BPF_JMP | packet::BPF_JEQ | packet::BPF_K, 0, 1, port as u32),
        step(packet::BPF_RET | packet::BPF_K, 0, 0, HEADERS as u32),
        step(packet::BPF_RET | packet::BPF_K, 0, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_length_comes_from_the_udp_header() {
        let mut ip = [0u8; HEADERS];
        ip[0] = 0x46;
        ip[28..30].copy_from_slice(&1480u16.to_be_bytes());
        assert_eq!(payload(&ip), Some(1472));
        ip[28..30].copy_from_slice(&7u16.to_be_bytes());
        assert_eq!(payload(&ip), None);
        assert_eq!(payload(&[]), None);
        assert_eq!(payload(&[0x4f; 30]), None);
        ip[0] = 0x60;
        ip[44..46].copy_from_slice(&1460u16.to_be_bytes());
        assert_eq!(payload(&ip), Some(1452));
    }
}
