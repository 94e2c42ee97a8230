//! Reads the two ends of an IP packet, without tunnels, to find the connection that it belongs to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The connection or hosts that a packet belongs to, by its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOwner {
    /// A segment of the connection between these ends, sender first.
    Connection(SocketAddr, SocketAddr),
    /// A packet related to a connection between these hosts: a later fragment, or an ICMP message.
    Hosts(IpAddr, IpAddr),
    /// Not of a TCP connection.
    Other,
}

/// Returns the owner of the packet that starts with these bytes.
pub fn owner(ip: &[u8]) -> PacketOwner {
    read(ip).unwrap_or(PacketOwner::Other)
}

fn read(ip: &[u8]) -> Option<PacketOwner> {
    let (from, to, protocol, rest, is_later_fragment): (IpAddr, IpAddr, u8, &[u8], bool) = match ip.first()?
        >> 4
    {
        4 => {
            let header = ip.first_chunk::<20>()?;
            let part = |at: usize| header[at..].first_chunk().map(|b| IpAddr::V4(Ipv4Addr::from(*b)));
            let is_later_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff > 0;
            (part(12)?, part(16)?, header[9], ip.get(usize::from(header[0] & 15) * 4..)?, is_later_fragment)
        }
        6 => {
            let header = ip.first_chunk::<40>()?;
            let part = |at: usize| header[at..].first_chunk().map(|b| IpAddr::V6(Ipv6Addr::from(*b)));
            (part(8)?, part(24)?, header[6], &ip[40..], false)
        }
        _ => return None,
    };
    Some(match protocol {
        _ if is_later_fragment => PacketOwner::Hosts(from, to),
        TCP => {
            let ports = rest.first_chunk::<4>()?;
            let [a, b] = [0, 2].map(|at| u16::from_be_bytes([ports[at], ports[at + 1]]));
            PacketOwner::Connection(SocketAddr::new(from, a), SocketAddr::new(to, b))
        }
        UDP => PacketOwner::Other,
        // ICMP and ICMPv6, extension headers of IPv6.
        _ => PacketOwner::Hosts(from, to),
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// An IPv4 packet from 10.0.0.1:40000 to 10.0.0.2:`port`.
    pub fn packet(protocol: u8, port: u16) -> Vec<u8> {
        let mut p = vec![0; 40];
        (p[0], p[9]) = (0x45, protocol);
        p[12..16].copy_from_slice(&[10, 0, 0, 1]);
        p[16..20].copy_from_slice(&[10, 0, 0, 2]);
        p[20..22].copy_from_slice(&40_000u16.to_be_bytes());
        p[22..24].copy_from_slice(&port.to_be_bytes());
        p
    }

    #[test]
    fn ends_are_read_for_both_ip_versions() {
        let ends = |a: &str, b: &str| PacketOwner::Connection(a.parse().unwrap(), b.parse().unwrap());
        assert_eq!(owner(&packet(TCP, 443)), ends("10.0.0.1:40000", "10.0.0.2:443"));
        assert_eq!(owner(&packet(UDP, 443)), PacketOwner::Other);
        let hosts = PacketOwner::Hosts("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        assert_eq!(owner(&packet(1, 0)), hosts);
        let mut fragment = packet(TCP, 443);
        fragment[7] = 1;
        assert_eq!(owner(&fragment), hosts);
        let mut v6 = vec![0; 60];
        (v6[0], v6[6], v6[23], v6[39]) = (0x60, TCP, 1, 2);
        v6[40..44].copy_from_slice(&[0, 80, 0, 81]);
        assert_eq!(owner(&v6), ends("[::1]:80", "[::2]:81"));
    }

    #[test]
    fn truncated_and_invalid_packets_have_no_owner() {
        for n in 0..23 {
            assert_eq!(owner(&packet(TCP, 443)[..n]), PacketOwner::Other);
        }
        assert_eq!(owner(&[0xf0; 40]), PacketOwner::Other);
    }
}
