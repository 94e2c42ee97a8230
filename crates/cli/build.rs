//! Tells the program which commit it was built from: `LONGFAT_COMMIT` where the builder sets it,
//! else git's answer, else nothing.

use std::path::Path;
use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let out = Command::new("git").args(args).output().ok().filter(|o| o.status.success())?;
    let text = String::from_utf8(out.stdout).ok()?.trim().to_string();
    (!text.is_empty()).then_some(text)
}

fn main() {
    println!("cargo::rerun-if-env-changed=LONGFAT_COMMIT");
    // The log of HEAD grows with each commit and checkout. Only a file that exists is named:
    // a missing one would build this crate anew each time.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|p| Path::new(p).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = std::env::var("LONGFAT_COMMIT").ok().or_else(|| git(&["rev-parse", "HEAD"]));
    if let Some(commit) = commit {
        println!("cargo::rustc-env=LONGFAT_COMMIT={commit}");
    }
}
