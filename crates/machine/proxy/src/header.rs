//! The PROXY protocol, versions 1 and 2 (haproxy/doc/proxy-protocol.txt, sections 2.1 and 2.2): it carries
//! the client's address.
//!
//! [`read_header`] parses the first bytes of a stream without consuming them; [`ProxyVersion::write`] builds
//! a header.

use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// First bytes of version 2.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Longest line of version 1, with CRLF (section 2.1).
const MAX_LINE: usize = 107;
/// Longest accepted header of version 2: ample for addresses and TLVs of certificates. The protocol would
/// allow 65,551 bytes, which only wastes memory.
pub const LONGEST_HEADER: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// Result of parsing the first bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderRead {
    /// More bytes are needed.
    More,
    /// A complete header.
    Whole {
        /// Length of the header, bytes.
        length: usize,
        version: ProxyVersion,
        /// Source and destination; `None` if the sender speaks for itself (`LOCAL`, `UNKNOWN`).
        between: Option<(SocketAddr, SocketAddr)>,
    },
}

/// Reason why the first bytes of a stream are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PROXY protocol: {0}")]
pub struct BadHeader(&'static str);

/// Parses a header of either version at the start of a stream.
///
/// # Errors
/// Fails if no further bytes can make it a header.
pub fn read_header(bytes: &[u8]) -> Result<HeaderRead, BadHeader> {
    let starts = |with: &[u8]| {
        let n = bytes.len().min(with.len());
        bytes[..n] == with[..n]
    };
    if starts(&SIGNATURE) {
        if bytes.len() < SIGNATURE.len() { Ok(HeaderRead::More) } else { version_2(bytes) }
    } else if starts(b"PROXY ") {
        if bytes.len() < 6 { Ok(HeaderRead::More) } else { version_1(bytes) }
    } else {
        Err(BadHeader("the stream does not start with a header"))
    }
}

fn version_1(bytes: &[u8]) -> Result<HeaderRead, BadHeader> {
    let Some(end) = bytes.iter().take(MAX_LINE).position(|&b| b == b'\n') else {
        return if bytes.len() < MAX_LINE {
            Ok(HeaderRead::More)
        } else {
            Err(BadHeader("the line does not end"))
        };
    };
    let line = bytes[..end].strip_suffix(b"\r").ok_or(BadHeader("the line does not end with CRLF"))?;
    let line = std::str::from_utf8(line).map_err(|_| BadHeader("the line is not text"))?;
    let mut words = line.split(' ').skip(1);
    let family = words.next().unwrap_or_default();
    let complete = |between| Ok(HeaderRead::Whole { length: end + 1, version: ProxyVersion::V1, between });
    if family == "UNKNOWN" {
        return complete(None);
    }
    let invalid = BadHeader("invalid address");
    let mut address = || words.next().and_then(|w| w.parse::<IpAddr>().ok()).ok_or(invalid);
    let (from, to) = (address()?, address()?);
    let matches_family = match family {
        "TCP4" => from.is_ipv4() && to.is_ipv4(),
        "TCP6" => from.is_ipv6() && to.is_ipv6(),
        _ => return Err(BadHeader("the family is not TCP4, TCP6 or UNKNOWN")),
    };
    // Neither leading zeros (section 2.1) nor a sign.
    let fit = |w: &&str| {
        w.len() <= 5 && w.bytes().all(|b| b.is_ascii_digit()) && (*w == "0" || !w.starts_with('0'))
    };
    let mut port = || words.next().filter(fit).and_then(|w| w.parse::<u16>().ok());
    let ports = port().zip(port()).ok_or(BadHeader("invalid port"))?;
    if !matches_family || words.next().is_some() {
        return Err(invalid);
    }
    complete(Some((SocketAddr::new(from, ports.0), SocketAddr::new(to, ports.1))))
}

fn version_2(bytes: &[u8]) -> Result<HeaderRead, BadHeader> {
    let Some(&[kind, family, high, low]) = bytes.get(12..16) else { return Ok(HeaderRead::More) };
    let length = 16 + usize::from(u16::from_be_bytes([high, low]));
    if kind >> 4 != 2 || kind & 15 > 1 {
        return Err(BadHeader("unknown version or command"));
    }
    if length > LONGEST_HEADER {
        return Err(BadHeader("the header is longer than 4,096 bytes"));
    }
    let Some(body) = bytes.get(16..length) else { return Ok(HeaderRead::More) };
    let short = BadHeader("the header is too short for its addresses");
    let port = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    let between = match (kind & 15, family) {
        // LOCAL and AF_UNSPEC: the receiver must use the addresses of the connection.
        (0, _) | (_, 0x00) => None,
        (_, 0x11) => {
            let ip = |at: usize| body[at..].first_chunk::<4>().map(|b| IpAddr::from(Ipv4Addr::from(*b)));
            let (from, to) = (body.len() >= 12).then(|| ip(0).zip(ip(4))).flatten().ok_or(short)?;
            Some((SocketAddr::new(from, port(8)), SocketAddr::new(to, port(10))))
        }
        (_, 0x21) => {
            let ip = |at: usize| body[at..].first_chunk::<16>().map(|b| IpAddr::from(Ipv6Addr::from(*b)));
            let (from, to) = (body.len() >= 36).then(|| ip(0).zip(ip(16))).flatten().ok_or(short)?;
            Some((SocketAddr::new(from, port(32)), SocketAddr::new(to, port(34))))
        }
        _ => return Err(BadHeader("the protocol is not TCP over IPv4 or IPv6")),
    };
    Ok(HeaderRead::Whole { length, version: ProxyVersion::V2, between })
}

impl ProxyVersion {
    /// Builds the header for a connection from `from` to `to`. If one is IPv4 and the other IPv6, both are
    /// written as IPv6.
    pub fn write(self, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
        let (from_ip, to_ip) = match (from.ip().to_canonical(), to.ip().to_canonical()) {
            (IpAddr::V4(a), IpAddr::V6(b)) => (a.to_ipv6_mapped().into(), b.into()),
            (IpAddr::V6(a), IpAddr::V4(b)) => (a.into(), b.to_ipv6_mapped().into()),
            same => same,
        };
        let is_v4 = from_ip.is_ipv4();
        if self == ProxyVersion::V1 {
            let family = if is_v4 { "TCP4" } else { "TCP6" };
            return format!("PROXY {family} {from_ip} {to_ip} {} {}\r\n", from.port(), to.port())
                .into_bytes();
        }
        let mut out = SIGNATURE.to_vec();
        out.extend([0x21, if is_v4 { 0x11 } else { 0x21 }, 0, if is_v4 { 12 } else { 36 }]);
        for ip in [from_ip, to_ip] {
            match ip {
                IpAddr::V4(a) => out.extend(a.octets()),
                IpAddr::V6(a) => out.extend(a.octets()),
            }
        }
        out.extend(from.port().to_be_bytes());
        out.extend(to.port().to_be_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> Vec<(SocketAddr, SocketAddr)> {
        let pair = |a: &str, b: &str| (a.parse().unwrap(), b.parse().unwrap());
        vec![
            pair("192.0.2.1:56324", "198.51.100.7:443"),
            pair("[2001:db8::1]:1", "[2001:db8::ffff]:65535"),
            pair("255.255.255.255:65535", "0.0.0.0:0"),
        ]
    }

    #[test]
    fn written_headers_parse_and_their_prefixes_need_more_bytes() {
        for version in [ProxyVersion::V1, ProxyVersion::V2] {
            for (from, to) in pairs() {
                let mut bytes = version.write(from, to);
                let length = bytes.len();
                for n in 0..length {
                    assert_eq!(read_header(&bytes[..n]), Ok(HeaderRead::More), "{version:?} {n}");
                }
                bytes.extend(b"GET /");
                let between = Some((from, to));
                assert_eq!(read_header(&bytes), Ok(HeaderRead::Whole { length, version, between }));
            }
        }
    }

    /// The example of section 2.1, and the longest line that it allows.
    #[test]
    fn lines_of_the_specification_parse() {
        let written =
            ProxyVersion::V1.write("192.168.0.1:56324".parse().unwrap(), "192.168.0.11:443".parse().unwrap());
        assert_eq!(written, b"PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n");
        let unknown = b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n";
        assert!(matches!(read_header(unknown), Ok(HeaderRead::Whole { length, between: None, .. })
            if length == unknown.len()));
        let mixed = ProxyVersion::V1.write("10.0.0.1:1".parse().unwrap(), "[2001:db8::1]:2".parse().unwrap());
        assert_eq!(mixed, b"PROXY TCP6 ::ffff:10.0.0.1 2001:db8::1 1 2\r\n");
    }

    #[test]
    fn invalid_headers_are_rejected() {
        let lines: [&[u8]; 11] = [
            b"GET / HTTP/1.1\r\n",
            b"PROXY TCP5 1.1.1.1 2.2.2.2 1 2\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n",
            b"PROXY TCP4 1.1.1.1 ::1 1 2\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 01 2\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 +1 2\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 1 65536\r\n",
            b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\n",
            b"PROXY TCP4  1.1.1.1 2.2.2.2 1 2\r\n",
            b"PROXY \xff\xff\r\n",
        ];
        for line in lines {
            assert!(read_header(line).is_err(), "{}", String::from_utf8_lossy(line));
        }
        assert!(read_header(&[b"PROXY ".as_slice(), &[b'x'; 101]].concat()).is_err(), "no end");
        let version_2 = |rest: &[u8]| read_header(&[&SIGNATURE, rest].concat());
        assert!(version_2(&[0x31, 0x11, 0, 0]).is_err(), "version 3");
        assert!(version_2(&[0x22, 0x11, 0, 0]).is_err(), "command 2");
        assert!(version_2(&[0x21, 0x12, 0, 0]).is_err(), "UDP");
        assert!(version_2(&[0x21, 0x11, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_err(), "one byte short");
        assert!(version_2(&[0x21, 0x11, 0xff, 0xff]).is_err(), "too long");
        assert!(matches!(
            version_2(&[0x20, 0, 0, 0]),
            Ok(HeaderRead::Whole { length: 16, between: None, .. })
        ));
    }
}
