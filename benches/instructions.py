#!/usr/bin/env python3
"""Instructions per delivered data packet, counted by callgrind, and CPU time and memory of one or more builds of the simulator:

    python3 benches/instructions.py [DUMBBELL ...]

Each DUMBBELL is a build of benches/sim, with debug symbols or not. Instructions do not drift with the load of the machine, so
they show changes of a few per cent; a run's preparation counts, too. With two builds, the last columns compare the second with
the first. CPU times are the smallest of `RUNS` alternating runs (default 3; 0 omits them). `CASES` selects cases by name,
separated by semicolons.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RUNS = int(os.environ.get("RUNS", "3"))

HEAD = """duration = "{seconds}s"
sample = "{sample}"
[links.wan]
between = ["a", "b"]
forward = [{forward}]
backward = [{{ kind = "link", rate = "1Gbit/s", delay = "20ms" }}]
[flows.f]
from = "a"
to = "b"
cc = "{cc}"
count = {flows}
"""
DELAY = '{ kind = "link", rate = "1Gbit/s", delay = "20ms" }'
HTB = """{ kind = "htb", classes = [
    { name = "all", rate = "100Mbit/s" },
    { name = "gold", parent = "all", rate = "60Mbit/s", ceil = "100Mbit/s", flows = [0, 2, 4] },
    { name = "rest", parent = "all", rate = "40Mbit/s", ceil = "100Mbit/s", queue = { kind = "fq-codel" } },
] }"""


def path(forward, flows=4, cc="cubic", seconds=10, sample="0s"):
    return HEAD.format(forward=forward, flows=flows, cc=cc, seconds=seconds, sample=sample)


LINK = '{ kind = "link", rate = "100Mbit/s", delay = "20ms"%s }'

# Name, and the arguments of a dumbbell or a scenario.
CASES = [
    ("1 flow", ["1", "100", "40", "20"]),
    ("10 flows", ["10", "1000", "40", "2"]),
    ("1,000 flows", ["1000", "1000", "40", "4"]),
    ("policer", path('{ kind = "policer", rate = "100Mbit/s", burst = "625kB" }, ' + DELAY)),
    ("FQ-CoDel", path(LINK % ', queue = { kind = "fq-codel" }')),
    ("HTB tree", path(HTB + ", " + DELAY)),
    ("1 % loss", path('{ kind = "loss", probability = 0.01 }, ' + LINK % "")),
    ("BBR", path(LINK % "", flows=1, cc="bbr")),
    ("BBR v3", path(LINK % "", flows=1, cc="bbr3")),
    ("4 flows, series", path(LINK % "", sample="100ms")),
    ("sweep cell", (ROOT / "benches" / "sweep.toml").read_text().replace("10s", "100s", 1)),
]


def instructions(command):
    """Instructions of `sim::run` in a run under callgrind."""
    with tempfile.NamedTemporaryFile() as out:
        line = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", *command]
        done = subprocess.run(line, check=True, capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    return int(counted.group(1)), json.loads(done.stdout)["delivered_packets"]


def measured(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    builds = sys.argv[1:] or [str(TARGET / "release" / "dumbbell")]
    only = os.environ["CASES"].split(";") if os.environ.get("CASES") else None
    print("| case | " + " | ".join(["instructions per packet", "ns per packet", "MB"] * len(builds)), end="")
    print(" | instructions | CPU |" if len(builds) == 2 else " |")
    print("|---|" + "---:|" * (3 * len(builds) + 2 * (len(builds) == 2)))
    for name, case in CASES:
        if only and name not in only:
            continue
        with tempfile.NamedTemporaryFile(suffix=".toml") as file:
            if isinstance(case, str):
                file.write(case.encode())
                file.flush()
                case = [file.name]
            counts = []
            for build in builds:
                total, packets = instructions([build, *case])
                counts.append(total / packets)
            times = [[] for _ in builds]
            for _ in range(RUNS):
                for build, rows in zip(builds, times):
                    run = measured([build, *case])
                    rows.append((run["cpu_seconds"] / run["delivered_packets"] * 1e9, run["max_rss_kb"] / 1000))
        cells = []
        for count, rows in zip(counts, times):
            cells.append(f"{count:,.0f}")
            cells += [f"{min(r[0] for r in rows):,.0f}", f"{min(r[1] for r in rows):.1f}"] if rows else ["", ""]
        if len(builds) == 2:
            cells.append(f"{counts[0] / counts[1]:.2f}")
            cells.append(f"{min(r[0] for r in times[0]) / min(r[0] for r in times[1]):.2f}" if RUNS else "")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
