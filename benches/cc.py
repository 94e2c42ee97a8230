#!/usr/bin/env python3
"""Processor cost of each congestion control: CPU seconds per gigabyte.

    python3 benches/cc.py [--rounds 5] [--gigabytes 1] [--controls bbr,cubic,bbr-hsr]

Run as root on a quiet machine with iperf3. Two network namespaces are joined by a veth pair that carries single
packets (no GSO, no GRO), as a cable does: one ACK for two packets, some 350,000 in a gigabyte. Every control is
measured once in each round; the cost is the busy time of the whole machine (/proc/stat). The output has medians
and ratios to the kernel's own CUBIC and BBR of the same run. Pacing costs more than any control, so compare a
control that paces (marked) with BBR and the others with CUBIC.

longfat's eBPF programs are loaded for the measurement and unloaded after it, unless they were loaded before.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENDS = [f"longfat-cc-{os.getpid()}-{end}" for end in "ab"]


def run(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def longfat():
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    program = os.path.join(target, "release", "longfat")
    if not os.path.exists(program):
        command = ["cargo", "build", "-q", "--release", "-p", "longfat"]
        subprocess.run(command, check=True, cwd=ROOT)
    return program


def wire():
    """Makes two namespaces and connects them."""
    for end in ENDS:
        run("ip", "netns", "add", end)
    inside = [["ip", "-n", end] for end in ENDS]
    run("ip", "link", "add", "wire", "netns", ENDS[0], "type", "veth", "peer", "name", "wire", "netns", ENDS[1])
    for i, ip in enumerate(inside):
        run(*ip, "addr", "add", f"10.77.0.{i + 1}/24", "dev", "wire")
        run(*ip, "link", "set", "wire", "gso_max_segs", "1", "gro_max_size", "1500", check=False)
        run(*ip, "link", "set", "wire", "up")
        run("ip", "netns", "exec", ENDS[i], "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")


def busy():
    """CPU seconds that the machine has spent on anything, without stolen time."""
    with open("/proc/stat") as stat:
        user, nice, system, _idle, _wait, irq, softirq = map(int, stat.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def measure(kernel_name, size):
    """CPU seconds and bytes of one transfer."""
    server = subprocess.Popen(
        ["ip", "netns", "exec", ENDS[1], "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL
    )
    time.sleep(0.3)
    before = busy()
    client = ["ip", "netns", "exec", ENDS[0], "iperf3", "-c", "10.77.0.2", "-C", kernel_name, "-n", str(size), "-J"]
    result = json.loads(run(*client, check=False) or "{}")
    cpu = busy() - before
    if "error" in result or "end" not in result:
        server.kill()
        sys.exit(f"{kernel_name}: {result.get('error', 'iperf3 failed')}")
    server.wait()
    return cpu, result["end"]["sum_received"]["bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--controls", help="default: cubic, bbr, reno and every eBPF program")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("root is needed")
    program = longfat()
    listed = {c["name"]: c for c in json.loads(run(program, "cc", "list", "--json"))["controls"]}
    names = ["cubic", "bbr", "reno"] + [n for n, c in listed.items() if c["ebpf"] and c["ebpf"]["loaded"] != "process"]
    if args.controls:
        names = ["cubic", "bbr"] + [n for n in args.controls.split(",") if n not in ("cubic", "bbr")]
    loaded = [n for n in names if not listed[n]["in_kernel"]]
    try:
        for name in loaded:
            run(program, "cc", "load", name)
        wire()
        idle = busy()
        time.sleep(1)
        print(f"busy before the measurement: {100 * (busy() - idle) / os.cpu_count():.0f} % of {os.cpu_count()} CPUs")
        costs = {name: [] for name in names}
        for _ in range(args.rounds):
            for name in names:
                cpu, size = measure(listed[name]["kernel_name"], int(args.gigabytes * 1e9))
                costs[name].append(cpu / (size / 1e9))
        median = {name: statistics.median(values) for name, values in costs.items()}
        print(f"{'control':<12} {'CPU s/GB':>9} {'least':>7} {'most':>7} {'/ cubic':>8} {'/ bbr':>8}")
        for name in names:
            least, most, cost = min(costs[name]), max(costs[name]), median[name]
            ratios = f"{cost / median['cubic']:8.2f} {cost / median['bbr']:8.2f}"
            paced = " paced" if name.startswith("bbr") else ""
            print(f"{name:<12} {cost:9.3f} {least:7.3f} {most:7.3f} {ratios}{paced}")
    finally:
        for end in ENDS:
            run("ip", "netns", "del", end, check=False)
        for name in loaded:
            run(program, "cc", "unload", name, check=False)


if __name__ == "__main__":
    main()
