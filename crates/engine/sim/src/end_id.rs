//! Numbering of connection ends.

use transport::Side;

/// An end of a connection. The client's end of connection `c` has index `2c`, the server's `2c + 1`. Packets
/// carry the number of the end that sends them as [`path::Packet::flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndId(u32);

impl EndId {
    /// The end of a connection on one side.
    #[inline]
    pub fn new(connection: u32, side: Side) -> EndId {
        EndId(2 * connection + (side == Side::Server) as u32)
    }

    /// The end that sends packets with this directed flow number, which must not belong to a datagram flow.
    #[inline]
    pub fn of_sender(number: u32) -> EndId {
        EndId(number)
    }

    /// The directed flow number of packets that this end sends.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }

    /// Index of the end among all ends.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The connection's other end.
    #[inline]
    pub fn peer(self) -> EndId {
        EndId(self.0 ^ 1)
    }

    /// The connection of the end.
    #[inline]
    pub fn connection(self) -> u32 {
        self.0 / 2
    }

    /// The side of the connection.
    #[inline]
    pub fn side(self) -> Side {
        if self.0 % 2 == 0 { Side::Client } else { Side::Server }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_knows_its_connection_its_side_and_its_peer() {
        let server = EndId::new(7, Side::Server);
        assert_eq!((server.number(), server.connection(), server.side()), (15, 7, Side::Server));
        assert_eq!(server.peer(), EndId::new(7, Side::Client));
        assert_eq!(server.peer().peer(), server);
        assert_eq!(EndId::of_sender(15), server);
    }
}
