//! Makes the page that needs no server; its engine is compiled to WebAssembly from longfat's sources.

use crate::problem::CliProblem;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// The compilation target for browsers.
const TARGET: &str = "wasm32-unknown-unknown";
/// Folder of the engine's crate in the source tree.
const ENGINE: &str = "crates/faces/explore";

/// Returns the page with an engine built from the source tree that contains the current folder.
pub fn static_page() -> Result<String, CliProblem> {
    let tree = source_tree(&env::current_dir().map_err(|e| CliProblem::io(".".into(), e))?)?;
    let page = tree.join(ENGINE).join("assets/explore.html");
    if fs::read_to_string(&page).ok().as_deref() != Some(::explore::page_source()) {
        return Err(CliProblem::usage(format!(
            "this longfat was not built from {}; run there: cargo run --release -p longfat -- explore --write DIR",
            tree.display()
        )));
    }
    has_target(&tree)?;
    let module = build(&tree)?;
    let bytes = fs::read(&module).map_err(|e| CliProblem::io(module.display().to_string(), e))?;
    Ok(::explore::static_page(&bytes))
}

/// Returns longfat's source tree that contains this folder.
fn source_tree(from: &Path) -> Result<PathBuf, CliProblem> {
    let tree = from.ancestors().find(|folder| folder.join(ENGINE).join("Cargo.toml").is_file());
    tree.map(Path::to_path_buf).ok_or_else(|| {
        let why = "--write compiles the page's engine from longfat's sources: run it in a clone of them";
        CliProblem::usage(why.into())
    })
}

/// Checks that the tree's Rust compiler has the target for browsers.
fn has_target(tree: &Path) -> Result<(), CliProblem> {
    let rustc = program("RUSTC", "rustc");
    let libdir = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(tree)
        .output();
    let output = libdir.map_err(|e| CliProblem::io(rustc.display().to_string(), e))?;
    let folder = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && Path::new(folder.trim()).is_dir() {
        return Ok(());
    }
    let why = format!("--write needs Rust's WebAssembly target; to install it: rustup target add {TARGET}");
    Err(CliProblem::usage(why))
}

/// Compiles the engine and returns its file.
fn build(tree: &Path) -> Result<PathBuf, CliProblem> {
    let cargo = program("CARGO", "cargo");
    let mut command = Command::new(&cargo);
    command.args(["rustc", "--locked", "-p", "longfat-explore", "--lib", "--crate-type", "cdylib"]);
    command.args(["--target", TARGET, "--profile", "wasm", "--message-format", "json-render-diagnostics"]);
    if env::var_os("CARGO_ENCODED_RUSTFLAGS").is_none() {
        command.env("CARGO_ENCODED_RUSTFLAGS", path_flags(tree));
    }
    let output = command.current_dir(tree).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| CliProblem::io(cargo.display().to_string(), e))?;
    let built = output.status.success().then(|| module(&output.stdout)).flatten();
    built.ok_or_else(|| CliProblem::usage("the engine could not be compiled".into()))
}

/// Returns compiler flags that keep this machine's paths out of the engine's messages.
fn path_flags(tree: &Path) -> OsString {
    let own = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = own.or_else(|| Some(env::home_dir()?.join(".cargo"))).unwrap_or_default();
    let mut flags = OsString::new();
    for (path, name) in [(home.as_path(), "cargo"), (tree, "longfat")] {
        if !flags.is_empty() {
            flags.push("\x1f");
        }
        flags.push("--remap-path-prefix=");
        flags.push(path);
        flags.push(format!("={name}"));
    }
    flags
}

/// Finds the WebAssembly file in cargo's JSON messages, one per line.
fn module(messages: &[u8]) -> Option<PathBuf> {
    let messages =
        messages.split(|&b| b == b'\n').filter_map(|l| serde_json::from_slice::<serde_json::Value>(l).ok());
    let files: Vec<String> = messages
        .filter_map(|message| Some(message["filenames"].as_array()?.clone()))
        .flatten()
        .filter_map(|file| Some(file.as_str()?.to_string()))
        .collect();
    files.into_iter().rev().find(|file| file.ends_with(".wasm")).map(PathBuf::from)
}

/// Returns the program that the environment variable names, else `name`.
fn program(variable: &str, name: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| name.into(), PathBuf::from)
}
