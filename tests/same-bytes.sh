#!/bin/sh
# Same seed, same bytes: every example scenario, twice, and debug beside release.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
# 1 says that nothing arrived in a variant, as is meant in a black hole.
run() {
    "$@" || [ $? = 1 ]
}
for scenario in scenarios/*.toml; do
    for build in release debug; do
        run "$target/$build/longfat" run "$scenario" --json --force --out "$work/$build" >"$work/$build.json"
    done
    run "$target/release/longfat" run "$scenario" --json --force --jobs 1 --out "$work/again" >"$work/again.json"
    for other in debug again; do
        cmp "$work/release.json" "$work/$other.json"
        for file in flows.parquet states.parquet elements.parquet retransmissions.parquet responses.parquet; do
            cmp "$work/release/$file" "$work/$other/$file"
        done
        passed=$((passed + 1))
    done
done
echo "same bytes: $passed passed, 0 failed"
