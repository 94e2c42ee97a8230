//! Where a result comes from: program, machine, command. Apart from the result itself, which is
//! the same bytes wherever and whenever it is run.

use crate::settings::RunSettings;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Settings that change what the kernel's TCP does.
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

/// `provenance.json`.
#[derive(Debug, Serialize)]
pub struct Provenance {
    schema: &'static str,
    /// As in `result.json`.
    run_id: String,
    longfat: Build,
    /// The command line, program first.
    command: Vec<String>,
    /// The scenario's file as it was named.
    scenario_file: String,
    #[serde(flatten)]
    settings: RunSettings,
    /// When it began, seconds since 1970.
    started_unix_s: f64,
    /// How long the runs took.
    elapsed_s: f64,
    machine: Machine,
    /// What the lab had to tell of the emulation: how punctual it was, what it did in its own way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
    /// Those that exist; absent outside Linux.
    sysctls: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize)]
struct Build {
    version: &'static str,
    commit: Option<&'static str>,
    /// Whether it was built from files that the commit has otherwise.
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
    /// Of a run that began at `started` and took `elapsed_s` seconds.
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

/// A sysctl's value, if it exists, with single blanks between its parts.
fn proc_sys(name: &str) -> Option<String> {
    // Wine shows its host's /proc to a program for Windows.
    if cfg!(not(target_os = "linux")) {
        return None;
    }
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}
