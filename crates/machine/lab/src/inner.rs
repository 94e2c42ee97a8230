//! Whose packet a tunnel's packet carries, so that what the path drops of a tunnel is booked with the flow inside.
//!
//! What is in ESP nobody on the way can read. It is known by order and size:
//! 1. A packet socket (packet(7)) at the host sees each packet that enters the tunnel's device, before charon reads it.
//! 2. Charon makes an ESP packet of each; its size follows from the packet's (RFC 4303), the order is nearly kept.
//! 3. An ESP packet that enters the link carries the oldest packet seen that makes one of this size.
//! 4. What waits longer than [`PATIENCE`] charon has dropped itself.
//!
//! Of two packets of one size that charon's threads exchange, or of which it drops one, the wrong one may be taken: flows of one
//! packet size in one tunnel are told apart nearly always, and always where their packets differ in size.

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

/// An IP header with every option, one of TCP with half of its options, number and time of a datagram.
const HEAD: usize = 112;
/// How long charon may take for a packet: its device holds 1000, and it passes some thousands a second.
const PATIENCE: Span = Span::from_secs(1);
/// How far apart two packets may be that charon's threads exchange.
const WINDOW: usize = 64;
/// Between two tries to look at a device that has gone.
const RETRY: Span = Span::from_millis(100);
/// Packets under way that are remembered, at most.
const MOST: usize = 1 << 16;

/// A packet that entered a tunnel, its first bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InnerPacket {
    at: Time,
    /// Of the ESP packet that carries it, bytes of IP.
    outer: u32,
    head: [u8; HEAD],
    len: usize,
}

impl InnerPacket {
    /// Its first bytes.
    pub fn ip(&self) -> &[u8] {
        &self.head[..self.len]
    }
}

/// What has entered a tunnel and has not left the host yet.
#[derive(Default)]
struct InnerQueue(VecDeque<InnerPacket>);

impl InnerQueue {
    fn enter(&mut self, packet: InnerPacket) {
        self.0.push_back(packet);
    }

    /// An ESP packet of this size leaves: what it carries.
    fn leave(&mut self, now: Time, outer: u32) -> Option<InnerPacket> {
        while self.0.front().is_some_and(|p| p.at + PATIENCE < now) {
            self.0.pop_front();
        }
        let at = self.0.iter().take(WINDOW).position(|p| p.outer == outer)?;
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
            let all = FilterStep { code: all, jt: 0, jf: 0, k: HEAD as u32 };
            let socket = PacketSocket::new(&[all], index)?;
            receive_buffer(socket.as_fd(), 8 << 20)?;
            Ok(socket)
        };
        self.socket = within(self.namespace.as_fd(), open).ok().and_then(Result::ok);
    }

    /// Takes up what has entered since.
    fn look(&mut self, now: Time) {
        if self.socket.is_none() && now >= self.tried + RETRY {
            // The host was lost, and its daemons have made the device anew.
            self.tried = now;
            self.open();
        }
        while let Some(socket) = &self.socket {
            let mut head = [0; HEAD];
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
                let (outer, len) = (self.tunnel.outer(size), HEAD.min(size as usize));
                self.queue.enter(InnerPacket { at: now, outer, head, len });
            }
        }
    }
}

/// What is inside the packets of all tunnels that are under way.
#[derive(Default)]
pub struct InnerPackets {
    /// By way: links' directions.
    taps: BTreeMap<usize, TunnelTap>,
    /// By a packet's number.
    carried: BTreeMap<u64, InnerPacket>,
}

impl InnerPackets {
    /// Looks at the devices of all tunnels, which are there.
    ///
    /// # Errors
    /// No descriptor is left.
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

    /// A packet enters a way.
    #[inline]
    pub fn note(&mut self, now: Time, way: usize, packet: &Packet<Wire>) {
        let Some(tap) = self.taps.get_mut(&way) else { return };
        if !wire::is_esp(packet.body.ip(), tap.port) {
            return;
        }
        tap.look(now);
        if let Some(inner) = tap.queue.leave(now, packet.size) {
            self.carried.insert(packet.id, inner);
            if self.carried.len() > MOST {
                self.carried.pop_first();
            }
        }
    }

    /// A packet has left the path: what it carried, if it was a tunnel's.
    #[inline]
    pub fn take(&mut self, packet: &Packet<Wire>) -> Option<InnerPacket> {
        if self.carried.is_empty() { None } else { self.carried.remove(&packet.id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(ms: u64, outer: u32, mark: u8) -> InnerPacket {
        InnerPacket { at: Time::ZERO + Span::from_millis(ms), outer, head: [mark; HEAD], len: HEAD }
    }

    #[test]
    fn what_leaves_a_tunnel_is_the_oldest_of_its_size() {
        let mut queue = InnerQueue::default();
        for p in [packet(0, 1460, 1), packet(1, 264, 2), packet(2, 1460, 3)] {
            queue.enter(p);
        }
        let mut leave = |ms, outer| queue.leave(Time::ZERO + Span::from_millis(ms), outer).map(|p| p.head[0]);
        // Charon's threads have let the small one pass.
        assert_eq!(leave(5, 264), Some(2));
        assert_eq!(leave(6, 1460), Some(1));
        assert_eq!(leave(7, 264), None, "IKE, or what nobody saw enter");
        // What charon has dropped is forgotten.
        assert_eq!(leave(1500, 1460), None);
    }
}
