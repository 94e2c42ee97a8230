//! The modules of a crate have no circular dependencies, direct or indirect.
//!
//! A dependency is a path `crate::x` or `super::x` in code outside of tests, between modules that the crate's
//! root declares. A name that the root re-exports counts as the module it comes from. Modules inside a module
//! are not checked.

use super::house::{FLOORS, crates, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Crates that still have circular dependencies. Remove a crate from the list when it no longer has any.
const CIRCULAR: [&str; 5] = ["cli", "import", "lab", "proxy", "result"];

/// Removes comments and tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn name(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

/// Splits the content of the braces that `text` begins with at the commas outside of inner braces.
fn items(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut found) = (0, 1, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || depth == 1 && c == ',' {
            found.push(text[from..at].trim());
            from = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// Returns the first names of all paths that begin with `root`: `a` and `c` for `use crate::{a::B, c}`.
fn first_names<'a>(code: &'a str, root: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(root) {
        let is_inside = code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
        match &code[at + root.len()..] {
            _ if is_inside => {}
            rest if rest.starts_with('{') => found.extend(items(rest).into_iter().map(name)),
            rest => found.push(name(rest)),
        }
    }
    found
}

/// Returns the modules that a crate's root declares, and for each re-exported name the module it comes from.
fn modules(root: &str) -> (BTreeSet<&str>, BTreeMap<&str, &str>) {
    let declared = |line| str::strip_prefix(line, "pub mod ").or(str::strip_prefix(line, "mod "));
    let modules: BTreeSet<&str> = root.lines().filter_map(declared).map(name).collect();
    let mut origins = BTreeMap::new();
    for export in root.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let Some((module, rest)) = export.split_once("::").filter(|(first, _)| modules.contains(first))
        else {
            continue;
        };
        let names = if rest.starts_with('{') { items(rest) } else { vec![rest] };
        // A list may end with a comma, after which there is no name.
        let names = names.iter().filter(|path| !path.is_empty());
        origins.extend(names.map(|path| (path.rsplit([' ', ':']).next().unwrap_or_default(), module)));
    }
    (modules, origins)
}

/// Reads all code of a module's file or folder.
fn read(path: &Path) -> String {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("reads").flatten().map(|entry| entry.path());
        return entries.map(|path| read(&path)).collect();
    }
    let is_code = path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs");
    if is_code { code(&fs::read_to_string(path).expect("reads")) } else { String::new() }
}

/// Returns the modules of a crate that are part of a circle or use a module that is, with their dependencies.
fn circle(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let file = ["lib.rs", "main.rs"].iter().find_map(|name| fs::read_to_string(source.join(name)).ok());
    let file = code(&file.expect("a crate's root"));
    let (modules, origins) = modules(&file);
    let uses = |module: &&str| {
        let file = fs::read_to_string(source.join(format!("{module}.rs")));
        let file = file.or_else(|_| fs::read_to_string(source.join(format!("{module}/mod.rs"))));
        let file = code(&file.unwrap_or_default());
        let all = file.clone() + &read(&source.join(module));
        let names = first_names(&all, "crate::").into_iter().chain(first_names(&file, "super::"));
        let used = names.filter_map(|name| modules.get(name).or_else(|| origins.get(name)).copied());
        (module.to_string(), used.filter(|used| used != module).map(str::to_string).collect())
    };
    let mut left: BTreeMap<String, BTreeSet<String>> = modules.iter().map(uses).collect();
    loop {
        let before = left.len();
        let open: BTreeSet<String> = left.keys().cloned().collect();
        left.retain(|_, used| !used.is_disjoint(&open));
        if left.len() == before {
            return left;
        }
    }
}

#[test]
fn modules_have_no_circular_dependencies() {
    for (name, floor) in crates() {
        let left = circle(&root().join(format!("crates/{}/{name}/src", FLOORS[floor])));
        let is_circular = CIRCULAR.contains(&name.as_str());
        assert_eq!(!left.is_empty(), is_circular, "{name}: {left:#?}");
    }
}
