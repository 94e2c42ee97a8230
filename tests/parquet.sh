#!/bin/sh
# Reads the time series with pyarrow and checks them.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
venv=$(sh tests/venv.sh parquet) || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$target/release/longfat" run scenarios/policer-or-shaper.toml --json --out "$work" --pcap "$work/pcap" >"$work/stdout.json"
# A synthetic capture with everything that one can contain, and captures of a host at either end of the policer.
"$target/debug/examples/capture" "$work/capture" 20000
for host in client server; do
    "$target/release/longfat" diagnose "$work/pcap/policer/$host.pcap" --out "$work/$host" >/dev/null
done
"$venv/bin/python" tests/parquet.py "$work" "$work/capture" "$work/client" "$work/server"
