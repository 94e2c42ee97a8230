#!/bin/sh
# Tests the Python package: builds it, installs it into an environment under target/, and runs its tests and type checkers.
set -e
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TARGET_DIR=$target
venv=$(sh tests/venv.sh python) || exit 0
PATH=$venv/bin:$PATH
# Uses the profile that the other tests have built (`make python` updates it), not that of the released package.
LONGFAT_PROGRAM=$target/release/longfat MATURIN_PEP517_ARGS="--profile release" \
    pip install -q --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall ./python
LONGFAT=$venv/bin/longfat pytest -q -p no:cacheprovider python/tests
(cd python && mypy --cache-dir "$target/mypy")
# pyright runs in node.
if command -v node >/dev/null; then (cd python && pyright --pythonpath "$venv/bin/python"); else echo "python: pyright SKIPPED, no node" >&2; fi
# The package needs nothing newer than Python 3.10.
abi3audit -s -S --assume-minimum-abi3 3.10 "$(python -c 'import longfat._native as it; print(it.__file__)')"
