//! The programs of `longfat attach` without an engine: what is led into the TAP devices, what comes back, and
//! that a forged mark changes nothing.

use crate::eventually;
use kernel_cc::{AttachConfig, AttachMethod, AttachMode, AttachPrograms, ControlError, remove_filters};
use linux::bpf::DeviceSide;
use linux::device::{TUN_OFFLOADS, index, open_tap};
use linux::traffic_control::TrafficControl;
use linux::{clock, file, namespace};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;

/// Bytes of the virtio header before each frame of a TAP device.
const VIRTIO: usize = 10;
const MARK: u32 = 0x1234_5679;

/// A frame with a UDP packet; `port` tells frames apart.
fn frame(port: u16) -> Vec<u8> {
    let mut f = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let ip = [0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    f.extend(ip);
    f.extend(port.to_be_bytes());
    f.extend([0, 9, 0, 12, 0, 0, 1, 2, 3, 4]);
    f
}

/// Sends a frame through a device with a mark, as a program of the target with CAP_NET_RAW can.
fn send(device: &str, frame: &[u8], mark: u32) {
    let device = index(device).unwrap();
    // SAFETY: a system call without addresses; the new descriptor has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)) };
    let fd = socket.as_raw_fd();
    let size = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of one number.
    let marked =
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_MARK, (&raw const mark).cast(), size) };
    assert_eq!(marked, 0);
    // SAFETY: all zeros is a value of `sockaddr_ll`.
    let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    to.sll_family = libc::AF_PACKET as u16;
    to.sll_protocol = 0x0800u16.to_be();
    to.sll_ifindex = device as i32;
    let size = size_of_val(&to) as libc::socklen_t;
    // SAFETY: the pointers and lengths are those of the frame and of the address.
    let sent =
        unsafe { libc::sendto(fd, frame.as_ptr().cast(), frame.len(), 0, (&raw const to).cast(), size) };
    // A frame that a program drops is an error for its sender.
    assert!(
        sent == frame.len() as isize || std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS)
    );
}

