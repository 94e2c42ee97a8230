#!/usr/bin/env python3
"""Runs the examples in README.md and docs/ and compares the output shown there with what longfat prints.

    tests/examples.py LONGFAT [--bless] [FILE.md ...]

`longfat-pair` is expected next to LONGFAT. An example is a fenced block that begins with `$ longfat`. The commands of a file
run in one folder, in order. The lines after a command are its output (for a pipe, standard output only); a line `...` stands
for omitted lines. Only `longfat`, `longfat-pair` and `sed` are run: `sudo` would need a kernel and real time. `--bless`
replaces the shown output by the current one.

A command that ends in an error fails the test whatever the page shows, and is not blessed, except below a line
`<!-- shows an error -->`: then one command of the block must end in an error.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OMITTED = "..."
ERROR_MARK = "<!-- shows an error -->"


def commands(lines):
    """Splits the lines of a block into (command, first line of its output, end of its output)."""
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
    """Whether `shown` equals `printed`, except where it omits lines."""
    parts, part = [], []
    for line in shown:
        if line == OMITTED:
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
    """`printed`, shortened like `shown`."""
    if OMITTED not in shown:
        return printed
    head = shown.index(OMITTED)
    tail = len(shown) - 1 - (len(shown) - 1 - shown[::-1].index(OMITTED))
    return printed[:head] + [OMITTED] + (printed[-tail:] if tail else [])


def is_error(done):
    """Whether a command ended in an error. Exit code 1 only means that nothing arrived; a pipe has the code of its last command."""
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
            error_expected, errors = out[-1].endswith(f"{ERROR_MARK}\n"), 0
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
                output = done.stdout if "|" in command else done.stdout + done.stderr
                printed = [line.rstrip() for line in output.rstrip("\n").split("\n")]
                printed = [] if printed == [""] else printed
                if is_error(done):
                    errors += 1
                    if not error_expected or done.returncode != 2:
                        failed += 1
                        new += body[begin:end]
                        print(f"{path.relative_to(ROOT)}: $ {command}\nends in an error (exit code {done.returncode}), which "
                              f"`{ERROR_MARK}` does not allow:\n{done.stderr}")
                        continue
                if matches(shown, printed):
                    passed += 1
                    new += body[begin:end]
                    continue
                new += blessed(shown, printed)
                if not bless:
                    failed += 1
                    print(f"{path.relative_to(ROOT)}: $ {command}\nprints:\n" + "\n".join(printed[:60]))
            if error_expected and not errors:
                failed += 1
                print(f"{path.relative_to(ROOT)}: `{ERROR_MARK}`, but no command ends in one: $ {body[0][2:]}")
            out.append("\n".join([fence, *new, lines[-1]]))
    if bless:
        path.write_text("".join(out))
    return passed, failed


def main():
    args = [a for a in sys.argv[1:] if a != "--bless"]
    longfat = Path(args[0]).resolve()
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/measured").glob("*.md"))]
    files = [Path(a).resolve() for a in args[1:]] or pages
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda path: check(path, longfat, "--bless" in sys.argv), files))
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"examples: {passed} passed, {failed} failed")
    return 1 if failed or not passed + ("--bless" in sys.argv) else 0


if __name__ == "__main__":
    sys.exit(main())
