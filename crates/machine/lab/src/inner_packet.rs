//! Finds the packet inside each tunnel packet, so that drops of tunnel packets are assigned to the flow
//! inside.
//!
//! ESP hides its payload, so packets are matched by order and size:
//! 1. A packet socket (packet(7)) at the host sees each packet that enters the tunnel's device, before charon
//!    reads it.
//! 2. Charon turns each into one ESP packet, whose size follows from the packet's (RFC 4303), nearly in
//!    order.
//! 3. An ESP packet that enters the link carries the oldest packet seen that results in this size.
//! 4. A packet that waits longer than [`MAX_DELAY`] was dropped by charon.
//!
//! If charon's threads reorder two packets of the same size, or charon drops one of them, the match may be
//! wrong. Flows with the same packet size in one tunnel are nearly always distinguished, flows with different
//! packet sizes always.

use crate::LabError;
use crate::daemon::{esp_port, tunnel_device};
use crate::netlink::Netlink;
use crate::network::LabNetwork;
use crate::options::receive_buffer;
use crate::wire::{self, Wire};
use linux::namespace::within;
use linux::packet::{self, FilterStep, PacketSocket, Received};
use path::{Packet, Tunnel};
use scenario::Scenario;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use units::{Span, Time};

/// Bytes kept of each packet: an IP header with every option, a TCP header with half of its options, and the
/// number and time of a datagram.
const CAPTURED_BYTES: usize = 112;
/// Limit of charon's delay: its device queues 1000 packets, and it processes several thousand per second.
const MAX_DELAY: Span = Span::from_secs(1);
/// Maximum distance of packets that charon's threads reorder.
const MAX_REORDERING: usize = 64;
/// Interval between attempts to reopen a device that has gone.
const REOPEN_INTERVAL: Span = Span::from_millis(100);
/// Maximum number of packets in flight to remember.
const MAX_IN_FLIGHT: usize = 1 << 16;

/// The first bytes of a packet that entered a tunnel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InnerPacket {
    at: Time,
    /// IP length of the ESP packet that carries it.
    outer: u32,
    head: [u8; CAPTURED_BYTES],
    len: usize,
}

impl InnerPacket {
    /// Returns the packet's first bytes.
    pub fn ip(&self) -> &[u8] {
        &self.head[..self.len]
    }
}

/// Packets that have entered a tunnel and not left the host yet.
#[derive(Default)]
struct InnerQueue(VecDeque<InnerPacket>);

impl InnerQueue {
    fn enter(&mut self, packet: InnerPacket) {
        self.0.push_back(packet);
    }

    /// Returns the packet that an ESP packet of this size carries.
    fn leave(&mut self, now: Time, outer: u32) -> Option<InnerPacket> {
        while self.0.front().is_some_and(|p| p.at + MAX_DELAY < now) {
            self.0.pop_front();
        }
        let at = self.0.iter().take(MAX_REORDERING).position(|p| p.outer == outer)?;
        self.0.remove(at)
    }
}

/// One direction of a tunnel.
struct TunnelTap {
    socket: Option<PacketSocket>,
    namespace: OwnedFd,
    device: String,
    tunnel: Tunnel,
    port: u16,
    queue: InnerQueue,
    tried: Time,
}

impl TunnelTap {
    fn open(&mut self) {
        let device = &self.device;
        let open = || -> io::Result<PacketSocket> {
            let index = Netlink::new()?.index(device)?;
            let all = (packet::BPF_RET | packet::BPF_K) as u16;
            let all = FilterStep { code: all, jt: 0, jf: 0, k: CAPTURED_BYTES as u32 };
            let socket = PacketSocket::new(&[all], index)?;
            receive_buffer(socket.as_fd(), 8 << 20)?;
            Ok(socket)
        };
        self.socket = within(self.namespace.as_fd(), open).ok().and_then(Result::ok);
    }

