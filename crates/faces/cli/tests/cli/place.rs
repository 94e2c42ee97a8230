//! Where the program is run, and what it said.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder of its own for each test, removed at the end.
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

    /// The program, to be started here.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        command.current_dir(&self.0);
        command
    }

    /// The program with Ctrl-C's signal as a terminal gives it: a test begun in the background of a shell ignores it,
    /// and so would all that the test starts.
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

/// Runs `command` on a terminal so wide, with `NO_COLOR` as given (empty counts as not set); what stays on it. `None`
/// where no `script` (util-linux and bsdutils have it) makes a terminal.
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
    // The progress bar draws over itself; what stays begins after its last erasure.
    Some(text.rsplit("\x1b[2K").next().unwrap_or(&text).into())
}

/// A path as this system writes it, and so the program that made it of parts.
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
