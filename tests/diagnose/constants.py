#!/usr/bin/env python3
"""The constants of the diagnosis: what they are, where each comes from, and what each gives.

    python3 tests/diagnose/constants.py                       a table of all of them
    python3 tests/diagnose/constants.py --count               how many, and how many name a source
    python3 tests/diagnose/constants.py --ablate SET CASES [--only WORD] [--rows FILE]

A constant is a number in a `const` of `crates/diagnosis/src`, each of a tuple or list for itself, or a decimal that stands
bare in code; tests are left out, and so are 0, 1, 2 and powers of ten, which are units and halves. It names a source if what is
written above it does: an RFC, a line of a kernel, a paper, what it is derived or learnt from.

`--ablate` halves and doubles one after the other, builds `corpus` and scores CASES of SET, in a copy of the tree. Rows are
appended to FILE, and what stands there is not done again: the whole takes hours.
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
SOURCE = ROOT / "crates/diagnosis/src"
NUMBER = re.compile(r"(?<![\w.])(\d[\d_]*(?:\.\d[\d_]*)?(?:e-?\d+)?)(?![\w.]*[A-Za-z_]\w*\()")
CONST = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?const (\w+): ([^=]+) = (.*)$")
BARE = re.compile(r"(?<![\w.])(\d[\d_]*\.\d[\d_]*(?:e-?\d+)?|\d[\d_]*e-?\d+)(?![\w])")
ORIGIN = re.compile(
    r"RFC|Linux|kernel|`tcp_|TCP_|Mann|Schwarz|derived|derivation|learn|Mathis|section \d|BBR|CUBIC|draft|IEEE|standard deviation")
UNITS = {"0", "1", "2", "0.0", "1.0", "2.0", "0.5", "1e-9", "1e-6", "1e-3", "1e3", "1e6", "1e9", "8e-6", "1e-18"}


def sources():
    """Files, and their lines without tests."""
    for path in sorted(SOURCE.rglob("*.rs")):
        if path.name in ("tests.rs", "weights.rs"):
            continue
        text = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
        yield path, text.split("\n")


def doc_above(lines, at):
    """What is written above a line; constants that stand one below the other share it."""
    while at > 0 and CONST.match(lines[at - 1]):
        at -= 1
    doc = []
    while at > 0 and lines[at - 1].lstrip().startswith("//"):
        at -= 1
        doc.insert(0, lines[at].strip().lstrip("/! "))
    return " ".join(doc)


def constants():
    """Name, file, line, column, text of the number, and what is said of it."""
    for path, lines in sources():
        name = str(path.relative_to(SOURCE))
        inside = None
        for at, line in enumerate(lines):
            code = line.split("//")[0]
            found = CONST.match(code)
            if found or inside:
                inside = inside or (found.group(1), doc_above(lines, at))
                begin = code.index("=") + 1 if found else 0
                for part, number in enumerate(NUMBER.finditer(code, begin)):
                    if number.group(1) not in UNITS:
                        yield inside[0] + (f".{part}" if part else ""), name, at, number, inside[1]
                if code.rstrip().endswith(";"):
                    inside = None
                continue
            for number in BARE.finditer(code):
                if number.group(1) not in UNITS:
                    yield "(bare)", name, at, number, doc_above(lines, at)


def table():
    print("| constant | file | value | source |\n|---|---|---:|---|")
    for name, file, at, number, doc in constants():
        named = ORIGIN.search(doc)
        print(f"| {name} | {file}:{at + 1} | {number.group(1)} | {'named' if named else '–'} |")


def count():
    every = list(constants())
    bare = sum(c[0] == "(bare)" for c in every)
    named = sum(bool(ORIGIN.search(c[4])) for c in every)
    print(f"{len(every)} constants: {len(every) - bare} in `const`, {bare} bare; {named} name a source")


def scored(tree, target, of, cases):
    """Flows whose main cause is right, and all; `None` where it does not build."""
    env = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    build = ["cargo", "build", "--release", "-q", "-p", "longfat-diagnose-test", "--bin", "corpus"]
    if subprocess.run(build, cwd=tree, env=env, capture_output=True).returncode != 0:
        return None
    run = [target / "release/corpus", "score", of, str(cases)]
    text = subprocess.run(run, cwd=tree, env=env, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Main cause right: [\d.]+ % \((\d+) of (\d+)\)", text)
    return tuple(map(int, found.groups())) if found else None


def ablate(of, cases, only, rows):
    done = {}
    if rows.exists():
        with open(rows) as file:
            done = {(r["constant"], r["file"], r["line"], r["value"], r["by"]): r for r in csv.DictReader(file)}
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "ablation"
    with tempfile.TemporaryDirectory(prefix="longfat-ablation-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("target", ".git", "node_modules"))
        with open(rows, "a") as out:
            if not done:
                out.write("constant,file,line,value,by,right,of\n")
                right, whole = scored(tree, target, of, cases)
                out.write(f"(none),,,,1,{right},{whole}\n")
            for name, file, at, number, _ in constants():
                if only and only not in name and only not in file:
                    continue
                for by in ("0.5", "2"):
                    if (name, file, str(at + 1), number.group(1), by) in done:
                        continue
                    path = tree / "crates/diagnosis/src" / file
                    before = path.read_text()
                    lines = before.split("\n")
                    value = float(number.group(1).replace("_", "")) * float(by)
                    whole_number = re.fullmatch(r"[\d_]+", number.group(1))
                    text = str(max(1, int(value))) if whole_number else repr(value)
                    line = lines[at]
                    lines[at] = line[:number.start(1)] + text + line[number.end(1):]
                    path.write_text("\n".join(lines))
                    result = scored(tree, target, of, cases)
                    path.write_text(before)
                    right, whole = result or ("", "")
                    out.write(f"{name},{file},{at + 1},{number.group(1)},{by},{right},{whole}\n")
                    out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--ablate", nargs=2, metavar=("SET", "CASES"))
    parser.add_argument("--only")
    parser.add_argument("--rows", type=Path, default=Path("ablation.csv"))
    args = parser.parse_args()
    if args.count:
        count()
    elif args.ablate:
        ablate(args.ablate[0], int(args.ablate[1]), args.only, args.rows)
    else:
        table()


if __name__ == "__main__":
    sys.exit(main())
