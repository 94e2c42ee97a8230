#!/bin/sh
# venv.sh NAME [PACKAGES...]: installs packages (default: requirements.txt) into the tests' Python environment below target/ and
# prints its path; problems are reported with the prefix NAME. uv finds compatible versions in seconds. pip is for machines
# where only pip's own settings reach an index; it tries one boto3 version after another for minutes.
set -eu
name=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- -r "$here/requirements.txt"
venv=${CARGO_TARGET_DIR:-$here/../target}/python
if [ ! -x "$venv/bin/pip" ] && ! python3 -m venv "$venv" >&2; then
    echo "$name: SKIPPED, python3 has no venv (Debian: python3-venv)" >&2
    exit 1
fi
pip() {
    "$venv/bin/pip" install -q --disable-pip-version-check "$@" >&2
}
{ [ -x "$venv/bin/uv" ] || pip uv; } && "$venv/bin/uv" pip install -q --python "$venv/bin/python" "$@" >&2 ||
    pip "$@" || {
    echo "$name: SKIPPED, neither uv nor pip can fetch $*" >&2
    exit 1
}
echo "$venv"
