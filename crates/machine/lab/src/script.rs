//! Shell commands that run on hosts before a run, as an administrator would type them.

use crate::LabError;
use crate::network::{LabNetwork, device};
use linux::namespace::within;
use scenario::Scenario;
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

/// Shell lines for one host, run with all of longfat's privileges there. They must be longfat's own; never
/// put text of a scenario here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabScript {
    /// Index of the host.
    pub host: usize,
    /// The host that `$DEV` leads to and that has the address `$PEER`.
    pub towards: Option<usize>,
    /// The lines to run; the shell stops at the first that fails.
    pub lines: Vec<String>,
}

/// Characters of a shell's error output that are kept.
const MAX_OUTPUT: usize = 500;

/// Runs scripts in their hosts' namespaces, one after the other.
///
/// # Errors
/// Fails with the first script that failed, and its output.
pub fn run(scenario: &Scenario, network: &LabNetwork, scripts: &[LabScript]) -> Result<(), LabError> {
    for script in scripts {
        run_script(scenario, network, script).map_err(|source| {
            let host = scenario.hosts.get(script.host).map_or("?", |h| h.name.as_str());
            LabError::System { what: format!("host {host}: {}", script.lines.join("; ")), source }
        })?;
    }
    Ok(())
}

fn run_script(scenario: &Scenario, network: &LabNetwork, script: &LabScript) -> io::Result<()> {
    let namespace = network.namespaces.get(script.host).ok_or(io::ErrorKind::NotFound)?;
    let hop = script.towards.and_then(|to| scenario.route(script.host, to)?.first().copied());
    let mut shell = Command::new("sh");
    shell.arg("-ec").arg(script.lines.join("\n")).stdin(Stdio::null());
    if let (Some(hop), Some(to)) = (hop, script.towards) {
        shell.env("DEV", device(hop.link)).env("PEER", scenario.address(to).to_string());
    }
    let done = within(namespace.as_fd(), || shell.output())??;
    if done.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&done.stderr);
    let output: String = output.trim().chars().take(MAX_OUTPUT).collect();
    Err(io::Error::other(if output.is_empty() { done.status.to_string() } else { output }))
}

/// Tries each script on a separate copy of the scenario's network. Returns `None` for scripts that work,
/// otherwise the error.
///
/// # Errors
/// Fails if the network cannot be created.
pub fn try_scripts(scenario: &Scenario, scripts: &[LabScript]) -> Result<Vec<Option<String>>, LabError> {
    let mut tried = Vec::new();
    for script in scripts {
        let network = LabNetwork::build(scenario)?;
        tried.push(run_script(scenario, &network, script).err().map(|e| e.to_string()));
    }
    Ok(tried)
}
