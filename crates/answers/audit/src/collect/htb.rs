//! Reads the classes of an HTB at a device's root: rtnetlink(7), linux/pkt_sched.h.

use super::list::{TC_H_ROOT, TCA_KIND, TCA_OPTIONS, TCMSG_BYTES, dump};
use linux::netlink::{Service, attribute, number, number64, text, u32_at};
use result::command::HtbClass;
use std::io;

const RTM_GETTCLASS: u16 = 42;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
/// Length of a scheduler tick in ns (PSCHED_SHIFT).
const TICK_NS: u128 = 64;
/// Bytes of a `tc_htb_opt`.
const HTB_OPT_BYTES: usize = 44;
/// Mask of the link layer in a `tc_ratespec` (linux/pkt_sched.h).
const LINKLAYER_MASK: u8 = 0x0f;
/// Link layer ATM (linux/pkt_sched.h).
const LINKLAYER_ATM: u8 = 2;

/// Returns all HTB classes of a device.
///
/// # Errors
/// Fails with the kernel's error.
pub fn classes(index: u32) -> io::Result<Vec<HtbClass>> {
    let mut request = [0; TCMSG_BYTES];
    request[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut all = Vec::new();
    dump(Service::Route, RTM_GETTCLASS, &request, &mut |m| all.extend(class(m)))?;
    Ok(all)
}

/// Formats a handle as `tc` does, such as `1:10`.
fn handle(n: u32) -> String {
    if n == TC_H_ROOT { "root".into() } else { format!("{:x}:{:x}", n >> 16, n & 0xffff) }
}

/// Parses `tcmsg` and `tc_htb_opt`: two `tc_ratespec` of 12 bytes, both buckets in ticks at their rates,
/// quantum, level and priority. A `tc_ratespec` consists of cell_log and link layer (a byte each), overhead,
/// cell_align and mpu (two bytes each), and the rate, whose bits are all ones if a 64-bit attribute has it.
fn class(message: &[u8]) -> Option<HtbClass> {
    let (fixed, rest) = message.split_at_checked(TCMSG_BYTES)?;
    let options = attribute(rest, TCA_OPTIONS)
        .filter(|_| attribute(rest, TCA_KIND).map(text).as_deref() == Some("htb"))?;
    let parameters = attribute(options, TCA_HTB_PARMS).filter(|p| p.len() >= HTB_OPT_BYTES)?;
    let u16_at = |offset: usize| u16::from_ne_bytes([parameters[offset], parameters[offset + 1]]);
    let at = |offset: usize| number(parameters.get(offset..)?).map(u64::from);
    let rate64 = |kind| attribute(options, kind).and_then(number64);
    let (rate, ceil) = (rate64(TCA_HTB_RATE64).or(at(8))?, rate64(TCA_HTB_CEIL64).or(at(20))?);
    let bytes =
        |ticks: u64, rate: u64| (u128::from(ticks) * TICK_NS * u128::from(rate) / 1_000_000_000) as u64;
    Some(HtbClass {
        name: handle(u32_at(fixed, 8)),
        parent: handle(u32_at(fixed, 12)),
        bytes_per_second: rate,
        ceil_bytes_per_second: ceil,
        burst_bytes: bytes(at(24)?, rate),
        cburst_bytes: bytes(at(28)?, ceil),
        quantum: u32_at(parameters, 32),
        prio: u32_at(parameters, 40),
        overhead: u16_at(2),
        mpu: u16_at(6),
        atm: parameters[1] & LINKLAYER_MASK == LINKLAYER_ATM,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::netlink::written;

    #[test]
    fn a_truncated_class_is_ignored() {
        let mut m = vec![0; TCMSG_BYTES];
        m[8..12].copy_from_slice(&0x0001_0010u32.to_ne_bytes());
        m[12..16].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
        m.extend(written(TCA_KIND, b"htb\0"));
        let mut p = vec![0; 44];
        p[8..12].copy_from_slice(&1_000_000u32.to_ne_bytes());
        p[20..24].copy_from_slice(&2_000_000u32.to_ne_bytes());
        // 10 ms at 1 MB/s, 1 ms at 2 MB/s.
        p[24..28].copy_from_slice(&156_250u32.to_ne_bytes());
        p[28..32].copy_from_slice(&15_625u32.to_ne_bytes());
        (p[1], p[2], p[6], p[32], p[40]) = (2, 44, 64, 200, 3);
        m.extend(written(TCA_OPTIONS, &written(TCA_HTB_PARMS, &p)));
        let expected = HtbClass {
            name: "1:10".into(),
            parent: "root".into(),
            bytes_per_second: 1_000_000,
            ceil_bytes_per_second: 2_000_000,
            burst_bytes: 10_000,
            cburst_bytes: 2_000,
            prio: 3,
            quantum: u32::from_ne_bytes([200, 0, 0, 0]),
            overhead: u16::from_ne_bytes([44, 0]),
            mpu: u16::from_ne_bytes([64, 0]),
            atm: true,
        };
        assert_eq!(class(&m), Some(expected));
        for n in 0..m.len() {
            assert_eq!(class(&m[..n]), None, "{n}");
        }
    }
}
