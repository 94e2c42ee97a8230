//! Commands in the background of a shell: started before it, killed after it.

use crate::LabError;
use crate::deaths::{Deaths, by_signal, how};
use crate::identity::{Author, Identity};
use crate::launch::{Launch, Output, Running};
use crate::network::LabNetwork;
use crate::shell::{Serve, Tell};
use linux::{namespace, pipe};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take until it listens. Who listens on nothing costs this much.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);
/// Bytes kept of what a server says.
const KEPT: usize = 4096;

struct ServedCommand {
    host: usize,
    name: String,
    running: Running,
    /// The end of what it has said.
    said: Arc<Mutex<VecDeque<u8>>>,
    over: bool,
}

/// The servers of a shell.
pub(crate) struct Servers {
    list: Vec<ServedCommand>,
    /// For each host the sockets that listened before.
    before: Vec<usize>,
}

impl Servers {
    /// Starts them all.
    pub(crate) fn start(
        serve: &[Serve],
        network: &LabNetwork,
        names: &str,
        identity: &Identity,
        writable: &[PathBuf],
    ) -> Result<Servers, LabError> {
        let before = match serve.is_empty() {
            true => Vec::new(),
            false => (0..network.namespaces.len()).map(|h| listening(network, h)).collect(),
        };
        let list = serve
            .iter()
            .map(|s| ServedCommand::start(s, network, names, identity, writable))
            .collect::<Result<_, _>>()?;
        Ok(Servers { list, before })
    }

    /// Waits until on each host as many sockets more are open as it has servers: a client that comes
    /// earlier would be refused.
    pub(crate) fn await_listening(
        &mut self,
        network: &LabNetwork,
        tell: &mut dyn FnMut(Tell),
        deaths: &Deaths,
    ) {
        let until = Instant::now() + PATIENCE;
        for host in 0..self.before.len() {
            loop {
                self.look(tell, deaths);
                let running = self.list.iter().filter(|s| s.host == host && !s.over).count();
                let ready = running == 0 || listening(network, host) >= self.before[host] + running;
                if ready || Instant::now() >= until {
                    break;
                }
                thread::sleep(PAUSE);
            }
        }
    }

    /// Tells of those that have failed, once each; those that a signal ended have died.
    pub(crate) fn look(&mut self, tell: &mut dyn FnMut(Tell), deaths: &Deaths) {
        for s in self.list.iter_mut().filter(|s| !s.over) {
            let Ok(Some(code)) = s.running.try_wait() else { continue };
            s.over = true;
            if by_signal(code) {
                deaths.note(format!("server `{}`", s.name), how(code));
            } else if code != 0 {
                let said: Vec<u8> =
                    s.said.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
                let said = String::from_utf8_lossy(&said);
                let said = said.trim_end();
                let colon = if said.is_empty() { "" } else { ":\n" };
                tell(Tell::Notice(&format!("server `{}` ended with code {code}{colon}{said}", s.name)));
            }
        }
    }
}

impl ServedCommand {
    fn start(
        serve: &Serve,
        network: &LabNetwork,
        names: &str,
        identity: &Identity,
        writable: &[PathBuf],
    ) -> Result<ServedCommand, LabError> {
        let (reading, writing) = pipe::pipe().map_err(LabError::system("a pipe"))?;
        let launch = Launch {
            namespace: network.namespaces[serve.host].as_fd(),
            hosts_file: names,
            argv: &serve.command,
            env: &[],
            identity,
            author: Author::User,
            writable,
            output: Output::Capture(writing),
        };
        let running = launch.start()?;
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let kept = said.clone();
        // Ends with the server, whose namespace nothing outlives that could hold the pipe.
        thread::spawn(move || keep_end(File::from(reading), &kept));
        let words: Vec<_> = serve.command.iter().map(|w| w.to_string_lossy()).collect();
        let name = match words.iter().map(|w| w.as_ref()).collect::<Vec<_>>()[..] {
            ["/bin/sh", "-c", text] => text.to_string(),
            _ => words.join(" "),
        };
        Ok(ServedCommand { host: serve.host, name, running, said, over: false })
    }
}

/// Reads all there is, so that the writer never waits; keeps the end.
fn keep_end(mut from: File, kept: &Mutex<VecDeque<u8>>) {
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..n]);
                let spare = kept.len().saturating_sub(KEPT);
                kept.drain(..spare);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
}

/// How many sockets of a host wait for somebody: TCP in LISTEN, UDP with a port (proc(5)).
fn listening(network: &LabNetwork, host: usize) -> usize {
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
