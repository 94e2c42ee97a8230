//! The kernel's congestion controls (ip-sysctl).

use crate::names;
use std::fs;

/// The kernel's congestion controls, as this network namespace sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Available controls, in the kernel's order.
    pub available: Vec<String>,
    /// Controls that unprivileged programs may choose.
    pub allowed: Vec<String>,
    /// Default of new sockets.
    pub default: String,
}

impl Kernel {
    /// Queries the kernel; empty on other systems.
    pub fn now() -> Kernel {
        let read = |what: &str| {
            // Wine shows the host's /proc to Windows programs.
            if cfg!(not(target_os = "linux")) {
                return String::new();
            }
            fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{what}congestion_control")).unwrap_or_default()
        };
        let words = |text: String| text.split_whitespace().map(str::to_string).collect();
        Kernel {
            available: words(read("available_")),
            allowed: words(read("allowed_")),
            default: read("").trim().into(),
        }
    }

    /// Whether the kernel has a control of this name.
    pub fn has(&self, name: &str) -> bool {
        self.available.iter().any(|a| a == name)
    }

    /// Returns the first unused private name of this process, and its number.
    pub(crate) fn free_name(&self, name: &str, pid: u32, from: u32) -> (String, u32) {
        let mut n = from;
        loop {
            let free = names::private_name(name, pid, n);
            if !self.has(&free) {
                return (free, n);
            }
            n += 1;
        }
    }
}

/// Returns id and command of the process that holds an instance, from the instance's name.
pub fn holder(kernel_name: &str) -> Option<(u32, String)> {
    let pid = names::owner(kernel_name)?;
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, command.trim().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_name_is_unused() {
        let available = ["reno", "w.1f.0", "w.1f.1"].map(String::from).to_vec();
        let kernel = Kernel { available, ..Kernel::default() };
        assert_eq!(kernel.free_name("w", 31, 0), ("w.1f.2".into(), 2));
        assert_eq!(kernel.free_name("w", 32, 0), ("w.20.0".into(), 0));
    }
}
