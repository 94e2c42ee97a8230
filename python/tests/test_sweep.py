"""`sweep`: the command's dataset byte for byte, on any executor and whatever is killed meanwhile."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import longfat

VARY = {"rate:links.wan.forward.policer.rate": "2..8Mbit/s:lin:3", "flows.up.count": [1, 2]}
FILES = ("cells.parquet", "flows.parquet", "sweep.json", "report.html")


def dataset(folder: Path) -> list[bytes]:
    assert not (folder / "parts").exists()
    return [(folder / name).read_bytes() for name in FILES]


@pytest.fixture
def whole(policed: Path, tmp_path: Path, longfat_json: Callable[..., str]) -> list[bytes]:
    """The command's dataset for the grid."""
    vary = ["--vary", "rate:links.wan.forward.policer.rate=2..8Mbit/s:lin:3", "--vary", "flows.up.count=1,2"]
    longfat_json("sweep", policed, *vary, "--out", tmp_path / "command", "--json", "--set", "duration=1s")
    return dataset(tmp_path / "command")


@pytest.mark.parametrize("kind", [None, ThreadPoolExecutor, ProcessPoolExecutor])
def test_the_dataset_equals_the_commands(
    policed: Path, tmp_path: Path, whole: list[bytes], kind: type[Executor] | None
) -> None:
    reported: list[longfat.SweepProgress] = []
    out, settings = tmp_path / "here", {"duration": "1s"}
    if kind is None:
        done = longfat.sweep(policed, VARY, out=out, set=settings, progress=reported.append)
    else:
        with kind(2) as executor:
            done = longfat.sweep(policed, VARY, out=out, set=settings, executor=executor, progress=reported.append)
    assert dataset(out) == whole
    assert (done.cells, done.failed, done.folder) == (12, 0, out)
    assert reported[-1].done == reported[-1].cells == 12 and reported[-1].left_s == 0.0
    assert "12 cells of policed" in str(done)
    cells = done.to_pandas()
    assert len(cells) == 12 and set(cells.variant) == {"cubic", "bbr"} and cells.total_goodput_mbps.notna().all()
    assert len(done.to_pandas(flows=True)) == 18, "two flows in each cell with count 2"


def test_the_command_finishes_a_sweep_begun_in_python(
    policed: Path, tmp_path: Path, whole: list[bytes], longfat_json: Callable[..., str]
) -> None:
    out, settings = tmp_path / "shared", {"duration": "1s"}

    def enough(p: longfat.SweepProgress) -> None:
        if p.done >= 4:
            raise RuntimeError("enough")

    with ThreadPoolExecutor(1) as executor, pytest.raises(RuntimeError, match="enough"):
        longfat.sweep(policed, VARY, out=out, set=settings, executor=executor, batch_s=1e-9, progress=enough)
    parts = len(list((out / "parts").iterdir()))
    assert 0 < parts < 6, "some batches are stored"
    vary = ["--vary", "rate:links.wan.forward.policer.rate=2..8Mbit/s:lin:3", "--vary", "flows.up.count=1,2"]
    longfat_json("sweep", policed, *vary, "--out", out, "--json", "--set", "duration=1s")
    assert dataset(out) == whole


def test_a_bad_value_is_a_row_and_a_bad_grid_raises(policed: Path, tmp_path: Path) -> None:
    vary = {"flows.up.cc": ["cubic", "nonsense"]}
    with ThreadPoolExecutor(2) as executor:
        done = longfat.sweep(policed, vary, out=tmp_path / "bad", variants="cubic", executor=executor)
    assert (done.cells, done.failed) == (2, 1)
    wrong = done.to_pandas().set_index("flows.up.cc").error
    assert wrong.isna()["cubic"] and wrong["nonsense"].startswith("--vary flows.up.cc=nonsense, column 13: ")
    for kwargs in ({"variants": "x"}, {"vary": "flows.up.cc"}, {"vary": {"variant:flows.up.cc": ["bbr"]}}):
        with pytest.raises(longfat.UsageError):
            longfat.sweep(policed, **{"vary": vary, "out": tmp_path / "none", **kwargs})
    with pytest.raises(longfat.ScenarioError) as refused:
        longfat.sweep(policed, {"flows.up.cc": ["moon"]}, out=tmp_path / "none")
    assert refused.value.key == "flows.up.cc" and refused.value.file == "--vary flows.up.cc=moon"
    assert not (tmp_path / "none").exists()
    with pytest.raises(longfat.UsageError, match="a sweep of something else"):
        longfat.sweep(policed, {"flows.up.count": [1]}, out=tmp_path / "bad")
    with pytest.raises(TypeError, match="Executor"):
        longfat.sweep(policed, vary, out=tmp_path / "none", executor=3)  # type: ignore[arg-type]


