#!/usr/bin/env python3
"""Speed of the simulator and of ns-3 on the same dumbbells: delivered data packets per CPU second.

Both run alternately, and the ratio is computed for each pair of runs, because absolute figures drift
with the machine. ns-3 simulates less time than longfat where its rate does not depend on it.
"""

import json
import os
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "dumbbell"
NS3 = ROOT / "benches" / "ns3" / "dumbbell"
PAIRS = int(os.environ.get("PAIRS", "3"))

# name, flows, Mbit/s, RTT in ms, longfat's and ns-3's simulated seconds
CASES = [("a", 1, 100, 40, 60, 10), ("b", 10, 1000, 40, 20, 5), ("c", 1000, 1000, 40, 10, 5)]


def run(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


print("| case | longfat packets/s | ns-3 packets/s | ratio (median of pairs) | longfat memory | ns-3 memory |")
print("|---|---:|---:|---:|---:|---:|")
per_packet = {}
for name, flows, mbps, rtt, ours_s, ns3_s in CASES:
    rows = []
    for _ in range(PAIRS):
        ours = run([OURS, str(flows), str(mbps), str(rtt), str(ours_s)])
        ns3 = run([NS3, f"--flows={flows}", f"--rate={mbps}Mbps", f"--rtt={rtt}ms", f"--seconds={ns3_s}"])
        a = ours["delivered_packets"] / ours["cpu_seconds"]
        b = ns3["delivered_packets"] / ns3["cpu_seconds"]
        rows.append((a / b, a, b, ours["max_rss_kb"], ns3["max_rss_kb"]))
    ratio = statistics.median(r[0] for r in rows)
    a, b = statistics.median(r[1] for r in rows), statistics.median(r[2] for r in rows)
    per_packet[name] = 1 / a
    print(f"| ({name}) {flows} × CUBIC, {mbps} Mbit/s, {rtt} ms, {ours_s} s | {a:,.0f} | {b:,.0f} | {ratio:.0f} "
          f"| {rows[0][3] / 1000:.1f} MB | {rows[0][4] / 1000:.0f} MB |", flush=True)
print(f"\n(c) costs {per_packet['c'] / per_packet['a']:.2f} times (a)'s CPU per packet.")
