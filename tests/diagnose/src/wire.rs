//! Captures of the simulator's packets: their addresses, and what segmentation offload makes of them.
//! `sim::wire` makes the packets.

use capture::{Addr, Endpoint, TcpFlags, TcpPacket};
use scenario::default_address as address;
use sim::wire::ports;

/// Greatest payload of a super-packet, which must fit the IP length with its headers.
const MOST_OFFLOADED: u32 = 64_000;

/// Returns the ends of the direction with this number ([`sim::Tap::packet`]).
pub fn ends(number: u32, from: usize, to: usize) -> (Endpoint, Endpoint) {
    let (sport, dport) = ports(number, false);
    let end = |host: usize, port| Endpoint { addr: Addr::v4(address(host).octets()), port };
    (end(from, sport), end(to, dport))
}

/// Merges `next` into `first` where segmentation or receive offload would have made one packet of both.
/// Returns whether it did.
pub fn offload(first: &mut TcpPacket, next: &TcpPacket) -> bool {
    let fits = first.src == next.src
        && first.dst == next.dst
        && first.len > 0
        && next.len > 0
        && first.seq.wrapping_add(first.len) == next.seq
        && first.ack == next.ack
        && first.window == next.window
        && first.ecn == next.ecn
        && first.options == next.options
        // PSH and short segments end a burst.
        && !first.flags.has(TcpFlags::PSH)
        && first.len.is_multiple_of(next.len.max(1)) | (next.len < first.len)
        && first.len + next.len <= MOST_OFFLOADED;
    if fits {
        first.len += next.len;
        first.flags = TcpFlags(first.flags.0 | next.flags.0);
    }
    fits
}
