#!/usr/bin/env python3
"""Lists the constants of the diagnosis with their sources, and measures the effect of each.

    python3 tests/diagnose/constants.py                         table of all constants
    python3 tests/diagnose/constants.py --count                 number of constants, and of those that name a source
    python3 tests/diagnose/constants.py [--rows FILE] --ablate --drawn SET COUNT --real DIR --nebby DIR
    python3 tests/diagnose/constants.py [--rows FILE] --report  the page made from FILE

A constant is a number in a `const` of `crates/evidence/diagnosis/src` (each number of a tuple or list separately), or a
decimal in code. Tests are excluded, and so are 0, 0.5, 1, 2 and powers of ten. A constant names a source if the comment
above it cites an RFC, a kernel function or a paper, or states from what it was derived or learned.

`--ablate` halves and doubles each constant in turn, in a copy of the tree that is built once, diagnoses the given sets
(`ablate.rs`), and writes the number of right flows of each set to FILE.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "crates/evidence/diagnosis/src"
NUMBER = re.compile(r"(?<![\w.])(\d[\d_]*(?:\.\d[\d_]*)?(?:e-?\d+)?)(?![\w.]*[A-Za-z_]\w*\()")
CONST = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?const (\w+): ([^=]+) = (.*)$")
BARE = re.compile(r"(?<![\w.])(\d[\d_]*\.\d[\d_]*(?:e-?\d+)?|\d[\d_]*e-?\d+)(?![\w])")
ORIGIN = re.compile(
    r"RFC|Linux|kernel|`tcp_|TCP_|Mann|Schwarz|derived|derivation|learn|Mathis|section \d|BBR|CUBIC|draft|IEEE|standard deviation|et al\.|`\w+\.c`")
UNITS = {"0", "1", "2", "0.0", "1.0", "2.0", "0.5", "1e-9", "1e-6", "1e-3", "1e3", "1e6", "1e9", "8e-6", "1e-18"}


def sources():
    """Yields each source file with its lines, without tests."""
    for path in sorted(SOURCE.rglob("*.rs")):
        if path.name in ("tests.rs", "weights.rs", "factors.rs"):
            continue
        text = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
        yield path, text.split("\n")


HEAD = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:const |static )?(?:fn|const|static) ?\w+")


def comment_above(lines, at):
    """Returns the comment directly above a line. Consecutive constants share a comment."""
    while at > 0 and CONST.match(lines[at - 1]):
        at -= 1
    doc = []
    while at > 0 and lines[at - 1].lstrip().startswith("//"):
        at -= 1
        doc.insert(0, lines[at].strip().lstrip("/! "))
    return " ".join(doc)


def comments_on(lines, at, first):
    """Returns the nearest comment above line `at`, and the comment of its constant or function, which begins at `first`."""
    near = at
    while near > first and not lines[near - 1].lstrip().startswith("//"):
        near -= 1
    return f"{comment_above(lines, near)} {comment_above(lines, first)}"


def constants():
    """Yields the name, file, line, regex match of the number, and comments of each constant."""
    for path, lines in sources():
        name = str(path.relative_to(SOURCE))
        inside, first = None, 0
        for at, line in enumerate(lines):
            code = line.split("//")[0]
            found = CONST.match(code)
            if not inside and HEAD.match(code):
                first = at
            if found or inside:
                inside = inside or found.group(1)
                begin = code.index("=") + 1 if found else 0
                for part, number in enumerate(NUMBER.finditer(code, begin)):
                    if number.group(1) not in UNITS:
                        yield inside + (f".{part}" if part else ""), name, at, number, comments_on(lines, at, first)
                if code.rstrip().endswith(";"):
                    inside = None
                continue
            for number in BARE.finditer(code):
                if number.group(1) not in UNITS:
                    yield "(bare)", name, at, number, comments_on(lines, at, first)


def table():
    print("| constant | file | value | source |\n|---|---|---:|---|")
    for name, file, at, number, doc in constants():
        named = ORIGIN.search(doc)
        print(f"| {name} | {file}:{at + 1} | {number.group(1)} | {'named' if named else '–'} |")


def count():
    found = list(constants())
    bare = sum(c[0] == "(bare)" for c in found)
    named = sum(bool(ORIGIN.search(c[4])) for c in found)
    print(f"{len(found)} constants: {len(found) - bare} in `const`, {bare} in code; {named} name a source")


KNOB = """
/// Constants that can be changed at run time.
pub mod knob {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

    static CHANGED: AtomicUsize = AtomicUsize::new(usize::MAX);
    static BY: AtomicU64 = AtomicU64::new(0);

    /// Multiplies constant `which` by a factor.
    pub fn set(which: usize, by: f64) {
        CHANGED.store(which, Relaxed);
        BY.store(by.to_bits(), Relaxed);
    }

