//! The TCP sockets of a namespace: `NETLINK_SOCK_DIAG` (sock_diag(7)).
//!
//! Two sources: a dump of the existing sockets, and the multicast group that reports each socket's
//! destruction (`SKNLGRP_INET_TCP_DESTROY`, Linux 4.3), without which the final counters of a socket that
//! closes between two dumps would be lost. Neither needs privileges (`NL_CFG_F_NONROOT_RECV`).
//!
//! Implemented here instead of using `netlink-packet-sock-diag` 0.5: that crate rejects a `tcp_info` shorter
//! than the one it knows (its issue 22; older kernels send such), does not know the fields of newer ones, and
//! lacks the destroy group.

use crate::netlink::{NetlinkSocket, Service, attributes, get_request, messages, question, text, u32_at};
use crate::socket::{SocketOption, set_option};
use crate::tcp_info::{BbrInfo, TcpInfo};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SKNLGRP_INET_TCP_DESTROY: u32 = 1;
const SKNLGRP_INET6_TCP_DESTROY: u32 = 3;

const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_VEGASINFO: u16 = 3;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_SKMEMINFO: u16 = 7;
const INET_DIAG_BBRINFO: u16 = 16;

const TCP_TIME_WAIT: u8 = 6;
const TCP_LISTEN: u8 = 10;
const TCP_NEW_SYN_RECV: u8 = 12;
/// Size of `inet_diag_msg` without attributes (linux/inet_diag.h).
const DIAG_MESSAGE_BYTES: usize = 72;

/// A socket as the kernel reports it.
#[derive(Clone, Debug)]
pub struct Sock {
    /// Identifies the socket in the namespace; never reused until reboot.
    pub cookie: u64,
    /// Inode, as in `/proc/PID/fd`; 0 once no process holds the socket, as in the report of its destruction.
    pub inode: u32,
    /// TCP state (`TCP_ESTABLISHED` is 1).
    pub state: u8,
    /// Address of this end.
    pub local: SocketAddr,
    /// Address of the other end.
    pub remote: SocketAddr,
    pub info: TcpInfo,
    /// Congestion control; empty in the report of its destruction.
    pub cc: String,
    /// Memory use; `None` if the kernel did not report it.
    pub memory: Option<SocketMemory>,
}

/// Memory use of a socket (`INET_DIAG_SKMEMINFO`), bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketMemory {
    /// Received data that has not been read.
    pub received: u32,
    /// Limit of `received` (`SO_RCVBUF`, or set by autotuning).
    pub receive_limit: u32,
    /// Written data that has not been acknowledged.
    pub queued: u32,
    /// Limit of `queued` (`SO_SNDBUF`, or set by autotuning).
    pub send_limit: u32,
    /// Arrived packets that the kernel dropped at this socket, duplicates included (`sk_drops`); `None`
    /// before Linux 4.7.
    pub drops: Option<u32>,
}

impl SocketMemory {
    /// Decodes an `INET_DIAG_SKMEMINFO` (`SK_MEMINFO_VARS` numbers, linux/sock_diag.h); `None` if it is too
    /// short.
    fn parse(value: &[u8]) -> Option<SocketMemory> {
        let at = |i: usize| value.get(4 * i..).and_then(crate::netlink::number);
        Some(SocketMemory {
            received: at(0)?,
            receive_limit: at(1)?,
            send_limit: at(3)?,
            queued: at(5)?,
            drops: at(8),
        })
    }
}

/// The identity of a socket in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketId {
    /// [`Sock::cookie`].
    pub cookie: u64,
    /// Address of this end.
    pub local: SocketAddr,
    /// Address of the other end.
    pub remote: SocketAddr,
}

impl Sock {
    /// Returns the identity of the socket in a query.
    pub fn id(&self) -> SocketId {
        SocketId { cookie: self.cookie, local: self.local, remote: self.remote }
    }

    /// Whether the socket listens.
    pub fn listens(&self) -> bool {
        self.state == TCP_LISTEN
    }
}

/// Access to a namespace's sockets.
pub struct Diag {
    requests: NetlinkSocket,
    ends: NetlinkSocket,
    buffer: Vec<u8>,
}

