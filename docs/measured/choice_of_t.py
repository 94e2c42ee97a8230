"""Draws docs/measured/hsr-choice-of-t.png: the choice of T, simulated and on the kernel, on a path whose RTT varies between
30 and 70 ms and on one where it varies between 10 and 90 ms.

    run="longfat run scenarios/hsr-choice-of-t.toml"
    wide='links.radio.forward.jitter={ kind = "jitter", delay = "50ms", jitter = "40ms", reorder = true }'
    $run --repeat 30 --out sim; $run --on kernel --repeat 4 --out kernel
    $run --repeat 30 --out sim-wide --set "$wide"; $run --on kernel --repeat 4 --out kernel-wide --set "$wide"
    python docs/measured/choice_of_t.py sim kernel sim-wide kernel-wide docs/measured/hsr-choice-of-t.png

Left: goodput, mean of the repeats with its 95 % interval. Right: the distribution of the RTTs over time (the last
sample every 10 ms, all repeats of the simulator). Needs pyarrow and matplotlib.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pyarrow.compute as pc
import pyarrow.parquet as pq

*folders, target = sys.argv[1:]
ROWS = [("RTT 30 to 70 ms", *folders[:2]), ("RTT 10 to 90 ms, reordered", *folders[2:])]
VARIANTS = {
    "cubic": ("CUBIC", "#888888"),
    "bbr": ("BBR", "#3b6fb6"),
    "hsr-40ms": ("T = 40 ms", "#4d9e6a"),
    "hsr-50ms": ("T = 50 ms", "#d9803a"),
    "hsr-60ms": ("T = 60 ms", "#a0527f"),
    "hsr-none": ("no T", "#222222"),
}


def draw_goodput(axis, folder, shift, marker, label):
    result = json.loads((Path(folder) / "result.json").read_text())
    by_name = {v["name"]: v["repeats"]["total_goodput_mbps"] for v in result["variants"]}
    for i, (name, (_, colour)) in enumerate(VARIANTS.items()):
        mean, width = by_name[name]["mean"], by_name[name]["ci95"]
        filled = colour if marker == "o" else "white"
        axis.errorbar(i + shift, mean, width, fmt=marker, color=colour, mfc=filled, capsize=3)
    axis.plot([], [], marker, color="#555555", mfc="#555555" if marker == "o" else "white", label=label)


def draw_rtts(axis, folder):
    flows = pq.read_table(Path(folder) / "flows.parquet", columns=["variant", "rtt_ms"])
    for name, (label, colour) in VARIANTS.items():
        rtts = sorted(pc.drop_null(flows.filter(pc.equal(flows["variant"], name))["rtt_ms"]).to_pylist())
        at = range(0, len(rtts), max(1, len(rtts) // 1000))
        axis.plot([rtts[i] for i in at], [100 * i / len(rtts) for i in at], color=colour, lw=1.4, label=label)


fig, axes = plt.subplots(2, 2, figsize=(11, 7), width_ratios=[1, 1.3], sharex="col")
for (left, right), (title, sim, kernel) in zip(axes, ROWS):
    draw_goodput(left, sim, -0.12, "o", "simulator")
    draw_goodput(left, kernel, 0.12, "s", "kernel")
    draw_rtts(right, sim)
    left.set_title(title, loc="left", fontsize=11)
    left.set_ylabel("goodput, Mbit/s")
    left.set_ylim(0, 10.5)
    right.set_ylabel("% of samples below")
    right.set_xlim(left=0)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
axes[1][0].set_xticks(range(len(VARIANTS)), [label for label, _ in VARIANTS.values()], rotation=30, ha="right")
axes[1][1].set_xlabel("RTT, ms")
axes[0][0].legend(frameon=False, loc="lower left")
axes[1][1].legend(frameon=False, loc=(0.52, 0.3))
fig.tight_layout()
fig.savefig(target, dpi=100)
