//! A split-TCP relay: ends one connection, begins another, passes the bytes on.
//!
//! The onward connection holds at most `buffer` bytes not yet acknowledged; what does not fit stays
//! unread, so that the first connection's receive window closes and its sender slows down.

use crate::segment::Segment;
use crate::tcp::Tcp;
use units::Time;

/// Moves what `from` has received and `to` has room for. Segments of either end are appended to
/// its own list.
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
