//! Network devices: TUN, and requests by device name (netdevice(7)).

use crate::check;
use crate::file::set_nonblocking;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `SIOCETHTOOL` (linux/sockios.h).
const SIOCETHTOOL: u64 = 0x8946;
/// `TUNSETIFF` and `TUNSETOFFLOAD` (linux/if_tun.h).
const TUNSETIFF: u64 = 0x4004_54ca;
const TUNSETOFFLOAD: u64 = 0x4004_54d0;
/// `TUNGETDEVNETNS` (linux/if_tun.h).
const TUNGETDEVNETNS: u64 = 0x54e3;

/// Offloads that a TUN device leaves to its reader (linux/if_tun.h): `TUN_F_CSUM`, `TUN_F_TSO4`,
/// `TUN_F_TSO_ECN`.
pub const TUN_OFFLOADS_V4: u32 = 1 | 2 | 8;
/// [`TUN_OFFLOADS_V4`], and super-packets of TCP over IPv6: `TUN_F_TSO6`.
pub const TUN_OFFLOADS: u32 = TUN_OFFLOADS_V4 | 4;

/// `struct ifreq`: a device's name and one value.
struct Request(libc::ifreq);

/// Values that the kernel reads or writes in addition to the name.
enum Value {
    None,
    Flags(libc::c_int),
    QueueLength(libc::c_int),
    Address(Ipv4Addr),
}

impl Request {
    /// Returns `None` if the name is too long for a device.
    fn new(device: &str, value: Value) -> Option<Request> {
        // SAFETY: all zeros is a value of `ifreq`: a name without letters and a union of numbers and
        // pointers.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // The name must end with zero.
        if device.len() >= request.ifr_name.len() {
            return None;
        }
        for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
            *to = from as libc::c_char;
        }
        match value {
            Value::None => {}
            Value::Flags(flags) => request.ifr_ifru.ifru_flags = flags as libc::c_short,
            Value::QueueLength(packets) => request.ifr_ifru.ifru_metric = packets,
            Value::Address(address) => {
                let mut a =
                    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: [0; 14] };
                // `sockaddr_in`: the port comes before the address.
                for (to, from) in a.sa_data[2..].iter_mut().zip(address.octets()) {
                    *to = from as libc::c_char;
                }
                request.ifr_ifru.ifru_addr = a;
            }
        }
        Some(Request(request))
    }

    /// # Safety
    /// The request's value must be the one that the kernel reads or writes for this request number; if it is
    /// an address, its memory must have the size that the kernel expects and live until the call returns.
    unsafe fn send(&mut self, to: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        // SAFETY: the kernel reads and writes the `ifreq` that it is given, which outlives the call; the rest
        // is the caller's promise.
        check(unsafe { libc::ioctl(to.as_raw_fd(), number as _, &raw mut self.0) }.into()).map(drop)
    }
}

fn too_long() -> io::Error {
    io::ErrorKind::InvalidInput.into()
}

/// Creates a TUN device in the calling thread's network namespace. Each packet has a virtio header, and
/// `offloads` are left to its reader. Non-blocking. It disappears with the descriptor.
pub fn open_tun(name: &str, offloads: u32) -> io::Result<OwnedFd> {
    open_device(name, libc::IFF_TUN, offloads)
}

/// Creates a TAP device, whose packets have an Ethernet header; otherwise as [`open_tun`].
pub fn open_tap(name: &str, offloads: u32) -> io::Result<OwnedFd> {
    open_device(name, libc::IFF_TAP, offloads)
}

fn open_device(name: &str, kind: libc::c_int, offloads: u32) -> io::Result<OwnedFd> {
    let file = File::options().read(true).write(true).open("/dev/net/tun")?;
    let flags = kind | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    let mut request = Request::new(name, Value::Flags(flags)).ok_or_else(too_long)?;
    // SAFETY: TUNSETIFF reads the flags and writes the device's name.
    unsafe { request.send(file.as_fd(), TUNSETIFF)? };
    // SAFETY: the argument of TUNSETOFFLOAD is a number.
    check(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD as _, offloads as libc::c_ulong) }.into())?;
    set_nonblocking(file.as_fd())?;
    Ok(file.into())
}

