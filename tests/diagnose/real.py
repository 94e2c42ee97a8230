#!/usr/bin/env python3
"""real.py DIR [--half build|judge]: downloads the captures that real.csv lists into DIR, as SHA256.cap.

Each file comes from GitHub at the listed commit and is kept only if its SHA-256 matches. Files that are present are not
downloaded again. Exit codes: 0 all captures are present, 1 some downloads failed, 2 bad arguments or table.
"""

import argparse
import csv
import hashlib
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

TABLE = pathlib.Path(__file__).with_name("real.csv")
COLUMNS = "repository commit path sha256 from to cause why confidence half".split()
TIMEOUT_S = 60


def captures(half):
    """Returns the first row of each capture and its line number, by hash."""
    found = {}
    with TABLE.open(newline="") as file:
        rows = csv.DictReader(file)
        if rows.fieldnames != COLUMNS:
            raise ValueError(f"{TABLE}:1: expected the columns {','.join(COLUMNS)}")
        for row in rows:
            if None in row or None in row.values():
                raise ValueError(f"{TABLE}:{rows.line_num}: expected {len(COLUMNS)} fields")
            if half in (None, row["half"]):
                found.setdefault(row["sha256"], (rows.line_num, row))
    return found


def matches(file, sha256):
    return file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256


def fetch(row, file):
    path = urllib.parse.quote(row["path"])
    url = f"https://raw.githubusercontent.com/{row['repository']}/{row['commit']}/{path}"
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:
        data = response.read()
    found = hashlib.sha256(data).hexdigest()
    if found != row["sha256"]:
        pointer = " (a Git LFS pointer)" if data.startswith(b"version https://git-lfs") else ""
        raise ValueError(f"{url}: SHA-256 is {found}{pointer}, expected {row['sha256']}")
    part = file.with_suffix(".part")
    part.write_bytes(data)
    part.replace(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="DIR", type=pathlib.Path)
    parser.add_argument("--half", choices=["build", "judge"], help="only this half instead of both")
    args = parser.parse_args()
    try:
        wanted = captures(args.half)
        args.folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    failed = 0
    for sha256, (line, row) in wanted.items():
        file = args.folder / f"{sha256}.cap"
        if matches(file, sha256):
            continue
        try:
            fetch(row, file)
            print(f"{row['repository']} {row['path']}")
        except (OSError, ValueError, urllib.error.URLError) as error:
            failed += 1
            print(f"{TABLE}:{line}: {row['repository']} {row['path']}: {error}", file=sys.stderr)
    print(f"{len(wanted) - failed} of {len(wanted)} captures are in {args.folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
