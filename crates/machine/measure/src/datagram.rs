//! The datagrams of a session.
//!
//! ```text
//!  0  "LFM1"
//!  4  session id, 16 bytes
//! 20  kind, 1 byte; 3 bytes of zero
//! 24  number, 32 bits, big-endian
//! 28  zeros up to the datagram's length
//! ```

use crate::SessionId;

/// Length of the head, the shortest datagram, bytes.
pub const HEAD: usize = 28;
const MAGIC: [u8; 4] = *b"LFM1";

/// Purpose of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramKind {
    /// From the client: its address and port.
    Open,
    /// From the server: datagrams pass in both directions.
    Opened,
    /// From the client, to be returned.
    Echo,
    /// The answer to [`DatagramKind::Echo`].
    Echoed,
    /// Part of a train, in either direction.
    Train,
}

/// Kinds with their numbers.
const KINDS: [(u8, DatagramKind); 5] = [
    (1, DatagramKind::Open),
    (2, DatagramKind::Opened),
    (3, DatagramKind::Echo),
    (4, DatagramKind::Echoed),
    (5, DatagramKind::Train),
];

/// The head of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHead {
    pub session: SessionId,
    pub kind: DatagramKind,
    pub number: u32,
}

impl DatagramHead {
    /// Returns the head's bytes.
    pub fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..20].copy_from_slice(&self.session.0);
        bytes[20] = KINDS.iter().find(|(_, kind)| *kind == self.kind).map_or(0, |(number, _)| *number);
        bytes[24..28].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// Reads the head of a datagram; `None` if it is not one of this protocol.
    pub fn decode(bytes: &[u8]) -> Option<DatagramHead> {
        let head: &[u8; HEAD] = bytes.first_chunk()?;
        let (magic, rest) = head.split_first_chunk::<4>()?;
        let (session, rest) = rest.split_first_chunk::<16>()?;
        let (_, kind) = KINDS.iter().find(|(number, _)| *number == rest[0])?;
        let number = u32::from_be_bytes(*rest[4..].first_chunk()?);
        (*magic == MAGIC).then_some(DatagramHead { session: SessionId(*session), kind: *kind, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_survives_and_anything_else_is_refused() {
        for (_, kind) in KINDS {
            let head = DatagramHead { session: SessionId([9; 16]), kind, number: 0x0102_0304 };
            let bytes = head.encode();
            assert_eq!(DatagramHead::decode(&bytes), Some(head));
            for n in 0..HEAD {
                assert_eq!(DatagramHead::decode(&bytes[..n]), None, "{n} bytes");
            }
            for (at, value) in [(0, b'X'), (20, 0), (20, 6)] {
                let mut wrong = bytes;
                wrong[at] = value;
                assert_eq!(DatagramHead::decode(&wrong), None);
            }
        }
    }
}
