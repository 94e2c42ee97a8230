//! The process that puts connections back if longfat is killed.
//!
//! It is a copy of longfat, in a session of its own, so that no signal for longfat's process group or
//! terminal reaches it. It holds the programs and what they remember, but not the link that changes new
//! connections: that ends with longfat. It waits for the end of a pipe whose other end only longfat holds.

use super::undo::undo;
use kernel_cc::ApplyPrograms;
use linux::file;
use linux::pipe::pipe;
use linux::poll::wait_readable;
use linux::process::{self, Forked, Pid};
use linux::signal;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// The other process.
pub struct Guard {
    /// A byte in it means that there is nothing to do; its end without one, that longfat was killed.
    pipe: OwnedFd,
    pid: Pid,
}

/// How long the other process sleeps at most; it is woken at once.
const LONG: Duration = Duration::from_secs(3600);

impl Guard {
    /// Starts the process. The calling thread must be the only one.
    ///
    /// # Errors
    /// Fails if no process can be started.
    pub fn start(programs: &ApplyPrograms) -> io::Result<Guard> {
        let (read, write) = pipe()?;
        match process::fork()? {
            Forked::Parent(pid) => Ok(Guard { pipe: write, pid }),
            Forked::Child => {
                drop(write);
                watch(programs, &read);
                process::exit_now(0)
            }
        }
    }

    /// Ends the process, because nothing is left to put back.
    pub fn release(self) {
        // If it was killed itself, there is nobody to write to.
        let _ = file::write(self.pipe.as_fd(), &[1]);
        process::reap(self.pid);
    }
}

/// Waits until longfat has ended, and puts its connections back.
fn watch(programs: &ApplyPrograms, pipe: &OwnedFd) {
    // Without a session of its own it still does its work, and so it does if it may be killed like longfat.
    let _ = process::leave_terminal();
    let _ = process::survive_out_of_memory();
    signal::block_all();
    // A program that waits for the end of longfat's input or output must not wait for this process.
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        for stream in [0, 1] {
            let _ = process::replace_standard(stream, null.as_fd());
        }
    }
    let mut byte = [0];
    loop {
        match wait_readable(pipe.as_fd(), LONG) {
            Ok(false) => {}
            Ok(true) if matches!(file::read(pipe.as_fd(), &mut byte), Ok(1)) => return,
            _ => break,
        }
    }
    let outcome = match undo(programs, &[]) {
        Ok(undone) => {
            format!("{} connections have been put back, {} had been closed", undone.restored, undone.closed)
        }
        Err(e) => format!("putting the connections back failed: {e}"),
    };
    // Who read it may have ended with longfat.
    let _ = writeln!(io::stderr(), "longfat: killed; {outcome}");
}
