//! What a stream of the peer has, in order.
//!
//! The library is read out of order, and order is made here: it gives up a connection one of whose streams has 1024 gaps, and
//! lets a stream's window grow only by what is read. So a lost packet would close the window for the round trip that it takes to
//! come again, and a stream would carry half of what its window says where a packet in a hundred is lost.
//!
//! What comes after a gap is kept until that is filled. Whoever does not take what is in order is sent no more than the stream's
//! window; whoever leaves a gap open, as no sender does that keeps to RFC 9002, is broken off at [`MOST_HELD`].

use bytes::Bytes;
use noq_proto::{Connection, ReadError, StreamId};
use std::collections::BTreeMap;
use std::io;

/// What one read takes at most.
pub const READ: usize = 64 << 10;
/// Bytes kept behind a gap, of one stream: twice what a peer keeps until it is acknowledged (`SEND_WINDOW`).
const MOST_HELD: usize = 32 << 20;

/// What a stream has.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamRead {
    /// Bytes, in order.
    Bytes(Bytes),
    /// No more will come.
    End,
    /// Nothing yet.
    Nothing,
}

/// One stream, read from its beginning.
#[derive(Debug, Default)]
pub struct StreamReader {
    order: ByteOrder,
}

impl StreamReader {
    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// The peer has broken it off, or leaves a gap in it.
    pub fn read(&mut self, conn: &mut Connection, stream: StreamId) -> io::Result<StreamRead> {
        if let Some(bytes) = self.order.pop() {
            return Ok(StreamRead::Bytes(bytes));
        }
        let mut receiving = conn.recv_stream(stream);
        let broken = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        let mut chunks = receiving.read(false).map_err(broken)?;
        let read = loop {
            match chunks.next(READ) {
                Ok(Some(chunk)) => self.order.push(chunk.offset, chunk.bytes),
                Ok(None) => break Ok(StreamRead::End),
                Err(ReadError::Blocked) => break Ok(StreamRead::Nothing),
                Err(ReadError::Reset(_)) => break Err(io::ErrorKind::ConnectionReset.into()),
            }
            if let Some(bytes) = self.order.pop() {
                break Ok(StreamRead::Bytes(bytes));
            }
            if self.order.held > MOST_HELD {
                break Err(io::ErrorKind::OutOfMemory.into());
            }
        };
        let _ = chunks.finalize();
        read
    }
}

/// Pieces of a stream by where they begin, and where it goes on. No byte comes twice: the library sees to that.
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

    /// What the stream goes on with, if that is there.
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
    fn pieces_come_out_in_order_and_none_early() {
        let all: Vec<u8> = (0..200).collect();
        let cuts = [0usize, 7, 8, 50, 51, 120, 200];
        let pieces: Vec<(usize, &[u8])> = cuts.windows(2).map(|c| (c[0], &all[c[0]..c[1]])).collect();
        // Every order that a turn and a swap make of six pieces.
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
