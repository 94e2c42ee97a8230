"""A build backend that adds the `longfat` program to maturin's wheel, in `scripts` of its data folder: maturin itself builds
either a library or a program into one wheel (https://github.com/PyO3/maturin/issues/368).

The profile is maturin's (`profile` in pyproject.toml, or `--profile` in MATURIN_PEP517_ARGS); shared code is built once.
LONGFAT_PROGRAM names a program that is already built.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import maturin

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
from maturin import *  # noqa: F403: the hooks that do not need the program

_HERE = Path(__file__).resolve().parent.parent
_SUFFIX = ".exe" if os.name == "nt" else ""
_SCRIPTS = _HERE / "longfat.data" / "scripts"
# Where the target environment keeps documentation.
_DOC = _HERE / "longfat.data" / "data" / "share" / "doc" / "longfat"
_LICENSES = ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.md")
# maturin requires the folder even when it is only asked for name and version.
_SCRIPTS.mkdir(parents=True, exist_ok=True)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """PEP 517 hook: builds the program, then the wheel."""
    _add_program(program(profile()))
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def profile() -> str:
    """Cargo's profile that maturin will use."""
    arguments = shlex.split(os.environ.get("MATURIN_PEP517_ARGS", ""))
    if "--profile" in arguments:
        return arguments[arguments.index("--profile") + 1]
    table = tomllib.loads((_HERE / "pyproject.toml").read_text())
    return str(table["tool"]["maturin"]["profile"])


def program(profile: str) -> Path:
    """The path of the program: built now, unless LONGFAT_PROGRAM names one."""
    if given := os.environ.get("LONGFAT_PROGRAM"):
        return Path(given)
    subprocess.run(["cargo", "build", "--locked", "--profile", profile, "-p", "longfat"], cwd=_HERE.parent, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", _HERE.parent / "target"))
    return target / profile / f"longfat{_SUFFIX}"


def _add_program(built: Path) -> None:
    """Copies the program, without debug symbols, and the licences to where maturin collects them."""
    there = _SCRIPTS / f"longfat{_SUFFIX}"
    shutil.copy2(built, there)
    if strip := shutil.which("strip"):
        subprocess.run([strip, there], check=False)
    _DOC.mkdir(parents=True, exist_ok=True)
    for name in _LICENSES:
        shutil.copyfile(_HERE.parent / name, _DOC / name)
