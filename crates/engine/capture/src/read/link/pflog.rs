//! What OpenBSD's packet filter logs (pflog(4), `struct pfloghdr` of net/if_pflog.h in OpenBSD, FreeBSD, NetBSD, macOS).

use super::is_ip;
use crate::read::tally::Other;
use crate::read::walk::{Layer, Walk};

/// The shortest header known: up to the direction, without padding (OpenBSD 3.4).
const LEAST: usize = 45;

/// Length without padding, address family, action, reason; then names and numbers of interface and rule. The packet,
/// an IP one, begins at a multiple of four bytes.
pub(super) fn header(w: &mut Walk) -> Result<Layer, Other> {
    let [length, family] = w.array(w.at)?;
    if (length as usize) < LEAST {
        return Err(Other::Bad);
    }
    w.at += (length as usize).next_multiple_of(4);
    w.base = w.at;
    is_ip(family.into())
}
