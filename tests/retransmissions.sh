#!/bin/sh
# Compares the tracker's counts of retransmissions, unique bytes and packets with tcptrace's, for captures taken at senders.
# Prints the differences and fails if more than DIFFER (default 0) directions differ.
#
#   tests/retransmissions.sh CAPTURE.pcap...
#
# Needs tcptrace and python3. tcptrace does not split connections after a pause and does not detect duplicate records, so
# captures with either differ rightly.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || { echo "usage: $0 CAPTURE.pcap..." >&2; exit 2; }
command -v tcptrace >/dev/null || { echo "tcptrace is not installed: nothing was compared" >&2; exit 2; }
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
cargo run -q --release --manifest-path "$here/Cargo.toml" -p longfat-track --example counts -- "$@" > "$counts"
DIFFER=${DIFFER:-0} python3 - "$counts" "$@" <<'PYTHON'
import csv, os, re, subprocess, sys

with open(sys.argv[1]) as f:
    ours = {(r["file"], r["sender"], r["receiver"]): r for r in csv.DictReader(f, delimiter="\t")}
NAMES = {"data_packets": "actual data pkts", "unique_bytes": "unique bytes sent", "retransmitted": "rexmt data pkts"}
compared = differ = again = 0
for file in sys.argv[2:]:
    # tcptrace takes an argument that begins with a letter and contains `=` for an option.
    name = file if "/" in file else "./" + file
    text = subprocess.run(["tcptrace", "-l", "-n", name], capture_output=True, text=True, errors="replace").stdout
    for block in text.split("=" * 32):
        ends = re.search(r"host \S+:\s+(\S+)\n\s+host \S+:\s+(\S+)\n", block)
        if not ends:
            continue
        theirs = {}
        for key, label in NAMES.items():
            pair = re.search(re.escape(label) + r":\s+(\d+)\s+" + re.escape(label) + r":\s+(\d+)", block)
            theirs[key] = [int(n) for n in pair.groups()]
        for side, key in ((0, ends.groups()), (1, ends.groups()[::-1])):
            if theirs["data_packets"][side] == 0:
                continue
            compared += 1
            row = ours.get((file, *key))
            again += theirs["retransmitted"][side]
            wrong = [k for k in NAMES if row is None or int(row[k]) != theirs[k][side]]
            if wrong:
                differ += 1
                counts = ", ".join(f"{k} {row[k] if row else 'none'}, tcptrace {theirs[k][side]}" for k in wrong)
                print(f"{file} {key[0]} > {key[1]}: {counts}")
print(f"{compared} directions, {again} retransmissions by tcptrace, {differ} directions differ")
sys.exit(compared == 0 or differ > int(os.environ["DIFFER"]))
PYTHON
