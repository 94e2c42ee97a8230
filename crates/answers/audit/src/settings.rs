//! Sysctls of a namespace, and their values as numbers.
//!
//! Documentation/networking/ip-sysctl.rst and Documentation/admin-guide/sysctl/net.rst of the kernel describe
//! them.

use std::collections::BTreeMap;

/// The sysctls that are read, each with the value that new namespaces begin with, if that is the same in all
/// kernels since Linux 5.6 that have the sysctl, and a comparison makes sense.
pub const SYSCTLS: &[(&str, Option<&str>)] = &[
    ("net.ipv4.tcp_congestion_control", None),
    ("net.ipv4.tcp_available_congestion_control", None),
    ("net.ipv4.tcp_allowed_congestion_control", None),
    ("net.core.default_qdisc", None),
    ("net.core.rmem_max", None),
    ("net.core.wmem_max", None),
    ("net.core.rmem_default", None),
    ("net.core.wmem_default", None),
    ("net.core.netdev_max_backlog", None),
    ("net.core.somaxconn", Some("4096")),
    ("net.ipv4.tcp_rmem", None),
    ("net.ipv4.tcp_wmem", None),
    ("net.ipv4.tcp_mem", None),
    ("net.ipv4.tcp_moderate_rcvbuf", Some("1")),
    ("net.ipv4.tcp_adv_win_scale", Some("1")),
    ("net.ipv4.tcp_window_scaling", Some("1")),
    ("net.ipv4.tcp_sack", Some("1")),
    ("net.ipv4.tcp_dsack", Some("1")),
    ("net.ipv4.tcp_timestamps", Some("1")),
    ("net.ipv4.tcp_ecn", None),
    ("net.ipv4.tcp_slow_start_after_idle", Some("1")),
    ("net.ipv4.tcp_mtu_probing", Some("0")),
    ("net.ipv4.tcp_base_mss", Some("1024")),
    ("net.ipv4.tcp_early_retrans", Some("3")),
    ("net.ipv4.tcp_recovery", Some("1")),
    ("net.ipv4.tcp_frto", Some("2")),
    ("net.ipv4.tcp_thin_linear_timeouts", Some("0")),
    ("net.ipv4.tcp_no_metrics_save", Some("0")),
    ("net.ipv4.tcp_no_ssthresh_metrics_save", Some("1")),
    ("net.ipv4.tcp_notsent_lowat", Some("4294967295")),
    ("net.ipv4.tcp_limit_output_bytes", None),
    ("net.ipv4.tcp_max_syn_backlog", None),
    ("net.ipv4.tcp_rto_min_us", Some("200000")),
    ("net.ipv4.ip_forward", None),
    ("net.ipv4.ip_no_pmtu_disc", Some("0")),
];

/// Values by name (`net.ipv4.tcp_sack`), as the kernel prints them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Stores a value, with single spaces between its parts.
    pub fn set(&mut self, name: &str, value: &str) {
        let words: Vec<&str> = value.split_whitespace().collect();
        self.0.insert(name.into(), words.join(" "));
    }

    /// Returns the value; `None` where the namespace does not have the sysctl.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the value as a whole number.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    /// Returns one of several numbers in a value, from 0: for `tcp_rmem` minimum, initial value and maximum.
    pub fn nth(&self, name: &str, index: usize) -> Option<u64> {
        self.text(name)?.split(' ').nth(index)?.parse().ok()
    }

    /// Returns the words of a value that is a list.
    pub fn words(&self, name: &str) -> Vec<String> {
        self.text(name)
            .map(|t| t.split(' ').filter(|w| !w.is_empty()).map(str::to_string).collect())
            .unwrap_or_default()
    }

    /// Whether a switch is off; `false` where the sysctl does not exist.
    pub fn is_off(&self, name: &str) -> bool {
        self.number(name) == Some(0)
    }

    /// Returns all values, by name.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// Returns the file below /proc/sys that holds a sysctl.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))] // used by `collect` and a test
pub fn file_of(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_numbers_or_words() {
        let mut s = Settings::default();
        s.set("net.ipv4.tcp_rmem", "4096\t131072\t6291456\n");
        s.set("net.ipv4.tcp_sack", "0\n");
        s.set("net.ipv4.tcp_allowed_congestion_control", "reno cubic\n");
        assert_eq!(s.nth("net.ipv4.tcp_rmem", 2), Some(6_291_456));
        assert_eq!(s.nth("net.ipv4.tcp_rmem", 3), None);
        assert_eq!(s.text("net.ipv4.tcp_rmem"), Some("4096 131072 6291456"));
        assert!(s.is_off("net.ipv4.tcp_sack") && !s.is_off("net.ipv4.tcp_dsack"));
        assert_eq!(s.words("net.ipv4.tcp_allowed_congestion_control"), ["reno", "cubic"]);
        assert_eq!(s.number("net.ipv4.tcp_rmem"), None);
        assert_eq!(file_of("net.ipv4.tcp_sack"), "/proc/sys/net/ipv4/tcp_sack");
    }

    #[test]
    fn no_sysctl_is_listed_twice() {
        let names: std::collections::BTreeSet<_> = SYSCTLS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), SYSCTLS.len());
    }
}
