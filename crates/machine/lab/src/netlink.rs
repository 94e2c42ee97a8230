//! The part of rtnetlink that sets up a namespace: links, addresses, routes, rules.

use linux::netlink::{NetlinkSocket, Request, Service, written};
use scenario::Prefix;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWRULE: u16 = 32;
const CREATE: u16 = 0x400;
const REPLACE: u16 = 0x100;

const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
/// How a device gets its link-local IPv6 address, and the value for none (linux/if_link.h).
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const ADDR_GEN_NONE: u8 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTA_TABLE: u16 = 15;
const RTAX_INITCWND: u16 = 11;
const RTAX_CC_ALGO: u16 = 16;
const IFF_UP: u32 = 1;
const FRA_IIFNAME: u16 = 3;
const FRA_PRIORITY: u16 = 6;
const FRA_TABLE: u16 = 15;
/// Rule actions: look up in the rule's table (`FR_ACT_TO_TBL`), and reject (`FR_ACT_UNREACHABLE`).
const ACTION_LOOKUP: u8 = 1;
const ACTION_UNREACHABLE: u8 = 7;
/// Skips IPv6 duplicate address detection (linux/if_addr.h).
const IFA_F_NODAD: u8 = 2;
/// The main routing table (`RT_TABLE_MAIN`).
pub const MAIN_TABLE: u32 = 254;

/// A route through a device.
pub struct DeviceRoute<'a> {
    pub to: Prefix,
    /// Interface index of the device.
    pub index: u32,
    /// Preferred source address of the host's own packets; `None` if the host has no address of that
    /// version.
    pub from: Option<IpAddr>,
    pub table: u32,
    /// Initial congestion window of connections over this route, in segments.
    pub window: Option<u32>,
    /// Congestion control of connections over this route.
    pub cc: Option<&'a str>,
}

fn family_and_bytes(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(a) => (libc::AF_INET as u8, a.octets().to_vec()),
        IpAddr::V6(a) => (libc::AF_INET6 as u8, a.octets().to_vec()),
    }
}

/// Builds an `ifinfomsg`.
fn link(index: u32, flags: u32) -> Vec<u8> {
    let mut m = vec![0; 4];
    m.extend_from_slice(&index.to_ne_bytes());
    m.extend_from_slice(&flags.to_ne_bytes());
    m.extend_from_slice(&flags.to_ne_bytes());
    m
}

/// An rtnetlink socket in the current namespace.
pub struct Netlink(NetlinkSocket);

impl Netlink {
    pub fn new() -> io::Result<Netlink> {
        NetlinkSocket::new(Service::Route).map(Netlink)
    }

