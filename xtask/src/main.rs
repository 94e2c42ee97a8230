//! `cargo xtask bless` writes all files that are generated and committed, `cargo xtask check` says which are out of date.
//!
//! Both run the same commands: tests that compare what they generate with a file, and scripts with an option that compares.

use std::env;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Files that are generated and committed.

    cargo xtask bless [NAME ...]    write them, or those of these names
    cargo xtask check [NAME ...]    exit code 1 if one is out of date
    cargo xtask bless --list        names, and the files behind them

Measured pages (make docs) and pictures (make pictures) are not among them.";

/// Whether files are written or compared.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Bless,
    Check,
}

/// How a group of files is made.
enum Maker {
    /// Tests of a package that call [`xtask::compare`], as arguments of `cargo test`.
    Tests(&'static [&'static str]),
    /// tests/licenses.py.
    Licenses,
    /// The page and the explorer, by npm.
    Page,
    /// tests/examples.py with the programs as they are now.
    Examples,
}

/// Files that are made together.
struct Group {
    name: &'static str,
    files: &'static str,
    /// Programs without which the group is skipped.
    needs: &'static [&'static str],
    maker: Maker,
}

const fn tests(name: &'static str, files: &'static str, arguments: &'static [&'static str]) -> Group {
    Group { name, files, needs: &[], maker: Maker::Tests(arguments) }
}

/// A group comes after those that its files are made of.
static GROUPS: [Group; 11] = [
    tests(
        "scenario",
        "docs/scenario.schema.json, the reference in docs/scenario.md",
        &["longfat-scenario", "--test", "scenario", "generated"],
    ),
    tests(
        "result",
        "docs/{result,diagnosis,reproduction}.schema.json, the references in docs/result-schema.md and docs/diagnosis-schema.md",
        &["longfat-app", "--lib", "--test", "app", "generated"],
    ),
    tests("fit", "docs/fit.schema.json", &["longfat-fit", "--lib", "committed_schema"]),
    tests("plan", "docs/plan.schema.json", &["longfat-advise", "--lib", "committed_schema"]),
    tests(
        "audit",
        "docs/check.schema.json, the table of rules in docs/check.md",
        &["longfat-audit", "--lib", "documents"],
    ),
    tests("page-schema", "web/schema/", &["longfat-report", "--lib", "schema"]),
    tests(
        "report",
        "crates/answers/report/names.json, crates/answers/report/tests/golden/: look at what changed there",
        &["longfat-report", "--test", "report"],
    ),
    Group {
        needs: &["clang", "llvm-strip"],
        ..tests("objects", "crates/machine/kernel-cc/objects/", &["longfat-kernel-cc", "--lib", "objects"])
    },
    Group { name: "licenses", files: "THIRD-PARTY-LICENSES.md", needs: &["python3"], maker: Maker::Licenses },
    Group {
        name: "page",
        files: "web/src/types.ts, crates/answers/report/assets/page.html, crates/faces/explore/assets/explore.html",
        needs: &["npm"],
        maker: Maker::Page,
    },
    Group {
        name: "examples",
        files: "what commands print in README.md and docs/",
        needs: &["python3"],
        maker: Maker::Examples,
    },
];

/// What became of a group.
enum Outcome {
    Done,
    Failed,
    /// The program that is missing.
    Skipped(&'static str),
}

impl Group {
    fn run(&self, mode: Mode) -> Outcome {
        let missing = self.needs.iter().find(|tool| !is_installed(tool));
        match missing {
            Some(tool) => Outcome::Skipped(tool),
            None if self.make(mode) => Outcome::Done,
            None => Outcome::Failed,
        }
    }

    fn make(&self, mode: Mode) -> bool {
        let is_check = mode == Mode::Check;
        match self.maker {
            Maker::Tests(arguments) => {
                let mut command = cargo();
                command.args(["test", "-q", "-p"]).args(arguments);
                match mode {
                    Mode::Bless => command.env(xtask::BLESS, "1"),
                    Mode::Check => command.env_remove(xtask::BLESS),
                };
                succeeds(&mut command)
            }
            Maker::Licenses => {
                succeeds(program("python3").arg("tests/licenses.py").args(is_check.then_some("--check")))
            }
            Maker::Page => {
                let npm =
                    |arguments: &[&str]| succeeds(program("npm").args(["--prefix", "web"]).args(arguments));
                let is_set_up = xtask::path("web/node_modules").is_dir() || npm(&["ci", "--silent"]);
                is_set_up && npm(&["run", "-s", if is_check { "fresh" } else { "build" }])
            }
            Maker::Examples => {
                let folder = env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
                let packages =
                    ["-p", "longfat", "-p", "longfat-pair", "--bin", "longfat", "--bin", "longfat-pair"];
                succeeds(cargo().args(["build", "-q", "--release"]).args(packages))
                    && succeeds(
                        program("python3")
                            .arg("tests/examples.py")
                            .arg(format!("{folder}/release/longfat"))
                            .args((!is_check).then_some("--bless")),
                    )
            }
        }
    }
}

/// A program that runs in the repository's root.
fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.current_dir(xtask::path(""));
    command
}

fn cargo() -> Command {
    program(&env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
}

fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(e) => {
            eprintln!("{}: {e}", command.get_program().display());
            false
        }
    }
}

fn is_installed(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|out| out.status.success())
}

/// The groups of these names, or all, in the order in which they are made.
fn chosen(names: &[String]) -> Result<Vec<&'static Group>, String> {
    match names.iter().find(|name| !GROUPS.iter().any(|group| group.name == **name)) {
        Some(name) => Err(format!("`{name}` is not a name; cargo xtask bless --list")),
        None => Ok(GROUPS
            .iter()
            .filter(|g| names.is_empty() || names.iter().any(|name| name == g.name))
            .collect()),
    }
}

fn list() {
    for group in &GROUPS {
        let needs = match group.needs {
            [] => String::new(),
            needs => format!(" (needs {})", needs.join(" and ")),
        };
        println!("{:13}{}{needs}", group.name, group.files);
    }
}

fn run(mode: Mode, names: &[String]) -> Result<ExitCode, String> {
    let mut lines = Vec::new();
    let mut failed = false;
    for group in chosen(names)? {
        eprintln!("xtask: {}", group.name);
        let outcome = group.run(mode);
        failed |= matches!(outcome, Outcome::Failed);
        lines.push(match (outcome, mode) {
            (Outcome::Done, Mode::Bless) => format!("{:13}written where it was out of date", group.name),
            (Outcome::Done, Mode::Check) => format!("{:13}up to date", group.name),
            (Outcome::Failed, Mode::Bless) => format!("{:13}FAILED", group.name),
            (Outcome::Failed, Mode::Check) => {
                format!("{:13}FAILED: cargo xtask bless {}", group.name, group.name)
            }
            (Outcome::Skipped(tool), _) => format!("{:13}SKIPPED, no {tool}", group.name),
        });
    }
    println!("{}", lines.join("\n"));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match &words[..] {
        ["bless" | "check", "--list"] => {
            list();
            Ok(ExitCode::SUCCESS)
        }
        ["bless", ..] => run(Mode::Bless, &arguments[1..]),
        ["check", ..] => run(Mode::Check, &arguments[1..]),
        _ => Err(USAGE.into()),
    };
    done.unwrap_or_else(|e| {
        eprintln!("{e}");
        ExitCode::from(2)
    })
}