impl Diag {
    /// Opens the sockets of the calling thread's namespace; any thread may query them afterwards.
    ///
    /// # Errors
    /// Fails if the kernel lacks sock_diag.
    pub fn new() -> io::Result<Diag> {
        // Joins the groups by binding: the kernel sends no multicast to a socket without an address.
        let groups = [SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY].iter().map(|g| 1 << (g - 1)).sum();
        let ends = NetlinkSocket::listening(Service::SocketDiagnosis, groups)?;
        // A large buffer, so that no report is lost when a server resets a thousand connections at once.
        let buffer_bytes = 4 << 20;
        let _ = set_option(ends.as_fd(), SocketOption::SO_RCVBUFFORCE, buffer_bytes)
            .or_else(|_| set_option(ends.as_fd(), SocketOption::SO_RCVBUF, buffer_bytes));
        let requests = NetlinkSocket::new(Service::SocketDiagnosis)?;
        Ok(Diag { requests, ends, buffer: vec![0; 64 << 10] })
    }

    /// Lists all TCP sockets except those in TIME-WAIT; IPv4 over an IPv6 socket is reported with IPv4
    /// addresses.
    pub fn dump(&mut self, out: &mut Vec<Sock>) -> io::Result<()> {
        self.each(&mut |sock| out.push(sock))
    }

