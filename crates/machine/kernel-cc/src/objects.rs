//! Tests whether the committed objects match their sources. `cargo xtask bless objects` compiles them.

use crate::object::{ParsedObject, interface};
use crate::{REGISTRY, kernel_name};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

/// File that records the compiler and a hash of the sources.
const COMPILED: &str = "objects/compiled.txt";
/// Debug information (-g) contains the types (BTF); `STRIP` removes the rest of it.
const FLAGS: &str = "-target bpfel -O2 -g -mcpu=v3 -Wall -Wextra -Werror -fdebug-compilation-dir=. -Ibpf -c";
/// Removes labels within functions and relocations of debug information, which are not needed.
const STRIP: &str = "--strip-debug --remove-section=.rel.BTF.ext --remove-section=.llvm_addrsig --wildcard \
                     --strip-symbol=LBB*";

/// Returns sources and their objects, relative to the crate's root.
fn objects() -> Vec<(String, String)> {
    let pair = |file: String| (format!("bpf/{file}.bpf.c"), format!("objects/{file}.bpf.o"));
    let mut all: Vec<_> = REGISTRY.iter().map(|entry| pair(kernel_name(entry.name))).collect();
    all.push(("tests/steady.bpf.c".into(), "tests/steady.bpf.o".into()));
    let traffic = files("traffic").into_iter().filter_map(|f| f.strip_suffix(".bpf.c").map(String::from));
    all.extend(traffic.map(|f| (format!("traffic/{f}.bpf.c"), format!("traffic/{f}.bpf.o"))));
    all
}

fn crate_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the sorted file names in a folder.
fn files(folder: &str) -> Vec<String> {
    let entries =
        fs::read_dir(crate_path(folder)).expect(folder).map(|entry| entry.expect(folder).file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().expect(folder)).collect();
    names.sort();
    names
}

/// Returns a hash (FNV-1a) of everything that the objects depend on except the compiler.
fn source_hash() -> String {
    let mut all = format!("{FLAGS} {STRIP}");
    let mut paths: Vec<String> = files("bpf").iter().map(|name| format!("bpf/{name}")).collect();
    paths.push("tests/steady.bpf.c".into());
    paths
        .extend(files("traffic").iter().filter(|f| !f.ends_with(".o")).map(|name| format!("traffic/{name}")));
    for path in paths {
        all.push_str(&fs::read_to_string(crate_path(&path)).expect(&path));
    }
    let bytes = all.bytes().filter(|b| *b != b'\r');
    let hash = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325, hash))
}

fn program(variable: &str, usual: &str) -> Command {
    Command::new(env::var_os(variable).unwrap_or_else(|| usual.into()))
}

fn run(command: &mut Command) -> Output {
    let out = command.current_dir(crate_path("")).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    out
}

/// Returns the first line of `clang --version`; `None` if a tool is missing, which is printed.
fn compiler() -> Option<String> {
    let first = |mut command: Command| {
        let out = command.arg("--version").output().ok().filter(|out| out.status.success())?;
        Some(String::from_utf8_lossy(&out.stdout).lines().next().unwrap_or("").to_string())
    };
    let found = first(program("CLANG", "clang")).zip(first(program("LLVM_STRIP", "llvm-strip")));
    if found.is_none() {
        eprintln!("SKIPPED, this needs clang and llvm-strip (set CLANG and LLVM_STRIP to use others)");
    }
    found.map(|(clang, _)| clang)
}

/// Returns the major version in a line of `clang --version`.
fn major(compiler: &str) -> Option<&str> {
    compiler.split("version ").nth(1)?.split('.').next()
}

fn compile(source: &str) -> Vec<u8> {
    let object = env::temp_dir().join(format!("longfat-{}.bpf.o", std::process::id()));
    run(program("CLANG", "clang").args(FLAGS.split_whitespace()).arg(source).arg("-o").arg(&object));
    run(program("LLVM_STRIP", "llvm-strip").args(STRIP.split_whitespace()).arg(&object));
    let bytes = fs::read(&object).expect("an object");
    fs::remove_file(&object).expect("an object");
    bytes
}

