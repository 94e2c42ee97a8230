//! The largest packet that an element carries, and whether it tells those who send larger ones.
//!
//! A router that drops what is too big says so, and how big would do ("fragmentation needed", RFC 1191 section 4;
//! "packet too big", RFC 8201). Where a firewall swallows that message, or the router is told not to send it
//! (`no ip unreachables`), large packets vanish and nobody knows why: a black hole (RFC 2923 section 2.1).

use crate::problem::Problem;

/// What fits, and what becomes of the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeLimit {
    /// Largest IP packet, bytes.
    pub mtu: u32,
    /// The sender of a larger one is told.
    pub icmp: bool,
}

impl SizeLimit {
    /// Everything fits.
    pub const NONE: SizeLimit = SizeLimit { mtu: u32::MAX, icmp: true };

    /// By the keys of a stage: no `mtu`, any size; the sender is told unless `icmp` says otherwise.
    pub fn new(mtu: Option<u32>, icmp: Option<bool>) -> SizeLimit {
        SizeLimit { mtu: mtu.unwrap_or(u32::MAX), icmp: icmp != Some(false) }
    }

    /// Whether everything fits.
    pub fn is_none(self) -> bool {
        self.mtu == u32::MAX
    }
}

/// The packets that a limit refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedSize {
    /// What fits.
    pub limit: SizeLimit,
    /// The largest that did not, bytes.
    pub largest: u32,
}

/// `Err` if an MTU is too small for IP (RFC 791: 68 bytes), or `icmp` stands without one.
pub(crate) fn check(mtu: Option<u32>, icmp: Option<bool>) -> Result<(), Problem> {
    if mtu.is_some_and(|m| m < 68) {
        return Err(Problem::new("mtu", "must be at least 68 bytes (RFC 791); 1500 is usual"));
    }
    if mtu.is_none() && icmp.is_some() {
        return Err(Problem::new(
            "icmp",
            "needs an `mtu` (for example 1400): without one nothing is too big",
        ));
    }
    Ok(())
}
