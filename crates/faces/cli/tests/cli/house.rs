//! What ARCHITECTURE.md, README.md and the glossary say of the workspace holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// More words than these nobody learns before he begins.
const MOST_TERMS: usize = 40;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The crates' folders.
fn crates() -> Vec<String> {
    let folder = fs::read_dir(root().join("crates")).expect("there are crates");
    let mut names: Vec<String> = folder
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|n| !n.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// The crates of this workspace that a crate's own code uses.
fn used(name: &str, known: &[String]) -> BTreeSet<String> {
    let text = read(&format!("crates/{name}/Cargo.toml"));
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.contains("dev-") && !line.contains("build-");
            continue;
        }
        let key: String = line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        if inside && known.contains(&key) {
            found.insert(key);
        }
    }
    found
}

/// The rows `| crate | what | uses |` of ARCHITECTURE.md.
fn told() -> BTreeMap<String, BTreeSet<String>> {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| `crates/")?.split('|').map(str::trim).collect();
        let name = cells.first()?.trim_end_matches('`').to_string();
        let uses = cells.get(2)?.split([',', ' ']).filter(|w| !w.is_empty() && *w != "-");
        Some((name, uses.map(str::to_string).collect()))
    });
    rows.collect()
}

#[test]
fn every_crate_stands_in_the_architecture_with_what_it_uses() {
    let known = crates();
    let is: BTreeMap<_, _> = known.iter().map(|name| (name.clone(), used(name, &known))).collect();
    assert_eq!(told(), is, "ARCHITECTURE.md (left) and Cargo.toml (right)");
}

/// Commands as `longfat --help` lists them.
fn commands() -> Vec<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_longfat")).arg("--help").output().expect("runs");
    let text = String::from_utf8(help.stdout).expect("UTF-8");
    let list =
        text.split("Commands:\n").nth(1).and_then(|t| t.split("\n\n").next()).expect("a list of commands");
    let names = list.lines().filter_map(|l| l.split_whitespace().next()).filter(|n| *n != "help");
    names.map(str::to_string).collect()
}

#[test]
fn the_readme_has_every_command_with_a_page_of_its_own() {
    let readme = read("README.md");
    let commands = commands();
    assert!(commands.len() >= 6, "{commands:?}");
    for name in commands {
        let page = format!("docs/{name}.md");
        assert!(readme.contains(&format!("[`longfat {name}`]({page})")), "README: {page}");
        assert!(read(&page).contains(&format!("$ longfat {name} --help")), "{page} has no options");
    }
}

#[test]
fn the_glossary_can_be_read_at_one_sitting() {
    let text = read("docs/glossary.md");
    let terms =
        text.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| term") && !l.starts_with("|---"));
    let count = terms.count();
    assert!((10..=MOST_TERMS).contains(&count), "{count} terms");
}

/// Whoever reports a fault can say of which commit.
#[test]
fn the_version_names_the_commit() {
    let out = Command::new(env!("CARGO_BIN_EXE_longfat")).arg("--version").output().expect("runs");
    let said = String::from_utf8(out.stdout).expect("UTF-8");
    let version = env!("CARGO_PKG_VERSION");
    // What the build script found; none where there is neither git nor an archive of it.
    let Some(commit) = option_env!("LONGFAT_COMMIT") else {
        return assert_eq!(said, format!("longfat {version}\n"));
    };
    let expected = format!("longfat {version} ({}", &commit[..commit.len().min(12)]);
    assert!(said.starts_with(&expected), "{said:?} of {expected:?}");
    let git = |args: &[&str]| Command::new("git").args(args).current_dir(root()).output();
    // In a clone, one of its own; somebody may have gone on meanwhile.
    if root().join(".git").exists() && std::env::var_os("LONGFAT_COMMIT").is_none() {
        let known =
            git(&["merge-base", "--is-ancestor", commit, "HEAD"]).is_ok_and(|out| out.status.success());
        assert!(known, "{commit} is no commit of this clone");
    }
}
