//! Classic traffic control (tc(8), tc-bpf(8)): the queueing discipline `clsact` of a device, which delays
//! nothing and has a list of filters for each side, and filters that are eBPF programs. Numbers are those of
//! linux/pkt_sched.h, linux/pkt_cls.h and linux/rtnetlink.h.
//!
//! Unlike the links of [`crate::bpf::attach_to_device`], filters stay when the process that added them ends.

use crate::bpf::DeviceSide;
use crate::netlink::{NetlinkSocket, Request, Service, attribute, text, u32_at, written};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const RTM_NEWTFILTER: u16 = 44;
const RTM_DELTFILTER: u16 = 45;
const RTM_GETTFILTER: u16 = 46;
/// Flags: create the object, and fail with EEXIST if there is one.
const CREATE: u16 = 0x400;
const EXCLUSIVE: u16 = 0x200;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_FLAGS_GEN: u16 = 9;
/// The program's return value is the verdict.
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
/// The network adapter must not run the filter in place of the kernel.
const TCA_CLS_FLAGS_SKIP_HW: u32 = 1;

/// Parent of the disciplines `clsact` and `ingress`, of which a device has at most one, and its handle.
const TC_H_CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;
/// Size of `struct tcmsg`.
const TCMSG: usize = 20;
const ETH_P_ALL: u16 = 3;
/// The first of the priorities, which are tried in ascending order.
const FIRST: u32 = 1;

/// Kinds of disciplines and filters.
const CLSACT: &str = "clsact";
const BPF: &str = "bpf";

/// A filter on one side of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFilter {
    /// Kind of the filter, such as `bpf` or `flower`.
    pub kind: String,
    /// Filters of lower priorities are tried first.
    pub priority: u16,
    /// The filter among those of its priority; 0 stands for all of them.
    pub handle: u32,
    /// Name of a `bpf` filter; empty if it has none.
    pub name: String,
}

/// Classic traffic control in the namespace in which this was made. While it exists, so does the namespace.
pub struct TrafficControl(NetlinkSocket);

impl TrafficControl {
    /// Opens a socket in the calling thread's network namespace.
    pub fn new() -> io::Result<TrafficControl> {
        NetlinkSocket::new(Service::Route).map(TrafficControl)
    }

    /// Adds `clsact` to a device. Returns whether it had none before.
    ///
    /// # Errors
    /// Fails with ENOENT or EOPNOTSUPP if the kernel has no `clsact`, with ENODEV if there is no such device.
    pub fn add_clsact(&self, device: u32) -> io::Result<bool> {
        match clsact(RTM_NEWQDISC, CREATE | EXCLUSIVE, device).send(&self.0) {
            Err(e) if e.raw_os_error() == Some(libc::EEXIST) => Ok(false),
            done => done.map(|_| true),
        }
    }

    /// Removes `clsact` from a device, with all of its filters.
    pub fn remove_clsact(&self, device: u32) -> io::Result<()> {
        clsact(RTM_DELQDISC, 0, device).send(&self.0).map(drop)
    }

    /// Returns the kind of the device's discipline for arriving packets: `clsact`, or `ingress`, which has no
    /// filters for the packets that the device sends.
    pub fn ingress_kind(&self, device: u32) -> io::Result<Option<String>> {
        let mut found = None;
        self.0.list(RTM_GETQDISC, &tcmsg(device, 0, 0, 0), &mut |body| {
            // The kernel lists the disciplines of all devices.
            if u32_at(body, 4) == device && u32_at(body, 12) == TC_H_CLSACT {
                found = attribute(body.get(TCMSG..).unwrap_or_default(), TCA_KIND).map(text);
            }
        })?;
        Ok(found)
    }

    /// Adds a program as the first filter for all packets on a side of a device, which must have `clsact`.
    ///
    /// # Errors
    /// Fails with EEXIST if there is a filter with this handle, and with EINVAL if a filter of another kind
    /// has the first priority.
    pub fn add_filter(
        &self,
        device: u32,
        side: DeviceSide,
        handle: u32,
        name: &str,
        program: BorrowedFd<'_>,
    ) -> io::Result<()> {
        new_filter(device, side, handle, name, program.as_raw_fd()).send(&self.0).map(drop)
    }

    /// Removes a filter that [`TrafficControl::add_filter`] has added.
    pub fn remove_filter(&self, device: u32, side: DeviceSide, handle: u32) -> io::Result<()> {
        filter(RTM_DELTFILTER, 0, device, side, handle).send(&self.0).map(drop)
    }

    /// Lists the filters on a side of a device; none if the device or its discipline does not exist, or if
    /// the kernel has no filters.
    pub fn filters(&self, device: u32, side: DeviceSide) -> io::Result<Vec<DeviceFilter>> {
        let mut found = Vec::new();
        let request = tcmsg(device, 0, parent(side), 0);
        let listed = self.0.list(RTM_GETTFILTER, &request, &mut |body| found.extend(listed_filter(body)));
        match listed {
            // Which of the first two it is depends on the kernel's version; the third is a kernel without
            // CONFIG_NET_CLS.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENODEV | libc::EINVAL | libc::EOPNOTSUPP)) => {
                Ok(Vec::new())
            }
            listed => listed.map(|()| found),
        }
    }
}

