//! Display filters of Wireshark (wireshark-filter(4)) that show packets of a flow. They name addresses, ports
//! and numbers of packets, not `tcp.stream`: that counts streams as Wireshark sees them.

use std::net::IpAddr;
use track::{Endpoint, Track};

/// Returns `ip` or `ipv6`.
fn family(end: Endpoint) -> &'static str {
    match end.addr.ip() {
        IpAddr::V4(_) => "ip",
        IpAddr::V6(_) => "ipv6",
    }
}

/// Matches packets from one end to the other.
fn sent(from: Endpoint, to: Endpoint) -> String {
    let ip = family(from);
    format!(
        "{ip}.src == {} && tcp.srcport == {} && {ip}.dst == {} && tcp.dstport == {}",
        from.addr, from.port, to.addr, to.port
    )
}

/// Matches packets of the track's sender.
pub(super) fn forth(t: &Track) -> String {
    sent(t.sender, t.receiver)
}

/// Matches packets of the track's receiver.
pub(super) fn back(t: &Track) -> String {
    sent(t.receiver, t.sender)
}

/// Matches packets with these numbers.
pub(super) fn numbers(list: &[u32]) -> String {
    let list: Vec<String> = list.iter().map(u32::to_string).collect();
    format!("frame.number in {{{}}}", list.join(", "))
}

/// Matches packets with numbers from `from` to `to`.
pub(super) fn range(from: u32, to: u32) -> String {
    format!("frame.number >= {from} && frame.number <= {to}")
}

/// Matches packets of both ends, and ICMP messages that quote them.
pub(super) fn between(t: &Track) -> String {
    let (a, b, ip) = (t.sender, t.receiver, family(t.sender));
    format!(
        "{ip}.addr == {} && {ip}.addr == {} && tcp.port == {} && tcp.port == {}",
        a.addr, b.addr, a.port, b.port
    )
}
