"""Checks the Parquet files of a result folder against its result.json, and those of capture folders (`longfat diagnose
--out`) against their diagnosis.json."""

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
responses = pq.read_table(folder / "responses.parquet").to_pylist()
passed = 0

for variant in result["variants"]:
    of_variant = flows.filter(pc.equal(flows["variant"], variant["name"]))
    for flow in variant["flows"]:
        rows = of_variant.filter(pc.equal(of_variant["name"], flow["name"]))
        assert rows.num_rows > 1000, (variant["name"], flow["name"], rows.num_rows)
        delivered = rows["delivered_bytes"].to_pylist()
        assert delivered == sorted(delivered)
        # The last sample is at the end of the run or up to one interval before it.
        assert 0.98 * flow["delivered_bytes"] <= delivered[-1] <= flow["delivered_bytes"], (variant["name"], flow)
        # Acknowledged, delivered and sent bytes never exceed the next; each byte is counted once.
        sent, acked = rows["sent_bytes"].to_pylist(), rows["acked_bytes"].to_pylist()
        if flow["cc"] != "udp":
            assert all(a <= d <= s for a, d, s in zip(acked, delivered, sent)), (variant["name"], flow["name"])
            assert acked == sorted(acked) and acked[-1] > 0.9 * delivered[-1]
        # The number of retransmissions agrees, and each is of data that had been sent.
        retransmitted = [r for r in resent if (r["variant"], r["name"]) == (variant["name"], flow["name"])]
        assert len(retransmitted) == flow["retransmitted_packets"], (variant["name"], flow["name"], len(retransmitted))
        assert all(0 < r["bytes"] <= flow["mss_bytes"] and r["byte"] + r["bytes"] <= sent[-1] for r in retransmitted)
        # Every exchange is included, and the summary agrees with them.
        mine = [r for r in responses if (r["variant"], r["name"]) == (variant["name"], flow["name"])]
        for key, kinds in [("page_s", {"page"}), ("response_s", {"answer", "html", "object"})]:
            took = sorted(r["seconds"] for r in mine if r["what"] in kinds)
            summary = flow.get(key, {"count": 0, "max": 0})
            assert (len(took), max(took, default=0)) == (summary["count"], summary["max"]), (variant["name"], flow["name"], key)
            assert not took or summary["p95"] == took[-(-len(took) * 95 // 100) - 1], (flow["name"], key)
        # The timeline has no gaps, and its shares agree with the summary.
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


def causes(schema):
    """The columns of all causes, from the list in the schema that contains `policed`."""
    for value in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(value, list) and any(isinstance(v, dict) and v.get("const") == "policed" for v in value):
            return {"share_" + v["const"].replace("-", "_") for v in value}
        if isinstance(value, (dict, list)) and (found := causes(value)):
            return found
    return set()


CAUSES = causes(json.loads((Path(__file__).parent.parent / "docs" / "diagnosis.schema.json").read_text()))
assert len(CAUSES) > 10, CAUSES


def capture(folder):
    diagnosis = json.loads((folder / "diagnosis.json").read_text())
    meta = pq.read_metadata(folder / "packets.parquet").metadata
    assert meta[b"longfat.schema"].decode() == diagnosis["schema"], meta
    rows = {row["flow"]: row for row in pq.read_table(folder / "flows.parquet").to_pylist()}
    packets = pq.read_table(folder / "packets.parquet")
    limiters = diagnosis["limiters"]
    assert len(rows) == len(diagnosis["flows"]) > 0
    for flow in diagnosis["flows"]:
        row, measures = rows[flow["id"]], flow["measures"]
        assert (row["from"], row["to"], row["cause"], row["cc"]) == (flow["from"], flow["to"], flow["cause"], flow["cc"]["name"])
        for name in set(row) & set(measures) - {"ecn"}:
            assert row[name] == measures[name], (flow["id"], name)
        assert all(row[f"rtt_{q}_ms"] == measures["rtt_ms"][q] for q in measures["rtt_ms"])
        shares = {name: row[name] for name in row if name.startswith("share_")}
        assert abs(sum(shares.values()) - 1) < 1e-6 and set(shares) == CAUSES, shares
        for held in flow["causes"]:
            assert shares["share_" + held["cause"].replace("-", "_")] == held["share"]
        rate = limiters[flow["limiter"]]["rate_mbps"] if "limiter" in flow else None
        assert row["limiter_rate_mbps"] == rate
        own = packets.filter(pc.equal(packets["flow"], flow["id"])).to_pydict()
        data = [i for i, n in enumerate(own["len"]) if n > 0]
        assert len(data) > 0 and own["time_ns"] == sorted(own["time_ns"])
        # New data covers all bytes; retransmissions are separate. Offload merges several segments into one packet.
        assert max(own["seq"][i] + own["len"][i] for i in data) >= measures["bytes"]
        retransmitted = sum(own["kind"][i] in ("fast", "timeout", "probe") for i in data)
        assert retransmitted <= measures["retransmitted_packets"] and (retransmitted > 0) == (measures["retransmitted_packets"] > 0)
        assert min(own["time_ns"]) / 1e9 - diagnosis["capture"]["start_s"] < flow["start_s"] + flow["duration_s"]
    return len(rows)


for name in sys.argv[2:]:
    passed += capture(Path(name))
print(f"parquet: {passed} passed, 0 failed")
