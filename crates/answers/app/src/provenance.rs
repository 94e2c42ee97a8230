//! The provenance of a result: program, machine, command. It is kept apart from the result, whose bytes do
//! not depend on where and when it is computed.

use crate::settings::RunSettings;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// The sysctls that affect the kernel's TCP.
const SYSCTLS: &[&str] = &[
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
];

/// The content of `provenance.json`.
#[derive(Debug, Serialize)]
pub struct Provenance {
    schema: &'static str,
    /// The run's id, as in `result.json`.
    run_id: String,
    longfat: Build,
    /// The command line, beginning with the program.
    command: Vec<String>,
    /// The scenario's file name as given.
    scenario_file: String,
    #[serde(flatten)]
    settings: RunSettings,
    /// Start of the runs, in seconds since 1970.
    started_unix_s: f64,
    /// Duration of the runs, in seconds.
    elapsed_s: f64,
    machine: Machine,
    /// Notices of the lab about the emulation, such as its timing errors and approximations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
    /// The sysctls that exist; empty outside Linux.
    sysctls: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize)]
struct Build {
    version: &'static str,
    commit: Option<&'static str>,
    /// Whether the build's files differ from the commit.
    modified: bool,
}

#[derive(Debug, Serialize)]
struct Machine {
    os: &'static str,
    arch: &'static str,
    kernel: Option<String>,
    cores: usize,
}

impl Provenance {
    /// Describes runs that began at `started` and took `elapsed_s` seconds.
    pub fn new(
        scenario_file: String,
        settings: RunSettings,
        started: SystemTime,
        elapsed_s: f64,
        notices: Vec<String>,
        run_id: String,
    ) -> Provenance {
        let version = env!("CARGO_PKG_VERSION");
        let (commit, modified) = (option_env!("LONGFAT_COMMIT"), option_env!("LONGFAT_MODIFIED").is_some());
        Provenance {
            schema: "longfat-provenance/1",
            run_id,
            longfat: Build { version, commit, modified },
            command: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
            scenario_file,
            settings,
            started_unix_s: started.duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64()),
            elapsed_s,
            machine: Machine {
                os: std::env::consts::OS,
                arch: std::env::consts::ARCH,
                kernel: proc_sys("kernel.osrelease"),
                cores: std::thread::available_parallelism().map_or(1, usize::from),
            },
            notices,
            sysctls: SYSCTLS.iter().filter_map(|&name| Some((name, proc_sys(name)?))).collect(),
        }
    }
}

/// Version and commit of this program, such as `0.2.0 (7f1cb96e)`.
pub(crate) fn longfat_build() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match option_env!("LONGFAT_COMMIT") {
        Some(commit) => format!("{version} ({})", commit.get(..8).unwrap_or(commit)),
        None => version.into(),
    }
}

/// Returns a sysctl's value with single blanks between its parts; `None` if it does not exist.
pub(crate) fn proc_sys(name: &str) -> Option<String> {
    // On Windows, Wine would show the /proc of its host.
    if cfg!(not(target_os = "linux")) {
        return None;
    }
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}
