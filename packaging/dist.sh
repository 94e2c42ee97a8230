#!/bin/sh
# Builds a release into dist/: static programs for Linux, one for Windows, the Python wheel, a Debian package, the explorer's page,
# licences and checksums. `sh packaging/dist.sh linux debian` builds only these parts. On Debian, as root, it installs missing tools;
# elsewhere it names them and stops, because a release must be complete. Two builds of a commit with the same tools give the same
# bytes in any folder (tests/dist.sh); dist/BUILD.txt names the commit and the tools.
set -eu
umask 022
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/.."
root=$PWD
dist=$root/dist
cargo=${CARGO:-cargo}
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
LINUX=x86_64-unknown-linux-musl
WINDOWS=x86_64-pc-windows-gnu
PARTS="linux windows wheel debian site"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "dist: $*" >&2
    exit 1
}

# Ensures that command $2 exists; Debian's package $1 provides it.
need() {
    command -v "$2" >/dev/null && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "dist: installing $1"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1"; } >/dev/null || true
    fi
    command -v "$2" >/dev/null || fail "$2 is missing (Debian: $1)"
}

need_target() {
    rustup target list --installed 2>/dev/null | grep -qx "$1" || rustup target add "$1" ||
        fail "Rust's library for $1 is missing (rustup target add $1)"
}

# Builds the programs $2 ... for target $1.
programs() {
    target=$1
    shift
    for name; do
        echo "dist: building $name for $target"
        $cargo build -q --locked --profile dist -p "$name" --target "$target"
    done
}

# Installs the documents that accompany a program into folder $1.
papers() {
    install -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE THIRD-PARTY-LICENSES.md docs/install.md "$1"
}

# Writes manual pages and completions into $1/man1 and $1/completions.
help_files() {
    mkdir -p "$1/completions"
    "$longfat" man --out "$1/man1" >/dev/null
    "$longfat" completions bash >"$1/completions/longfat.bash"
    "$longfat" completions zsh >"$1/completions/_longfat"
    "$longfat" completions fish >"$1/completions/longfat.fish"
    "$pair" --man >"$1/man1/longfat-pair.1"
    "$pair" --completions bash >"$1/completions/longfat-pair.bash"
    "$pair" --completions zsh >"$1/completions/_longfat-pair"
    "$pair" --completions fish >"$1/completions/longfat-pair.fish"
}

