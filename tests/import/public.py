#!/usr/bin/env python3
"""Imports public configurations and reports how much of each was understood.

    tests/import/public.py LONGFAT FOLDER [--bless]

FOLDER contains the files of public.csv as OWNER/NAME/PATH, each at the commit given there; they are not part of longfat.
Each is imported (`define`: with these values of variables), and the resulting scenario is run for a second. Columns:
`lines` with content, `understood` ones among them, `shaping` (lines with the format's shaping commands: for tc those with
`tc qdisc`, `class` or `filter`) and `shaping_understood`, `lint` (number of faults found), `runs`. `--bless` rewrites the
table.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "public.csv"
COLUMNS = ["repository", "path", "commit", "define", "format", "lines", "understood", "shaping", "shaping_understood", "lint", "runs"]
# Lines with shaping commands, by format.
SHAPING = {
    "tc": re.compile(r"\btc\"?\}?\s+(-\w+\s+)*(qdisc|class|filter)\s+(add|replace|change)|^\s*(qdisc|class|filter) \S+ \S*:"),
    "ios": re.compile(r"^\s*(policy[- ]map|class(-map:?)? |police|cir |rate \d|shape|bandwidth|priority|queue[- ]limit|fair-queue|"
                      r"random-detect|service-policy)", re.I),
}


def judge(longfat, folder, row):
    file = folder / row["repository"] / row["path"]
    defined = [arg for pair in (row.get("define") or "").split() for arg in ("--define", pair)]
    done = subprocess.run([longfat, "import", file, "--json", *defined], capture_output=True, text=True)
    new = {key: row.get(key) or "" for key in COLUMNS[:4]}
    if done.returncode == 2:
        return new | {"format": "none", "runs": "no"}, done.stderr.strip()
    imported = json.loads(done.stdout)
    missed = {note["line"] for note in imported["not_understood"]}
    shaping = SHAPING.get(imported["format"], re.compile("."))
    lines = file.read_text(errors="replace").split("\n")
    numbers = {i + 1 for i, line in enumerate(lines) if shaping.search(line) and not line.strip().startswith("#")}
    with tempfile.TemporaryDirectory() as work:
        scenario = Path(work) / "s.toml"
        scenario.write_text(imported["scenario"])
        run = [longfat, "run", scenario, "--set", "duration=1s", "--json", "--out", Path(work) / "out", "--no-progress"]
        ran = subprocess.run(run, capture_output=True, text=True)
    return new | {
        "format": imported["format"],
        "lines": imported["lines"],
        "understood": imported["understood"],
        "shaping": len(numbers),
        "shaping_understood": len(numbers - missed),
        "lint": len(imported["lint"]),
        "runs": "yes" if ran.returncode == 0 else "no",
    }, ran.stderr if ran.returncode else ""


def main():
    args = [a for a in sys.argv[1:] if a != "--bless"]
    longfat, folder = Path(args[0]).resolve(), Path(args[1])
    with open(TABLE, newline="") as file:
        old = list(csv.DictReader(file))
    rows = []
    for row in old:
        new, trouble = judge(longfat, folder, row)
        rows.append(new)
        if trouble:
            print(f"{row['repository']} {row['path']}: {trouble}")
    if "--bless" in sys.argv:
        with open(TABLE, "w", newline="") as file:
            out = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
            out.writeheader()
            out.writerows(rows)
    ran = [row for row in rows if row["runs"] == "yes"]
    total = sum(row["shaping"] for row in ran)
    known = sum(row["shaping_understood"] for row in ran)
    print(f"public configurations: {len(ran)} of {len(rows)} run; {known} of {total} shaping lines are understood")
    stays = [{k: str(v) for k, v in row.items()} for row in rows] == [{k: row.get(k, "") for k in row} for row in old]
    return 0 if stays or "--bless" in sys.argv else 1


if __name__ == "__main__":
    sys.exit(main())
