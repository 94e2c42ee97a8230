#!/usr/bin/env python3
"""The twin's cells in ns-3.

    run.py CELLS.csv > RESULTS.csv

CELLS.csv has the columns path,rate_bps,burst_bytes,queue_packets,rtt_ms,loss,cc,flows; cell.cc
describes the paths. The output has the same columns and goodput_mbps (payload, over 10 s),
retransmits (segments, all flows), mean_rtt_ms and p95_rtt_ms (smoothed RTT, all flows, every 10 ms).
Cells with random loss are the mean of 20 seeds. For a cell that cannot be run, the row
has empty results and the reason is printed to stderr; the exit code is then 1. Rows with the path
`wfq` are empty too, without a failure: ns-3 has no WFQ.

Needs g++ 10 or later, x86-64 Linux and a CPython for which PyPI has the wheel `ns3` (3.8 to 3.13):
the wheel carries ns-3's headers and libraries, and cell.cc is compiled against them.

    NS3_ENV    folder for the virtual environment and the binary; default ~/.cache/longfat-ns3
    NS3_SEEDS  runs of a cell with random loss; default 20
    CXX        compiler; default g++
"""

import csv
import os
import pathlib
import subprocess
import sys
import time
import venv

VERSION = "3.44.post0"
HERE = pathlib.Path(__file__).resolve().parent
HOME = pathlib.Path(os.environ.get("NS3_ENV") or "~/.cache/longfat-ns3").expanduser()
SEEDS = int(os.environ.get("NS3_SEEDS") or 20)
CELL = ["path", "rate_bps", "burst_bytes", "queue_packets", "rtt_ms", "loss", "cc", "flows"]
RESULT = ["goodput_mbps", "retransmits", "mean_rtt_ms", "p95_rtt_ms"]
LIBRARIES = ["applications", "internet", "traffic-control", "bridge", "network", "stats", "core"]
# Most runs take seconds; four BBR flows that lose thousands of segments take minutes (ns-3 searches its
# whole scoreboard for every ACK). A run that takes this long is taken to hang.
TIMEOUT_S = 3600


def build():
    """Compiles cell.cc if needed and returns the binary's path; installs ns-3 if it is missing."""
    env, binary, source = HOME / "venv", HOME / "cell", HERE / "cell.cc"
    if not list(env.glob("lib/python*/site-packages/ns3/include")):
        venv.create(env, with_pip=True)
        pip = [env / "bin/pip", "install", "--quiet", f"ns3=={VERSION}"]
        subprocess.run(pip, check=True, stdout=sys.stderr)
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        (ns3,) = env.glob("lib/python*/site-packages/ns3")
        release = ".".join(VERSION.split(".")[:2])
        command = [os.environ.get("CXX") or "g++", "-std=c++20", "-O2", "-Wall", "-Wextra"]
        command += ["-isystem", ns3 / "include", "-o", binary, source]
        command += ["-L", ns3 / "lib64", f"-Wl,-rpath,{ns3 / 'lib64'}"]
        command += [f"-lns{release}-{library}" for library in LIBRARIES]
        subprocess.run(command, check=True, stdout=sys.stderr)
    return binary


def run(binary, cell):
    """The cell's results in the order of RESULT, as means over its seeds."""
    command = [binary] + [
        f"--{option}={cell[column]}"
        for option, column in zip(["path", "rate", "burst", "queue", "rtt", "loss", "cc", "flows"], CELL)
    ]
    runs = []
    for seed in range(1, (SEEDS if float(cell["loss"]) > 0 else 1) + 1):
        done = subprocess.run(
            command + [f"--seed={seed}"], capture_output=True, text=True, timeout=TIMEOUT_S
        )
        if done.returncode != 0:
            why = (done.stderr.strip() or "no message").splitlines()[0]
            raise RuntimeError(f"seed {seed}: exit code {done.returncode}: {why}")
        runs.append([float(value) for value in done.stdout.strip().split(",")])
    return [sum(values) / len(runs) for values in zip(*runs)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="") as file:
        cells = list(csv.DictReader(file))
    missing = [column for column in CELL if not cells or column not in cells[0]]
    if missing:
        sys.exit(f"{sys.argv[1]}: no cells, or no column {', '.join(missing)}")
    binary = build()
    failed = False
    print(",".join(CELL + RESULT), flush=True)
    for number, cell in enumerate(cells, 1):
        name = ",".join(cell[column] or "" for column in CELL)
        results, began = [""] * len(RESULT), time.monotonic()
        if cell["path"] == "wfq":
            note = "ns-3 has no WFQ"
        else:
            try:
                goodput, retransmits, mean, p95 = run(binary, cell)
                results = [f"{goodput:.3f}", f"{retransmits:g}", f"{mean:.2f}", f"{p95:.2f}"]
                note = f"{time.monotonic() - began:.1f} s"
            except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
                failed, note = True, f"failed: {error}"
        print(f"{number}/{len(cells)} {name}: {note}", file=sys.stderr)
        print(",".join([name] + results), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