/// Opens the network namespace in which a TUN or TAP device is now (Linux 5.2; CAP_NET_ADMIN there).
///
/// # Errors
/// Fails if the device no longer exists.
pub fn tap_namespace(device: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: TUNGETDEVNETNS has no argument; it returns a new descriptor, which has no other owner.
    unsafe {
        let fd = check(libc::ioctl(device.as_raw_fd(), TUNGETDEVNETNS as _).into())?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

fn control_socket() -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    Ok(rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?)
}

/// Sets a device's address in a /24, its queue length in packets, and brings it up (netdevice(7)).
pub fn set_up(device: &str, address: Ipv4Addr, queue: i32) -> io::Result<()> {
    let socket = control_socket()?;
    let requests = [
        (libc::SIOCSIFADDR, Value::Address(address)),
        (libc::SIOCSIFNETMASK, Value::Address(Ipv4Addr::new(255, 255, 255, 0))),
        (libc::SIOCSIFTXQLEN, Value::QueueLength(queue)),
        (libc::SIOCSIFFLAGS, Value::Flags(libc::IFF_UP | libc::IFF_RUNNING)),
    ];
    for (number, value) in requests {
        let mut request = Request::new(device, value).ok_or_else(too_long)?;
        // SAFETY: each of these requests reads the value next to it, which is not a memory address.
        unsafe { request.send(socket.as_fd(), number as _)? };
    }
    Ok(())
}

/// Returns the index of a device in the calling thread's namespace (netdevice(7), SIOCGIFINDEX).
pub fn index(device: &str) -> io::Result<u32> {
    let socket = control_socket()?;
    let mut request = Request::new(device, Value::None).ok_or_else(too_long)?;
    // SAFETY: SIOCGIFINDEX reads the name and writes the device's number.
    unsafe { request.send(socket.as_fd(), libc::SIOCGIFINDEX as _)? };
    // SAFETY: the kernel has written this member of the union, a number.
    Ok(unsafe { request.0.ifr_ifru.ifru_ifindex } as u32)
}

/// A network device as the kernel describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceFacts {
    pub index: u32,
    /// Largest IP packet, bytes.
    pub mtu: u32,
    pub is_up: bool,
    /// Whether its packets have an Ethernet header (ARPHRD_ETHER), and it is not the loopback device.
    pub is_ethernet: bool,
    /// Ethernet address.
    pub address: [u8; 6],
}

/// Describes a device of the calling thread's namespace (netdevice(7)).
pub fn facts(device: &str) -> io::Result<DeviceFacts> {
    let socket = control_socket()?;
    let query = |number: u64| {
        let mut request = Request::new(device, Value::None).ok_or_else(too_long)?;
        // SAFETY: SIOCGIFMTU, SIOCGIFFLAGS and SIOCGIFHWADDR read the name and write one value into the
        // request.
        unsafe { request.send(socket.as_fd(), number)? };
        Ok::<_, io::Error>(request)
    };
    let index = index(device)?;
    // SAFETY: the kernel has written this member of the union.
    let mtu = unsafe { query(libc::SIOCGIFMTU as _)?.0.ifr_ifru.ifru_mtu } as u32;
    // SAFETY: as above.
    let flags = libc::c_int::from(unsafe { query(libc::SIOCGIFFLAGS as _)?.0.ifr_ifru.ifru_flags });
    // SAFETY: as above.
    let hardware = unsafe { query(libc::SIOCGIFHWADDR as _)?.0.ifr_ifru.ifru_hwaddr };
    let mut address = [0; 6];
    address.iter_mut().zip(hardware.sa_data).for_each(|(to, from)| *to = from as u8);
    Ok(DeviceFacts {
        index,
        mtu,
        is_up: flags & libc::IFF_UP != 0,
        is_ethernet: hardware.sa_family == libc::ARPHRD_ETHER && flags & libc::IFF_LOOPBACK == 0,
        address,
    })
}

/// Queries a number from a device's driver (`ETHTOOL_G...` with `ethtool_value`, linux/ethtool.h); `None` if
/// not supported.
pub fn ethtool_value(device: &str, command: EthtoolCommand) -> Option<u32> {
    let socket = control_socket().ok()?;
    let mut request = Request::new(device, Value::None)?;
    let mut value: [u32; 2] = [command as u32, 0];
    request.0.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL follows `ifru_data`. The commands of `EthtoolCommand` read and write an
    // `ethtool_value` there, which is two 32-bit numbers (`ethtool_get_value`, net/ethtool/ioctl.c); they
    // outlive the call.
    unsafe { request.send(socket.as_fd(), SIOCETHTOOL).ok()? };
    Some(value[1])
}

/// Values for [`ethtool_value`] (linux/ethtool.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EthtoolCommand {
    /// Whether the device segments TCP (`ETHTOOL_GTSO`).
    SegmentationOffload = 0x1e,
    /// Whether the kernel segments late in software (`ETHTOOL_GGSO`).
    GenericSegmentation = 0x23,
    /// Whether received segments are joined (`ETHTOOL_GGRO`).
    GenericReceive = 0x2b,
}
