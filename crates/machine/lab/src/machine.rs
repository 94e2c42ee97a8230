//! Load and losses of this machine during a run: CPU time that was idle or stolen by a hypervisor
//! (`/proc/stat`), and drops in the kernel's own queues of the run's namespaces (`/proc/net/dev`,
//! `/proc/net/snmp`).

use crate::network::LabNetwork;
use linux::namespace::within;
use std::fs;
use std::os::fd::AsFd;
use units::Span;

/// CPU time of all CPUs since boot, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuTimes {
    all: u64,
    idle: u64,
    steal: u64,
}

impl CpuTimes {
    /// Reads the current times; `None` if the system does not report them.
    pub fn now() -> Option<CpuTimes> {
        CpuTimes::read(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the line `cpu user nice system idle iowait irq softirq steal …` (proc(5)); guests' time is in
    /// the first two.
    fn read(stat: &str) -> Option<CpuTimes> {
        let line = stat.lines().find_map(|l| l.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|n| n.parse().ok()).take(8).collect();
        let [_, _, _, idle, iowait, _, _, steal] = ticks[..] else { return None };
        Some(CpuTimes { all: ticks.iter().sum(), idle: idle + iowait, steal })
    }

    /// Returns the idle and the stolen share of the time since `before`.
    pub fn since(self, before: CpuTimes) -> Option<[f64; 2]> {
        let all = self.all.checked_sub(before.all).filter(|&all| all > 0)?;
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / all as f64;
        Some([share(self.idle, before.idle), share(self.steal, before.steal)])
    }
}

/// Returns the mean time that the calling thread waited for a CPU when it was runnable
/// (`/proc/PID/schedstat`: nanoseconds on a CPU, nanoseconds runnable without one, time slices). `None` if
/// the system does not report it.
pub fn mean_wait() -> Option<Span> {
    read_wait(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Returns the mean time that another thread of this process waited for a CPU; see [`mean_wait`].
pub fn mean_wait_of(thread: i32) -> Option<Span> {
    read_wait(&fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?)
}

fn read_wait(schedstat: &str) -> Option<Span> {
    let numbers: Vec<u64> = schedstat.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
    let [_, runnable, slices] = numbers[..] else { return None };
    Some(Span::from_nanos(runnable.checked_div(slices)?))
}

/// Packets that the kernel's own queues dropped for lack of space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LostPackets {
    /// Dropped before the path read them: in transmit queues of devices and sockets.
    pub outward: u64,
    /// Dropped after the path delivered them: in receive queues of devices and sockets.
    pub inward: u64,
}

impl LostPackets {
    /// Returns the drops since `before`. A device that was removed meanwhile took its counters with it.
    pub fn since(self, before: LostPackets) -> LostPackets {
        LostPackets {
            outward: self.outward.saturating_sub(before.outward),
            inward: self.inward.saturating_sub(before.inward),
        }
    }

    fn plus(self, more: LostPackets) -> LostPackets {
        LostPackets { outward: self.outward + more.outward, inward: self.inward + more.inward }
    }
}

/// Returns the packets that devices and sockets of the namespaces have dropped so far.
pub fn lost_packets(network: &LabNetwork) -> LostPackets {
    let read = |what| fs::read_to_string(format!("/proc/thread-self/net/{what}")).unwrap_or_default();
    let count =
        |namespace| within(namespace, || device_drops(&read("dev")).plus(socket_drops(&read("snmp"))));
    let each = network.namespaces.iter().map(|namespace| count(namespace.as_fd()).unwrap_or_default());
    each.fold(LostPackets::default(), LostPackets::plus)
}

/// Sums receive and transmit drops of all devices but `lo`: after the name come 8 receive columns, the fourth
/// of which is drops, then 8 transmit columns in the same order.
fn device_drops(dev: &str) -> LostPackets {
    let devices = dev.lines().filter_map(|line| line.split_once(':')).filter(|(name, _)| name.trim() != "lo");
    let drops = |counts: &str| {
        let counts: Vec<u64> = counts.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        let [inward, outward] = [3, 11].map(|i| counts.get(i).copied().unwrap_or(0));
        LostPackets { outward, inward }
    };
    devices.map(|(_, counts)| drops(counts)).fold(LostPackets::default(), LostPackets::plus)
}

/// Datagrams that a socket dropped for lack of buffer space, when receiving or sending.
fn socket_drops(snmp: &str) -> LostPackets {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return LostPackets::default() };
    let pairs = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
    let value = |wanted| {
        let found = pairs.clone().find(|(name, _)| *name == wanted);
        found.and_then(|(_, n)| n.parse().ok()).unwrap_or(0)
    };
    LostPackets { outward: value("SndbufErrors"), inward: value("RcvbufErrors") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_are_summed_over_all_cpus() {
        let before = CpuTimes::read("cpu  10 0 10 70 5 0 5 0 3 3\ncpu0 1 2 3 4 5 6 7 8 0 0\n").unwrap();
        assert_eq!(before, CpuTimes { all: 100, idle: 75, steal: 0 });
        let after = CpuTimes::read("cpu  60 0 30 85 10 0 5 10 3 3\n").unwrap();
        assert_eq!(after.since(before), Some([0.2, 0.1]));
        assert_eq!(before.since(before), None, "no time has passed");
        assert_eq!(CpuTimes::read("cpu0 1 2 3 4 5 6 7 8\n"), None);
        assert!(CpuTimes::now().is_some());
    }

    #[test]
    fn waits_are_averaged_over_time_slices() {
        assert_eq!(read_wait("5000 9000 3\n"), Some(Span::from_nanos(3000)));
        assert_eq!(read_wait("5000 0 0\n"), None);
        assert_eq!(read_wait(""), None);
    }

    #[test]
    fn drops_of_devices_and_sockets_are_summed() {
        let dev = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs \
                   drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
                   lo: 1 2 3 9 5 6 7 8 9 10 11 9 13 14 15 16\n  ab0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(device_drops(dev), LostPackets { inward: 4, outward: 12 });
        let snmp = "Tcp: InErrs\nTcp: 5\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n\
                    Udp: 100 1 7 99 7 2\nUdpLite: RcvbufErrors\nUdpLite: 4\n";
        let sockets = LostPackets { inward: 7, outward: 2 };
        assert_eq!(socket_drops(snmp), sockets);
        assert_eq!(socket_drops(""), LostPackets::default());
        let both = sockets.plus(device_drops(dev));
        assert_eq!(both, LostPackets { inward: 11, outward: 14 });
        assert_eq!(both.since(sockets), device_drops(dev));
        assert_eq!(sockets.since(both), LostPackets::default(), "a device has gone");
    }
}
