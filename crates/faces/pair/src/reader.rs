//! Reads a stream of the peer in order.
//!
//! The library delivers chunks out of order, and they are put in order here. The library closes a connection
//! if one of its streams has 1024 gaps, and extends a stream's window only by what has been read. With
//! delivery in order, a lost packet would close the window until its retransmission arrives. At 1 % loss a
//! stream would reach only half the rate that its window allows.
//!
//! Data after a gap is kept until the gap is filled. A client that does not read gets no more than the
//! stream's window. A peer that leaves a gap open, which RFC 9002 does not allow, is disconnected at
//! [`MAX_HELD`].

use bytes::Bytes;
use noq_proto::{Connection, ReadError, StreamId};
use std::collections::BTreeMap;
use std::io;

/// The most bytes that one read returns.
pub const MAX_READ: usize = 64 << 10;
/// The most bytes kept behind a gap of one stream: twice what a peer keeps until it is acknowledged
/// (`SEND_WINDOW`).
const MAX_HELD: usize = 32 << 20;

/// The result of reading a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamRead {
    Bytes(Bytes),
    End,
    /// There is nothing to read yet.
    Nothing,
}

/// Reads one stream from its start.
#[derive(Debug, Default)]
pub struct StreamReader {
    order: ByteOrder,
}

impl StreamReader {
    /// Reads the next bytes of the stream.
    ///
    /// # Errors
    /// Fails if the peer has reset the stream or leaves a gap in it open.
    pub fn read(&mut self, conn: &mut Connection, stream: StreamId) -> io::Result<StreamRead> {
        if let Some(bytes) = self.order.pop() {
            return Ok(StreamRead::Bytes(bytes));
        }
        let mut receiving = conn.recv_stream(stream);
        let broken = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        let mut chunks = receiving.read(false).map_err(broken)?;
        let read = loop {
            match chunks.next(MAX_READ) {
                Ok(Some(chunk)) => self.order.push(chunk.offset, chunk.bytes),
                Ok(None) => break Ok(StreamRead::End),
                Err(ReadError::Blocked) => break Ok(StreamRead::Nothing),
                Err(ReadError::Reset(_)) => break Err(io::ErrorKind::ConnectionReset.into()),
            }
            if let Some(bytes) = self.order.pop() {
                break Ok(StreamRead::Bytes(bytes));
            }
            if self.order.held > MAX_HELD {
                break Err(io::ErrorKind::OutOfMemory.into());
            }
        };
        let _ = chunks.finalize();
        read
    }
}

/// Pieces of a stream by offset, and the offset of the next byte. The library never delivers a byte twice.
#[derive(Debug, Default)]
struct ByteOrder {
    next: u64,
    held: usize,
    pieces: BTreeMap<u64, Bytes>,
}

impl ByteOrder {
    fn push(&mut self, offset: u64, bytes: Bytes) {
        self.held += bytes.len();
        self.pieces.insert(offset, bytes);
    }

    /// The next bytes of the stream, if they have arrived.
    fn pop(&mut self) -> Option<Bytes> {
        let piece = self.pieces.first_entry().filter(|piece| *piece.key() == self.next)?;
        let bytes = piece.remove();
        self.held -= bytes.len();
        self.next += bytes.len() as u64;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_out_in_order() {
        let all: Vec<u8> = (0..200).collect();
        let cuts = [0usize, 7, 8, 50, 51, 120, 200];
        let pieces: Vec<(usize, &[u8])> = cuts.windows(2).map(|c| (c[0], &all[c[0]..c[1]])).collect();
        // Every order that a rotation and a swap of six pieces produce.
        for turn in 0..6 {
            for swap in 0..6 {
                let mut sent = pieces.clone();
                sent.rotate_left(turn);
                sent.swap(0, swap);
                let (mut order, mut got) = (ByteOrder::default(), Vec::new());
                for (offset, bytes) in sent {
                    order.push(offset as u64, Bytes::copy_from_slice(bytes));
                    while let Some(bytes) = order.pop() {
                        got.extend_from_slice(&bytes);
                        assert_eq!(got[..], all[..got.len()]);
                    }
                }
                assert_eq!((got.len(), order.held), (200, 0));
            }
        }
    }
}
