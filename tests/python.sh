#!/bin/sh
# The Python package: built and installed into an environment under target/, its tests and its types. What is missing is said.
set -e
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TARGET_DIR=$target
venv=$(sh tests/venv.sh python) || exit 0
PATH=$venv/bin:$PATH
# In the profile that the other tests have built, which `make python` has brought up to date; not that of what is handed out.
LONGFAT_PROGRAM=$target/release/longfat MATURIN_PEP517_ARGS="--profile release" \
    pip install -q --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall ./python
LONGFAT=$venv/bin/longfat pytest -q -p no:cacheprovider python/tests
(cd python && mypy --cache-dir "$target/mypy")
# It runs in node.
if command -v node >/dev/null; then (cd python && pyright --pythonpath "$venv/bin/python"); else echo "python: pyright SKIPPED, no node" >&2; fi
# What it asks of Python is there from 3.10 on.
abi3audit -s -S --assume-minimum-abi3 3.10 "$(python -c 'import longfat._native as it; print(it.__file__)')"
