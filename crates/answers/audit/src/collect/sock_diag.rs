//! Lists the TCP sockets of the calling thread's namespace (sock_diag(7)), IPv4 and IPv6.

use super::list::dump;
use crate::facts::SocketFacts;
use linux::netlink::{Service, attribute, number64, text, u32_at};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const TCP_TIME_WAIT: u8 = 6;
const TCP_LISTEN: u8 = 10;
const TCP_NEW_SYN_RECV: u8 = 12;
/// Bytes of `inet_diag_msg` without attributes (linux/inet_diag.h).
const MESSAGE_BYTES: usize = 72;
/// Offset of `tcpi_max_pacing_rate` in `tcp_info` (linux/tcp.h).
const MAX_PACING_RATE_OFFSET: usize = 112;

/// Returns all sockets except those in TIME-WAIT or SYN-RECV.
///
/// # Errors
/// Fails with the kernel's error.
pub fn sockets() -> io::Result<Vec<SocketFacts>> {
    let mut all = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut body = [0; 56];
        let wanted = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1);
        (body[0], body[1], body[2]) = (family as u8, libc::IPPROTO_TCP as u8, wanted);
        let states: u32 = !(1 << TCP_TIME_WAIT | 1 << TCP_NEW_SYN_RECV);
        body[4..8].copy_from_slice(&states.to_ne_bytes());
        dump(Service::SocketDiagnosis, SOCK_DIAG_BY_FAMILY, &body, &mut |m| all.extend(socket(m)))?;
    }
    Ok(all)
}

/// Parses `inet_diag_msg` and its attributes.
fn socket(message: &[u8]) -> Option<SocketFacts> {
    let (fixed, rest) = message.split_at_checked(MESSAGE_BYTES)?;
    let address = |port: usize, at: usize| -> Option<SocketAddr> {
        let bytes: [u8; 16] = *fixed.get(at..)?.first_chunk()?;
        let ip = match i32::from(fixed[0]) {
            libc::AF_INET => IpAddr::V4(Ipv4Addr::from(*bytes.first_chunk::<4>()?)),
            _ => IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical(),
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes([fixed[port], fixed[port + 1]])))
    };
    let listens = fixed[1] == TCP_LISTEN;
    let info = attribute(rest, INET_DIAG_INFO).unwrap_or_default();
    let cap =
        info.get(MAX_PACING_RATE_OFFSET..).and_then(number64).filter(|cap| *cap != u64::MAX && *cap > 0);
    Some(SocketFacts {
        local: address(4, 8)?,
        remote: address(6, 24)?,
        listens,
        control: attribute(rest, INET_DIAG_CONG).map(text)?,
        capped_rate: cap.filter(|_| !listens),
        // In a listening socket, these two fields are the accept queue and its limit.
        accept_queue: if listens { u32_at(fixed, 56) } else { 0 },
        accept_limit: if listens { u32_at(fixed, 60) } else { 0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::netlink::written;

    fn message(family: i32, state: u8) -> Vec<u8> {
        let mut m = vec![0; MESSAGE_BYTES];
        (m[0], m[1]) = (family as u8, state);
        m[4..6].copy_from_slice(&443u16.to_be_bytes());
        m[6..8].copy_from_slice(&50_000u16.to_be_bytes());
        m[8..12].copy_from_slice(&[10, 0, 0, 1]);
        m[24..28].copy_from_slice(&[10, 0, 0, 2]);
        m[56..60].copy_from_slice(&9u32.to_ne_bytes());
        m[60..64].copy_from_slice(&128u32.to_ne_bytes());
        m
    }

    #[test]
    fn connections_and_listeners_are_parsed() {
        let mut info = vec![0; 248];
        info[MAX_PACING_RATE_OFFSET..MAX_PACING_RATE_OFFSET + 8].copy_from_slice(&u64::MAX.to_ne_bytes());
        let rest = [written(INET_DIAG_CONG, b"bbr\0"), written(INET_DIAG_INFO, &info)].concat();
        let s = socket(&[message(libc::AF_INET, 1), rest].concat()).unwrap();
        assert_eq!((s.control.as_str(), s.capped_rate, s.listens), ("bbr", None, false));
        assert_eq!(
            (s.local.to_string(), s.remote.to_string()),
            ("10.0.0.1:443".into(), "10.0.0.2:50000".into())
        );
        info[MAX_PACING_RATE_OFFSET..MAX_PACING_RATE_OFFSET + 8].copy_from_slice(&125_000u64.to_ne_bytes());
        let rest = [written(INET_DIAG_INFO, &info), written(INET_DIAG_CONG, b"cubic\0")].concat();
        let s = socket(&[message(libc::AF_INET6, 1), rest.clone()].concat()).unwrap();
        assert_eq!((s.capped_rate, s.accept_limit), (Some(125_000), 0));
        let s = socket(&[message(libc::AF_INET, TCP_LISTEN), rest].concat()).unwrap();
        assert_eq!((s.listens, s.accept_queue, s.accept_limit), (true, 9, 128));
    }

    #[test]
    fn a_truncated_socket_is_left_out() {
        let whole = [message(libc::AF_INET, 1), written(INET_DIAG_CONG, b"bbr\0")].concat();
        assert!((0..whole.len()).all(|n| socket(&whole[..n]).is_none()));
        // Older kernels have a shorter tcp_info.
        let rest = [written(INET_DIAG_INFO, &[0; 104]), written(INET_DIAG_CONG, b"reno\0")].concat();
        assert_eq!(socket(&[message(libc::AF_INET, 1), rest].concat()).unwrap().capped_rate, None);
    }
}
