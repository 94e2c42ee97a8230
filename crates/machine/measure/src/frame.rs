//! Messages on a TCP connection: a length of 32 bits, big-endian, and that many bytes of JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum length of a client's message, bytes.
pub const MAX_REQUEST: usize = 2048;
/// Maximum length of a server's message, bytes: the arrivals of a long train.
pub const MAX_REPLY: usize = 512 << 10;
/// Length of the head of a message, bytes.
const HEAD: usize = 4;

/// Bytes that are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a message of {0} bytes, more than the protocol allows")]
    TooLong(usize),
    #[error("not a message of this protocol")]
    NotAMessage,
}

/// Writes a message.
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    // Plain data without maps serialises without errors.
    let body = serde_json::to_vec(message).unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// Reads the message at the start of `bytes`, of at most `limit` bytes. Returns it and the number of bytes it
/// takes; `None` if it is not complete yet. The length is judged as soon as it is there, so that no one needs
/// to keep more than `limit` bytes.
///
/// # Errors
/// Fails for a message that is too long or is not one of the protocol.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], limit: usize) -> Result<Option<(T, usize)>, FrameError> {
    let Some(head) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
    let length = u32::from_be_bytes(*head) as usize;
    if length > limit {
        return Err(FrameError::TooLong(length));
    }
    let Some(body) = bytes.get(HEAD..HEAD + length) else { return Ok(None) };
    let message = serde_json::from_slice(body).map_err(|_| FrameError::NotAMessage)?;
    Ok(Some((message, HEAD + length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrival, Reply, Request};

    #[test]
    fn a_message_is_read_once_it_is_complete() {
        let request = Request::Download { streams: 4, ms: 5000 };
        let mut bytes = encode(&request);
        for n in 0..bytes.len() {
            assert_eq!(decode::<Request>(&bytes[..n], MAX_REQUEST), Ok(None), "{n} bytes");
        }
        let length = bytes.len();
        bytes.extend(b"the next message");
        assert_eq!(decode(&bytes, MAX_REQUEST), Ok(Some((request, length))));
    }

    #[test]
    fn arrivals_are_lists_of_numbers() {
        let arrivals = vec![Arrival { number: 1, at_us: 20, size: 300, tos: 2 }];
        let bytes = encode(&Reply::Arrivals { arrivals, dropped: 0 });
        assert_eq!(&bytes[4..], br#"{"type":"arrivals","arrivals":[[1,20,300,2]],"dropped":0}"#);
    }

    #[test]
    fn garbage_is_refused_before_it_is_kept() {
        let read = |bytes: &[u8]| decode::<Request>(bytes, MAX_REQUEST);
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), Err(FrameError::TooLong(0x4745_5420)));
        assert_eq!(read(&[0, 0, 0, 2, b'{', b'}']), Err(FrameError::NotAMessage));
        assert_eq!(read(&[0, 0, 0, 0]), Err(FrameError::NotAMessage));
        let deep = [b'['; MAX_REQUEST];
        let mut bytes = (deep.len() as u32).to_be_bytes().to_vec();
        bytes.extend(deep);
        assert_eq!(read(&bytes), Err(FrameError::NotAMessage), "nested without end");
    }
}
