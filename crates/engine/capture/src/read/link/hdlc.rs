//! Cisco's HDLC (LINKTYPE_C_HDLC; RFC 1547 section 4.3.1 describes it): address, control, EtherType.

use crate::read::tally::Other;
use crate::read::walk::{Layer, Walk};

/// Address values of unicast and multicast packets.
const UNICAST: u8 = 0x0f;
const MULTICAST: u8 = 0x8f;

pub(super) fn header(w: &mut Walk) -> Result<Layer, Other> {
    let [address, control] = w.array(w.at)?;
    if !matches!(address, UNICAST | MULTICAST) || control != 0 {
        return Err(Other::Bad);
    }
    let kind = w.u16(w.at + 2)?;
    w.at += 4;
    Ok(Layer::Type(kind))
}

/// PPP, or Cisco's framing if its address value is found: LINKTYPE_PPP and LINKTYPE_PPP_HDLC stand for both.
pub(super) fn or_ppp(w: &mut Walk) -> Result<Layer, Other> {
    match w.array(w.at)? {
        [UNICAST | MULTICAST, 0] => header(w),
        _ => Ok(Layer::Ppp),
    }
}