    /// Types of constants.
    pub trait Number: Copy {
        fn times(self, by: f64) -> Self;
    }

    macro_rules! number {
        ($($t:ty),*) => { $(impl Number for $t { fn times(self, by: f64) -> $t { (self as f64 * by) as $t } })* };
    }
    macro_rules! whole {
        ($($t:ty),*) => { $(impl Number for $t { fn times(self, by: f64) -> $t { ((self as f64 * by) as $t).max(1) } })* };
    }
    number!(f32, f64);
    whole!(u8, u16, u32, u64, i64, usize);

    #[inline]
    pub fn k<T: Number>(which: usize, value: T) -> T {
        if CHANGED.load(Relaxed) == which { value.times(f64::from_bits(BY.load(Relaxed))) } else { value }
    }
}
"""


def with_knobs(every, left_out):
    """Returns the text of each source file, by path, with all constants made adjustable except those in `left_out`."""
    files, made_static = {}, set()
    for number, (name, file, at, found, _) in enumerate(every):
        if number not in left_out:
            files.setdefault(file, []).append((at, found.start(1), found.end(1), number, name.split(".")[0]))
    texts = {}
    for path in sorted(SOURCE.rglob("*.rs")):
        file = str(path.relative_to(SOURCE))
        lines = path.read_text().split("\n")
        names = {name for *_, name in files.get(file, []) if name != "(bare)"}
        made_static |= names
        for at, begin, end, number, _ in sorted(files.get(file, []), reverse=True):
            line = lines[at]
            lines[at] = f"{line[:begin]}crate::knob::k({number}, {line[begin:end]}){line[end:]}"
        texts[file] = (lines, names)
    return {file: rewritten(lines, names, made_static) for file, (lines, names) in texts.items()}


def rewritten(lines, names, made_static):
    """Turns the constants `names` into lazily computed statics, and dereferences them where they are used."""
    head, tests, tail = "\n".join(lines).partition("#[cfg(test)]\nmod tests {")
    used = names | {n for n in made_static if re.search(rf"^use [^;]*\b{n}\b", head, re.M) or f"::{n}" in head}
    parts, at = [], 0
    # Definitions, imports and comments stay as they are; the rest is code that may use the constants.
    kept = re.compile(r"^[ \t]*(?:pub(?:\([a-z]+\))? )?(?:const (\w+): ([^=]+?) = (.*?);|use [^;]*;)$|//[^\n]*", re.M | re.S)
    # Match a constant at the end of a range, but not a field of the same name.
    place = re.compile(r"(?<![\w:])(?<![^.]\.)((?:\w+::)*)(" + "|".join(sorted(used)) + r")\b") if used else None
    uses = lambda text: place.sub(r"(*\1\2)", text) if place else text
    for found in kept.finditer(head):
        parts.append(uses(head[at:found.start()]))
        at = found.end()
        if found.group(1) in names:
            before = found.group(0).split("const ")[0]
            kind, value = found.group(2), uses(found.group(3))
            parts.append(f"{before}static {found.group(1)}: std::sync::LazyLock<{kind}> = std::sync::LazyLock::new(|| {value});")
        elif found.group(1):
            parts.append(found.group(0)[:found.start(3) - found.start()] + uses(found.group(3)) + ";")
        else:
            parts.append(found.group(0))
    return "".join(parts) + uses(head[at:]) + tests + tail


def build(tree, target, every):
    """Builds `ablate` with as many adjustable constants as compile. Returns the numbers of the others."""
    left_out = set()
    env = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    crate = tree / "crates/evidence/diagnosis/src"
    command = ["cargo", "build", "--release", "--message-format=short", "-p", "longfat-diagnose-test", "--bin", "ablate"]
    while True:
        for file, text in with_knobs(every, left_out).items():
            (crate / file).write_text(text + (KNOB if file == "lib.rs" else ""))
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True)
        if done.returncode == 0:
            return left_out
        wrong = {(m[1], int(m[2])) for m in re.finditer(r"crates/evidence/diagnosis/src/(\S+?):(\d+):\d+: error", done.stderr)}
        more = set()
        for file, at in wrong:
            line = (crate / file).read_text().split("\n")[at - 1]
            more |= {int(n) for n in re.findall(r"knob::k\((\d+),", line)}
            used = set(re.findall(r"\(\*(?:\w+::)*(\w+)\)", line))
            more |= {i for i, c in enumerate(every) if c[0].split(".")[0] in used}
        if not more - left_out:
            sys.exit(done.stderr)
        left_out |= more


def ablate(options, rows):
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "ablation"
    every = list(constants())
    with tempfile.TemporaryDirectory(prefix="longfat-ablation-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("target", ".git", "node_modules"))
        here = tree / "tests/diagnose"
        shutil.copy(here / "ablate.rs", here / "src/ablate.rs")
        with open(here / "Cargo.toml", "a") as manifest:
            manifest.write('linux.workspace = true\n\n[[bin]]\nname = "ablate"\npath = "src/ablate.rs"\n')
        left_out = build(tree, target, every)
        print(f"{len(left_out)} of {len(every)} constants cannot be changed at run time", file=sys.stderr)
        controls = [i for i, c in enumerate(every) if c[1].startswith("verdict/cc")]
        span = [str(controls[0]), str(controls[-1] + 1)]
        run = [target / "release/ablate", str(len(every)), *options, "--controls", *span]
        table = [line.split() for line in subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()]
    sets = sorted({line[2] for line in table})
    scores = {(which, by, name): (int(right), int(bad)) for which, by, name, right, _, bad in table}
    with open(rows, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["constant", "file", "line", "value", "by", *(f"{s} {what}" for s in sets for what in ("right", "bad"))])

        def write(which, head, by):
            figures = [scores.get((which, by, s), ("", "")) for s in sets]
            out.writerow([*head, by, *(n for pair in figures for n in pair)])

        write("none", ["(none)", "", "", ""], "1")
        for number, (name, where, at, found, _) in enumerate(every):
            for by in ("0.5", "2") if number not in left_out else ():
                write(str(number), [name, where, at + 1, found.group(1)], by)


HEAD_OF_REPORT = """# The effect of each constant of the diagnosis

