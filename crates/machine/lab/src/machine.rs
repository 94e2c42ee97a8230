//! What this machine did while a run took place: CPU time that nobody used or that a hypervisor took (`/proc/stat`), and
//! what the kernel's own queues in the run's namespaces lost (`/proc/net/dev`, `/proc/net/snmp`).

use crate::network::LabNetwork;
use linux::namespace::within;
use std::fs;
use std::os::fd::AsFd;
use units::Span;

/// CPU time since the machine began, in clock ticks, of all CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuTimes {
    all: u64,
    idle: u64,
    steal: u64,
}

impl CpuTimes {
    /// `None` where the system does not say.
    pub fn now() -> Option<CpuTimes> {
        CpuTimes::read(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The line `cpu user nice system idle iowait irq softirq steal …` (proc(5)); guests' time is in the first two.
    fn read(stat: &str) -> Option<CpuTimes> {
        let line = stat.lines().find_map(|l| l.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|n| n.parse().ok()).take(8).collect();
        let [_, _, _, idle, iowait, _, _, steal] = ticks[..] else { return None };
        Some(CpuTimes { all: ticks.iter().sum(), idle: idle + iowait, steal })
    }

    /// Shares of the time since then: idle, stolen.
    pub fn since(self, before: CpuTimes) -> Option<[f64; 2]> {
        let all = self.all.checked_sub(before.all).filter(|&all| all > 0)?;
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / all as f64;
        Some([share(self.idle, before.idle), share(self.steal, before.steal)])
    }
}

/// How long the calling thread waited for a CPU each time it was ready, in the mean (`/proc/PID/schedstat`: nanoseconds
/// on a CPU, nanoseconds ready without one, turns). `None` where the system does not say.
pub fn mean_wait() -> Option<Span> {
    read_wait(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The same of another thread of this process.
pub fn mean_wait_of(thread: i32) -> Option<Span> {
    read_wait(&fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?)
}

fn read_wait(schedstat: &str) -> Option<Span> {
    let numbers: Vec<u64> = schedstat.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
    let [_, ready, turns] = numbers[..] else { return None };
    Some(Span::from_nanos(ready.checked_div(turns)?))
}

/// Packets that the kernel's own queues lost for want of room.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LostPackets {
    /// Before the path took them: on the way out of devices and sockets.
    pub outward: u64,
    /// After the path delivered them: on the way into devices and sockets.
    pub inward: u64,
}

impl LostPackets {
    /// Those since then; a device that has gone meanwhile has taken its counts along.
    pub fn since(self, before: LostPackets) -> LostPackets {
        LostPackets {
            outward: self.outward.saturating_sub(before.outward),
            inward: self.inward.saturating_sub(before.inward),
        }
    }

    fn and(self, more: LostPackets) -> LostPackets {
        LostPackets { outward: self.outward + more.outward, inward: self.inward + more.inward }
    }
}

/// Packets that devices and sockets of the namespaces have lost since they were made.
pub fn lost_packets(network: &LabNetwork) -> LostPackets {
    let read = |what| fs::read_to_string(format!("/proc/thread-self/net/{what}")).unwrap_or_default();
    let of = |namespace| within(namespace, || device_drops(&read("dev")).and(socket_drops(&read("snmp"))));
    let each = network.namespaces.iter().map(|namespace| of(namespace.as_fd()).unwrap_or_default());
    each.fold(LostPackets::default(), LostPackets::and)
}

/// Dropped on the way in or out, of all devices but `lo`: after the name 8 columns of receiving, the fourth of which are
/// drops, then 8 of sending in the same order.
fn device_drops(dev: &str) -> LostPackets {
    let devices = dev.lines().filter_map(|line| line.split_once(':')).filter(|(name, _)| name.trim() != "lo");
    let drops = |counts: &str| {
        let counts: Vec<u64> = counts.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        let [inward, outward] = [3, 11].map(|i| counts.get(i).copied().unwrap_or(0));
        LostPackets { outward, inward }
    };
    devices.map(|(_, counts)| drops(counts)).fold(LostPackets::default(), LostPackets::and)
}

/// Datagrams for which a socket had no room, received or sent.
fn socket_drops(snmp: &str) -> LostPackets {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return LostPackets::default() };
    let pairs = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
    let of = |wanted| {
        let found = pairs.clone().find(|(name, _)| *name == wanted);
        found.and_then(|(_, n)| n.parse().ok()).unwrap_or(0)
    };
    LostPackets { outward: of("SndbufErrors"), inward: of("RcvbufErrors") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_are_those_of_all_cpus() {
        let before = CpuTimes::read("cpu  10 0 10 70 5 0 5 0 3 3\ncpu0 1 2 3 4 5 6 7 8 0 0\n").unwrap();
        assert_eq!(before, CpuTimes { all: 100, idle: 75, steal: 0 });
        let after = CpuTimes::read("cpu  60 0 30 85 10 0 5 10 3 3\n").unwrap();
        assert_eq!(after.since(before), Some([0.2, 0.1]));
        assert_eq!(before.since(before), None, "no time has passed");
        assert_eq!(CpuTimes::read("cpu0 1 2 3 4 5 6 7 8\n"), None);
        assert!(CpuTimes::now().is_some());
    }

    #[test]
    fn waits_are_a_mean_over_turns() {
        assert_eq!(read_wait("5000 9000 3\n"), Some(Span::from_nanos(3000)));
        assert_eq!(read_wait("5000 0 0\n"), None);
        assert_eq!(read_wait(""), None);
    }

    #[test]
    fn drops_are_those_of_devices_and_sockets() {
        let dev = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs \
                   drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
                   lo: 1 2 3 9 5 6 7 8 9 10 11 9 13 14 15 16\n  ab0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(device_drops(dev), LostPackets { inward: 4, outward: 12 });
        let snmp = "Tcp: InErrs\nTcp: 5\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n\
                    Udp: 100 1 7 99 7 2\nUdpLite: RcvbufErrors\nUdpLite: 4\n";
        let sockets = LostPackets { inward: 7, outward: 2 };
        assert_eq!(socket_drops(snmp), sockets);
        assert_eq!(socket_drops(""), LostPackets::default());
        let both = sockets.and(device_drops(dev));
        assert_eq!(both, LostPackets { inward: 11, outward: 14 });
        assert_eq!(both.since(sockets), device_drops(dev));
        assert_eq!(sockets.since(both), LostPackets::default(), "a device has gone");
    }
}
