//! A temporary folder in which the program is run, and helpers for its output.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A temporary folder for one test, removed at its end.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new(name: &str) -> Place {
        let dir = std::env::temp_dir().join(format!("longfat-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Place(dir)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Place {
        fs::write(self.0.join(name), content).unwrap();
        self
    }

    pub fn longfat(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }

    /// Returns the program, to be run in this folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        command.current_dir(&self.0);
        command
    }

    /// Returns the program with the default action for SIGINT. Tests started in a shell's background ignore
    /// the signal, and their children inherit that.
    pub fn interruptible(&self) -> Command {
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_longfat")]).current_dir(&self.0);
        command
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs `command` on a terminal of `columns` columns with this value of `NO_COLOR` (empty counts as unset)
/// and returns the text that stays on it. `None` without `script` (util-linux, bsdutils), which makes the
/// terminal.
pub fn on_terminal(place: &Place, columns: u32, no_color: &str, command: &str) -> Option<String> {
    let run = format!("stty cols {columns} rows 24; '{}' {command}", env!("CARGO_BIN_EXE_longfat"));
    let mut script = Command::new("script");
    script.args(["-qec", &run, "/dev/null"]).env("TERM", "xterm").env("NO_COLOR", no_color);
    let Ok(out) = script.current_dir(&place.0).output() else {
        eprintln!("SKIPPED: no `script` to make a terminal with");
        return None;
    };
    assert!(out.status.success(), "{}", stdout(&out));
    let text = stdout(&out);
    // The progress bar erases itself; the text begins after the last erasure.
    Some(text.rsplit("\x1b[2K").next().unwrap_or(&text).into())
}

/// Converts a path to this system's separator, as the program prints it.
pub fn native(path: &str) -> String {
    path.replace('/', std::path::MAIN_SEPARATOR_STR)
}

pub fn stdout(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).unwrap()
}

pub fn stderr(out: &Output) -> String {
    String::from_utf8(out.stderr.clone()).unwrap()
}

pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in:\n{text}"))
}