# Sets the time of every file below folder $1 to the commit's.
date_back() {
    find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

linux() {
    name=longfat-$version-x86_64-linux
    mkdir "$work/$name"
    install -m 755 "$longfat" "$pair" "$work/$name/"
    papers "$work/$name"
    help_files "$work/$name"
    tar -C "$work" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" |
        gzip -9n >"$dist/$name.tar.gz"
}

windows() {
    need gcc-mingw-w64-x86-64 x86_64-w64-mingw32-gcc
    need python3 python3
    need_target $WINDOWS
    programs $WINDOWS longfat
    name=longfat-$version-x86_64-windows
    mkdir "$work/$name"
    install -m 755 "$CARGO_TARGET_DIR/$WINDOWS/dist/longfat.exe" "$work/$name/longfat.exe"
    papers "$work/$name"
    date_back "$work/$name"
    (cd "$work" && python3 -m zipfile -c "$dist/$name.zip" "$name")
}

# The wheel's `longfat` is the static Linux program; its extension module links with the C library.
wheel() {
    need python3 python3
    venv=$(sh tests/venv.sh dist maturin) || fail "maturin is missing (pip install maturin)"
    (
        PATH=$venv/bin:$PATH
        export PATH LONGFAT_PROGRAM="$longfat" MATURIN_PEP517_ARGS="--locked --compatibility pypi"
        echo "dist: building the wheel"
        "$venv/bin/python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w "$dist" ./python
    )
    maturin=$("$venv/bin/maturin" --version)
}

debian() {
    need dpkg dpkg-deb
    tree=$work/debian
    doc=$tree/usr/share/doc/longfat
    mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/share/man" "$doc" "$tree/usr/lib/systemd/system"
    install -m 755 "$longfat" "$pair" "$tree/usr/bin/"
    papers "$doc"
    gzip -9n "$doc/CHANGELOG.md"
    mv "$doc/CHANGELOG.md.gz" "$doc/changelog.gz"
    {
        echo "longfat is under the licence below or under Apache-2.0 (LICENSE-APACHE), at your choice. THIRD-PARTY-LICENSES.md lists the"
        echo "software of others in it, with the licences."
        echo
        cat LICENSE-MIT
    } >"$doc/copyright"
    help_files "$work/help"
    mv "$work/help/man1" "$tree/usr/share/man/man1"
    gzip -9n "$tree"/usr/share/man/man1/*
    for name in longfat longfat-pair; do
        install -D -m 644 "$work/help/completions/$name.bash" "$tree/usr/share/bash-completion/completions/$name"
        install -D -m 644 "$work/help/completions/_$name" "$tree/usr/share/zsh/vendor-completions/_$name"
        install -D -m 644 "$work/help/completions/$name.fish" "$tree/usr/share/fish/vendor_completions.d/$name.fish"
    done
    for unit in longfat-pair.service longfat-proxy.service longfat-proxy.socket longfat-serve.service \
        longfat-watch.service; do
        sed s,/usr/local/bin/,/usr/bin/, packaging/$unit >"$tree/usr/lib/systemd/system/$unit"
    done
    install -D -m 644 packaging/grafana-watch.json "$tree/usr/share/longfat/grafana-watch.json"
    cat >"$tree/DEBIAN/control" <<END
Package: longfat
Version: $version
Architecture: amd64
Maintainer: The longfat authors
Installed-Size: $(find "$tree/usr" -type f -printf '%s\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
Section: net
Priority: optional
Suggests: bash-completion, bird2, iproute2, strongswan-swanctl, vsftpd
Description: finds out why a network path is slow, and proves what would fix it
 longfat finds what limited each flow of a packet capture, simulates the path
 with TCP as Linux sends it, tries changes that would help, and runs the same
 scenario on the kernel itself in network namespaces.
 .
 It includes a split-TCP proxy and a pair of proxies with QUIC between them
 (longfat-pair). Their systemd units are installed but not enabled.
END
    (cd "$tree" && find usr -type f | sort | xargs md5sum >DEBIAN/md5sums)
    date_back "$tree"
    # One thread, because the output depends on the number of threads.
    dpkg-deb -Zxz --threads-max=1 --root-owner-group --build "$tree" "$dist/longfat_${version}_amd64.deb" >/dev/null
}

# The explorer as a page that contains the simulator.
site() {
    need_target wasm32-unknown-unknown
    echo "dist: building the explorer's page"
    "$longfat" explore --write "$work/site" >/dev/null
    install -m 644 "$work/site/index.html" "$dist/longfat-$version-explore.html"
}

commit=$(git rev-parse HEAD 2>/dev/null) || fail "not a git clone: a release is built from a commit"
[ -z "$(git status --porcelain --untracked-files=no)" ] || fail "there are uncommitted changes: commit first"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
export SOURCE_DATE_EPOCH
# Removes this machine's paths from panic messages and C assertions.
home=${CARGO_HOME:-$HOME/.cargo}
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\037' "--remap-path-prefix=$root=/longfat" "--remap-path-prefix=$home=/cargo" \
    "--remap-path-prefix=$CARGO_TARGET_DIR=/target")
# The separator must not follow the last flag.
CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%?}
CFLAGS="-ffile-prefix-map=$home=/cargo -ffile-prefix-map=$CARGO_TARGET_DIR=/target"
export CARGO_ENCODED_RUSTFLAGS CFLAGS CARGO_INCREMENTAL=0

# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $PARTS
for part; do
    case " $PARTS " in *" $part "*) ;; *) fail "unknown part $part; parts: $PARTS" ;; esac
done
rm -rf "$dist"
mkdir "$dist"
need musl-tools musl-gcc
need_target $LINUX
programs $LINUX longfat longfat-pair
longfat=$CARGO_TARGET_DIR/$LINUX/dist/longfat
pair=$CARGO_TARGET_DIR/$LINUX/dist/longfat-pair
"$longfat" --version | grep -q "$(echo "$commit" | cut -c 1-12))" || fail "$("$longfat" --version): not built from commit $commit"
for part; do "$part"; done
cp THIRD-PARTY-LICENSES.md "$dist"
{
    echo "longfat $version of commit $commit"
    rustc --version
    musl-gcc --version | head -n 1
    ! command -v x86_64-w64-mingw32-gcc >/dev/null || x86_64-w64-mingw32-gcc --version | head -n 1
    echo "${maturin:-}"
} >"$dist/BUILD.txt"
(cd "$dist" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
ls -l "$dist"
