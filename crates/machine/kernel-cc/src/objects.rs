//! Tests alone: whether the committed objects are what their sources give. `cargo xtask bless objects` compiles them.

use crate::object::{Opened, shape};
use crate::{REGISTRY, kernel_name};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

/// What the objects were compiled by and from.
const COMPILED: &str = "objects/compiled.txt";
/// Debug information (-g) carries the types (BTF); what else it carries, `STRIP` takes away.
const FLAGS: &str = "-target bpfel -O2 -g -mcpu=v3 -Wall -Wextra -Werror -fdebug-compilation-dir=. -Ibpf -c";
/// Labels within functions and relocations of debug information serve nobody.
const STRIP: &str = "--strip-debug --remove-section=.rel.BTF.ext --remove-section=.llvm_addrsig --wildcard \
                     --strip-symbol=LBB*";

/// Sources and their objects, from the crate's root.
fn objects() -> Vec<(String, String)> {
    let pair = |file: String| (format!("bpf/{file}.bpf.c"), format!("objects/{file}.bpf.o"));
    let mut all: Vec<_> = REGISTRY.iter().map(|entry| pair(kernel_name(entry.name))).collect();
    all.push(("tests/steady.bpf.c".into(), "tests/steady.bpf.o".into()));
    all
}

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Names of files in a folder, sorted.
fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(at(folder)).expect(folder).map(|entry| entry.expect(folder).file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().expect(folder)).collect();
    names.sort();
    names
}

/// A number for all that the objects depend on but the compiler (FNV-1a).
fn sources() -> String {
    let mut all = format!("{FLAGS} {STRIP}");
    let mut paths: Vec<String> = files("bpf").iter().map(|name| format!("bpf/{name}")).collect();
    paths.push("tests/steady.bpf.c".into());
    for path in paths {
        all.push_str(&fs::read_to_string(at(&path)).expect(&path));
    }
    let bytes = all.bytes().filter(|b| *b != b'\r');
    let hash = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325, hash))
}

fn program(variable: &str, usual: &str) -> Command {
    Command::new(env::var_os(variable).unwrap_or_else(|| usual.into()))
}

fn run(command: &mut Command) -> Output {
    let out = command.current_dir(at("")).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    out
}

/// The first line of `clang --version`; `None`, said aloud, where something is missing.
fn compiler() -> Option<String> {
    let first = |mut command: Command| {
        let out = command.arg("--version").output().ok().filter(|out| out.status.success())?;
        Some(String::from_utf8_lossy(&out.stdout).lines().next().unwrap_or("").to_string())
    };
    let found = first(program("CLANG", "clang")).zip(first(program("LLVM_STRIP", "llvm-strip")));
    if found.is_none() {
        eprintln!("SKIPPED, this needs clang and llvm-strip (others than these: CLANG, LLVM_STRIP)");
    }
    found.map(|(clang, _)| clang)
}

/// The major version in such a line.
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
        fs::write(at(&object), compile(&source)).expect(&object);
    }
    let text =
        format!("What the objects were compiled by and from (make objects).\n{compiler}\n{}\n", sources());
    fs::write(at(COMPILED), text).expect(COMPILED);
}

/// What is out of date, as this compiler says: of code only what it uses and offers where another version compiled it.
fn stale(compiler: &str) -> Option<String> {
    let by = fs::read_to_string(at(COMPILED)).unwrap_or_default();
    if by.lines().nth(2) != Some(sources().as_str()) {
        return Some("bpf/ has changed".into());
    }
    let is_same = major(compiler) == by.lines().nth(1).and_then(major);
    if !is_same {
        eprintln!("this is {compiler}: code is not compared, only what it uses and offers");
    }
    let is_stale = |(source, object): &(String, String)| {
        let (new, Ok(committed)) = (compile(source), fs::read(at(object))) else { return true };
        let shape = |bytes: &Vec<u8>| shape(&Opened::new(source, bytes).expect(source));
        is_same && new != committed || shape(&new) != shape(&committed)
    };
    let (source, object) = objects().into_iter().find(is_stale)?;
    Some(format!("{object} is not what {compiler} makes of {source}"))
}

#[test]
fn objects_are_what_clang_makes_of_their_sources() {
    let Some(compiler) = compiler() else { return };
    match stale(&compiler) {
        Some(_) if xtask::is_blessing() => bless(&compiler),
        Some(what) => panic!("{what}; {}", xtask::HINT),
        None => {}
    }
}

/// Where there is no clang too.
#[test]
fn sources_of_the_objects_have_not_changed_since() {
    if xtask::is_blessing() {
        return;
    }
    let by = fs::read_to_string(at(COMPILED)).expect(COMPILED);
    assert_eq!(by.lines().nth(2), Some(sources().as_str()), "bpf/ has changed; {}", xtask::HINT);
}

/// A file without its line would be noticed by nobody.
#[test]
fn objects_and_lines_of_the_registry_are_those_of_the_sources() {
    let programs = |folder: &str, end: &str| {
        let names = files(folder);
        names.iter().filter_map(|name| name.strip_suffix(end)).map(String::from).collect::<Vec<_>>()
    };
    let mut lines: Vec<String> = REGISTRY.iter().map(|entry| kernel_name(entry.name)).collect();
    lines.sort();
    assert_eq!(lines, programs("bpf", ".bpf.c"));
    assert_eq!(lines, programs("objects", ".bpf.o"));
    for entry in REGISTRY {
        assert!(entry.name.len() <= crate::names::LONGEST, "{}", entry.name);
        crate::parameters(entry.name).expect(entry.name);
    }
}

/// Objects are the same wherever they are compiled, and small.
#[test]
fn objects_tell_nothing_of_the_machine_that_compiled_them() {
    for (_, object) in objects() {
        let bytes = fs::read(at(&object)).expect(&object);
        let opened = Opened::new(&object, &bytes).expect(&object);
        for text in opened.texts().split(|b| *b == 0) {
            let is_path = text.ends_with(b".c") || text.ends_with(b".h");
            let text = String::from_utf8_lossy(text);
            assert!(
                !is_path || text.starts_with("./bpf/") || text.starts_with("./tests/"),
                "{object}: {text}"
            );
        }
        for section in opened.sections() {
            assert!(!section.contains("debug"), "{object}: {section}");
        }
    }
}
