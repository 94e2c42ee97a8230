#!/bin/sh
# Tests on other platforms: Windows (in Wine), Linux on arm64 (in QEMU), macOS (type check only). The program and the tests of
# the platform-independent crates are built and run there. Every example scenario must give the same bytes as on this machine,
# and its captures the same diagnoses and fits. The Python package is only type-checked.
#
#     sh tests/desk.sh [windows] [arm64] [macos]      default: all three
#
# Missing tools are installed on Debian as root; elsewhere they are reported, and what needs them is skipped.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
cargo=${CARGO:-cargo}
# Program and tests share one build, so it must unwind: test harnesses need that.
export CARGO_TARGET_DIR="$target" CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_PANIC=unwind
# All crates but the lab, the proxies, and those that need a Linux kernel.
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

# Checks that the commands $2... exist; installs package $1 if necessary.
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

# Runs the tests of the portable crates and of the command line for target $1, except those named in $2. The other words are
# the modules of the command line's integration tests to run. Prints the total counts.
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

# Exit code 1 means that nothing arrived in a variant, as intended in a black hole, or that a capture contains nothing to diagnose.
run() {
    code=0
    "$@" 2>"$work/stderr" || code=$?
    [ "$code" -le 1 ] || { cat "$work/stderr" >&2; return "$code"; }
}

# Compares all examples between the program started by the remaining words and this machine's own; $1 is its name in messages.
same_bytes() {
    name=$1
    shift
    same=0 other=0
    for scenario in scenarios/*.toml; do
        run "$here" run "$scenario" --json --force --no-progress --out "$work/here" >"$work/here.json"
        run "$@" run "$scenario" --json --force --no-progress --out "$work/there" >"$work/there.json"
        differs=
        cmp "$work/here.json" "$work/there.json" || differs=yes
        # All files but provenance.json, which contains place and time.
        for file in flows.parquet states.parquet elements.parquet retransmissions.parquet responses.parquet result.json \
            scenario.toml report.html; do
            cmp "$work/here/$file" "$work/there/$file" || differs=yes
        done
        if [ -z "$differs" ]; then same=$((same + 1)); else other=$((other + 1)); fi
    done
    echo "desk: $name: $same scenarios give the same bytes as here, $other differ"
    [ "$other" = 0 ] && [ "$same" -gt 0 ] || failed=1
}

# Compares the diagnoses of captures of three examples, and a fit to one of them, between the program started by the remaining
# words and this machine's own; $1 is its name in messages. Logarithms come from the system's library, so the last digits of a
# probability may differ; the first nine must not.
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
    echo "desk: $name: $same diagnoses give the same bytes as here, $close differ in the last digits only, $other differ"
    capture=$work/captures/sdwan-limiter/policing-cubic-up/pc.pcap
    run "$here" fit "$capture" --force --no-progress -o "$work/here.toml" >/dev/null
    run "$@" fit "$capture" --force --no-progress -o "$work/there.toml" >/dev/null
    cmp "$work/here.toml" "$work/there.toml" && echo "desk: $name: the fit is the same as here" || failed=1
    [ "$other" = 0 ] && [ "$same" -gt 0 ] || failed=1
}

# Type-checks the Python package for target $1: it can only be built with a Python of that platform.
python_types() {
    $cargo check -q --release -p longfat-python --target "$1" && echo "desk: $1: the Python package type-checks" || failed=1
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
    # Test modules that do not need Unix.
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
    # Test modules that do not need a Linux kernel.
    themselves="broken_files_are_errors a_panic_on_a_damaged_file_ends_with_exit_code_2"
    skip "arm64: $themselves (they start themselves, which QEMU cannot do)"
    unit $ARM64 "$themselves" begin diagnose expect explore fit import keep measured plan reproduce run safe sweep
}

macos() {
    has_target $MACOS || { skip "macOS"; return; }
    $cargo check -q --release -p longfat --target $MACOS && echo "desk: macOS: the program type-checks" || failed=1
    python_types $MACOS
}

CARGO_PROFILE_RELEASE_PANIC=abort $cargo build -q --release -p longfat
here=$target/release/longfat
for desk in ${*:-macos windows arm64}; do "$desk"; done
exit $failed
