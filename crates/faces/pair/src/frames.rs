//! What the two ends say to each other above QUIC: how a stream begins, and what stands before a datagram.
//!
//! ```text
//! stream:   version (1)  kind (1: connection, 2: datagrams, 3: connection of a client that is told)
//!           length (1 to 255)  name of the upstream  kind 3: a header of the PROXY protocol, version 2
//! datagram: number of the stream that opened its flow (4, big endian)  payload
//! ```
//! A connection's bytes follow, both ways. A stream of kind 2 carries nothing more: it stands for one client's datagrams,
//! which end when it does.

use proxy::{HeaderRead, ProxyVersion, read_header};
use std::net::SocketAddr;

/// What this end speaks.
pub const VERSION: u8 = 1;
/// The longest header of the PROXY protocol that is written or read: two addresses of IPv6, and nothing besides.
const LONGEST_CLIENT: usize = 16 + 36;
/// The longest beginning of a stream, bytes.
pub const LONGEST_OPENING: usize = 3 + 255 + LONGEST_CLIENT;
/// What stands before a datagram's payload, bytes.
pub const DATAGRAM_HEAD: usize = 4;

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// A connection's bytes.
    Connection,
    /// A client's datagrams, by their own way.
    Datagrams,
}

/// How a stream begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// What it is for.
    pub carriage: Carriage,
    /// The upstream, as the end that goes there calls it.
    pub upstream: String,
    /// Of a connection, where it is told: who the client is, and what it connected to.
    pub client: Option<(SocketAddr, SocketAddr)>,
}

/// What the first bytes of a stream are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpeningRead {
    /// Not all of it has come.
    More,
    /// The opening, and how many bytes it took.
    Done(Opening, usize),
    /// Something else.
    Bad,
}

impl Opening {
    /// As bytes; a name longer than 255 bytes is cut, which the configuration does not let happen.
    pub fn write(&self) -> Vec<u8> {
        let name = &self.upstream.as_bytes()[..self.upstream.len().min(255)];
        let client = self.client.filter(|_| self.carriage == Carriage::Connection);
        let kind = match self.carriage {
            Carriage::Datagrams => 2,
            Carriage::Connection => {
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

    /// Of the first bytes of a stream.
    pub fn read(bytes: &[u8]) -> OpeningRead {
        let carriage = match bytes {
            [] => return OpeningRead::More,
            [VERSION] => return OpeningRead::More,
            [VERSION, 1 | 3, ..] => Carriage::Connection,
            [VERSION, 2, ..] => Carriage::Datagrams,
            _ => return OpeningRead::Bad,
        };
        let Some(&length) = bytes.get(2) else { return OpeningRead::More };
        if length == 0 {
            return OpeningRead::Bad;
        }
        let end = 3 + length as usize;
        let Some(name) = bytes.get(3..end) else { return OpeningRead::More };
        let Ok(name) = std::str::from_utf8(name) else { return OpeningRead::Bad };
        let opening = |client| Opening { carriage, upstream: name.into(), client };
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

/// What the bytes after a name say of the client.
enum ClientRead {
    More,
    Whole((SocketAddr, SocketAddr), usize),
}

/// Reads what [`ProxyVersion::write`] makes of two addresses, and nothing else that the PROXY protocol permits besides.
fn client(bytes: &[u8]) -> Option<ClientRead> {
    // A length that is too large is refused before so many bytes have come.
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

/// A datagram with its head.
pub fn write_datagram(flow: u32, payload: &[u8]) -> Vec<u8> {
    [&flow.to_be_bytes(), payload].concat()
}

/// The flow of a datagram, and its payload.
pub fn read_datagram(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, payload) = bytes.split_first_chunk::<DATAGRAM_HEAD>()?;
    Some((u32::from_be_bytes(*head), payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_read_back_whole_and_never_early() {
        let between = |from: &str, to: &str| Some((from.parse().expect("one"), to.parse().expect("one")));
        for (carriage, name, client) in [
            (Carriage::Connection, "web", None),
            (Carriage::Datagrams, &*"ü".repeat(127), None),
            (Carriage::Connection, "web", between("192.0.2.1:5", "192.0.2.2:443")),
            (Carriage::Connection, &*"ü".repeat(127), between("[2001:db8::1]:5", "[2001:db8::2]:443")),
        ] {
            let opening = Opening { carriage, upstream: name.into(), client };
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
    fn what_is_no_opening_is_refused() {
        for bytes in [&[2][..], &[1, 4], &[1, 0], &[1, 1, 0], &[1, 1, 1, 0xff], &[1, 3, 1, 97, 9], b"GET /"] {
            assert_eq!(Opening::read(bytes), OpeningRead::Bad, "{bytes:?}");
        }
        let signature = b"\r\n\r\n\0\r\nQUIT\n";
        // LOCAL, which tells no client; more than addresses; a line of version 1.
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
