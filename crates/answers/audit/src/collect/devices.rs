//! Reads the network devices of the calling thread's namespace: links and queueing disciplines by
//! rtnetlink(7), offloads by ethtool.

use super::htb;
use super::list::{TC_H_ROOT, TCA_KIND, TCA_OPTIONS, TCMSG_BYTES, dump};
use crate::facts::{DeviceFacts, ShaperFacts};
use linux::device::{EthtoolQuestion, ethtool_value};
use linux::netlink::{Service, attribute, number, number64, text, u32_at};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

const RTM_GETLINK: u16 = 18;
const RTM_GETQDISC: u16 = 38;
/// Bytes of `ifinfomsg` without attributes.
const IFINFO_BYTES: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;

/// Returns all devices, in the kernel's order.
///
/// # Errors
/// Fails with the kernel's error.
pub fn devices() -> io::Result<Vec<DeviceFacts>> {
    let mut links = Vec::new();
    dump(Service::Route, RTM_GETLINK, &[0; IFINFO_BYTES], &mut |m| links.extend(link(m)))?;
    let mut queues = Queues::default();
    dump(Service::Route, RTM_GETQDISC, &[0; TCMSG_BYTES], &mut |m| queues.read(m))?;
    let device = |(index, mut d): (u32, DeviceFacts)| {
        (d.qdisc, d.shaper) = queues.of(index);
        d.qdisc_set = queues.set.contains(&index);
        if d.qdisc == "htb" {
            d.classes = htb::classes(index)?;
        }
        let on = |command| ethtool_value(&d.name, command).map(|n| n != 0);
        (d.tso, d.gso, d.gro) = (
            on(EthtoolQuestion::SegmentationOffload),
            on(EthtoolQuestion::GenericSegmentation),
            on(EthtoolQuestion::GenericReceive),
        );
        Ok(d)
    };
    links.into_iter().map(device).collect()
}

/// Parses `ifinfomsg` and its attributes into the index and the device.
fn link(message: &[u8]) -> Option<(u32, DeviceFacts)> {
    let (fixed, rest) = message.split_at_checked(IFINFO_BYTES)?;
    let (index, flags) = (u32_at(fixed, 4), u32_at(fixed, 8));
    let kind = attribute(rest, IFLA_LINKINFO).and_then(|info| attribute(info, IFLA_INFO_KIND));
    let device = DeviceFacts {
        name: attribute(rest, IFLA_IFNAME).map(text)?,
        kind: kind.map(text).unwrap_or_default(),
        mtu: attribute(rest, IFLA_MTU).and_then(number)?,
        up: flags & libc::IFF_UP as u32 != 0 && flags & libc::IFF_RUNNING as u32 != 0,
        loopback: flags & libc::IFF_LOOPBACK as u32 != 0,
        gso_max_bytes: attribute(rest, IFLA_GSO_MAX_SIZE).and_then(number),
        gso_max_segs: attribute(rest, IFLA_GSO_MAX_SEGS).and_then(number),
        ..DeviceFacts::default()
    };
    Some((index, device))
}

/// Queueing disciplines by device index.
#[derive(Default)]
struct Queues {
    root: BTreeMap<u32, (String, Option<ShaperFacts>)>,
    /// Devices whose root queueing discipline was set explicitly, so that it has a handle. The handle of a
    /// default one is 0 (`qdisc_create_dflt`, net/sched/sch_generic.c).
    set: BTreeSet<u32>,
    /// Kinds of the queueing disciplines below a root.
    below: BTreeMap<u32, Vec<String>>,
}

impl Queues {
    /// Parses `tcmsg` and its attributes.
    fn read(&mut self, message: &[u8]) {
        let Some((fixed, rest)) = message.split_at_checked(TCMSG_BYTES) else { return };
        let Some(kind) = attribute(rest, TCA_KIND).map(text) else { return };
        let (index, parent) = (u32_at(fixed, 4), u32_at(fixed, 12));
        match parent {
            TC_H_ROOT => {
                let shaper = attribute(rest, TCA_OPTIONS).filter(|_| kind == "tbf").and_then(tbf);
                self.root.insert(index, (kind, shaper));
                if u32_at(fixed, 8) != 0 {
                    self.set.insert(index);
                }
            }
            // The ingress hooks do not queue packets.
            _ if kind == "ingress" || kind == "clsact" => {}
            _ => self.below.entry(index).or_default().push(kind),
        }
    }

    /// Returns the kind of the root. `mq` only spreads packets over hardware queues, so if these all have the
    /// same kind, that kind is returned.
    fn of(&self, index: u32) -> (String, Option<ShaperFacts>) {
        let (kind, shaper) = self.root.get(&index).cloned().unwrap_or_default();
        if kind == "mq"
            && let Some(below) = self.below.get(&index)
            && let Some(first) = below.first()
            && below.iter().all(|k| k == first)
        {
            return (first.clone(), None);
        }
        (kind, shaper)
    }
}