fn bless(compiler: &str) {
    for (source, object) in objects() {
        fs::write(crate_path(&object), compile(&source)).expect(&object);
    }
    let text = format!(
        "What the objects were compiled by and from (make objects).\n{compiler}\n{}\n",
        source_hash()
    );
    fs::write(crate_path(COMPILED), text).expect(COMPILED);
}

/// Returns what is out of date according to this compiler. For code from another major version only the
/// interface is compared.
fn stale(compiler: &str) -> Option<String> {
    let compiled = fs::read_to_string(crate_path(COMPILED)).unwrap_or_default();
    if compiled.lines().nth(2) != Some(source_hash().as_str()) {
        return Some("bpf/ has changed".into());
    }
    let is_same = major(compiler) == compiled.lines().nth(1).and_then(major);
    if !is_same {
        eprintln!("this is {compiler}: only interfaces are compared, not code");
    }
    let is_stale = |(source, object): &(String, String)| {
        let (new, Ok(committed)) = (compile(source), fs::read(crate_path(object))) else { return true };
        let interface = |bytes: &Vec<u8>| interface(&ParsedObject::new(source, bytes).expect(source));
        is_same && new != committed || interface(&new) != interface(&committed)
    };
    let (source, object) = objects().into_iter().find(is_stale)?;
    Some(format!("{object} differs from the output of {compiler} for {source}"))
}

#[test]
fn objects_match_their_sources_compiled_by_clang() {
    let Some(compiler) = compiler() else { return };
    match stale(&compiler) {
        Some(_) if xtask::is_blessing() => bless(&compiler),
        Some(what) => panic!("{what}; {}", xtask::HINT),
        None => {}
    }
}

/// Also works without clang.
#[test]
fn sources_have_not_changed_since_the_objects_were_compiled() {
    if xtask::is_blessing() {
        return;
    }
    let compiled = fs::read_to_string(crate_path(COMPILED)).expect(COMPILED);
    assert_eq!(compiled.lines().nth(2), Some(source_hash().as_str()), "bpf/ has changed; {}", xtask::HINT);
}

/// A source without a registry line would otherwise go unnoticed.
#[test]
fn every_source_has_an_object_and_a_registry_line() {
    let programs = |folder: &str, end: &str| {
        let names = files(folder);
        names.iter().filter_map(|name| name.strip_suffix(end)).map(String::from).collect::<Vec<_>>()
    };
    let mut lines: Vec<String> = REGISTRY.iter().map(|entry| kernel_name(entry.name)).collect();
    lines.sort();
    assert_eq!(lines, programs("bpf", ".bpf.c"));
    assert_eq!(lines, programs("objects", ".bpf.o"));
    for entry in REGISTRY {
        assert!(entry.name.len() <= crate::names::MAX_NAME, "{}", entry.name);
        crate::parameters(entry.name).expect(entry.name);
    }
}

/// Objects are independent of the machine that compiles them, and small.
#[test]
fn objects_contain_no_paths_of_the_build_machine() {
    for (_, object) in objects() {
        let bytes = fs::read(crate_path(&object)).expect(&object);
        let opened = ParsedObject::new(&object, &bytes).expect(&object);
        for text in opened.texts().split(|b| *b == 0) {
            let is_path = text.ends_with(b".c") || text.ends_with(b".h");
            let text = String::from_utf8_lossy(text);
            assert!(
                !is_path || ["./bpf/", "./tests/", "./traffic/"].iter().any(|start| text.starts_with(start)),
                "{object}: {text}"
            );
        }
        for section in opened.sections() {
            assert!(!section.contains("debug"), "{object}: {section}");
        }
    }
}
