//! A shell in a host's namespaces that starts its daemons and asks them.
//!
//! Commands go to its standard input, one block each; behind each it says a line with a mark and the exit code.

use crate::LabError;
use crate::identity::{Author, Identity};
use crate::launch::{Launch, Output, Running};
use crate::network::{LabNetwork, hosts_file};
use linux::{file, pipe, poll};
use scenario::Scenario;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Stands before the exit code of a block.
const MARK: &str = "@longfat-done ";
/// So much of an answer is kept.
const MOST: usize = 1 << 20;

/// The shell. Dropped, it and all it started are killed.
pub struct DaemonConsole {
    running: Running,
    input: File,
    output: OwnedFd,
    said: Vec<u8>,
}

impl DaemonConsole {
    /// Starts it at a host.
    pub fn start(scenario: &Scenario, network: &LabNetwork, host: usize) -> Result<DaemonConsole, LabError> {
        let pipe = || pipe::pipe().map_err(LabError::system("a pipe"));
        let ((stdin, input), (output, stdout)) = (pipe()?, pipe()?);
        let stderr = stdout.try_clone().map_err(LabError::system("a pipe"))?;
        file::set_nonblocking(output.as_fd()).map_err(LabError::system("a pipe"))?;
        let path = ("PATH".into(), "/usr/sbin:/usr/bin:/sbin:/bin".into());
        let launch = Launch {
            namespace: network.namespaces[host].as_fd(),
            hosts_file: &hosts_file(scenario),
            argv: &["/bin/sh".into(), "-s".into()],
            env: &[path],
            identity: &Identity::own(),
            author: Author::Longfat,
            writable: &[],
            output: Output::Split { stdin: Some(stdin), stdout, stderr },
        };
        let running = launch.start()?;
        Ok(DaemonConsole { running, input: input.into(), output, said: Vec::new() })
    }

    /// The exit code of the console itself, if it has ended: all its daemons are gone with it.
    pub fn ended(&mut self) -> Option<i32> {
        self.running.try_wait().ok().flatten()
    }

    /// The next process inside that ended after it had lost its parent, as daemons have: its process id there, its exit code.
    pub fn next_ended(&mut self) -> Option<(i32, i32)> {
        self.running.next_ended()
    }

    /// Has it run a block of commands, which read nothing. Nothing is waited for: [`DaemonConsole::answer`].
    pub fn send(&mut self, block: &str) -> io::Result<()> {
        let text = format!("( {block}\n) </dev/null 2>&1\necho \"{MARK}$?\"\n");
        self.input.write_all(text.as_bytes())
    }

    /// What the block said, and its exit code.
    pub fn answer(&mut self, most: Duration) -> io::Result<(i32, String)> {
        let until = Instant::now() + most;
        loop {
            if let Some(done) = self.take() {
                return Ok(done);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let said = String::from_utf8_lossy(&self.said).trim().to_string();
                return Err(io::Error::other(format!("no answer after {most:?}: {said}")));
            }
            poll::wait_readable(self.output.as_fd(), left)?;
            let mut buffer = [0; 4096];
            match file::read(self.output.as_fd(), &mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.said.extend_from_slice(&buffer[..n]),
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(e) => return Err(e),
            }
            if self.said.len() > MOST {
                self.said.drain(..MOST / 2);
            }
        }
    }

    /// A whole answer, if there is one.
    fn take(&mut self) -> Option<(i32, String)> {
        let text = String::from_utf8_lossy(&self.said).into_owned();
        let (said, rest) = text.split_once(MARK)?;
        let (code, rest) = rest.split_once('\n')?;
        self.said = rest.as_bytes().to_vec();
        Some((code.trim().parse().unwrap_or(1), said.to_string()))
    }
}
