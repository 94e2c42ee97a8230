//! A split-TCP relay: it terminates one connection, opens another, and passes the bytes on.
//!
//! The onward connection holds at most `buffer` unacknowledged bytes. Data that does not fit stays unread, so
//! that the first connection's receive window closes and its sender slows down.

use crate::segment::Segment;
use crate::tcp::Tcp;
use units::Time;

/// Moves the data that `from` has received and `to` has room for; returns the number of bytes. Segments of
/// either end are appended to that end's list.
pub fn pump(
    now: Time,
    buffer: u64,
    from: &mut Tcp,
    to: &mut Tcp,
    from_out: &mut Vec<Segment>,
    to_out: &mut Vec<Segment>,
) -> u64 {
    let room = buffer.saturating_sub(to.tx.unacked());
    let n = from.rx.readable().min(room);
    if n > 0 {
        from.read(now, n, from_out);
        to.write(now, n, true, to_out);
    }
    n
}
