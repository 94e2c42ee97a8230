//! Tells the program which commit it was built from, and whether what it is built from is still that.
//!
//! | where from, first that is there | the commit | modified |
//! |---|---|---|
//! | `LONGFAT_COMMIT`, set by the builder | as it stands | no |
//! | git, in a clone | HEAD | as `git status` has it of what the program is made of |
//! | `commit.txt`, in an archive (`git archive`, a forge's tarball), where git has put it in | as it stands there | not known: no |
//! | none of these | none | no |
//!
//! This runs again when HEAD moves or a file changes that the program is made of; then the program is built anew anyhow.
//! Nothing that it says depends on when or in which folder it runs: two builds of a commit are the same bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that this script is built for, with the way from each to the workspace's folder. Build scripts run in their
/// crate's folder.
const ROOTS: [(&str, &str); 3] =
    [("crates/faces/cli/", "../../.."), ("crates/faces/pair/", "../../.."), ("python/", "..")];
/// Of a crate, what is compiled or built in.
const OF_A_CRATE: [&str; 8] =
    ["src", "assets", "objects", "Cargo.toml", "build.rs", "names.json", "strings.json", "colors.json"];
/// Of the workspace.
const OF_ALL: [&str; 4] = ["Cargo.toml", "Cargo.lock", "scenarios", "studies"];
/// Where git writes the commit into an archive.
const ARCHIVED: &str = "crates/faces/cli/commit.txt";
/// How much of a commit's name is shown: enough for any repository.
const SHOWN: usize = 12;

fn git(args: &[&str]) -> Option<String> {
    // Without a lock: whoever commits meanwhile is not disturbed.
    let out = Command::new("git").arg("--no-optional-locks").args(args).output();
    let out = out.ok().filter(|out| out.status.success())?;
    Some(String::from_utf8(out.stdout).ok()?.trim().to_string())
}

/// The place of this crate in the workspace, and the way to its root.
fn root() -> (&'static str, &'static Path) {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let own = ROOTS.iter().find(|(place, _)| Path::new(&folder).ends_with(place)).unwrap_or(&ROOTS[2]);
    (own.0, Path::new(own.1))
}

/// What the program is made of, in this order on every machine.
fn made_of() -> Vec<PathBuf> {
    let (_, root) = root();
    let inside =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut crates: Vec<PathBuf> = inside(root.join("crates")).flat_map(inside).collect();
    crates.sort();
    let of_crates = crates.iter().flat_map(|folder| OF_A_CRATE.map(|name| folder.join(name)));
    let of_all = OF_ALL.map(|name| root.join(name));
    // One that is not there would have this run each time.
    of_crates.chain(of_all).filter(|path| path.exists()).collect()
}

/// HEAD, and whether the files differ from it; `None` where this is no clone of longfat's own.
fn of_clone(files: &[PathBuf]) -> Option<(String, bool)> {
    // Unpacked within somebody's repository, this crate lies elsewhere in it.
    git(&["rev-parse", "--show-prefix"]).filter(|prefix| prefix == root().0)?;
    let commit = git(&["rev-parse", "HEAD"])?;
    let mut asked = vec!["status", "--porcelain", "--"];
    asked.extend(files.iter().filter_map(|path| path.to_str()));
    let changes = git(&asked)?;
    Some((commit, !changes.is_empty()))
}

/// What git put into an archive.
fn of_archive() -> Option<String> {
    let text = fs::read_to_string(root().1.join(ARCHIVED)).ok()?;
    let commit = text.lines().last()?.trim();
    commit.bytes().all(|b| b.is_ascii_hexdigit()).then(|| commit.to_string()).filter(|c| !c.is_empty())
}

fn main() {
    println!("cargo::rerun-if-env-changed=LONGFAT_COMMIT");
    println!("cargo::rerun-if-changed={}", root().1.join(ARCHIVED).display());
    let files = made_of();
    files.iter().for_each(|path| println!("cargo::rerun-if-changed={}", path.display()));
    // The log of HEAD grows with each commit and checkout. Only a file that exists is named: a missing one would build
    // this crate anew each time.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|p| Path::new(p).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let given = std::env::var("LONGFAT_COMMIT").ok().filter(|c| !c.is_empty()).map(|c| (c, false));
    let found = given.or_else(|| of_clone(&files)).or_else(|| of_archive().map(|c| (c, false)));
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let Some((commit, modified)) = found else {
        println!("cargo::rustc-env=LONGFAT_VERSION={version}");
        return;
    };
    let short: String = commit.chars().take(SHOWN).collect();
    let state = if modified { ", modified" } else { "" };
    println!("cargo::rustc-env=LONGFAT_VERSION={version} ({short}{state})");
    println!("cargo::rustc-env=LONGFAT_COMMIT={commit}");
    if modified {
        println!("cargo::rustc-env=LONGFAT_MODIFIED=yes");
    }
}