/// Packets that a device has received, as the kernel counts them.
fn received(device: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find_map(|l| l.trim().strip_prefix(&format!("{device}:"))).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The source port of the next frame that a TAP device delivers.
fn next(tap: &OwnedFd) -> Option<u16> {
    let mut buffer = [0; 2048];
    let n = file::read(tap.as_fd(), &mut buffer).ok()?;
    let at = VIRTIO + 14 + 20;
    assert!(n >= at + 2);
    Some(u16::from_be_bytes([buffer[at], buffer[at + 1]]))
}

fn ip(args: &str) {
    assert!(Command::new("ip").args(args.split(' ')).status().unwrap().success(), "{args}");
}

/// Adds the target `lft`, whose other end is `lfp`, to a new namespace of this thread.
fn site() {
    namespace::enter_new_network().unwrap();
    // Both ends are in one namespace: between namespaces the kernel itself clears marks.
    ip("link add lft type veth peer name lfp");
    ["lft", "lfp"].into_iter().for_each(set_up);
}

fn set_up(device: &str) {
    let quiet = format!("net.ipv6.conf.{device}.disable_ipv6=1");
    Command::new("sysctl").args(["-qw", &quiet]).status().unwrap();
    ip(&format!("link set {device} up"));
}

/// The programs for `lft`, with TAP devices of these names.
fn loaded(names: [&str; 2]) -> (AttachPrograms, [OwnedFd; 2]) {
    let taps = names.map(|name| open_tap(name, TUN_OFFLOADS).unwrap());
    names.into_iter().for_each(set_up);
    let config = AttachConfig {
        target: index("lft").unwrap(),
        devices: names.map(|name| index(name).unwrap()),
        owner: names[0].into(),
        directions: [true; 2],
        hosts: vec![("10.0.0.0".parse().unwrap(), 24)],
        ports: (1..=8).collect(),
        secrets: (MARK, 0x55, 9),
    };
    (AttachPrograms::load(config).unwrap(), taps)
}

const METHODS: [AttachMethod; 2] = [AttachMethod::Tcx, AttachMethod::Classic];

fn check(method: AttachMethod) {
    site();
    let (mut programs, taps) = loaded(["lfo", "lfi"]);
    assert!(!programs.attach(method).unwrap(), "nothing was there");
    let (mut second, _others) = loaded(["lfo2", "lfi2"]);
    for other in METHODS {
        assert!(matches!(second.attach(other), Err(ControlError::Taken { .. })), "{other:?}");
    }
    let counters = || programs.counters().unwrap();

    // Off: everything passes.
    let before = received("lfp");
    send("lft", &frame(1), 0);
    assert!(eventually(|| received("lfp") == before + 1));
    assert_eq!(next(&taps[0]), None);

    programs.set(AttachMode::On, clock::monotonic()).unwrap();
    send("lft", &frame(2), 0);
    assert_eq!(next(&taps[0]), Some(2), "outgoing");
    send("lfp", &frame(3), 0);
    assert!(eventually(|| counters().led == [1, 1]));
    assert_eq!(next(&taps[1]), Some(3), "incoming");
    assert_eq!((received("lfp"), counters().forged), (before + 1, 0));

    // Not selected by port.
    send("lft", &frame(77), 0);
    assert!(eventually(|| received("lfp") == before + 2));

    // The mark alone is not a way around the path, in neither direction.
    send("lft", &frame(4), MARK);
    assert_eq!(next(&taps[0]), Some(4), "a forged mark on egress");
    send("lfp", &frame(5), MARK);
    assert!(eventually(|| counters().forged == 2 && counters().led == [2, 2]));
    assert_eq!(next(&taps[1]), Some(5), "a forged mark on ingress");
    assert_eq!((received("lfp"), counters().returned), (before + 2, [0, 0]));

    // Nobody else reaches the engine.
    send("lfo", &frame(6), MARK);
    send("lfi", &frame(6), 0);
    assert_eq!((counters().intruded, next(&taps[0]), next(&taps[1])), (2, None, None));

    // What the engine writes goes on, once, without a mark.
    let written = [&[0; VIRTIO][..], &frame(7)].concat();
    file::write(taps[0].as_fd(), &written).unwrap();
    assert!(eventually(|| received("lfp") == before + 3));
    assert_eq!(next(&taps[1]), None, "lfp's own side has no program");
    file::write(taps[1].as_fd(), &written).unwrap();
    assert!(eventually(|| counters().returned == [1, 1]));
    assert_eq!((next(&taps[0]), counters().led), (None, [2, 2]), "not led twice");

    // Without a running engine packets pass.
    programs.set(AttachMode::On, clock::monotonic() - 2_000_000_000).unwrap();
    send("lft", &frame(8), 0);
    assert!(eventually(|| received("lfp") == before + 4));
    assert_eq!((next(&taps[0]), counters().stalled), (None, [1, 0]));

    assert!(programs.is_attached());
    ip("link del lft");
    assert!(eventually(|| !programs.is_attached()));
}

/// Filters on a side of the target: kind and name.
fn filters(side: DeviceSide) -> Vec<(String, String)> {
    let listed = TrafficControl::new().unwrap().filters(index("lft").unwrap(), side).unwrap();
    listed.into_iter().filter(|f| f.handle != 0).map(|f| (f.kind, f.name)).collect()
}

fn discipline() -> Option<String> {
    TrafficControl::new().unwrap().ingress_kind(index("lft").unwrap()).unwrap()
}

fn tc(args: &str) {
    assert!(Command::new("tc").args(args.split(' ')).status().unwrap().success(), "{args}");
}

fn check_filters() {
    site();
    let target = index("lft").unwrap();
    // The filters of a longfat that has ended stay, and the next one removes them, with either method.
    for (round, method) in METHODS.into_iter().enumerate() {
        let (mut programs, taps) = loaded(["lfo", "lfi"]);
        programs.attach(AttachMethod::Classic).unwrap();
        assert!(programs.is_attached());
        let names = [DeviceSide::Egress, DeviceSide::Ingress].map(filters).concat();
        let named =
            ["longfat_out:lfo:clsact", "longfat_in:lfo:clsact"].map(|name| ("bpf".into(), name.into()));
        assert_eq!(names, named, "{round}");
        drop((programs, taps));
        assert!(eventually(|| index("lfo").is_err()));
        assert_eq!((filters(DeviceSide::Egress).len(), discipline().as_deref()), (1, Some("clsact")));
        let (mut next, taps) = loaded(["lfo2", "lfi2"]);
        assert!(next.attach(method).unwrap(), "some were removed");
        assert_eq!(discipline().is_some(), method == AttachMethod::Classic);
        remove_filters(target, "lfo2").unwrap();
        assert_eq!((filters(DeviceSide::Egress).len(), discipline()), (0, None));
        assert_eq!(next.is_attached(), method == AttachMethod::Tcx);
        drop((next, taps));
        assert!(eventually(|| index("lfo2").is_err()));
    }
    // Somebody else's discipline and filter stay as they are, behind longfat's.
    tc("qdisc add dev lft clsact");
    tc("filter add dev lft egress pref 2 protocol all u32 match u32 0 0 flowid 1:1");
    let before = filters(DeviceSide::Egress);
    let (mut programs, _taps) = loaded(["lfo", "lfi"]);
    assert!(!programs.attach(AttachMethod::Classic).unwrap());
    assert_eq!(filters(DeviceSide::Egress)[0].1, "longfat_out:lfo");
    remove_filters(target, "lfo").unwrap();
    assert_eq!((filters(DeviceSide::Egress), discipline().as_deref()), (before.clone(), Some("clsact")));
    // One that must be before longfat's, and a discipline without filters for sent packets, are refused.
    tc("filter add dev lft ingress pref 1 protocol all u32 match u32 0 0 flowid 1:1");
    let refused = |names| match loaded(names).0.attach(AttachMethod::Classic) {
        Err(ControlError::Device { why }) => why,
        other => panic!("{other:?}"),
    };
    let why = refused(["lfo2", "lfi2"]);
    assert!(why.contains("u32") && why.contains("preference 1"), "{why}");
    assert_eq!(filters(DeviceSide::Egress), before, "nothing of longfat's stays");
    tc("qdisc del dev lft clsact");
    tc("qdisc add dev lft ingress");
    let why = refused(["lfo3", "lfi3"]);
    assert!(why.contains("`ingress`"), "{why}");
    assert_eq!(discipline().as_deref(), Some("ingress"));
}

#[test]
fn attached_programs_lead_packets_and_cannot_be_passed_by_a_forged_mark() {
    if !linux::privilege::has_capability(linux::privilege::CAP_NET_ADMIN) {
        return eprintln!("SKIPPED: needs root");
    }
    // The thread keeps its namespace until it ends.
    for method in METHODS {
        std::thread::spawn(move || check(method)).join().unwrap();
    }
}

#[test]
fn classic_filters_are_removed_without_touching_those_of_others() {
    if !linux::privilege::has_capability(linux::privilege::CAP_NET_ADMIN) {
        return eprintln!("SKIPPED: needs root");
    }
    std::thread::spawn(check_filters).join().unwrap();
}
