//! Records logged by OpenBSD's packet filter (pflog(4), `struct pfloghdr` of net/if_pflog.h in OpenBSD,
//! FreeBSD, NetBSD, macOS).

use super::is_ip;
use crate::read::tally::Other;
use crate::read::walk::{Layer, Walk};

/// Length of the shortest known header: up to the direction, without padding (OpenBSD 3.4).
const MIN_HEADER: usize = 45;

/// Header: length without padding, address family, action, reason, then names and numbers of interface and
/// rule. The IP packet begins at a multiple of four bytes.
pub(super) fn header(w: &mut Walk) -> Result<Layer, Other> {
    let [length, family] = w.array(w.at)?;
    if (length as usize) < MIN_HEADER {
        return Err(Other::Bad);
    }
    w.at += (length as usize).next_multiple_of(4);
    w.base = w.at;
    is_ip(family.into())
}
