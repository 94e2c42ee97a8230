"""Cost of a sweep, with two Dask workers and with two processes; results after kill -9 at random moments. Needs the package and
distributed:

    python benches/sweep.py [--cells 3000] [--kills 20] [--seed 1]

Prints the figures of docs/sweep.md. A scheduler and its workers are started on loopback and stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import longfat
from longfat import _native

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))
from test_sweep import Cluster  # noqa: E402: to start a cluster as the tests do

SCENARIO = ROOT / "benches" / "sweep.toml"
FILES = ("cells.parquet", "flows.parquet", "sweep.json", "report.html")


def grid(cells: int) -> dict[str, str]:
    """The grid of benches/sweep.toml with about `cells` cells: 4 limiters, 5 controls, fewer values on the other axes."""
    rates, losses = max(2, round((cells / 20 / 3) ** 0.5)), max(2, round((cells / 20 / 3) ** 0.5))
    return {
        "flows.up.cc": "reno,cubic,compound,bbr,bbr3",
        "rtt:links.wan.forward.way.delay+links.wan.backward.way.delay": "2..100ms:log:3",
        "rate:links.wan.forward.limiter.rate": f"1..100Mbit/s:log:{rates}",
        "loss:links.wan.forward.loss.probability": f"0.0001..0.05:log:{losses}",
    }


DRIVER = """
import json, sys, longfat
from distributed import Client
address, scenario, out, vary, settings, batch_s = sys.argv[1:]
with Client(address, timeout=60) as client:
    client.wait_for_workers(2, timeout=60)
    longfat.sweep(scenario, json.loads(vary), out=out, set=json.loads(settings), executor=client.get_executor(),
                  batch_s=float(batch_s))
"""


def dataset(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def cpu() -> float:
    return sum(sum(resource.getrusage(target)[:2]) for target in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def cpu_of(pid: int) -> float:
    """Processor time of a process so far, in s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_locally(vary: dict[str, str], settings: dict[str, str], out: Path) -> tuple[float, float]:
    """Wall-clock and processor time with two local processes, in s."""
    wall, used = time.monotonic(), cpu()
    with ProcessPoolExecutor(2) as pool:
        longfat.sweep(SCENARIO, vary, out=out, set=settings, executor=pool)
    return time.monotonic() - wall, cpu() - used


