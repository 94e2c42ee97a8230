//! Shell commands at hosts before a run: what an administrator would type there.

use crate::LabError;
use crate::network::{LabNetwork, device};
use linux::namespace::within;
use scenario::Scenario;
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

/// Lines for a shell at one host, with all of longfat's own privileges there: only what longfat itself made up belongs
/// here, never a text of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabScript {
    /// Index of the host.
    pub host: usize,
    /// The neighbour or other host that `$DEV` leads to, and whose address `$PEER` is.
    pub towards: Option<usize>,
    /// What the shell reads; it ends at the first line that fails.
    pub lines: Vec<String>,
}

/// How much of what a shell says is kept, bytes.
const SAID: usize = 500;

/// Runs scripts in their hosts' namespaces, one after the other.
///
/// # Errors
/// The first that failed, with what it said.
pub fn run(scenario: &Scenario, network: &LabNetwork, scripts: &[LabScript]) -> Result<(), LabError> {
    for script in scripts {
        one(scenario, network, script).map_err(|source| {
            let host = scenario.hosts.get(script.host).map_or("?", |h| h.name.as_str());
            LabError::System { what: format!("host {host}: {}", script.lines.join("; ")), source }
        })?;
    }
    Ok(())
}

fn one(scenario: &Scenario, network: &LabNetwork, script: &LabScript) -> io::Result<()> {
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
    let said = String::from_utf8_lossy(&done.stderr);
    let said: String = said.trim().chars().take(SAID).collect();
    Err(io::Error::other(if said.is_empty() { done.status.to_string() } else { said }))
}

/// Which scripts this kernel can run on the network of a scenario: each is tried on one of its own. `None`: it can; else
/// why not.
///
/// # Errors
/// The network cannot be made.
pub fn try_scripts(scenario: &Scenario, scripts: &[LabScript]) -> Result<Vec<Option<String>>, LabError> {
    let mut tried = Vec::new();
    for script in scripts {
        let network = LabNetwork::build(scenario)?;
        tried.push(one(scenario, &network, script).err().map(|e| e.to_string()));
    }
    Ok(tried)
}