/// Parses `tc_tbf_qopt` (linux/pkt_sched.h): a `tc_ratespec` of 12 bytes whose last four are the rate,
/// another one of the peak rate, limit, bucket in ticks, MTU.
fn tbf(options: &[u8]) -> Option<ShaperFacts> {
    let parameters = attribute(options, TCA_TBF_PARMS)?;
    let rate = u64::from(number(parameters.get(8..)?)?);
    Some(ShaperFacts {
        bytes_per_second: attribute(options, TCA_TBF_RATE64).and_then(number64).unwrap_or(rate),
        burst_bytes: attribute(options, TCA_TBF_BURST).and_then(number).map(u64::from).or_else(|| {
            // Older kernels give the bucket in ticks of 64 ns (PSCHED_SHIFT) at the rate.
            Some(
                u64::from(number(parameters.get(28..)?)?).saturating_mul(64).saturating_mul(rate)
                    / 1_000_000_000,
            )
        })?,
        limit_bytes: u64::from(number(parameters.get(24..)?)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::netlink::written;

    fn tc(index: u32, parent: u32, kind: &str) -> Vec<u8> {
        let mut m = vec![0; TCMSG_BYTES];
        m[4..8].copy_from_slice(&index.to_ne_bytes());
        m[12..16].copy_from_slice(&parent.to_ne_bytes());
        m.extend(written(TCA_KIND, format!("{kind}\0").as_bytes()));
        m
    }

    #[test]
    fn a_link_is_parsed() {
        let mut m = vec![0; IFINFO_BYTES];
        m[4] = 7;
        m[8..12].copy_from_slice(&((libc::IFF_UP | libc::IFF_RUNNING) as u32).to_ne_bytes());
        m.extend(written(IFLA_IFNAME, b"wg0\0"));
        m.extend(written(IFLA_MTU, &1420u32.to_ne_bytes()));
        m.extend(written(IFLA_LINKINFO, &written(IFLA_INFO_KIND, b"wireguard\0")));
        m.extend(written(IFLA_GSO_MAX_SIZE, &65_536u32.to_ne_bytes()));
        let (index, d) = link(&m).unwrap();
        assert_eq!((index, d.name.as_str(), d.kind.as_str(), d.mtu), (7, "wg0", "wireguard", 1420));
        assert_eq!((d.up, d.loopback, d.gso_max_bytes), (true, false, Some(65_536)));
        for n in 0..m.len() {
            let _ = link(&m[..n]);
        }
        // Up, but without carrier.
        m[8..12].copy_from_slice(&(libc::IFF_UP as u32).to_ne_bytes());
        assert!(!link(&m).unwrap().1.up);
    }

    #[test]
    fn mq_has_the_kind_of_the_queues_below_it() {
        let mut q = Queues::default();
        for m in [tc(1, TC_H_ROOT, "mq"), tc(1, 1, "fq"), tc(1, 2, "fq"), tc(1, 0xffff_fff1, "clsact")] {
            q.read(&m);
        }
        assert_eq!(q.of(1), ("fq".into(), None));
        q.read(&tc(1, 3, "fq_codel"));
        assert_eq!(q.of(1).0, "mq");
        assert_eq!(q.of(2).0, "");
        let mut handled = tc(3, TC_H_ROOT, "fq_codel");
        handled[8..12].copy_from_slice(&0x8001_0000u32.to_ne_bytes());
        q.read(&handled);
        assert_eq!((q.set.contains(&1), q.set.contains(&3)), (false, true));
    }

    #[test]
    fn a_token_bucket_is_parsed_in_ticks_or_bytes() {
        let mut p = vec![0; 36];
        p[8..12].copy_from_slice(&1_000_000u32.to_ne_bytes());
        p[24..28].copy_from_slice(&50_000u32.to_ne_bytes());
        // 10 kB at 1 MB/s are 10 ms: 156,250 ticks of 64 ns.
        p[28..32].copy_from_slice(&156_250u32.to_ne_bytes());
        let expected = ShaperFacts { bytes_per_second: 1_000_000, burst_bytes: 10_000, limit_bytes: 50_000 };
        assert_eq!(tbf(&written(TCA_TBF_PARMS, &p)), Some(expected));
        let newer = [
            written(TCA_TBF_PARMS, &p),
            written(TCA_TBF_RATE64, &8_000_000_000u64.to_ne_bytes()),
            written(TCA_TBF_BURST, &9600u32.to_ne_bytes()),
        ];
        let s = tbf(&newer.concat()).unwrap();
        assert_eq!((s.bytes_per_second, s.burst_bytes), (8_000_000_000, 9600));
        assert_eq!(tbf(&written(TCA_TBF_PARMS, &p[..20])), None);
        let mut m = tc(1, TC_H_ROOT, "tbf");
        m.extend(written(TCA_OPTIONS, &written(TCA_TBF_PARMS, &p)));
        let mut q = Queues::default();
        q.read(&m);
        assert_eq!(q.of(1), ("tbf".into(), Some(expected)));
    }
}
