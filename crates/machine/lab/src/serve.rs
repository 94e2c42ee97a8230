//! Background commands of a shell: started before the foreground command and killed after it.

use crate::LabError;
use crate::failures::{FailedComponents, describe_exit, is_signal_exit};
use crate::identity::{Author, Identity};
use crate::launch::{Launch, Output, Running};
use crate::network::LabNetwork;
use crate::shell::{Serve, ShellEvent};
use linux::{namespace, pipe};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Limit until a server listens. A command that never listens delays the start by this time.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(1);
const LISTEN_POLL: Duration = Duration::from_millis(5);
/// Bytes of a server's output that are kept.
const MAX_OUTPUT: usize = 4096;

struct ServedCommand {
    host: usize,
    name: String,
    running: Running,
    /// The last bytes of the server's output.
    output: Arc<Mutex<VecDeque<u8>>>,
    has_ended: bool,
}

/// The background commands of a shell.
pub(crate) struct Servers {
    list: Vec<ServedCommand>,
    /// Listening sockets of each host before the servers started.
    before: Vec<usize>,
}

impl Servers {
    /// Starts all background commands.
    pub(crate) fn start(
        serve: &[Serve],
        network: &LabNetwork,
        hosts_file: &str,
        identity: &Identity,
        writable: &[PathBuf],
    ) -> Result<Servers, LabError> {
        let before = match serve.is_empty() {
            true => Vec::new(),
            false => (0..network.namespaces.len()).map(|h| count_listening(network, h)).collect(),
        };
        let list = serve
            .iter()
            .map(|s| ServedCommand::start(s, network, hosts_file, identity, writable))
            .collect::<Result<_, _>>()?;
        Ok(Servers { list, before })
    }

    /// Waits until each host has as many additional listening sockets as it has servers: a client that
    /// connects earlier would be refused.
    pub(crate) fn await_listening(
        &mut self,
        network: &LabNetwork,
        report: &mut dyn FnMut(ShellEvent),
        failures: &FailedComponents,
    ) {
        let until = Instant::now() + LISTEN_TIMEOUT;
        for host in 0..self.before.len() {
            loop {
                self.check(report, failures);
                let running = self.list.iter().filter(|s| s.host == host && !s.has_ended).count();
                let ready = running == 0 || count_listening(network, host) >= self.before[host] + running;
                if ready || Instant::now() >= until {
                    break;
                }
                thread::sleep(LISTEN_POLL);
            }
        }
    }

    /// Reports each server that has failed once; records those that a signal ended as failed components.
    pub(crate) fn check(&mut self, report: &mut dyn FnMut(ShellEvent), failures: &FailedComponents) {
        for s in self.list.iter_mut().filter(|s| !s.has_ended) {
            let Ok(Some(code)) = s.running.try_wait() else { continue };
            s.has_ended = true;
            if is_signal_exit(code) {
                failures.record(format!("server `{}`", s.name), describe_exit(code));
            } else if code != 0 {
                let output: Vec<u8> =
                    s.output.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
                let output = String::from_utf8_lossy(&output);
                let output = output.trim_end();
                let colon = if output.is_empty() { "" } else { ":\n" };
                report(ShellEvent::Notice(&format!(
                    "server `{}` ended with code {code}{colon}{output}",
                    s.name
                )));
            }
        }
    }
}

impl ServedCommand {
    fn start(
        serve: &Serve,
        network: &LabNetwork,
        hosts_file: &str,
        identity: &Identity,
        writable: &[PathBuf],
    ) -> Result<ServedCommand, LabError> {
        let (reading, writing) = pipe::pipe().map_err(LabError::system("a pipe"))?;
        let launch = Launch {
            namespace: network.namespaces[serve.host].as_fd(),
            hosts_file,
            argv: &serve.command,
            env: &[],
            identity,
            author: Author::User,
            writable,
            output: Output::Capture(writing),
        };
        let running = launch.start()?;
        let output = Arc::new(Mutex::new(VecDeque::new()));
        let kept = output.clone();
        // This thread ends with the server: no process outlives the server's namespace and could hold the
        // pipe.
        thread::spawn(move || keep_end(File::from(reading), &kept));
        let words: Vec<_> = serve.command.iter().map(|w| w.to_string_lossy()).collect();
        let name = match words.iter().map(|w| w.as_ref()).collect::<Vec<_>>()[..] {
            ["/bin/sh", "-c", text] => text.to_string(),
            _ => words.join(" "),
        };
        Ok(ServedCommand { host: serve.host, name, running, output, has_ended: false })
    }
}

/// Reads everything, so that the writer never blocks, and keeps the end.
fn keep_end(mut from: File, kept: &Mutex<VecDeque<u8>>) {
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..n]);
                let excess = kept.len().saturating_sub(MAX_OUTPUT);
                kept.drain(..excess);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
}

/// Counts the sockets of a host that wait for peers: TCP in LISTEN, UDP with a port (proc(5)).
fn count_listening(network: &LabNetwork, host: usize) -> usize {
    let count = || {
        ["tcp", "tcp6", "udp", "udp6"].iter().fold(0, |sum, file| {
            let text = std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
            let state = |line: &&str| line.split_whitespace().nth(3).map(str::to_string);
            let waits = |line: &&str| file.starts_with("udp") || state(line).as_deref() == Some("0A");
            sum + text.lines().skip(1).filter(waits).count()
        })
    };
    namespace::within(network.namespaces[host].as_fd(), count).unwrap_or(0)
}
