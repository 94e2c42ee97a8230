#!/bin/sh
# Installs tools that the tests use and cargo does not provide. Reports what it cannot install; the tests that need it are then
# skipped with a message.
set -eu
missing=""
command -v tshark >/dev/null || missing="$missing tshark"
command -v ping >/dev/null || missing="$missing iputils-ping"
command -v tcptrace >/dev/null || missing="$missing tcptrace"
# For compressed captures.
command -v zstd >/dev/null || missing="$missing zstd"
command -v xz >/dev/null || missing="$missing xz-utils"
command -v iperf3 >/dev/null || missing="$missing iperf3"
# Services of hosts in the lab: IPsec, BGP, FTP.
[ -x /usr/lib/ipsec/charon ] && [ -e /usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so ] && command -v swanctl >/dev/null ||
    missing="$missing strongswan-charon strongswan-swanctl libcharon-extra-plugins libstrongswan-standard-plugins libstrongswan-extra-plugins"
[ -x /usr/sbin/bird ] || missing="$missing bird2"
[ -x /usr/sbin/vsftpd ] || missing="$missing vsftpd"
command -v ip >/dev/null && command -v ss >/dev/null || missing="$missing iproute2"
# For the command that `check` prints for a clamped MSS.
command -v nft >/dev/null || missing="$missing nftables"
command -v curl >/dev/null || missing="$missing curl"
command -v python3 >/dev/null || missing="$missing python3"
# To check that the committed eBPF programs match their sources (cargo builds without them).
command -v clang >/dev/null || missing="$missing clang"
command -v llvm-strip >/dev/null || missing="$missing llvm"
python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
# For the report page: built and tested with node, opened in a browser, including Chinese text.
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

# Python packages; the script reports what it cannot install.
sh "$(dirname "$0")/venv.sh" setup >/dev/null || true

# npm writes a lock file of what it installed. If that is older than web's, install again.
cd "$(dirname "$0")/../web"
installed=node_modules/.package-lock.json
if command -v npm >/dev/null && { [ ! -e $installed ] || [ package-lock.json -nt $installed ]; }; then
    npm ci --silent
    touch $installed
fi
