#!/usr/bin/env python3
"""Runs the examples of README.md and docs/ and holds what they show against what longfat prints.

    tests/examples.py LONGFAT [--bless] [FILE.md ...]

`longfat-pair` is the program next to LONGFAT. An example is a fenced block that begins with `$ longfat`. Its commands run in one folder a file, in the file's order;
lines behind a command are its output (of a pipe standard output alone), `...` alone on a line stands for lines left out.
What is not `longfat`, `longfat-pair` or `sed` is not run: `sudo` wants a kernel and real seconds. `--bless` writes what is printed
now.

An error fails whatever the page shows, and is not blessed, but below a line `<!-- shows an error -->`: one command of that
block has to end in one.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = "..."
MEANT = "<!-- shows an error -->"


def commands(lines):
    """Splits a block's lines into (command, first line of its output, end of it)."""
    found, i = [], 0
    while i < len(lines):
        if not lines[i].startswith("$ "):
            i += 1
            continue
        text = lines[i][2:]
        while text.endswith("\\") or text.rstrip().endswith("|"):
            i += 1
            text = text.rstrip("\\") + " " + lines[i].strip()
        begin = i = i + 1
        while i < len(lines) and not lines[i].startswith("$ "):
            i += 1
        found.append((text, begin, i))
    return found


def matches(shown, printed):
    """Whether `shown` is `printed` with lines left out only where it says so."""
    parts, part = [], []
    for line in shown:
        if line == LEFT_OUT:
            parts.append(part)
            part = []
        else:
            part.append(line)
    parts.append(part)
    if len(parts) == 1:
        return shown == printed
    first, last = parts[0], parts[-1]
    if printed[: len(first)] != first or (last and printed[-len(last):] != last):
        return False
    at, end = len(first), len(printed) - len(last)
    for part in parts[1:-1]:
        places = [i for i in range(at, end - len(part) + 1) if printed[i:i + len(part)] == part]
        if not places:
            return False
        at = places[0] + len(part)
    return at <= end


def blessed(shown, printed):
    """`printed`, shortened as `shown` is."""
    if LEFT_OUT not in shown:
        return printed
    head = shown.index(LEFT_OUT)
    tail = len(shown) - 1 - (len(shown) - 1 - shown[::-1].index(LEFT_OUT))
    return printed[:head] + [LEFT_OUT] + (printed[-tail:] if tail else [])


def is_error(done):
    """Whether a command ended in an error: 1 only says that nothing arrived, and of a pipe the exit code is its end's."""
    return done.returncode > 1 or re.search(r"^error:", done.stderr, flags=re.M) is not None


def check(path, longfat, bless):
    text = path.read_text()
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        for name in ("scenarios", "Cargo.lock", "docs"):
            (work / name).symlink_to(ROOT / name)
        (work / "bin").mkdir()
        for name in ("longfat", "longfat-pair"):
            (work / "bin" / name).symlink_to(longfat.with_name(name))
        out = []
        blocks = re.split(r"(^```[^\n]*\n.*?^```$)", text, flags=re.M | re.S)
        for block in blocks:
            lines = block.split("\n")
            if not (block.startswith("```") and len(lines) > 2 and lines[1].startswith("$ ")):
                out.append(block)
                continue
            fence, body, new, at = lines[0], lines[1:-1], [], 0
            meant, errors = out[-1].endswith(f"{MEANT}\n"), 0
            for command, begin, end in commands(body):
                shown = body[begin:end]
                while shown and not shown[-1].strip():
                    shown = shown[:-1]
                new += body[at:begin]
                at = end
                if not re.match(r"(longfat|longfat-pair|sed) ", command):
                    new += body[begin:end]
                    continue
                command = re.split(r"\s{2,}# ", command)[0]
                done = subprocess.run(["sh", "-c", command], cwd=work, text=True, capture_output=True,
                                      env={"PATH": f"{work / 'bin'}:/usr/bin:/bin", "LANG": "C.UTF-8", "COLUMNS": "80"})
                told = done.stdout if "|" in command else done.stdout + done.stderr
                printed = [line.rstrip() for line in told.rstrip("\n").split("\n")]
                printed = [] if printed == [""] else printed
                if is_error(done):
                    errors += 1
                    if not meant or done.returncode != 2:
                        failed += 1
                        new += body[begin:end]
                        print(f"{path.relative_to(ROOT)}: $ {command}\nis an error (exit code {done.returncode}) that "
                              f"`{MEANT}` does not allow:\n{done.stderr}")
                        continue
                if matches(shown, printed):
                    passed += 1
                    new += body[begin:end]
                    continue
                new += blessed(shown, printed)
                if not bless:
                    failed += 1
                    print(f"{path.relative_to(ROOT)}: $ {command}\nprints:\n" + "\n".join(printed[:60]))
            if meant and not errors:
                failed += 1
                print(f"{path.relative_to(ROOT)}: `{MEANT}`, but no command ends in one: $ {body[0][2:]}")
            out.append("\n".join([fence, *new, lines[-1]]))
    if bless:
        path.write_text("".join(out))
    return passed, failed


def main():
    args = [a for a in sys.argv[1:] if a != "--bless"]
    longfat = Path(args[0]).resolve()
    files = [Path(a).resolve() for a in args[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda path: check(path, longfat, "--bless" in sys.argv), files))
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"examples: {passed} passed, {failed} failed")
    return 1 if failed or not passed + ("--bless" in sys.argv) else 0


if __name__ == "__main__":
    sys.exit(main())
