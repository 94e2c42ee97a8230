//! Gives the program the commit it was built from, and whether the sources differ from that commit.
//!
//! | source, the first that exists | commit | modified |
//! |---|---|---|
//! | `LONGFAT_COMMIT`, set by the builder | its value | no |
//! | git, in a clone | HEAD | if `git status` lists one of the program's sources |
//! | `commit.txt`, filled in by git in an archive (`git archive`, a forge's tarball) | its content | unknown, so no |
//! | none of these | none | no |
//!
//! The script runs again when HEAD moves or one of the program's sources changes, which rebuilds the program
//! anyway. Its output depends neither on the time nor on the folder: two builds of a commit are
//! byte-identical.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that use this script, each with the relative path to the workspace's root. Cargo runs a build
/// script in its crate's folder.
const ROOTS: [(&str, &str); 3] =
    [("crates/faces/cli/", "../../.."), ("crates/faces/pair/", "../../.."), ("python/", "..")];
/// Files and folders of a crate that are compiled or embedded.
const CRATE_SOURCES: [&str; 9] = [
    "src",
    "assets",
    "objects",
    "Cargo.toml",
    "build.rs",
    "names.json",
    "strings.json",
    "live.json",
    "colors.json",
];
/// Files and folders of the workspace that are compiled or embedded.
const WORKSPACE_SOURCES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "scenarios", "studies"];
/// The file that git fills with the commit when it makes an archive.
const ARCHIVED_COMMIT: &str = "crates/faces/cli/commit.txt";
/// Shown digits of the commit: enough to be unique in any repository.
const COMMIT_DIGITS: usize = 12;

fn git(args: &[&str]) -> Option<String> {
    // Without a lock, so that a commit made at the same time does not fail.
    let out = Command::new("git").arg("--no-optional-locks").args(args).output();
    let out = out.ok().filter(|out| out.status.success())?;
    Some(String::from_utf8(out.stdout).ok()?.trim().to_string())
}

/// Returns this crate's folder in the workspace, and the relative path to the workspace's root.
fn root() -> (&'static str, &'static Path) {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let own = ROOTS.iter().find(|(place, _)| Path::new(&folder).ends_with(place)).unwrap_or(&ROOTS[2]);
    (own.0, Path::new(own.1))
}

/// Lists the program's sources, in the same order on every machine.
fn sources() -> Vec<PathBuf> {
    let (_, root) = root();
    let inside =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut crates: Vec<PathBuf> = inside(root.join("crates")).flat_map(inside).collect();
    crates.sort();
    let of_crates = crates.iter().flat_map(|folder| CRATE_SOURCES.map(|name| folder.join(name)));
    let of_workspace = WORKSPACE_SOURCES.map(|name| root.join(name));
    // Cargo would run the script at every build if a path did not exist.
    of_crates.chain(of_workspace).filter(|path| path.exists()).collect()
}

/// Returns HEAD and whether the files differ from it; `None` outside a clone of longfat.
fn commit_of_clone(files: &[PathBuf]) -> Option<(String, bool)> {
    // Unpacked inside another repository, this crate has another prefix there.
    git(&["rev-parse", "--show-prefix"]).filter(|prefix| prefix == root().0)?;
    let commit = git(&["rev-parse", "HEAD"])?;
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(files.iter().filter_map(|path| path.to_str()));
    let changes = git(&status)?;
    Some((commit, !changes.is_empty()))
}

/// Returns the commit that git wrote into an archive.
fn commit_of_archive() -> Option<String> {
    let text = fs::read_to_string(root().1.join(ARCHIVED_COMMIT)).ok()?;
    let commit = text.lines().last()?.trim();
    commit.bytes().all(|b| b.is_ascii_hexdigit()).then(|| commit.to_string()).filter(|c| !c.is_empty())
}

fn main() {
    println!("cargo::rerun-if-env-changed=LONGFAT_COMMIT");
    println!("cargo::rerun-if-changed={}", root().1.join(ARCHIVED_COMMIT).display());
    let files = sources();
    files.iter().for_each(|path| println!("cargo::rerun-if-changed={}", path.display()));
    // The log of HEAD grows with each commit and checkout. A missing file must not be named: Cargo would
    // rebuild this crate every time.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|p| Path::new(p).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let given = std::env::var("LONGFAT_COMMIT").ok().filter(|c| !c.is_empty()).map(|c| (c, false));
    let found = given.or_else(|| commit_of_clone(&files)).or_else(|| commit_of_archive().map(|c| (c, false)));
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let Some((commit, modified)) = found else {
        println!("cargo::rustc-env=LONGFAT_VERSION={version}");
        return;
    };
    let short: String = commit.chars().take(COMMIT_DIGITS).collect();
    let state = if modified { ", modified" } else { "" };
    println!("cargo::rustc-env=LONGFAT_VERSION={version} ({short}{state})");
    println!("cargo::rustc-env=LONGFAT_COMMIT={commit}");
    if modified {
        println!("cargo::rustc-env=LONGFAT_MODIFIED=yes");
    }
}
