#!/bin/sh
# venv.sh NAME [PACKAGES...]: puts packages, those of requirements.txt by default, into the tests' Python environment below
# target/ and prints where that is; what hinders it is said in NAME's name. uv finds versions that go together in seconds; pip,
# for where it has no way to an index but pip's own settings, tries boto3 after boto3 for minutes.
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
