"""Draws docs/policer-or-shaper.png from the result folder of scenarios/policer-or-shaper.toml.

    longfat run scenarios/policer-or-shaper.toml
    python docs/policer_or_shaper.py longfat-results/policer-or-shaper docs/policer-or-shaper.png

Needs pyarrow and matplotlib.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pyarrow.compute as pc
import pyarrow.parquet as pq

folder, target = Path(sys.argv[1]), sys.argv[2]
flows = pq.read_table(folder / "flows.parquet")
VARIANTS = ["policer", "shaper-fifo", "shaper-wfq", "shaper-fifo-83"]
COLOURS = ["#3b6fb6", "#d9803a", "#4d9e6a", "#a0527f"]
STEP = 0.2  # seconds

fig, axes = plt.subplots(2, len(VARIANTS), figsize=(12, 4.6), sharex=True, sharey="row")
for column, variant in enumerate(VARIANTS):
    rows = flows.filter(pc.equal(flows["variant"], variant))
    for colour, name in zip(COLOURS, sorted(set(rows["name"].to_pylist()))):
        flow = rows.filter(pc.equal(rows["name"], name))
        t, delivered, rtt = (flow[c].to_pylist() for c in ("time_s", "delivered_bytes", "rtt_ms"))
        n = round(STEP / (t[1] - t[0]))
        at = range(n, len(t), n)
        axes[0][column].plot([t[i] for i in at], [(delivered[i] - delivered[i - n]) * 8e-6 / STEP for i in at],
                             color=colour, lw=1.1)
        axes[1][column].plot(t, [float("nan") if r is None else r for r in rtt], color=colour, lw=0.6)
    axes[0][column].set_title(variant, fontsize=11)
    axes[1][column].set_xlabel("seconds")
axes[0][0].set_ylabel("Mbit/s per flow")
axes[1][0].set_ylabel("RTT, ms")
for axis in axes.flat:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.25)
    axis.set_ylim(bottom=0)
fig.tight_layout()
fig.savefig(target, dpi=110)
