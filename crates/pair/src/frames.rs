//! What the two ends say to each other above QUIC: how a stream begins, and what stands before a datagram.
//!
//! ```text
//! stream:   version (1)  kind (1: connection, 2: datagrams)  length (1 to 255)  name of the upstream
//! datagram: number of the stream that opened its flow (4, big endian)  payload
//! ```
//! A connection's bytes follow the name, both ways. A stream of kind 2 carries nothing more: it stands for one client's
//! datagrams, which end when it does.

/// What this end speaks.
pub const VERSION: u8 = 1;
/// The longest beginning of a stream, bytes.
pub const LONGEST_OPENING: usize = 3 + 255;
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
        let kind = if self.carriage == Carriage::Connection { 1 } else { 2 };
        let mut bytes = vec![VERSION, kind, name.len() as u8];
        bytes.extend_from_slice(name);
        bytes
    }

    /// Of the first bytes of a stream.
    pub fn read(bytes: &[u8]) -> OpeningRead {
        let carriage = match bytes {
            [] => return OpeningRead::More,
            [VERSION] => return OpeningRead::More,
            [VERSION, 1, ..] => Carriage::Connection,
            [VERSION, 2, ..] => Carriage::Datagrams,
            _ => return OpeningRead::Bad,
        };
        let Some(&length) = bytes.get(2) else { return OpeningRead::More };
        if length == 0 {
            return OpeningRead::Bad;
        }
        let end = 3 + length as usize;
        let Some(name) = bytes.get(3..end) else { return OpeningRead::More };
        match std::str::from_utf8(name) {
            Ok(name) => OpeningRead::Done(Opening { carriage, upstream: name.into() }, end),
            Err(_) => OpeningRead::Bad,
        }
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
        for (carriage, name) in [(Carriage::Connection, "web"), (Carriage::Datagrams, &*"ü".repeat(127))] {
            let opening = Opening { carriage, upstream: name.into() };
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
        for bytes in [&[2][..], &[1, 3], &[1, 0], &[1, 1, 0], &[1, 1, 1, 0xff], b"GET /"] {
            assert_eq!(Opening::read(bytes), OpeningRead::Bad, "{bytes:?}");
        }
    }

    #[test]
    fn a_datagram_is_read_back() {
        let bytes = write_datagram(77, b"abc");
        assert_eq!(read_datagram(&bytes), Some((77, &b"abc"[..])));
        assert_eq!(read_datagram(&bytes[..4]), Some((77, &b""[..])));
        assert_eq!(read_datagram(&bytes[..3]), None);
    }
}
