//! Classes of an HTB at a device's root: rtnetlink(7), linux/pkt_sched.h.

use super::list::{TC_H_ROOT, TCA_KIND, TCA_OPTIONS, TCMSG, dump};
use linux::netlink::{Service, attribute, number, number64, text, u32_at};
use result::command::HtbClass;
use std::io;

const RTM_GETTCLASS: u16 = 42;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
/// A tick of the scheduler, ns (PSCHED_SHIFT).
const TICK: u128 = 64;
/// Bytes of a `tc_htb_opt`.
const HTB_OPT: usize = 44;
/// TC_LINKLAYER_MASK and TC_LINKLAYER_ATM (linux/pkt_sched.h).
const LINKLAYER_MASK: u8 = 0x0f;
const LINKLAYER_ATM: u8 = 2;

/// All of a device.
///
/// # Errors
/// What the kernel says.
pub fn classes(index: u32) -> io::Result<Vec<HtbClass>> {
    let mut asked = [0; TCMSG];
    asked[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut all = Vec::new();
    dump(Service::Route, RTM_GETTCLASS, &asked, &mut |m| all.extend(class(m)))?;
    Ok(all)
}

/// `1:10`, as `tc` writes it.
fn handle(n: u32) -> String {
    if n == TC_H_ROOT { "root".into() } else { format!("{:x}:{:x}", n >> 16, n & 0xffff) }
}

/// `tcmsg`, then a `tc_htb_opt`: two `tc_ratespec` of 12 bytes, both buckets as ticks at their rates, quantum, level and
/// priority. A `tc_ratespec` is cell_log and link layer of a byte each, overhead, cell_align and mpu of two, and the rate (all
/// ones: see the 64-bit attribute).
fn class(message: &[u8]) -> Option<HtbClass> {
    let (fixed, rest) = message.split_at_checked(TCMSG)?;
    let options = attribute(rest, TCA_OPTIONS)
        .filter(|_| attribute(rest, TCA_KIND).map(text).as_deref() == Some("htb"))?;
    let parameters = attribute(options, TCA_HTB_PARMS).filter(|p| p.len() >= HTB_OPT)?;
    let u16_at = |offset: usize| u16::from_ne_bytes([parameters[offset], parameters[offset + 1]]);
    let at = |offset: usize| number(parameters.get(offset..)?).map(u64::from);
    let wide = |kind| attribute(options, kind).and_then(number64);
    let (rate, ceil) = (wide(TCA_HTB_RATE64).or(at(8))?, wide(TCA_HTB_CEIL64).or(at(20))?);
    let bytes = |ticks: u64, rate: u64| (u128::from(ticks) * TICK * u128::from(rate) / 1_000_000_000) as u64;
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
    fn a_class_is_read_whole_or_not_at_all() {
        let mut m = vec![0; TCMSG];
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
