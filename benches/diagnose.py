#!/usr/bin/env python3
"""Speed of `longfat diagnose`, tcptrace and tshark on the same captures.

    python3 benches/diagnose.py [--quick] [--rounds 3] [--compare LONGFAT]

The simulator writes three captures into a temporary folder (2.4 GB; a tenth of it with --quick), which is deleted at
the end: bulk transfers with payload, ten million packets with headers only, 5000 connections. Each capture is read once so
that it is in memory, then by each program in turn. The output has medians: packets per CPU second (user and system), wall-clock
seconds, peak memory. `--compare` adds another build of longfat, to measure a change. tshark is so much slower that it reads
the first packets only (`-c`).
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
KINDS = {"bulk": "bulk, with payload", "headers": "headers only", "many": "5000 connections"}


class Watch(threading.Thread):
    """Reads the peak memory of a process, in kB, until the process ends."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.peak = process, 0
        self.start()

    def run(self):
        try:
            while True:
                with open(f"/proc/{self.process}/status") as file:
                    line = next((line for line in file if line.startswith("VmHWM")), None)
                if line is None:  # it has ended
                    return
                self.peak = max(self.peak, int(line.split()[1]))
                time.sleep(0.005)
        except OSError:
            return


def measure(command):
    """CPU seconds, wall seconds, peak memory in MB."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    watch = Watch(process.pid)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    watch.join()
    # The kernel's figure is exact, but never below this script's own memory when it started the process.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage.ru_maxrss if usage.ru_maxrss > own else watch.peak
    # Popen must know that the process has been waited for.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, wall, peak / 1000


def programs(capture, packets, limit, other_build):
    """Name, command and number of packets read."""
    some = min(packets, limit)
    yield "longfat diagnose", [BUILT / "longfat", "diagnose", "--json", capture], packets
    if other_build:
        yield "the other build", [other_build, "diagnose", "--json", capture], packets
    yield "tcptrace -n", ["tcptrace", "-n", capture], packets
    yield "tshark -z conv,tcp", ["tshark", "-r", capture, "-c", str(some), "-q", "-z", "conv,tcp"], some


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compare", metavar="LONGFAT", help="another build of longfat")
    args = parser.parse_args()
    missing = [name for name in ("tcptrace", "tshark") if not shutil.which(name)]
    if missing:
        sys.exit(f"needs {' and '.join(missing)}")
    print("| capture | program | packets | packets/CPU s | wall s | peak MB | longfat is faster by |")
    print("|---|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="longfat-bench-") as folder:
        for kind, title in KINDS.items():
            capture = os.path.join(folder, kind + ".pcap")
            make = [BUILT / "longfat-diagnose-test", "captures", kind, capture] + (["--quick"] if args.quick else [])
            packets = int(subprocess.run(make, check=True, capture_output=True, text=True).stdout)
            size = os.path.getsize(capture) / 1e6
            with open(capture, "rb") as file:
                while file.read(1 << 18):
                    pass
            commands = list(programs(capture, packets, 50_000 if args.quick else 300_000, args.compare))
            runs = {name: [] for name, _, _ in commands}
            for turn in range(args.rounds):
                for name, command, _ in commands:
                    # tshark is slow and its figures differ little: once is enough.
                    if turn == 0 or not name.startswith("tshark"):
                        runs[name].append(measure(command))
            ours = None
            for name, _, read in commands:
                cpu, wall, memory = (statistics.median(run[i] for run in runs[name]) for i in range(3))
                rate = read / cpu
                ours = ours or rate
                ratio = "" if name.startswith("longfat") else f"{ours / rate:.1f}"
                note = "" if read == packets else " (the first)"
                print(f"| {title}, {size:,.0f} MB | {name} | {read:,}{note} | {rate:,.0f} | {wall:.2f} | {memory:,.0f} "
                      f"| {ratio} |", flush=True)
            os.remove(capture)


if __name__ == "__main__":
    main()
