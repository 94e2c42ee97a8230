#!/bin/sh
# Same seed, same bytes: every example scenario, two repeats with host jitter, with the release build, with the release build in
# one thread, and with the debug build. Runs as many scenarios at a time as there are cores. `same-bytes.sh SCENARIO` checks one.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
# Exit code 1 means that nothing arrived in a variant, as intended in a black hole.
run() {
    "$@" || [ $? = 1 ]
}
if [ $# = 0 ]; then
    ls scenarios/*.toml | xargs -n 1 -P "$(nproc)" sh tests/same-bytes.sh
    echo "same bytes: $((2 * $(ls scenarios/*.toml | wc -l))) passed, 0 failed"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for build in release debug; do
    run "$target/$build/longfat" run "$1" --repeat 2 --json --force --out "$work/$build" >"$work/$build.json"
done
run "$target/release/longfat" run "$1" --repeat 2 --json --force --jobs 1 --out "$work/again" >"$work/again.json"
for other in debug again; do
    cmp "$work/release.json" "$work/$other.json"
    for file in flows.parquet states.parquet elements.parquet retransmissions.parquet responses.parquet; do
        cmp "$work/release/$file" "$work/$other/$file"
    done
done
