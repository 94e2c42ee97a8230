//! Encodes and decodes netlink messages and attributes (netlink(7)), independent of the socket.
//!
//! A datagram is a sequence of messages; a message is a header of 16 bytes and a body; a body is fixed fields
//! and attributes; each starts at a multiple of four. Truncated or unknown parts are skipped, because lengths
//! come from outside.

mod request;
mod socket;

pub use request::Request;
pub use socket::{NetlinkSocket, Service};

use std::io;

/// Size of `nlmsghdr` (linux/netlink.h).
pub const HEADER: usize = 16;
/// Flag: request.
pub const NLM_F_REQUEST: u16 = 1;
/// Flag: list all objects, not one.
pub const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Mask of an attribute's type without its flags (nested, network order).
const KIND: u16 = 0x3fff;

/// Builds a request for a list: its type, and the bytes after its header.
pub fn question(kind: u16, body: &[u8]) -> Vec<u8> {
    request(kind, NLM_F_REQUEST | NLM_F_DUMP, body)
}

/// Builds a request for one object.
pub fn get_request(kind: u16, body: &[u8]) -> Vec<u8> {
    request(kind, NLM_F_REQUEST, body)
}

fn request(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut m = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    m.extend(kind.to_ne_bytes());
    m.extend(flags.to_ne_bytes());
    m.resize(HEADER, 0);
    m.extend(body);
    m
}

/// Reads one datagram and calls `each` with type and body of each message. Returns whether the list is
/// complete, or the request acknowledged.
///
/// # Errors
/// Fails with the kernel's error.
pub fn messages(mut bytes: &[u8], each: &mut dyn FnMut(u16, &[u8])) -> io::Result<bool> {
    while bytes.len() >= HEADER {
        let (len, kind) = (u32_at(bytes, 0) as usize, u16_at(bytes, 4));
        let Some(message) = bytes.get(HEADER..len) else { break };
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                return match message.first_chunk().map_or(0, |b| i32::from_ne_bytes(*b)) {
                    0 => Ok(true),
                    code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                };
            }
            _ => each(kind, message),
        }
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// Iterates over the attributes of a message: type and value.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(bytes.first_chunk().map(|b| u16::from_ne_bytes(*b))?);
        let (kind, value) = (u16_at(bytes.get(..4)?, 2) & KIND, bytes.get(4..len)?);
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Returns the value of an attribute.
pub fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(k, _)| *k == kind).map(|(_, value)| value)
}

/// Encodes an attribute, padded to a multiple of four.
pub fn written(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut a = (4 + value.len() as u16).to_ne_bytes().to_vec();
    a.extend(kind.to_ne_bytes());
    a.extend(value);
    a.resize(a.len().next_multiple_of(4), 0);
    a
}

/// Decodes a text up to its terminating zero.
pub fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value.split(|b| *b == 0).next().unwrap_or_default()).into_owned()
}

/// Decodes a 32-bit number at the start of a value.
pub fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|b| u32::from_ne_bytes(*b))
}

/// Decodes a 64-bit number at the start of a value.
pub fn number64(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|b| u64::from_ne_bytes(*b))
}

/// Reads 16 bits at an offset; 0 beyond the end.
pub fn u16_at(b: &[u8], at: usize) -> u16 {
    b.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u16::from_ne_bytes(*b))
}

/// Reads 32 bits at an offset; 0 beyond the end.
pub fn u32_at(b: &[u8], at: usize) -> u32 {
    b.get(at..).and_then(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not permitted (errno-base.h).
    const EPERM: i32 = 1;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut m = question(kind, body);
        m.resize(m.len().next_multiple_of(4), 0);
        m
    }

    #[test]
    fn lists_are_read_up_to_their_end_message() {
        let bytes =
            [message(99, b"one"), message(98, b"two"), message(NLMSG_DONE, &[0; 4]), message(99, b"late")]
                .concat();
        let mut seen = Vec::new();
        assert!(messages(&bytes, &mut |kind, m| seen.push((kind, m.to_vec()))).unwrap());
        assert_eq!(seen, [(99, b"one".to_vec()), (98, b"two".to_vec())]);
        let error = messages(&message(NLMSG_ERROR, &(-EPERM).to_ne_bytes()), &mut |_, _| ());
        assert_eq!(error.unwrap_err().raw_os_error(), Some(EPERM));
        assert!(
            messages(&message(NLMSG_ERROR, &0i32.to_ne_bytes()), &mut |_, _| ()).unwrap(),
            "acknowledged"
        );
        assert!(!messages(&message(99, b"one"), &mut |_, _| ()).unwrap(), "more is to come");
    }

    #[test]
    fn attributes_are_found_and_malformed_ones_skipped() {
        let bytes = [written(1, b"a\0"), written(2 | 0x8000, &7u32.to_ne_bytes()), written(3, b"")].concat();
        assert_eq!(attribute(&bytes, 1).map(text), Some("a".into()));
        assert_eq!(attribute(&bytes, 2).and_then(number), Some(7));
        assert_eq!(attributes(&bytes).count(), 3);
        for n in 0..bytes.len() {
            attributes(&bytes[..n]).count();
        }
        // Invalid lengths: shorter than a header, or longer than the data.
        for len in [0u16, 3, u16::MAX] {
            let mut bad = bytes.clone();
            bad[..2].copy_from_slice(&len.to_ne_bytes());
            assert_eq!(attributes(&bad).count(), 0);
        }
        for len in [0u32, 15, u32::MAX] {
            let mut bad = message(99, b"one");
            bad[..4].copy_from_slice(&len.to_ne_bytes());
            let mut seen = 0;
            assert!(!messages(&bad, &mut |_, _| seen += 1).unwrap());
            assert_eq!(seen, 0);
        }
    }
}
