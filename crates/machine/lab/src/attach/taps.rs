//! The two TAP devices between the target and the engine.

use super::target::{FoundTarget, TAP_PREFIX, inside};
use crate::LabError;
use crate::netlink::Netlink;
use crate::network::{TUN_QUEUE, namespace_error, tun_error};
use linux::device::{TUN_OFFLOADS, open_tap, tap_namespace};
use linux::namespace::enter_new_network;
use linux::random;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// TAP devices in the target's namespace: for outgoing and for incoming packets. They disappear with their
/// descriptors.
pub struct Taps {
    pub fds: [OwnedFd; 2],
    /// Numbers in the target's namespace.
    pub indexes: [u32; 2],
    names: [String; 2],
}

impl Taps {
    /// Creates the devices.
    ///
    /// A TAP descriptor keeps the namespace alive in which it was opened. The devices are therefore made in a
    /// namespace of their own and moved to the target's, which then ends as if they were not there.
    pub fn open(target: &FoundTarget) -> Result<Taps, LabError> {
        let mut bytes = [0; 3];
        random::fill(&mut bytes).map_err(LabError::system("random numbers"))?;
        let id: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let names = ["o", "i"].map(|side| format!("{TAP_PREFIX}{id}{side}"));
        let namespace = target.namespace().map_err(LabError::system("the target's namespace"))?;
        let make = || {
            enter_new_network().map_err(namespace_error)?;
            let netlink = Netlink::new().map_err(LabError::system("rtnetlink"))?;
            let make = |name: &String| {
                let fd = open_tap(name, TUN_OFFLOADS).map_err(tun_error)?;
                let index = netlink.index(name).map_err(LabError::system("finding a TAP device"))?;
                let moved = netlink.move_to(index, namespace.as_fd());
                moved.map_err(LabError::system("moving a TAP device into the target's namespace"))?;
                Ok::<_, LabError>(fd)
            };
            Ok([make(&names[0])?, make(&names[1])?])
        };
        let made = std::thread::scope(|s| s.spawn(make).join());
        let fds = made.unwrap_or(Err(LabError::Killed))?;
        let mtu = target.facts.mtu;
        let indexes = inside::<_, LabError>(namespace.as_fd(), || {
            let netlink = Netlink::new().map_err(LabError::system("rtnetlink"))?;
            let set_up = |name: &String| {
                let index = netlink.index(name)?;
                // Where IPv6 is switched off there is nothing to prevent.
                let _ = netlink.without_ipv6_address(index);
                netlink.configure(index, mtu, TUN_QUEUE, 0)?;
                Ok(index)
            };
            let set_up = |name| set_up(name).map_err(LabError::system("setting up a TAP device"));
            Ok([set_up(&names[0])?, set_up(&names[1])?])
        })?;
        Ok(Taps { fds, indexes, names })
    }

    /// Returns the name of a device that exists as long as this longfat or its watcher.
    pub fn owner(&self) -> &str {
        &self.names[0]
    }

    /// Opens the namespace in which the devices are. As for [`FoundTarget::namespace`], it must be closed
    /// soon.
    ///
    /// # Errors
    /// Fails if the device has gone, for instance with its namespace.
    pub fn namespace(&self) -> io::Result<OwnedFd> {
        tap_namespace(self.fds[0].as_fd())
    }

    /// Returns how many packets the devices have dropped. The calling thread must be in the target's
    /// namespace.
    pub fn dropped(&self) -> u64 {
        drops(&fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default(), &self.names)
    }
}

/// Sums the drops of devices: after the name come 8 receive columns, the fourth of which is drops, then 8
/// transmit columns in the same order.
fn drops(dev: &str, names: &[String]) -> u64 {
    let devices = dev.lines().filter_map(|line| line.split_once(':'));
    let ours = devices.filter(|(name, _)| names.iter().any(|own| own == name.trim()));
    let sum = |counts: &str| {
        let counts: Vec<u64> = counts.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        [3, 11].into_iter().filter_map(|i| counts.get(i)).sum::<u64>()
    };
    ours.map(|(_, counts)| sum(counts)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_drops_of_our_own_devices_count() {
        let dev = "  eth0: 1 2 3 100 5 6 7 8 9 10 11 100 13 14 15 16\nlongfat-o: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(drops(dev, &["longfat-o".into(), "longfat-i".into()]), 16);
        assert_eq!(drops("", &["x".into()]), 0);
    }
}
