//! Statements of ARCHITECTURE.md, README.md and the glossary about the workspace are true.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The largest number of terms in the glossary.
const MAX_TERMS: usize = 40;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The layers of `crates/`, lowest first. A crate may use crates of its own layer and of the layers below.
pub const FLOORS: [&str; 5] = ["engine", "machine", "evidence", "answers", "faces"];

/// Returns every crate of `crates/` with the index of its layer in [`FLOORS`].
pub fn crates() -> BTreeMap<String, usize> {
    let folders = |path: &str| {
        let entries = fs::read_dir(root().join(path)).expect("there is such a folder").flatten();
        let folders = entries.filter(|e| e.path().is_dir()).filter_map(|e| e.file_name().into_string().ok());
        folders.filter(|name| !name.starts_with('.')).collect::<BTreeSet<String>>()
    };
    assert_eq!(folders("crates"), FLOORS.map(str::to_string).into(), "the floors");
    let on = |(place, floor): (usize, &&str)| {
        folders(&format!("crates/{floor}")).into_iter().map(move |name| (name, place))
    };
    FLOORS.iter().enumerate().flat_map(on).collect()
}

/// Returns the crates of this workspace that a crate depends on, without those of tests and build scripts.
fn used(manifest: &str, known: &BTreeMap<String, usize>) -> BTreeSet<String> {
    let text = read(manifest);
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.contains("dev-") && !line.contains("build-");
            continue;
        }
        let key: String = line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        if inside && known.contains_key(&key) {
            found.insert(key);
        }
    }
    found
}

#[test]
fn no_crate_uses_a_crate_of_a_higher_layer() {
    let known = crates();
    let mut uses = 0;
    for (name, floor) in &known {
        for used in used(&format!("crates/{}/{name}/Cargo.toml", FLOORS[*floor]), &known) {
            uses += 1;
            let below = known[&used];
            assert!(below <= *floor, "{}/{name} uses {}/{used}", FLOORS[*floor], FLOORS[below]);
        }
    }
    assert!(uses > 50, "only {uses} uses were found");
}

#[test]
fn every_crate_has_its_row_in_the_architecture() {
    let text = read("ARCHITECTURE.md");
    let row = |line: &str| line.strip_prefix("| `")?.split_once("` |").map(|(name, _)| name.to_string());
    let rows: BTreeSet<String> = text
        .lines()
        .filter_map(row)
        .filter(|name| FLOORS.iter().any(|floor| name.starts_with(&format!("{floor}/"))))
        .collect();
    let is = crates().into_iter().map(|(name, floor)| format!("{}/{name}", FLOORS[floor])).collect();
    assert_eq!(rows, is, "ARCHITECTURE.md (left) and crates/ (right)");
}

/// Returns the commands that `longfat --help` lists.
fn commands() -> Vec<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_longfat")).arg("--help").output().expect("runs");
    let text = String::from_utf8(help.stdout).expect("UTF-8");
    let list =
        text.split("Commands:\n").nth(1).and_then(|t| t.split("\n\n").next()).expect("a list of commands");
    let names = list.lines().filter_map(|l| l.split_whitespace().next()).filter(|n| *n != "help");
    names.map(str::to_string).collect()
}

#[test]
fn the_readme_links_a_page_for_every_command() {
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
fn the_glossary_is_short() {
    let text = read("docs/glossary.md");
    let terms =
        text.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| term") && !l.starts_with("|---"));
    let count = terms.count();
    assert!((10..=MAX_TERMS).contains(&count), "{count} terms");
}

/// A bug report can name the commit.
#[test]
fn the_version_names_the_commit() {
    let out = Command::new(env!("CARGO_BIN_EXE_longfat")).arg("--version").output().expect("runs");
    let printed = String::from_utf8(out.stdout).expect("UTF-8");
    let version = env!("CARGO_PKG_VERSION");
    // The commit that the build script found: none without git and outside an archive.
    let Some(commit) = option_env!("LONGFAT_COMMIT") else {
        return assert_eq!(printed, format!("longfat {version}\n"));
    };
    let expected = format!("longfat {version} ({}", &commit[..commit.len().min(12)]);
    assert!(printed.starts_with(&expected), "{printed:?} of {expected:?}");
    let git = |args: &[&str]| Command::new("git").args(args).current_dir(root()).output();
    // In a clone the commit is HEAD or an ancestor, as there may be newer commits.
    if root().join(".git").exists() && std::env::var_os("LONGFAT_COMMIT").is_none() {
        let known =
            git(&["merge-base", "--is-ancestor", commit, "HEAD"]).is_ok_and(|out| out.status.success());
        assert!(known, "{commit} is not a commit of this clone");
    }
}

/// Collects the Rust files of a folder and its subfolders.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Whether a line begins a public function or type of a module; methods are indented.
fn is_public_item(line: &str) -> bool {
    let item = line.strip_prefix("pub ").unwrap_or_default();
    let function =
        item.trim_start_matches("const ").trim_start_matches("unsafe ").trim_start_matches("async ");
    function.starts_with("fn ")
        || ["struct ", "enum ", "trait ", "type "].iter().any(|word| item.starts_with(word))
}

/// The compiler's own lint would demand a comment on every field too, and most fields have a name that says
/// everything. The first item of a file may be described by the file's head.
#[test]
fn public_functions_and_types_of_the_libraries_are_documented() {
    let mut files = Vec::new();
    for (name, floor) in crates().into_iter().filter(|(_, floor)| FLOORS[*floor] != "faces") {
        rust_files(&root().join(format!("crates/{}/{name}/src", FLOORS[floor])), &mut files);
    }
    let mut items = 0;
    let mut undocumented = Vec::new();
    for path in files.into_iter().filter(|path| !path.ends_with("tests.rs")) {
        let text = fs::read_to_string(&path).expect("text");
        let lines: Vec<&str> = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").collect();
        let has_head = text.starts_with("//!");
        for (nth, (i, line)) in lines.iter().enumerate().filter(|(_, line)| is_public_item(line)).enumerate()
        {
            items += 1;
            if nth == 0 && has_head {
                continue;
            }
            // Attributes may stand between the comment and the item.
            let above = lines[..i].iter().rev().take_while(|l| !l.is_empty() && !l.starts_with('}'));
            if !above.into_iter().any(|l| l.starts_with("///")) {
                undocumented.push(format!("{}:{}: {line}", path.display(), i + 1));
            }
        }
    }
    assert!(items > 1000, "only {items} items were found");
    assert!(undocumented.is_empty(), "without a doc comment:\n{}", undocumented.join("\n"));
}