/// The parent of the filters on a side (`TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS`).
fn parent(side: DeviceSide) -> u32 {
    match side {
        DeviceSide::Ingress => 0xffff_fff2,
        DeviceSide::Egress => 0xffff_fff3,
    }
}

/// Builds a `tcmsg`.
fn tcmsg(device: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    [0, device, handle, parent, info].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Encodes a text with its terminating zero.
fn zero_ended(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\0"].concat()
}

fn clsact(kind: u16, flags: u16, device: u32) -> Request {
    Request::new(kind, flags, &tcmsg(device, CLSACT_HANDLE, TC_H_CLSACT, 0))
        .attribute(TCA_KIND, &zero_ended(CLSACT))
}

/// A request about the `bpf` filter of the first priority that has this handle.
fn filter(kind: u16, flags: u16, device: u32, side: DeviceSide, handle: u32) -> Request {
    let info = FIRST << 16 | u32::from(ETH_P_ALL.to_be());
    Request::new(kind, flags, &tcmsg(device, handle, parent(side), info))
        .attribute(TCA_KIND, &zero_ended(BPF))
}

fn new_filter(device: u32, side: DeviceSide, handle: u32, name: &str, program: i32) -> Request {
    let options = [
        written(TCA_BPF_FD, &program.to_ne_bytes()),
        written(TCA_BPF_NAME, &zero_ended(name)),
        written(TCA_BPF_FLAGS, &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes()),
        written(TCA_BPF_FLAGS_GEN, &TCA_CLS_FLAGS_SKIP_HW.to_ne_bytes()),
    ];
    let request = filter(RTM_NEWTFILTER, CREATE | EXCLUSIVE, device, side, handle);
    request.attribute(TCA_OPTIONS, &options.concat())
}

/// Parses a filter of a list.
fn listed_filter(body: &[u8]) -> Option<DeviceFilter> {
    let rest = body.get(TCMSG..)?;
    let name = attribute(rest, TCA_OPTIONS).and_then(|options| attribute(options, TCA_BPF_NAME));
    let kind = attribute(rest, TCA_KIND).map(text)?;
    // Options of other kinds have other meanings.
    let name = name.filter(|_| kind == BPF).map(text).unwrap_or_default();
    Some(DeviceFilter { kind, priority: (u32_at(body, 16) >> 16) as u16, handle: u32_at(body, 8), name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{HEADER, attributes, number};

    /// What `tc qdisc add dev … clsact` of iproute2 6.1 sends (strace), but for its sequence number.
    #[test]
    fn the_discipline_is_added_as_by_tc() {
        let clsact = clsact(RTM_NEWQDISC, CREATE | EXCLUSIVE, 7).bytes();
        assert_eq!(clsact[4..8], [36, 0, 0x05, 0x06]);
        assert_eq!(clsact[HEADER..HEADER + 8], [0, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(
            clsact[HEADER + 8..HEADER + TCMSG],
            [0, 0, 0xff, 0xff, 0xf1, 0xff, 0xff, 0xff, 0, 0, 0, 0]
        );
        assert_eq!(clsact[HEADER + TCMSG..], *b"\x0b\0\x01\0clsact\0\0");
    }

    #[test]
    fn a_filter_is_a_program_with_a_name_that_decides_in_software() {
        let bytes = new_filter(7, DeviceSide::Egress, 0x1234, "abc", 9).bytes();
        assert_eq!(bytes[4..8], [44, 0, 0x05, 0x06]);
        let body = &bytes[HEADER..];
        assert_eq!((u32_at(body, 4), u32_at(body, 8), u32_at(body, 12)), (7, 0x1234, 0xffff_fff3));
        // Priority 1; all protocols, in network order.
        assert_eq!(body[16..20], [0, 3, 1, 0]);
        let rest = &body[TCMSG..];
        assert_eq!(attributes(rest).map(|a| a.0).collect::<Vec<_>>(), [TCA_KIND, TCA_OPTIONS]);
        let options = attribute(rest, TCA_OPTIONS).unwrap();
        let words = [TCA_BPF_FD, TCA_BPF_FLAGS, TCA_BPF_FLAGS_GEN];
        assert_eq!(words.map(|kind| attribute(options, kind).and_then(number)), [Some(9), Some(1), Some(1)]);
        assert_eq!(attribute(options, TCA_BPF_NAME), Some(&b"abc\0"[..]));
        // The kernel lists it with the same fields.
        let named = DeviceFilter { kind: BPF.into(), priority: 1, handle: 0x1234, name: "abc".into() };
        assert_eq!(listed_filter(body), Some(named));
        // Another kind's option of the same number is not a name.
        let other = [&body[..TCMSG], &written(TCA_KIND, b"u32\0"), &written(TCA_OPTIONS, options)].concat();
        assert_eq!(listed_filter(&other).map(|f| (f.kind, f.name)), Some(("u32".into(), String::new())));
        for n in 0..body.len() {
            listed_filter(&body[..n]);
        }
        let removal = filter(RTM_DELTFILTER, 0, 7, DeviceSide::Ingress, 0x1234).bytes();
        assert_eq!(removal[HEADER + 8..HEADER + 20], [0x34, 0x12, 0, 0, 0xf2, 0xff, 0xff, 0xff, 0, 3, 1, 0]);
    }
}
