#!/usr/bin/env python3
"""The proxy's data path with epoll and splice, with copies alone, and with io_uring: bulk, and many small messages.

    benches/uring.py LOAD [ROUNDS]

LOAD is the release build of crates/machine/proxy/examples/load.rs; gcc, liburing-dev and iperf3 must be
installed. benches/uring.c has each path in its smallest form, with one thread. Each is measured once a round, in turn; the output has
medians with the smallest and the largest value.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from proxy import BULK, SERVE, bulk, cpu, output, wait_for

METHODS = ["splice", "copy", "uring"]
SECONDS = 4
CLIENTS = 60


def start(program, method, port, server):
    process = subprocess.Popen([program, method, str(port), str(server)])
    wait_for(port) if server == SERVE else subprocess.run(["sleep", "0.3"], check=True)
    return process


def measure(program, load, method, port):
    found = {}
    process = start(program, method, port, BULK)
    before = cpu(process.pid)
    found["bulk over 4 connections, Gbit/s"], gigabytes = bulk({BULK: port}, 4, SECONDS)
    found["CPU s per GB"] = (cpu(process.pid) - before) / gigabytes
    process.kill()
    process.wait()
    process = start(program, method, port + 1, SERVE)
    before = cpu(process.pid)
    messages = float(output(load, "talk", f"127.0.0.1:{port + 1}", str(SECONDS), str(CLIENTS)))
    found[f"messages of 100 B there and back, {CLIENTS} connections, 1000/s"] = messages / 1000
    found["CPU µs per message"] = (cpu(process.pid) - before) * 1e6 / (messages * SECONDS)
    process.kill()
    process.wait()
    return found


def main():
    load, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    server = subprocess.Popen([load, "serve", str(SERVE)])
    found = {}
    try:
        wait_for(SERVE)
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/uring"
            source = str(Path(__file__).with_name("uring.c"))
            subprocess.run(["gcc", "-O2", "-o", program, source, "-luring"], check=True)
            for round in range(rounds):
                for i, method in enumerate(METHODS):
                    got = measure(program, load, method, 8100 + round * 100 + i * 10)
                    print(f"round {round + 1}, {method}: {got}", file=sys.stderr, flush=True)
                    for key, value in got.items():
                        found.setdefault(key, {}).setdefault(method, []).append(value)
    finally:
        server.kill()
        server.wait()
    print("| | " + " | ".join(METHODS) + " |\n|---|" + "---:|" * len(METHODS))
    for key, values in found.items():
        cells = [f"{statistics.median(v):.3g} ({min(v):.3g} to {max(v):.3g})" for v in (values[w] for w in METHODS)]
        print(f"| {key} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
