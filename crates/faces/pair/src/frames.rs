//! The format of what the two ends send to each other over QUIC: the opening of a stream, and the header of a
//! datagram.
//!
//! ```text
//! stream:   version (1)  kind (1: connection, 2: datagrams, 3: connection with client addresses)
//!           length (1 to 255)  name of the upstream  kind 3: a header of the PROXY protocol, version 2
//! datagram: number of the stream that opened its flow (4, big endian)  payload
//! ```
//! A connection's bytes follow, in both directions. A stream of kind 2 carries nothing more. It represents
//! the datagrams of one client, which end with it.

use proxy::{HeaderRead, ProxyVersion, read_header};
use std::net::SocketAddr;

/// The version of this format.
pub const VERSION: u8 = 1;
/// The longest PROXY header that is written or accepted: two IPv6 addresses and nothing else.
const LONGEST_CLIENT: usize = 16 + 36;
/// The longest opening of a stream, bytes.
pub const LONGEST_OPENING: usize = 3 + 255 + LONGEST_CLIENT;
/// The bytes before a datagram's payload.
pub const DATAGRAM_HEAD: usize = 4;

/// The use of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// A connection's bytes.
    Connection,
    /// A client's datagrams, which are sent as QUIC datagrams.
    Datagrams,
}

/// The opening of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub kind: StreamKind,
    /// The name of the upstream in the configuration of the other end.
    pub upstream: String,
    /// For a connection, if sent: the address of the client, and the one it connected to.
    pub client: Option<(SocketAddr, SocketAddr)>,
}

/// The result of reading the first bytes of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpeningRead {
    /// More bytes are needed.
    More,
    /// An opening, and its length in bytes.
    Done(Opening, usize),
    /// Not an opening.
    Bad,
}

impl Opening {
    /// Returns the opening as bytes. A name longer than 255 bytes is cut; the configuration check rejects
    /// such names.
    pub fn write(&self) -> Vec<u8> {
        let name = &self.upstream.as_bytes()[..self.upstream.len().min(255)];
        let client = self.client.filter(|_| self.kind == StreamKind::Connection);
        let kind = match self.kind {
            StreamKind::Datagrams => 2,
            StreamKind::Connection => {
                if client.is_some() {
                    3
                } else {
                    1
                }
            }
        };
        let mut bytes = vec![VERSION, kind, name.len() as u8];
        bytes.extend_from_slice(name);
        bytes.extend(client.into_iter().flat_map(|(from, to)| ProxyVersion::V2.write(from, to)));
        bytes
    }

    /// Reads the first bytes of a stream.
    pub fn read(bytes: &[u8]) -> OpeningRead {
        let kind = match bytes {
            [] => return OpeningRead::More,
            [VERSION] => return OpeningRead::More,
            [VERSION, 1 | 3, ..] => StreamKind::Connection,
            [VERSION, 2, ..] => StreamKind::Datagrams,
            _ => return OpeningRead::Bad,
        };
        let Some(&length) = bytes.get(2) else { return OpeningRead::More };
        if length == 0 {
            return OpeningRead::Bad;
        }
        let end = 3 + length as usize;
        let Some(name) = bytes.get(3..end) else { return OpeningRead::More };
        let Ok(name) = std::str::from_utf8(name) else { return OpeningRead::Bad };
        let opening = |client| Opening { kind, upstream: name.into(), client };
        if bytes[1] != 3 {
            return OpeningRead::Done(opening(None), end);
        }
        match client(&bytes[end..]) {
            Some(ClientRead::More) => OpeningRead::More,
            Some(ClientRead::Whole(client, length)) => OpeningRead::Done(opening(Some(client)), end + length),
            None => OpeningRead::Bad,
        }
    }
}

/// The result of reading the client addresses after the name.
enum ClientRead {
    More,
    Whole((SocketAddr, SocketAddr), usize),
}

/// Reads exactly what [`ProxyVersion::write`] writes for two addresses. Other valid PROXY headers are
/// rejected.
fn client(bytes: &[u8]) -> Option<ClientRead> {
    // A length that is too large is rejected before all the bytes have come.
    let announced = bytes.get(14..16).map_or(0, |b| usize::from(u16::from_be_bytes([b[0], b[1]])));
    if announced > LONGEST_CLIENT - 16 || bytes.first().is_some_and(|b| *b != b'\r') {
        return None;
    }
    match read_header(bytes).ok()? {
        HeaderRead::More => Some(ClientRead::More),
        HeaderRead::Whole { length, between: Some(client), .. } => {
            let is_plain = ProxyVersion::V2.write(client.0, client.1) == bytes[..length];
            is_plain.then_some(ClientRead::Whole(client, length))
        }
        HeaderRead::Whole { between: None, .. } => None,
    }
}

/// A datagram with its flow number.
pub fn write_datagram(flow: u32, payload: &[u8]) -> Vec<u8> {
    [&flow.to_be_bytes(), payload].concat()
}

/// The flow number and the payload of a datagram.
pub fn read_datagram(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, payload) = bytes.split_first_chunk::<DATAGRAM_HEAD>()?;
    Some((u32::from_be_bytes(*head), payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_only_read_when_it_is_complete() {
        let between = |from: &str, to: &str| Some((from.parse().expect("one"), to.parse().expect("one")));
        for (kind, name, client) in [
            (StreamKind::Connection, "web", None),
            (StreamKind::Datagrams, &*"ü".repeat(127), None),
            (StreamKind::Connection, "web", between("192.0.2.1:5", "192.0.2.2:443")),
            (StreamKind::Connection, &*"ü".repeat(127), between("[2001:db8::1]:5", "[2001:db8::2]:443")),
        ] {
            let opening = Opening { kind, upstream: name.into(), client };
            let bytes = opening.write();
            assert!(bytes.len() <= LONGEST_OPENING);
            for cut in 0..bytes.len() {
                assert_eq!(Opening::read(&bytes[..cut]), OpeningRead::More, "{cut}");
            }
            let with_more = [&bytes[..], b"payload"].concat();
            assert_eq!(Opening::read(&with_more), OpeningRead::Done(opening, bytes.len()));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in [&[2][..], &[1, 4], &[1, 0], &[1, 1, 0], &[1, 1, 1, 0xff], &[1, 3, 1, 97, 9], b"GET /"] {
            assert_eq!(Opening::read(bytes), OpeningRead::Bad, "{bytes:?}");
        }
        let signature = b"\r\n\r\n\0\r\nQUIT\n";
        // LOCAL, which names no client; more than addresses; a header of version 1.
        for header in [&[0x20, 0, 0, 0][..], &[0x21, 0x11, 0, 13], &[0x21, 0x21, 0xff, 0xff]] {
            let bytes = [&[1, 3, 1, 97], &signature[..], header, &[0; 40]].concat();
            assert_eq!(Opening::read(&bytes), OpeningRead::Bad, "{header:?}");
        }
        assert_eq!(Opening::read(b"\x01\x03\x01aPROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n"), OpeningRead::Bad);
    }

    #[test]
    fn a_datagram_is_read_back() {
        let bytes = write_datagram(77, b"abc");
        assert_eq!(read_datagram(&bytes), Some((77, &b"abc"[..])));
        assert_eq!(read_datagram(&bytes[..4]), Some((77, &b""[..])));
        assert_eq!(read_datagram(&bytes[..3]), None);
    }
}