Each constant of `crates/evidence/diagnosis/src` is halved and doubled, one at a time, and the build sets are
diagnosed again: random cases, random receivers that do not read, and the build half of the public captures.
Constants that identify congestion controls are scored on the build half of the traces with labelled controls
instead. The table shows the change in the number of right flows. `tests/diagnose/constants.py --ablate`
measures; `--report` prints this page. Learned numbers (`*/weights.rs`, `*/factors.rs`) are not included.

{count} constants can be changed. With their present values the right flows are: {right}. Neither halving nor
doubling changes a verdict for {idle} of them, on so few flows. For {better}, a changed value does better,
mostly by one or two flows, which may be chance. *named*: the comment cites an RFC, a kernel function, a
paper, a derivation, or the program that learned the value.{gone}
"""


def report(rows):
    """Prints the page: the change in right flows when each constant is halved and doubled, the greatest effect first."""
    with open(rows) as file:
        lines = list(csv.DictReader(file))
    sets = [name.removesuffix(" right") for name in lines[0] if name.endswith(" right")]
    base = lines[0]

    def losses(line):
        return [int(base[f"{s} right"]) - int(line[f"{s} right"]) if line[f"{s} right"] else None for s in sets]

    pairs = list(zip(lines[1::2], lines[2::2]))
    effect = lambda pair: max((abs(n) for line in pair for n in losses(line) if n is not None), default=-1)
    shown = lambda line: " / ".join("–" if n is None else f"{-n:+d}" if n else "0" for n in losses(line))
    pairs.sort(key=effect, reverse=True)
    idle = sum(effect(pair) == 0 for pair in pairs)
    named = {(c[0], c[1], c[3].group(1)): bool(ORIGIN.search(c[4])) for c in constants()}
    better = sum(any(sum(n for n in losses(line) if n is not None) < 0 for line in pair) for pair in pairs)
    right = ", ".join(f"{base[f'{s} right']} of {s}" for s in sets)
    key = lambda line: (line["constant"], line["file"], line["value"])
    gone = sum(key(half) not in named for half, _ in pairs)
    note = f" *gone*: that file no longer has a constant of that name and value ({gone} constants)." if gone else ""
    print(HEAD_OF_REPORT.format(count=len(pairs), right=right, idle=idle, better=better, gone=note))
    print(f"| constant | file | value | source | halved: {' / '.join(sets)} | doubled |\n|---|---|---:|---|---|---|")
    for half, twice in pairs:
        source = {True: "named", False: "–", None: "gone"}[named.get(key(half))]
        print(f"| {half['constant']} | {half['file']} | {half['value']} | {source} | {shown(half)} | {shown(twice)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", action="store_true", help="print the number of constants, and of those that name a source")
    parser.add_argument("--report", action="store_true", help="print the page made from the rows of --ablate")
    parser.add_argument("--ablate", nargs=argparse.REMAINDER, metavar="SETS", help="halve and double each constant and score SETS")
    parser.add_argument("--rows", type=Path, default=Path("ablation.csv"), metavar="FILE", help="results of --ablate")
    args = parser.parse_args()
    if args.count:
        count()
    elif args.report:
        report(args.rows)
    elif args.ablate:
        ablate(args.ablate, args.rows)
    else:
        table()


if __name__ == "__main__":
    sys.exit(main())