    /// Reads the packets that have entered the tunnel since the last call.
    fn read_entered(&mut self, now: Time) {
        if self.socket.is_none() && now >= self.tried + REOPEN_INTERVAL {
            // The host failed, and its daemons have created the device again.
            self.tried = now;
            self.open();
        }
        while let Some(socket) = &self.socket {
            let mut head = [0; CAPTURED_BYTES];
            match socket.receive(&mut head) {
                Ok(Received::Outgoing) => {}
                Ok(_) => continue,
                Err(e) if e.raw_os_error() == Some(libc::ENETDOWN) => {
                    self.socket = None;
                    return;
                }
                Err(_) => return,
            }
            if let Some(size) = wire::total_length(&head) {
                let (outer, len) = (self.tunnel.outer(size), CAPTURED_BYTES.min(size as usize));
                self.queue.enter(InnerPacket { at: now, outer, head, len });
            }
        }
    }
}

/// The inner packets of all tunnel packets in flight.
#[derive(Default)]
pub struct InnerPackets {
    /// By direction of a link.
    taps: BTreeMap<usize, TunnelTap>,
    /// By packet id.
    carried: BTreeMap<u64, InnerPacket>,
}

impl InnerPackets {
    /// Opens a packet socket on each tunnel's device. The devices must exist.
    ///
    /// # Errors
    /// Fails if no descriptor is left.
    pub fn open(scenario: &Scenario, network: &LabNetwork) -> Result<InnerPackets, LabError> {
        let mut taps = BTreeMap::new();
        for (link, l) in scenario.links.iter().enumerate() {
            let Some(tunnel) = scenario.tunnel_of(link) else { continue };
            for (side, &host) in l.between.iter().enumerate() {
                let namespace =
                    network.namespaces[host].try_clone().map_err(LabError::system("a namespace"))?;
                let device = tunnel_device(scenario, host, link);
                let (tunnel, port) = (tunnel.clone(), esp_port(link));
                let (queue, tried) = (InnerQueue::default(), Time::ZERO);
                let mut tap = TunnelTap { socket: None, namespace, device, tunnel, port, queue, tried };
                tap.open();
                taps.insert(2 * link + side, tap);
            }
        }
        Ok(InnerPackets { taps, carried: BTreeMap::new() })
    }

    /// Records a packet that enters a direction of a link.
    #[inline]
    pub fn record_entry(&mut self, now: Time, direction: usize, packet: &Packet<Wire>) {
        let Some(tap) = self.taps.get_mut(&direction) else { return };
        if !wire::is_esp(packet.body.ip(), tap.port) {
            return;
        }
        tap.read_entered(now);
        if let Some(inner) = tap.queue.leave(now, packet.size) {
            self.carried.insert(packet.id, inner);
            if self.carried.len() > MAX_IN_FLIGHT {
                self.carried.pop_first();
            }
        }
    }

    /// Returns the packet inside a tunnel packet that has left the path.
    #[inline]
    pub fn take(&mut self, packet: &Packet<Wire>) -> Option<InnerPacket> {
        if self.carried.is_empty() { None } else { self.carried.remove(&packet.id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(ms: u64, outer: u32, mark: u8) -> InnerPacket {
        InnerPacket {
            at: Time::ZERO + Span::from_millis(ms),
            outer,
            head: [mark; CAPTURED_BYTES],
            len: CAPTURED_BYTES,
        }
    }

    #[test]
    fn an_esp_packet_carries_the_oldest_packet_of_its_size() {
        let mut queue = InnerQueue::default();
        for p in [packet(0, 1460, 1), packet(1, 264, 2), packet(2, 1460, 3)] {
            queue.enter(p);
        }
        let mut leave = |ms, outer| queue.leave(Time::ZERO + Span::from_millis(ms), outer).map(|p| p.head[0]);
        // Charon's threads have sent the small one first.
        assert_eq!(leave(5, 264), Some(2));
        assert_eq!(leave(6, 1460), Some(1));
        assert_eq!(leave(7, 264), None, "IKE, or a packet that was not seen entering");
        // Packets that charon dropped are forgotten.
        assert_eq!(leave(1500, 1460), None);
    }
}
