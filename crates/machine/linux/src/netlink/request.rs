//! Requests to the kernel, each answered by an acknowledgement, and requests for lists.

use super::{HEADER, NLM_F_REQUEST, NetlinkSocket, messages, question, written};
use std::io;

/// Flag: acknowledge the request.
const NLM_F_ACK: u16 = 4;

/// Space for a datagram of answers, bytes.
const BUFFER: usize = 256 << 10;

/// A request to the kernel, in the namespace of the socket that sends it.
pub struct Request(Vec<u8>);

impl Request {
    /// Begins a request of a type, with flags such as `NLM_F_CREATE` and the fixed fields of its body.
    pub fn new(kind: u16, flags: u16, fixed: &[u8]) -> Request {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
        bytes.extend_from_slice(fixed);
        Request(bytes)
    }

    /// Adds an attribute.
    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Request {
        self.0.extend(written(kind, value));
        self
    }

    /// Returns the message.
    pub fn bytes(mut self) -> Vec<u8> {
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_ne_bytes());
        self.0
    }

    /// Sends the request. Returns the bodies of the kernel's answer without the acknowledgement.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn send(self, socket: &NetlinkSocket) -> io::Result<Vec<u8>> {
        socket.send(&self.bytes())?;
        let mut answer = Vec::new();
        receive(socket, &mut |body| answer.extend_from_slice(body))?;
        Ok(answer)
    }
}

impl NetlinkSocket {
    /// Requests a list: `kind` is the message type, `body` follows its header. Calls `each` with the body of
    /// each message of the answer.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn list(&self, kind: u16, body: &[u8], each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.send(&question(kind, body))?;
        receive(self, each)
    }
}

fn receive(socket: &NetlinkSocket, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let n = socket.recv(&mut buffer)?;
        if messages(&buffer[..n.min(buffer.len())], &mut |_, body| each(body))? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_states_its_length_and_asks_for_an_acknowledgement() {
        let bytes = Request::new(36, 0x400, &[7; 4]).attribute(1, b"abc\0").attribute(2, &[9]).bytes();
        assert_eq!(bytes.len(), HEADER + 4 + 8 + 8);
        assert_eq!(bytes[..8], [36, 0, 0, 0, 36, 0, 5, 4]);
        assert_eq!(bytes[HEADER..], [7, 7, 7, 7, 8, 0, 1, 0, b'a', b'b', b'c', 0, 5, 0, 2, 0, 9, 0, 0, 0]);
    }
}
