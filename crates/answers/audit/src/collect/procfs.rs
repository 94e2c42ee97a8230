//! Parses files below /proc.

use crate::settings::{SYSCTLS, Settings, file_of};
use std::fs;

/// Reads the sysctls of the calling thread's network namespace.
pub fn settings() -> Settings {
    let mut settings = Settings::default();
    for (name, _) in SYSCTLS {
        if let Ok(value) = fs::read_to_string(file_of(name)) {
            settings.set(name, &value);
        }
    }
    settings
}

/// Returns a counter of /proc/net/netstat or snmp. A group is a line of names and a line of values, both
/// beginning with the group's name.
pub fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|l| l.strip_prefix(group)?.strip_prefix(':'));
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let mut pairs = names.split_whitespace().zip(values.split_whitespace());
        if let Some((_, value)) = pairs.find(|(n, _)| *n == name) {
            return value.parse().ok();
        }
    }
    None
}

/// Returns the pages of memory that TCP holds, from /proc/net/sockstat.
pub fn tcp_pages(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix("TCP:"))?;
    let mut words = line.split_whitespace();
    words.find(|w| *w == "mem")?;
    words.next()?.parse().ok()
}

/// Returns the packets dropped because a backlog was full: the second column of /proc/net/softnet_stat, one
/// line for each CPU, in hexadecimal.
pub fn backlog_drops(text: &str) -> u64 {
    let drops = text.lines().filter_map(|l| u64::from_str_radix(l.split_whitespace().nth(1)?, 16).ok());
    drops.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 22 333\nIpExt: InNoRoutes\nIpExt: 4\n";
        assert_eq!(counter(text, "TcpExt", "ListenOverflows"), Some(22));
        assert_eq!(counter(text, "IpExt", "InNoRoutes"), Some(4));
        assert_eq!(counter(text, "IpExt", "ListenOverflows"), None);
        assert_eq!(counter("TcpExt: a b\n", "TcpExt", "a"), None);
        assert_eq!(counter("TcpExt: a b\nTcpExt: 1\n", "TcpExt", "b"), None);
    }

    #[test]
    fn memory_and_backlog_are_read() {
        let text = "sockets: used 19\nTCP: inuse 2 orphan 0 tw 0 alloc 2 mem 232\nUDP: inuse 0 mem 7\n";
        assert_eq!(tcp_pages(text), Some(232));
        assert_eq!(tcp_pages("TCP: inuse 2 mem"), None);
        assert_eq!(backlog_drops("0000000a 00000010 00000000\n0000000b 00000001 0\nnonsense\n"), 17);
    }
}