    /// Returns the interface index of a device.
    pub fn index(&self, name: &str) -> io::Result<u32> {
        let mut name = name.as_bytes().to_vec();
        name.push(0);
        let answer = Request::new(RTM_GETLINK, 0, &link(0, 0)).attribute(IFLA_IFNAME, &name).send(&self.0)?;
        let index = answer.get(4..8).and_then(|b| b.first_chunk());
        index.map(|b| u32::from_ne_bytes(*b)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Brings a device up without other changes.
    pub fn up(&self, index: u32) -> io::Result<()> {
        Request::new(RTM_NEWLINK, 0, &link(index, IFF_UP)).send(&self.0).map(drop)
    }

    /// Brings a device up with an MTU, a queue length in packets, and a limit of segments per GSO packet (0:
    /// no limit).
    pub fn configure(&self, index: u32, mtu: u32, queue: u32, segments: u32) -> io::Result<()> {
        let mut request = Request::new(RTM_NEWLINK, 0, &link(index, IFF_UP))
            .attribute(IFLA_MTU, &mtu.to_ne_bytes())
            .attribute(IFLA_TXQLEN, &queue.to_ne_bytes());
        if segments > 0 {
            request = request.attribute(IFLA_GSO_MAX_SEGS, &segments.to_ne_bytes());
        }
        request.send(&self.0).map(drop)
    }

    /// Moves a device into another network namespace (`IFLA_NET_NS_FD`), where it is down.
    pub fn move_to(&self, index: u32, namespace: BorrowedFd<'_>) -> io::Result<()> {
        let fd = (namespace.as_raw_fd() as u32).to_ne_bytes();
        Request::new(RTM_NEWLINK, 0, &link(index, 0)).attribute(IFLA_NET_NS_FD, &fd).send(&self.0).map(drop)
    }

    /// Keeps a device without an IPv6 address when it is brought up.
    pub fn without_ipv6_address(&self, index: u32) -> io::Result<()> {
        let mode = written(IFLA_INET6_ADDR_GEN_MODE, &[ADDR_GEN_NONE]);
        let family = written(libc::AF_INET6 as u16, &mode);
        Request::new(RTM_NEWLINK, 0, &link(index, 0)).attribute(IFLA_AF_SPEC, &family).send(&self.0).map(drop)
    }

    /// Adds a host address (/32 or /128) to a device, usable at once (`IFA_F_NODAD`).
    pub fn address(&self, index: u32, address: IpAddr) -> io::Result<()> {
        let (family, bytes) = family_and_bytes(address);
        let mut m = vec![family, bytes.len() as u8 * 8, IFA_F_NODAD, 0];
        m.extend_from_slice(&index.to_ne_bytes());
        Request::new(RTM_NEWADDR, CREATE, &m)
            .attribute(IFA_LOCAL, &bytes)
            .attribute(IFA_ADDRESS, &bytes)
            .send(&self.0)
            .map(drop)
    }

    /// Adds a point-to-point address with its peer to a device.
    pub fn point_to_point(&self, index: u32, own: Ipv4Addr, other: Ipv4Addr) -> io::Result<()> {
        let mut m = vec![libc::AF_INET as u8, 32, 0, 0];
        m.extend_from_slice(&index.to_ne_bytes());
        Request::new(RTM_NEWADDR, CREATE, &m)
            .attribute(IFA_LOCAL, &own.octets())
            .attribute(IFA_ADDRESS, &other.octets())
            .send(&self.0)
            .map(drop)
    }

    /// Routes packets that arrive by a device with one table only, except for packets to the host's own
    /// addresses. With `ipv6` the rule also covers IPv6.
    pub fn rule(&self, device: &str, table: u32, ipv6: bool) -> io::Result<()> {
        self.family_rule(libc::AF_INET as u8, device, table)?;
        if ipv6 { self.family_rule(libc::AF_INET6 as u8, device, table) } else { Ok(()) }
    }

    fn family_rule(&self, family: u8, device: &str, table: u32) -> io::Result<()> {
        let mut name = device.as_bytes().to_vec();
        name.push(0);
        for (priority, action) in [(1000u32, ACTION_LOOKUP), (1001, ACTION_UNREACHABLE)] {
            // fib_rule_hdr: family, lengths, tos, table, reserved, action, flags.
            let m = [family, 0, 0, 0, 0, 0, 0, action, 0, 0, 0, 0];
            let mut request = Request::new(RTM_NEWRULE, CREATE, &m)
                .attribute(FRA_IIFNAME, &name)
                .attribute(FRA_PRIORITY, &priority.to_ne_bytes());
            if action == ACTION_LOOKUP {
                request = request.attribute(FRA_TABLE, &table.to_ne_bytes());
            }
            request.send(&self.0)?;
        }
        Ok(())
    }

    /// Adds a route, or replaces an existing one.
    pub fn route(&self, route: &DeviceRoute<'_>) -> io::Result<()> {
        // rtmsg: family, lengths of destination and source, tos, table unspecified (its number may need more
        // than a byte), protocol static, scope link, type unicast, flags.
        let DeviceRoute { to, index, from, table, window, cc } = *route;
        let (family, destination) = family_and_bytes(to.address);
        let m = [family, to.bits, 0, 0, 0, 4, 253, 1, 0, 0, 0, 0];
        let mut request = Request::new(RTM_NEWROUTE, CREATE | REPLACE, &m)
            .attribute(RTA_TABLE, &table.to_ne_bytes())
            .attribute(RTA_OIF, &index.to_ne_bytes());
        if let Some(from) = from {
            request = request.attribute(RTA_PREFSRC, &family_and_bytes(from).1);
        }
        if to.bits > 0 {
            request = request.attribute(RTA_DST, &destination);
        }
        let mut metrics = Vec::new();
        if let Some(window) = window {
            metrics.extend(written(RTAX_INITCWND, &window.to_ne_bytes()));
        }
        if let Some(cc) = cc {
            metrics.extend(written(RTAX_CC_ALGO, &[cc.as_bytes(), b"\0"].concat()));
        }
        if !metrics.is_empty() {
            request = request.attribute(RTA_METRICS, &metrics);
        }
        request.send(&self.0).map(drop)
    }
}
