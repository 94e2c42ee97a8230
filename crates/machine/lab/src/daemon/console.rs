//! A shell in a host's namespaces that starts its daemons and queries them.
//!
//! Each block of commands is written to its standard input. After each block it prints a line with [`MARK`]
//! and the exit code.

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

/// Prefix of the line with a block's exit code.
const MARK: &str = "@longfat-done ";
/// Bytes of a command's output that are kept.
const MAX_OUTPUT: usize = 1 << 20;

/// The shell. Dropping it kills it and everything it started.
pub struct DaemonConsole {
    running: Running,
    input: File,
    output: OwnedFd,
    output_text: Vec<u8>,
}

impl DaemonConsole {
    /// Starts the shell on a host.
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
        Ok(DaemonConsole { running, input: input.into(), output, output_text: Vec::new() })
    }

    /// Returns the console's own exit code if it has ended; all its daemons have then ended too.
    pub fn ended(&mut self) -> Option<i32> {
        self.running.try_wait().ok().flatten()
    }

    /// Returns the next process inside that ended after it was orphaned, as daemons are: its process id
    /// inside, and its exit code.
    pub fn next_ended(&mut self) -> Option<(i32, i32)> {
        self.running.next_ended()
    }

    /// Sends a block of commands, whose standard input is empty. Does not wait; the result comes from
    /// [`DaemonConsole::answer`].
    pub fn send(&mut self, block: &str) -> io::Result<()> {
        let text = format!("( {block}\n) </dev/null 2>&1\necho \"{MARK}$?\"\n");
        self.input.write_all(text.as_bytes())
    }

    /// Waits for a block to end. Returns its exit code and its output.
    pub fn answer(&mut self, timeout: Duration) -> io::Result<(i32, String)> {
        let until = Instant::now() + timeout;
        loop {
            if let Some(done) = self.take_answer() {
                return Ok(done);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let output_text = String::from_utf8_lossy(&self.output_text).trim().to_string();
                return Err(io::Error::other(format!("no answer after {timeout:?}: {output_text}")));
            }
            poll::wait_readable(self.output.as_fd(), left)?;
            let mut buffer = [0; 4096];
            match file::read(self.output.as_fd(), &mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.output_text.extend_from_slice(&buffer[..n]),
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(e) => return Err(e),
            }
            if self.output_text.len() > MAX_OUTPUT {
                self.output_text.drain(..MAX_OUTPUT / 2);
            }
        }
    }

    /// Removes a complete answer from the output read so far.
    fn take_answer(&mut self) -> Option<(i32, String)> {
        let text = String::from_utf8_lossy(&self.output_text).into_owned();
        let (output_text, rest) = text.split_once(MARK)?;
        let (code, rest) = rest.split_once('\n')?;
        self.output_text = rest.as_bytes().to_vec();
        Some((code.trim().parse().unwrap_or(1), output_text.to_string()))
    }
}