    /// Calls `found` for each socket that [`Diag::dump`] lists, without keeping them.
    pub fn each(&mut self, found: &mut dyn FnMut(Sock)) -> io::Result<()> {
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.requests.send(&dump_request(family as u8))?;
            loop {
                let n = self.requests.recv(&mut self.buffer)?;
                let bytes = &self.buffer[..n.min(self.buffer.len())];
                if parse(bytes, found)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Queries one socket; `None` if it is gone. This costs one lookup, whereas a dump walks the kernel's
    /// table.
    pub fn query(&mut self, id: SocketId) -> io::Result<Option<Sock>> {
        self.requests.send(&socket_request(id))?;
        let n = self.requests.recv(&mut self.buffer)?;
        let mut found = None;
        match parse(&self.buffer[..n.min(self.buffer.len())], &mut |sock| found = Some(sock)) {
            Ok(_) => Ok(found),
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Returns the sockets destroyed since the last call, with their final counters.
    pub fn ended(&mut self, out: &mut Vec<Sock>) -> io::Result<()> {
        loop {
            match self.ends.recv(&mut self.buffer) {
                Ok(n) => {
                    parse(&self.buffer[..n.min(self.buffer.len())], &mut |sock| out.push(sock)).map(drop)?
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // Some reports were dropped for lack of buffer space; the values of the last dumps remain.
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// Counts the TCP sockets of this thread's network namespace by congestion control, including listeners and
/// connections that wait to be accepted.
///
/// # Errors
/// Fails with the kernel's error from sock_diag(7).
pub fn sockets_by_control() -> io::Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    Diag::new()?.each(&mut |sock| *counts.entry(sock.cc).or_default() += 1)?;
    Ok(counts)
}

/// Returns the requested attributes, one bit each.
fn requested_attributes() -> u8 {
    // BBR uses the bit of Vegas, because its own does not fit the field's 8 bits (tcp_bbr.c).
    let all = [INET_DIAG_INFO, INET_DIAG_VEGASINFO, INET_DIAG_CONG, INET_DIAG_SKMEMINFO];
    all.iter().map(|a| 1 << (a - 1)).sum()
}

/// Builds an `inet_diag_req_v2` for all sockets.
fn dump_request(family: u8) -> Vec<u8> {
    let states: u32 = !(1 << TCP_TIME_WAIT | 1 << TCP_NEW_SYN_RECV);
    let mut body = [0; 56];
    (body[0], body[1], body[2]) = (family, libc::IPPROTO_TCP as u8, requested_attributes());
    body[4..8].copy_from_slice(&states.to_ne_bytes());
    question(SOCK_DIAG_BY_FAMILY, &body)
}

/// Builds an `inet_diag_req_v2` for one socket by its addresses and cookie (`inet_diag_sockid`).
fn socket_request(sock: SocketId) -> Vec<u8> {
    let mut body = [0; 56];
    let family = if sock.local.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    (body[0], body[1], body[2]) = (family as u8, libc::IPPROTO_TCP as u8, requested_attributes());
    body[8..10].copy_from_slice(&sock.local.port().to_be_bytes());
    body[10..12].copy_from_slice(&sock.remote.port().to_be_bytes());
    for (at, ip) in [(12, sock.local.ip()), (28, sock.remote.ip())] {
        match ip {
            IpAddr::V4(ip) => body[at..at + 4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => body[at..at + 16].copy_from_slice(&ip.octets()),
        }
    }
    body[48..52].copy_from_slice(&(sock.cookie as u32).to_ne_bytes());
    body[52..56].copy_from_slice(&((sock.cookie >> 32) as u32).to_ne_bytes());
    get_request(SOCK_DIAG_BY_FAMILY, &body)
}

/// Reads the messages of one datagram. Returns whether the dump is complete.
fn parse(bytes: &[u8], found: &mut dyn FnMut(Sock)) -> io::Result<bool> {
    messages(bytes, &mut |kind, message| {
        (kind == SOCK_DIAG_BY_FAMILY).then(|| sock(message)).flatten().into_iter().for_each(&mut *found);
    })
}

/// Decodes an `inet_diag_msg` and its attributes; `None` if it is too short.
fn sock(message: &[u8]) -> Option<Sock> {
    let (fixed, rest) = message.split_at_checked(DIAG_MESSAGE_BYTES)?;
    let address = |port: usize, at: usize| {
        let ip: [u8; 16] = *fixed[at..].first_chunk()?;
        let ip = match fixed[0] as i32 {
            libc::AF_INET => IpAddr::from(*ip.first_chunk::<4>()?),
            _ => canonical(ip),
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes([fixed[port], fixed[port + 1]])))
    };
    let mut sock = Sock {
        cookie: u32_at(fixed, 44) as u64 | (u32_at(fixed, 48) as u64) << 32,
        inode: u32_at(fixed, 68),
        state: fixed[1],
        local: address(4, 8)?,
        remote: address(6, 24)?,
        info: TcpInfo::default(),
        cc: String::new(),
        memory: None,
    };
    let mut bbr = None;
    for (kind, value) in attributes(rest) {
        match kind {
            INET_DIAG_INFO => sock.info = TcpInfo::parse(value),
            INET_DIAG_BBRINFO => bbr = BbrInfo::parse(value),
            INET_DIAG_CONG => sock.cc = text(value),
            INET_DIAG_SKMEMINFO => sock.memory = SocketMemory::parse(value),
            _ => {}
        }
    }
    sock.info.bbr = bbr;
    Some(sock)
}

/// Converts an IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) to IPv4, and the unspecified one to that of IPv4.
fn canonical(ip: [u8; 16]) -> IpAddr {
    let ip = Ipv6Addr::from(ip);
    if ip.is_unspecified() { Ipv4Addr::UNSPECIFIED.into() } else { ip.to_canonical() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::written;

    const NLMSG_ERROR: u16 = 2;
    const NLMSG_DONE: u16 = 3;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        question(kind, body)
    }

    /// An established socket from 10.0.0.1:40000 to 10.0.0.2:5201 with the cookie words 7 and 1.
    fn fixed(family: i32) -> Vec<u8> {
        let mut f = vec![0; DIAG_MESSAGE_BYTES];
        (f[0], f[1]) = (family as u8, 1);
        f[4..6].copy_from_slice(&40_000u16.to_be_bytes());
        f[6..8].copy_from_slice(&5201u16.to_be_bytes());
        for (at, last) in [(8, 1), (24, 2)] {
            let ip = Ipv4Addr::new(10, 0, 0, last);
            match family {
                libc::AF_INET => f[at..at + 4].copy_from_slice(&ip.octets()),
                _ => f[at..at + 16].copy_from_slice(&ip.to_ipv6_mapped().octets()),
            }
        }
        (f[44], f[48]) = (7, 1);
        f[68..72].copy_from_slice(&4711u32.to_ne_bytes());
        f
    }

    fn parsed(bytes: &[u8]) -> Vec<Sock> {
        let mut out = Vec::new();
        parse(bytes, &mut |sock| out.push(sock)).unwrap();
        out
    }

    #[test]
    fn a_socket_is_decoded_with_its_attributes() {
        let mut info = [0u8; 248];
        info[68..72].copy_from_slice(&20_123u32.to_ne_bytes());
        info[120..128].copy_from_slice(&1_000_000u64.to_ne_bytes());
        info[128..136].copy_from_slice(&777u64.to_ne_bytes());
        info[240..242].copy_from_slice(&3u16.to_ne_bytes());
        let memory: Vec<u8> = (1..=9u32).flat_map(u32::to_ne_bytes).collect();
        let mut gains = [0u8; 20];
        (gains[0], gains[8], gains[13], gains[17]) = (7, 9, 1, 2);
        for family in [libc::AF_INET, libc::AF_INET6] {
            let body = [
                fixed(family),
                written(INET_DIAG_CONG, b"bbr\0"),
                written(99, b"odd"),
                written(INET_DIAG_INFO, &info),
                written(INET_DIAG_BBRINFO, &gains),
                written(INET_DIAG_SKMEMINFO, &memory),
            ];
            let all = parsed(&message(SOCK_DIAG_BY_FAMILY, &body.concat()));
            let s = &all[0];
            assert_eq!((s.cookie, s.state, s.cc.as_str(), s.inode), (7 | 1 << 32, 1, "bbr", 4711));
            let memory =
                SocketMemory { received: 1, receive_limit: 2, send_limit: 4, queued: 6, drops: Some(9) };
            assert_eq!(s.memory, Some(memory));
            assert_eq!(s.local.to_string(), "10.0.0.1:40000");
            assert_eq!(s.remote.to_string(), "10.0.0.2:5201");
            assert_eq!((s.info.rtt_us, s.info.bytes_acked, s.info.bytes_received), (20_123, 1_000_000, 777));
            assert_eq!(
                (s.info.total_rto, s.info.bbr),
                (3, Some(BbrInfo { bw: 7, min_rtt_us: 9, pacing_gain: 256, cwnd_gain: 512 }))
            );
        }
    }

    /// Linux 4.4 sends 144 bytes of `tcp_info`: missing fields are 0.
    #[test]
    fn short_attributes_of_older_kernels_are_decoded() {
        let mut info = [0u8; 144];
        info[100..104].copy_from_slice(&5u32.to_ne_bytes());
        for len in [0, 1, 101, 144] {
            let body = [fixed(libc::AF_INET), written(INET_DIAG_INFO, &info[..len])].concat();
            let s = &parsed(&message(SOCK_DIAG_BY_FAMILY, &body))[0];
            assert_eq!(s.info.total_retrans, if len > 100 { 5 } else { 0 });
            assert_eq!((s.info.data_segs_out, s.info.total_rto), (0, 0));
        }
    }

    #[test]
    fn truncated_and_invalid_messages_are_skipped() {
        let body = [fixed(libc::AF_INET), written(INET_DIAG_INFO, &[0; 248])].concat();
        let whole = [message(SOCK_DIAG_BY_FAMILY, &body), message(NLMSG_DONE, &[0; 4])].concat();
        for n in 0..whole.len() {
            let _ = parse(&whole[..n], &mut |_| {});
        }
        assert!(parse(&whole, &mut |_| {}).unwrap());
        // Invalid lengths: zero, and larger than the data.
        for len in [0u32, 3, 15, u32::MAX] {
            let mut m = whole.clone();
            m[..4].copy_from_slice(&len.to_ne_bytes());
            assert!(parsed(&m).is_empty());
        }
        let mut v6 = fixed(libc::AF_INET6);
        v6[8] = 0xfe;
        assert!(parsed(&message(SOCK_DIAG_BY_FAMILY, &v6))[0].local.is_ipv6());
        let error = parse(&message(NLMSG_ERROR, &(-libc::EPERM).to_ne_bytes()), &mut |_| {});
        assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EPERM));
    }
}