def test_a_point_that_always_kills_its_worker_is_a_row(policed: Path, tmp_path: Path) -> None:
    """Simulates Dask's reports: the point that kills its worker is isolated from its batch; the others have figures."""

    class KilledWorker(Exception):
        pass

    class Deadly(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def,override]
            def run():  # type: ignore[no-untyped-def]
                if 2 in args[-1]:
                    raise KilledWorker
                return fn(*args, **kwargs)

            return super().submit(run)

    with Deadly(1) as executor:
        vary = {"flows.up.count": [1, 2, 3, 4, 5, 6, 7, 8]}
        done = longfat.sweep(policed, vary, out=tmp_path / "d", executor=executor, batch_s=0.02, set={"duration": "200ms"})
    assert (done.cells, done.failed) == (16, 2)
    bad = done.to_pandas().query("error == error")
    assert list(bad["flows.up.count"]) == [3, 3] and set(bad.error) == {"every worker that ran it died: KilledWorker"}


# Dask, with its own scheduler and workers on loopback.


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Cluster:
    """A scheduler and workers, each a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show")

    def start(self, kind: str, *args: str) -> subprocess.Popen[bytes]:
        line = [sys.executable, "-m", "distributed.cli.dask_" + kind, *args]
        environment = os.environ | {"DASK_DISTRIBUTED__ADMIN__LOG_FORMAT": "%(message)s"}
        with open(self.folder / f"{kind}.log", "ab") as log:
            process = subprocess.Popen(line, cwd=self.folder, stdout=log, stderr=log, env=environment)
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        args = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1", "--death-timeout", "60")
        process = self.start("worker", self.address, *args)
        self.workers.append(process)
        return process

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    made = Cluster(folder)
    try:
        for _ in range(workers):
            made.worker()
        yield made
    finally:
        made.stop()


DRIVER = """
import json, sys, longfat
from distributed import Client
address, scenario, out, vary, settings = sys.argv[1:]
with Client(address, timeout=60) as client:
    client.wait_for_workers(1, timeout=60)
    longfat.sweep(scenario, json.loads(vary), out=out, set=json.loads(settings), executor=client.get_executor(), batch_s=0.05)
"""


def drive(where: Cluster, scenario: Path, out: Path, vary: dict, settings: dict) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-c", DRIVER, where.address, str(scenario), str(out), json.dumps(vary), json.dumps(settings)]
    with open(where.folder / "driver.log", "ab") as log:
        return subprocess.Popen(line, stdout=log, stderr=log)


def test_kill_9_of_a_dask_worker_and_of_the_driver_changes_nothing(
    policed: Path, tmp_path: Path, longfat_json: Callable[..., str]
) -> None:
    vary = {"links.wan.forward.policer.rate": "2..8Mbit/s:lin:40", "flows.up.count": "1..3:lin:3"}
    settings = {"duration": "1s"}
    args = [x for key, value in vary.items() for x in ("--vary", f"{key}={value}")]
    longfat_json("sweep", policed, *args, "--out", tmp_path / "command", "--json", "--set", "duration=1s")
    out = tmp_path / "dask"

    def kept() -> int:
        return len(list((out / "parts").iterdir())) if (out / "parts").exists() else 0

    with cluster(tmp_path, 2) as dask:
        killed = {"worker": 0, "driver": 0}
        driver = drive(dask, policed, out, vary, settings)
        for victim in ("worker", "driver"):
            before, since = kept(), time.monotonic()
            while kept() <= before + 2 and driver.poll() is None:
                assert time.monotonic() - since < 60, "no batch was stored"
                time.sleep(0.005)
            if driver.poll() is None:
                killed[victim] += 1
            if victim == "worker":
                dask.workers[0].send_signal(signal.SIGKILL)
                dask.worker()
            else:
                driver.send_signal(signal.SIGKILL)
                driver.wait()
                driver = drive(dask, policed, out, vary, settings)
        assert driver.wait(timeout=120) == 0, (tmp_path / "driver.log").read_text()
        assert killed == {"worker": 1, "driver": 1}, "the sweep ended before it was killed"
    assert dataset(out) == dataset(tmp_path / "command")
