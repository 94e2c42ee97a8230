"""Reads the Parquet files of a result folder and holds them against its result.json."""

import json
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

folder = Path(sys.argv[1])
result = json.loads((folder / "result.json").read_text())
flows = pq.read_table(folder / "flows.parquet")
elements = pq.read_table(folder / "elements.parquet")
states = pq.read_table(folder / "states.parquet").to_pylist()
resent = pq.read_table(folder / "retransmissions.parquet").to_pylist()
passed = 0

for variant in result["variants"]:
    of_variant = flows.filter(pc.equal(flows["variant"], variant["name"]))
    for flow in variant["flows"]:
        rows = of_variant.filter(pc.equal(of_variant["name"], flow["name"]))
        assert rows.num_rows > 1000, (variant["name"], flow["name"], rows.num_rows)
        delivered = rows["delivered_bytes"].to_pylist()
        assert delivered == sorted(delivered)
        # The last sample is at the very end of the run or up to one interval before it.
        assert 0.98 * flow["delivered_bytes"] <= delivered[-1] <= flow["delivered_bytes"], (variant["name"], flow)
        # Sent, acknowledged and delivered run one after the other, each byte counted once.
        sent, acked = rows["sent_bytes"].to_pylist(), rows["acked_bytes"].to_pylist()
        if flow["cc"] != "udp":
            assert all(a <= d <= s for a, d, s in zip(acked, delivered, sent)), (variant["name"], flow["name"])
            assert acked == sorted(acked) and acked[-1] > 0.9 * delivered[-1]
        # As many retransmissions as were counted, each of what had been sent.
        again = [r for r in resent if (r["variant"], r["name"]) == (variant["name"], flow["name"])]
        assert len(again) == flow["retransmitted_packets"], (variant["name"], flow["name"], len(again))
        assert all(0 < r["bytes"] <= flow["mss_bytes"] and r["byte"] + r["bytes"] <= sent[-1] for r in again)
        # The timeline has no holes and takes as long as the summary says.
        line = [s for s in states if (s["variant"], s["name"]) == (variant["name"], flow["name"])]
        assert all(a["end_s"] == b["start_s"] and a["state"] != b["state"] for a, b in zip(line, line[1:]))
        whole = line[-1]["end_s"] - line[0]["start_s"] if line else 0
        for s in flow.get("states", []):
            took = sum(t["end_s"] - t["start_s"] for t in line if t["state"] == s["state"])
            assert abs(took / whole - s["share"]) < 1e-9, (variant["name"], flow["name"], s)
        assert bool(line) == (flow["cc"] != "udp"), flow
        passed += 1
    dropped = sum(e["dropped_packets"] for e in variant["elements"])
    of_elements = elements.filter(pc.equal(elements["variant"], variant["name"]))
    last = {}
    for name, n in zip(of_elements["name"].to_pylist(), of_elements["dropped"].to_pylist()):
        last[name] = n
    assert 0.95 * dropped <= sum(last.values()) <= dropped, (variant["name"], dropped, last)
    marked = {e["name"]: e["marked_packets"] for e in variant["elements"]}
    for name, n in zip(of_elements["name"].to_pylist(), of_elements["marked"].to_pylist()):
        last[name] = n
    assert all(0.95 * marked[name] <= n <= marked[name] for name, n in last.items()), (marked, last)
    passed += 1

print(f"parquet: {passed} passed, 0 failed")
