//! Capabilities for loading programs (capabilities(7)).

use crate::ControlError;
use std::fs;

const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// Required capabilities; CAP_SYS_ADMIN replaces both. Determined by removing one at a time on Linux 6.18.
/// Others are not required: CAP_NET_ADMIN only for sockets that choose a restricted control.
const REQUIRED: &[(&str, u32)] = &[("CAP_BPF", CAP_BPF), ("CAP_PERFMON", CAP_PERFMON)];

/// Returns the required capabilities that are missing in the effective set of a `/proc/PID/status`.
pub fn missing(status: &str) -> Vec<&'static str> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = set.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    let has = |n: u32| set >> n & 1 == 1;
    REQUIRED.iter().filter(|(_, n)| !has(*n) && !has(CAP_SYS_ADMIN)).map(|(name, _)| *name).collect()
}

/// Checks whether this process may load programs, as far as it can know: the kernel checks the capabilities
/// in the initial user namespace.
///
/// # Errors
/// Fails with [`ControlError::Capability`] and the missing capabilities.
pub fn check() -> Result<(), ControlError> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let missing = missing(&status);
    if missing.is_empty() { Ok(()) } else { Err(ControlError::Capability { missing }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capabilities_are_named() {
        let all = ["CAP_BPF", "CAP_PERFMON"];
        assert_eq!(missing("Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n"), [""; 0]);
        assert_eq!(missing("CapEff:\t0000000000000000\n"), all);
        assert_eq!(missing("CapBnd:\t000001ffffffffff\n"), all);
        assert_eq!(missing("CapEff:\t0000008000000000\n"), ["CAP_PERFMON"]);
        // CAP_SYS_ADMIN included both before Linux 5.8.
        assert_eq!(missing("CapEff:\t0000000000200000\n"), [""; 0]);
    }
}
