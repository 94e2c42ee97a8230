#!/bin/sh
# Installs what the tests use and cargo does not bring. Says aloud what it cannot install;
# the tests that need it then say that they were skipped.
set -eu
missing=""
command -v tshark >/dev/null || missing="$missing tshark"
command -v ping >/dev/null || missing="$missing iputils-ping"
command -v tcptrace >/dev/null || missing="$missing tcptrace"
# Packed captures.
command -v zstd >/dev/null || missing="$missing zstd"
command -v xz >/dev/null || missing="$missing xz-utils"
command -v iperf3 >/dev/null || missing="$missing iperf3"
# Hosts' services in the lab: IPsec, BGP, FTP.
[ -x /usr/lib/ipsec/charon ] && [ -e /usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so ] && command -v swanctl >/dev/null ||
    missing="$missing strongswan-charon strongswan-swanctl libcharon-extra-plugins libstrongswan-standard-plugins libstrongswan-extra-plugins"
[ -x /usr/sbin/bird ] || missing="$missing bird2"
[ -x /usr/sbin/vsftpd ] || missing="$missing vsftpd"
command -v ip >/dev/null && command -v ss >/dev/null || missing="$missing iproute2"
# What `check` says to type for a clamped MSS.
command -v nft >/dev/null || missing="$missing nftables"
command -v curl >/dev/null || missing="$missing curl"
command -v python3 >/dev/null || missing="$missing python3"
# Whether the committed eBPF programs are what their sources give (cargo builds without).
command -v clang >/dev/null || missing="$missing clang"
command -v llvm-strip >/dev/null || missing="$missing llvm"
python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
# The report page: built and tested with node, opened in a browser, Chinese included.
command -v node >/dev/null || missing="$missing nodejs"
command -v npm >/dev/null || missing="$missing npm"
command -v chromium >/dev/null || missing="$missing chromium"
fc-list :lang=zh-cn 2>/dev/null | grep -q . || missing="$missing fontconfig fonts-wqy-microhei"

install() {
    if [ "$(id -u)" != 0 ]; then
        echo "setup: not root, so not installed:$missing (tests that need them will be skipped)" >&2
        return
    fi
    echo "setup: installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
[ -z "$missing" ] || install

# Python's packages; it says itself what it cannot install.
sh "$(dirname "$0")/venv.sh" setup >/dev/null || true

# What npm installed last it writes down in its own lock file: as old as web's, or it is not what is asked for.
cd "$(dirname "$0")/../web"
installed=node_modules/.package-lock.json
if command -v npm >/dev/null && { [ ! -e $installed ] || [ package-lock.json -nt $installed ]; }; then
    npm ci --silent
    touch $installed
fi