def run_on_dask(cluster: Cluster, vary: dict[str, str], settings: dict[str, str], out: Path) -> tuple[float, float]:
    """The same with two Dask workers; the processor time includes the scheduler's and this process's."""
    from distributed import Client

    with Client(cluster.address, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        alive = [p for p in cluster.processes if p.poll() is None]
        wall, used = time.monotonic(), cpu() + sum(cpu_of(p.pid) for p in alive)
        longfat.sweep(SCENARIO, vary, out=out, set=settings, executor=client.get_executor())
        return time.monotonic() - wall, cpu() + sum(cpu_of(p.pid) for p in alive) - used


def kills(folder: Path, vary: dict[str, str], settings: dict[str, str], count: int, seed: int, whole: float) -> str:
    """Kills a worker and the driver alternately, `count` times at random moments; a line on the kills and on the dataset."""
    draw, out = random.Random(seed), folder / "killed"
    cluster, done = Cluster(folder), {"worker": 0, "driver": 0}
    line = [sys.executable, "-c", DRIVER, cluster.address, str(SCENARIO), str(out), json.dumps(vary), json.dumps(settings)]
    try:
        workers = [cluster.worker(), cluster.worker()]
        driver = subprocess.Popen([*line, "0.2"])
        for i in range(count):
            time.sleep(draw.uniform(0, whole / count * 1.5))
            if driver.poll() is not None:
                break
            if i % 2 == 0:
                victim = draw.randrange(2)
                workers[victim].send_signal(signal.SIGKILL)
                workers[victim] = cluster.worker()
                done["worker"] += 1
            else:
                driver.send_signal(signal.SIGKILL)
                driver.wait()
                driver = subprocess.Popen([*line, "0.2"])
                done["driver"] += 1
        code = driver.wait()
    finally:
        cluster.stop()
    same = dataset(out) == dataset(folder / "local")
    return f"kills: {done}, driver's exit code {code}, dataset {'identical' if same else 'DIFFERENT'}"


def costs(folder: Path, vary: dict[str, str], settings: dict[str, str]) -> None:
    """Prints the cost of a cell, of a batch and of a row on one core."""
    axes: list[tuple[str, list[str] | None]] = [(f"{key}={value}", None) for key, value in vary.items()]
    options: _native.SweepOptions = {
        "path": str(SCENARIO), "text": None, "name": "s.toml", "set": [f"{k}={v}" for k, v in settings.items()],
        "vary": axes, "variants": [], "seed": None, "repeat": 1, "allow_files": False,
    }
    work = _native.SweepWork(options, str(folder / "costs"), False)
    grid_bytes = work.grid()
    missing, points, rows_per_point = work.points()
    sample = random.Random(1).sample(missing, min(100, len(missing)))
    used = time.process_time()
    batch = _native.run_sweep_batch(grid_bytes, sample)
    used = time.process_time() - used
    rows = len(sample) * rows_per_point
    print(f"a cell: {used / rows * 1e3:.2f} ms of a core; a row: {len(batch) / rows:.0f} bytes; a grid: {len(grid_bytes)} bytes")
    wall, used = time.monotonic(), time.process_time()
    for _ in range(100):
        work.keep(batch)
    print(f"to store a batch of {rows} rows: {(time.monotonic() - wall) * 10:.2f} ms, {(time.process_time() - used) * 10:.2f} ms of a core")
    single = _native.run_sweep_batch(grid_bytes, sample[:1])
    wall, used = time.monotonic(), time.process_time()
    for _ in range(100):
        work.keep(single)
    print(f"one of {rows_per_point} rows: {(time.monotonic() - wall) * 10:.2f} ms, {(time.process_time() - used) * 10:.2f} ms of a core")
    work.close()


def tasks(cluster: Cluster) -> None:
    """Prints the cost of a task for driver, scheduler and workers."""
    from distributed import Client

    with Client(cluster.address, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        executor = client.get_executor()
        payload, count = b"x" * 3000, 3000
        alive = [p for p in cluster.processes if p.poll() is None]
        before = [cpu_of(p.pid) for p in alive]
        wall, used = time.monotonic(), time.process_time()
        done = [executor.submit(lambda grid, points: (0.0, grid), payload, [i]) for i in range(count)]
        all(f.result() for f in done)
        wall, used = time.monotonic() - wall, time.process_time() - used
        scheduler = cpu_of(alive[0].pid) - before[0]
        workers = sum(cpu_of(p.pid) for p in alive[1:]) - sum(before[1:])
        print(f"a task: {wall / count * 1e3:.2f} ms; processor: driver {used / count * 1e3:.2f} ms, scheduler "
              f"{scheduler / count * 1e3:.2f} ms, worker {workers / count * 1e3:.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=3000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--duration", default="10s")
    args = parser.parse_args()
    vary, settings = grid(args.cells), {"duration": args.duration}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        costs(folder, vary, settings)
        cluster = Cluster(folder)
        try:
            cluster.worker()
            cluster.worker()
            tasks(cluster)
            walls = []
            for turn in range(2):
                here = run_locally(vary, settings, folder / ("local" if turn == 0 else "local2"))
                there = run_on_dask(cluster, vary, settings, folder / f"dask{turn}")
                same = dataset(folder / f"dask{turn}") == dataset(folder / "local")
                walls.append(here[0])
                print(f"two processes {here[0]:.1f} s ({here[1]:.1f} s of a core), two Dask workers {there[0]:.1f} s "
                      f"({there[1]:.1f}): {here[0] / there[0]:.1%} by the clock, {here[1] / there[1]:.1%} by the processor; "
                      f"dataset {'identical' if same else 'DIFFERENT'}", flush=True)
        finally:
            cluster.stop()
        print(kills(folder, vary, settings, args.kills, args.seed, max(walls)))


if __name__ == "__main__":
    main()
