//! The MTU of an element, and whether it notifies the senders of larger packets.
//!
//! A router that drops a packet because of its size reports the MTU to the sender ("fragmentation needed",
//! RFC 1191 section 4; "packet too big", RFC 8201). If a firewall blocks that message, or the router is
//! configured not to send it (`no ip unreachables`), large packets vanish without a trace: a black hole (RFC
//! 2923 section 2.1).

use crate::problem::Problem;

/// An MTU, and what happens to larger packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeLimit {
    /// Largest IP packet, bytes.
    pub mtu: u32,
    /// Whether the sender of a larger packet is notified by ICMP.
    pub icmp: bool,
}

impl SizeLimit {
    /// No limit.
    pub const NONE: SizeLimit = SizeLimit { mtu: u32::MAX, icmp: true };

    /// From the keys of a stage: without `mtu` there is no limit; ICMP is sent unless `icmp` is false.
    pub fn new(mtu: Option<u32>, icmp: Option<bool>) -> SizeLimit {
        SizeLimit { mtu: mtu.unwrap_or(u32::MAX), icmp: icmp != Some(false) }
    }

    /// Whether there is no limit.
    pub fn is_none(self) -> bool {
        self.mtu == u32::MAX
    }
}

/// A limit that packets exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedSize {
    pub limit: SizeLimit,
    /// The largest packet that exceeded it, bytes.
    pub largest: u32,
}

/// Fails if an MTU is too small for IP (RFC 791: 68 bytes), or `icmp` is set without `mtu`.
pub(crate) fn check(mtu: Option<u32>, icmp: Option<bool>) -> Result<(), Problem> {
    if mtu.is_some_and(|m| m < 68) {
        return Err(Problem::new("mtu", "must be at least 68 bytes (RFC 791); 1500 is usual"));
    }
    if mtu.is_none() && icmp.is_some() {
        return Err(Problem::new("icmp", "requires `mtu` (for example 1400)"));
    }
    Ok(())
}
