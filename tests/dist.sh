#!/bin/sh
# Tests the contents of dist/ made by `make dist`: whether each package works (`sh tests/dist.sh works`), and whether a second
# build from a clone in another folder gives the same bytes (`same`, some minutes). Without an argument: both.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo=${CARGO:-cargo}

fail() {
    echo "dist: $*" >&2
    exit 1
}

# Checks that the program started by the remaining words gives the same result as this machine's; $1 is its name in messages.
same_result() {
    name=$1
    shift
    run="run scenarios/policer-or-shaper.toml --json --force --no-progress --out"
    # shellcheck disable=SC2086
    {
        "$here" $run "$work/here" >"$work/here.json" 2>"$work/said" || fail "$here: $(cat "$work/said")"
        "$@" $run "$work/there" >"$work/there.json" 2>"$work/said" || fail "$name: $(cat "$work/said")"
    }
    cmp "$work/here.json" "$work/there.json" || fail "$name: the result differs"
    for file in flows elements; do
        cmp "$work/here/$file.parquet" "$work/there/$file.parquet" || fail "$name: $file.parquet differs"
    done
    echo "dist: $name: same result as the release build"
}

# Checks that the program started by the remaining words reports the commit of dist/; $1 is its name in messages.
names_commit() {
    name=$1
    shift
    reported=$("$@" --version | tr -d '\r')
    [ "${reported#* }" = "$version ($(echo "$commit" | cut -c 1-12))" ] || fail "$name: reports $reported"
    echo "dist: $name: $reported"
}

linux() {
    tar -xzf dist/longfat-"$version"-x86_64-linux.tar.gz -C "$work"
    program=$work/longfat-$version-x86_64-linux/longfat
    ldd "$program" 2>&1 | grep -Eq "statically linked|not a dynamic executable" || fail "Linux: not statically linked"
    ldd "$program-pair" 2>&1 | grep -Eq "statically linked|not a dynamic executable" || fail "Linux: longfat-pair is not statically linked"
    names_commit Linux "$program"
    names_commit Linux "$program-pair"
    same_result Linux "$program"
}

windows() {
    python3 -m zipfile -e dist/longfat-"$version"-x86_64-windows.zip "$work"
    program=$work/longfat-$version-x86_64-windows/longfat.exe
    if ! command -v wine >/dev/null || ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
        echo "dist: Windows: SKIPPED (Debian: wine, wine64, gcc-mingw-w64-x86-64)" >&2
        return
    fi
    . tests/desk/wine.sh
    names_commit Windows wine "$program"
    same_result Windows wine "$program"
    wineserver -k || true
}

# Installs the wheel into an empty environment.
wheel() {
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --disable-pip-version-check --no-index dist/longfat-"$version"-*.whl
    names_commit wheel "$work/venv/bin/longfat"
    same_result wheel "$work/venv/bin/longfat"
    "$work/venv/bin/python" -c 'import longfat; print("dist: wheel:", longfat.run("policer-or-shaper").headline[:60])'
}

# Installs the Debian package into an empty root.
debian() {
    mkdir -p "$work/root/var/lib/dpkg/info" "$work/root/var/lib/dpkg/updates"
    : >"$work/root/var/lib/dpkg/status"
    dpkg --root="$work/root" --log=/dev/null --force-not-root --force-bad-path -i dist/longfat_"${version}"_amd64.deb >/dev/null
    names_commit Debian "$work/root/usr/bin/longfat"
    names_commit Debian "$work/root/usr/bin/longfat-pair"
    same_result Debian "$work/root/usr/bin/longfat"
    for file in share/man/man1/longfat-run.1.gz share/man/man1/longfat-pair.1.gz share/bash-completion/completions/longfat share/doc/longfat/copyright; do
        [ -s "$work/root/usr/$file" ] || fail "Debian: no $file"
    done
    dpkg --root="$work/root" --log=/dev/null --force-not-root --force-bad-path -r longfat >/dev/null
    [ ! -e "$work/root/usr/bin/longfat" ] && [ ! -e "$work/root/usr/bin/longfat-pair" ] || fail "Debian: files remain after removal"
}

# web/test/browser/explore.test.mjs tests the page in a browser, from `make site`.
site() {
    grep -q 'id="engine">[A-Za-z0-9+/]' dist/longfat-"$version"-explore.html || fail "explorer: the page does not contain the engine"
    echo "dist: explorer: contains the engine"
}

# Compares with the release build, or with the program that LONGFAT names.
works() {
    here=${LONGFAT:-${CARGO_TARGET_DIR:-$root/target}/release/longfat}
    [ -n "${LONGFAT:-}" ] || $cargo build -q --release -p longfat
    for part in linux debian wheel windows site; do "$part"; done
}

same() {
    git clone -q --no-hardlinks "$root" "$work/elsewhere"
    git -C "$work/elsewhere" checkout -q "$commit"
    env -u CARGO_TARGET_DIR sh "$work/elsewhere/packaging/dist.sh" >/dev/null
    diff dist/SHA256SUMS "$work/elsewhere/dist/SHA256SUMS" || fail "a build in another folder gives other bytes"
    echo "dist: a build in another folder gives the same bytes"
}

[ -e dist/SHA256SUMS ] || fail "dist/ is empty: run make dist"
(cd dist && sha256sum --quiet -c SHA256SUMS)
commit=$(sed -n '1s/.* of commit //p' dist/BUILD.txt)
version=$(sed -n '1s/^longfat \(.*\) of commit .*/\1/p' dist/BUILD.txt)
for check in ${*:-works same}; do "$check"; done
