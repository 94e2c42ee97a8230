#!/bin/sh
# Other desks than this one: Windows (by Wine), Linux on arm64 (by QEMU), macOS (types only). The program and the tests of the
# crates that are no kernel's are built and run there, every example scenario must give the bytes that it gives here, and its
# captures the same diagnoses and fits. Of the package for Python the types are checked.
#
#     sh tests/desk.sh [windows] [arm64] [macos]      all three by default
#
# What is missing is installed on Debian as root; elsewhere it is said, and what needs it is skipped.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
cargo=${CARGO:-cargo}
# Program and tests are one build then: a test's harness has to unwind.
export CARGO_TARGET_DIR="$target" CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_PANIC=unwind
# All but the lab, the proxies and what is asked of a kernel.
PORTABLE="units path congestion transport result scenario chains sim experiment advise capture track diagnosis fit
    report app explore audit import"
WINDOWS=x86_64-pc-windows-gnu
ARM64=aarch64-unknown-linux-gnu
MACOS=aarch64-apple-darwin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

skip() {
    echo "desk: $*: SKIPPED" >&2
}

# Whether the commands $2... are there, installed by package $1 if need be.
need() {
    packages=$1
    shift
    for command; do
        command -v "$command" >/dev/null && continue
        [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
        echo "desk: installing $packages"
        apt-get update -qq
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null || return 1
    done
}

has_target() {
    rustup target list --installed 2>/dev/null | grep -qx "$1" || rustup target add "$1"
}

# The tests of the portable crates and of the command line for target $1 but those that $2 names, of the command line also the
# modules of its program of tests that the other words name; what they say of numbers is added up.
unit() {
    on=$1
    but=
    for name in $2; do but="$but --skip $name"; done
    shift 2
    list=
    for name in $PORTABLE; do list="$list -p longfat-$name"; done
    modules=
    for name; do modules="$modules $name::"; done
    {
        # shellcheck disable=SC2086
        $cargo test -q --release --no-fail-fast --target "$on" --lib --tests $list -- $but || failed=1
        # shellcheck disable=SC2086
        $cargo test -q --release --no-fail-fast --target "$on" -p longfat --bins -- $but || failed=1
        # shellcheck disable=SC2086
        $cargo test -q --release --no-fail-fast --target "$on" -p longfat --test cli -- $but $modules || failed=1
    } >"$work/unit" 2>&1
    cp "$work/unit" "$target/desk-$on.log"
    awk -v on="$on" '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
        END { printf "desk: %s: %d tests passed, %d failed, %d ignored\n", on, passed, failed, ignored; exit failed > 0 || passed == 0 }' \
        "$work/unit" || failed=1
    [ $failed = 0 ] || echo "desk: see $target/desk-$on.log" >&2
}

# 1 says that nothing arrived in a variant, as is meant in a black hole, or that a capture has nothing to diagnose.
run() {
    code=0
    "$@" 2>"$work/told" || code=$?
    [ "$code" -le 1 ] || { cat "$work/told" >&2; return "$code"; }
}

# All examples by the program that the other words start, beside this machine's own; $1 is what it is called.
same_bytes() {
    name=$1
    shift
    same=0 other=0
    for scenario in scenarios/*.toml; do
        run "$here" run "$scenario" --json --force --no-progress --out "$work/here" >"$work/here.json"
        run "$@" run "$scenario" --json --force --no-progress --out "$work/there" >"$work/there.json"
        differs=
        cmp "$work/here.json" "$work/there.json" || differs=yes
        # All files but provenance.json, which says where and when.
        for file in flows.parquet states.parquet elements.parquet retransmissions.parquet responses.parquet result.json \
            scenario.toml report.html; do
            cmp "$work/here/$file" "$work/there/$file" || differs=yes
        done
        if [ -z "$differs" ]; then same=$((same + 1)); else other=$((other + 1)); fi
    done
    echo "desk: $name: $same scenarios give the same bytes as here, $other do not"
    [ "$other" = 0 ] && [ "$same" -gt 0 ] || failed=1
}

# What captures of three examples are said to be by the program that the other words start, and what is fitted to one of them; $1
# is what it is called. Logarithms are the system's there, so that the last digits of a probability may differ: the first nine
# must not.
same_verdicts() {
    name=$1
    shift
    same=0 close=0 other=0
    rm -rf "$work/captures"
    for scenario in sdwan-limiter policer-or-shaper home-line; do
        run "$here" run "scenarios/$scenario.toml" --force --no-progress --pcap "$work/captures/$scenario" --out "$work/here" >/dev/null
    done
    for capture in "$work"/captures/*/*/*.pcap; do
        run "$here" diagnose "$capture" --json --no-progress >"$work/here.json"
        run "$@" diagnose "$capture" --json --no-progress >"$work/there.json"
        for side in here there; do
            sed -E 's/([0-9]\.[0-9]{9})[0-9]+/\1/g' "$work/$side.json" >"$work/$side.short"
        done
        if cmp -s "$work/here.json" "$work/there.json"; then same=$((same + 1))
        elif cmp "$work/here.short" "$work/there.short"; then close=$((close + 1))
        else other=$((other + 1)); fi
    done
    echo "desk: $name: $same diagnoses give the same bytes as here, $close all but the last digits, $other do not"
    capture=$work/captures/sdwan-limiter/policing-cubic-up/pc.pcap
    run "$here" fit "$capture" --force --no-progress -o "$work/here.toml" >/dev/null
    run "$@" fit "$capture" --force --no-progress -o "$work/there.toml" >/dev/null
    cmp "$work/here.toml" "$work/there.toml" && echo "desk: $name: the fit is the same as here" || failed=1
    [ "$other" = 0 ] && [ "$same" -gt 0 ] || failed=1
}

# Whether the package for Python has the right types for target $1: it is built with a Python of that desk alone.
python_types() {
    $cargo check -q --release -p longfat-python --target "$1" && echo "desk: $1: the Python package's types are right" || failed=1
}

windows() {
    need "wine wine64 gcc-mingw-w64-x86-64" wine x86_64-w64-mingw32-gcc && has_target $WINDOWS ||
        { skip "Windows (Debian: wine64, gcc-mingw-w64-x86-64)"; return; }
    . tests/desk/wine.sh
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine
    $cargo build -q --release -p longfat --target $WINDOWS
    same_bytes Windows wine "$target/$WINDOWS/release/longfat.exe"
    same_verdicts Windows wine "$target/$WINDOWS/release/longfat.exe"
    python_types $WINDOWS
    # Those that need no Unix.
    unit $WINDOWS '' begin diagnose expect explore fit import keep measured plan reproduce run sweep
    wineserver -k || true
}

arm64() {
    need "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static" aarch64-linux-gnu-gcc qemu-aarch64-static && has_target $ARM64 ||
        { skip "arm64 (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user-static)"; return; }
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$PWD/tests/desk/qemu.sh" DESK_PROGRAM="$target/$ARM64/release/longfat"
    $cargo build -q --release -p longfat --target $ARM64
    same_bytes arm64 qemu-aarch64-static "$DESK_PROGRAM"
    same_verdicts arm64 qemu-aarch64-static "$DESK_PROGRAM"
    python_types $ARM64
    # Those that ask nothing of a kernel.
    themselves="broken_files_are_errors a_panic_on_a_damaged_file_ends_with_exit_code_2"
    skip "arm64: $themselves, which start themselves: QEMU cannot"
    unit $ARM64 "$themselves" begin diagnose expect explore fit import keep measured plan reproduce run safe sweep
}

macos() {
    has_target $MACOS || { skip "macOS"; return; }
    $cargo check -q --release -p longfat --target $MACOS && echo "desk: macOS: types are right" || failed=1
    python_types $MACOS
}

CARGO_PROFILE_RELEASE_PANIC=abort $cargo build -q --release -p longfat
here=$target/release/longfat
for desk in ${*:-macos windows arm64}; do "$desk"; done
exit $failed
