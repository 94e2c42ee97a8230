"""Shared by the tests: a short scenario, and the `longfat` command built from the same sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

POLICED = """\
name = "policed"
duration = "3s"

[links.wan]
between = ["office", "centre"]
forward = [
    { kind = "policer", rate = "10Mbit/s", burst = "40kB" },
    { kind = "delay", delay = "15ms" },
]
backward = [{ kind = "delay", delay = "15ms" }]

[flows.up]
from = "office"
to = "centre"

[variants.cubic]
[variants.bbr]
"flows.up.cc" = "bbr"
"""


@pytest.fixture
def policed(tmp_path: Path) -> Path:
    """A scenario file with two variants."""
    path = tmp_path / "policed.toml"
    path.write_text(POLICED)
    return path


def program() -> str | None:
    """The command: LONGFAT, or the one that the wheel installed."""
    return os.environ.get("LONGFAT") or shutil.which("longfat")


@pytest.fixture
def longfat_json(tmp_path: Path) -> Callable[..., str]:
    """Runs the command and returns its output."""
    command = program()
    if command is None:
        pytest.skip("SKIPPED: no longfat command: LONGFAT=path/to/longfat")

    def run(*args: object, codes: tuple[int, ...] = (0,)) -> str:
        line = [command, *map(str, args)]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode in codes, done.stderr
        return done.stdout

    return run
