#!/bin/sh
# The time series are read back with pyarrow, from its own virtual environment below target/.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    echo "parquet: SKIPPED, no python3 with venv" >&2
    exit 0
fi
venv=$target/venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import pyarrow' 2>/dev/null || "$venv/bin/pip" install -q --disable-pip-version-check pyarrow
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$target/release/longfat" run scenarios/policer-or-shaper.toml --json --out "$work" --pcap "$work/pcap" >"$work/stdout.json"
# A made-up capture, which has all that may be in one, and what a host at either end of the policer captured.
"${CARGO:-cargo}" run -q --release -p longfat-report --example capture -- "$work/capture" 20000
for host in client server; do
    "$target/release/longfat" diagnose "$work/pcap/policer/$host.pcap" --out "$work/$host" >/dev/null
done
"$venv/bin/python" tests/parquet.py "$work" "$work/capture" "$work/client" "$work/server"
