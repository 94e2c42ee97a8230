//! Replaces the lab on systems other than Linux: every function fails with the error that Linux is needed.

#[cfg(windows)]
#[path = "console_interrupt.rs"]
mod interrupt;
// The lab's own module works on every Unix.
#[cfg(unix)]
#[path = "../../../machine/linux/src/interrupt.rs"]
#[allow(unsafe_code)]
mod interrupt;

pub use interrupt::{catch_interrupts, interrupted};

use scenario::Scenario;
use std::ffi::OsString;
use std::net::Ipv4Addr;

#[derive(Debug, thiserror::Error)]
#[error("this needs Linux, whose TCP and network namespaces it uses; --on sim works on this system")]
pub struct LabError;

impl LabError {
    pub fn command_code(&self) -> Option<i32> {
        None
    }
}

pub struct Serve {
    pub host: usize,
    pub command: Vec<OsString>,
}

pub struct ShellOptions<'a> {
    pub seed: u64,
    pub host: usize,
    pub command: Vec<OsString>,
    pub serve: Vec<Serve>,
    pub flows: bool,
    pub user: Option<String>,
    pub writable: Vec<std::path::PathBuf>,
    pub notice: Option<&'a mut dyn FnMut(&str)>,
}

pub fn shell(_: &Scenario, _: ShellOptions) -> Result<i32, LabError> {
    Err(LabError)
}

pub fn sockets_by_control() -> std::io::Result<std::collections::BTreeMap<String, usize>> {
    Err(std::io::ErrorKind::Unsupported.into())
}

pub fn proxy_commands(_: &Scenario, _: Option<usize>) -> Result<Vec<(usize, String)>, LabError> {
    Err(LabError)
}

pub struct MissingNeed {
    pub key: String,
    pub why: String,
    pub package: Option<String>,
}

pub fn missing(scenarios: &[&Scenario]) -> Vec<Vec<MissingNeed>> {
    let need = || MissingNeed { key: String::new(), why: LabError.to_string(), package: None };
    scenarios.iter().map(|_| vec![need()]).collect()
}

pub fn install_command<'a>(_: impl IntoIterator<Item = &'a str>) -> Option<String> {
    None
}

pub fn address(_: usize) -> Ipv4Addr {
    Ipv4Addr::UNSPECIFIED
}
