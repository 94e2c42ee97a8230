"""`sweep`: runs a scenario over a grid of values, on this machine or on a cluster."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native, _toml
from ._record import Record
from ._scenario import ScenarioLike, source
from ._tasks import Driver, checked_executor, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The axes: a list of values or a range `"LO..HI:log:N"` by key, or arguments of `--vary`, one or several.
Vary = Mapping[str, "Iterable[Any] | str"] | Iterable[str] | str


class SweepProgress(NamedTuple):
    """Progress of a sweep."""

    #: Finished cells, including those of an earlier sweep.
    done: int
    #: Cells that an earlier sweep had finished.
    kept: int
    #: Number of cells.
    cells: int
    #: Cells that could not be run; their rows contain the error.
    failed: int
    #: Seconds since the sweep began.
    elapsed_s: float

    @property
    def left_s(self) -> float | None:
        """Estimated seconds left; None before the first cell is finished."""
        ran = self.done - self.kept
        return self.elapsed_s / ran * (self.cells - self.done) if ran else None


class Sweep(Record):
    """A finished sweep: the keys of its `sweep.json` (`cells`, `failed`, `axes`, `variants` …), and its location."""

    __slots__ = ("folder", "_text")

    #: The folder with `cells.parquet`, `flows.parquet`, `sweep.json` and `report.html`.
    folder: Path

    def __init__(self, summary: dict[str, Any], folder: Path, text: str) -> None:
        super().__init__(summary)
        self.folder = folder
        self._text = text

    @property
    def cells_path(self) -> Path:
        """The Parquet file with one row per cell."""
        return self.folder / "cells.parquet"

    @property
    def flows_path(self) -> Path:
        """The Parquet file with one row per flow and cell."""
        return self.folder / "flows.parquet"

    def to_pandas(self, flows: bool = False) -> Any:
        """The cells (or, with `flows=True`, the flows) as a pandas DataFrame. Requires pandas and pyarrow."""
        return import_module("pandas").read_parquet(self.flows_path if flows else self.cells_path)

    def __str__(self) -> str:
        """The table that `longfat sweep` prints."""
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self._text)}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Sweep, (self._json, self.folder, self._text))


def sweep(
    scenario: ScenarioLike,
    vary: Vary,
    *,
    executor: Executor | None = None,
    out: str | os.PathLike[str] | None = None,
    variants: Iterable[str] | str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    repeat: int = 1,
    jobs: int | None = None,
    batch_s: float = 1.0,
    progress: bool | Callable[[SweepProgress], object] | None = None,
    force: bool = False,
    allow_files: bool = False,
) -> Sweep:
    """Runs every combination of values into one dataset, like `longfat sweep`.

    `vary`: `{"flows.up.cc": ["cubic", "bbr"], "rate:links.wan.forward.limiter.rate": "1..100Mbit/s:log:25"}`, a list of
    values or a range by key. `"A+B"` sets two keys to the same value, `"NAME:KEY"` names the column. Or arguments of
    `--vary`.
    `executor`: any `concurrent.futures` executor, for Dask `client.get_executor()`. Its workers need the same version of
    longfat. Without one, `jobs` cores of this machine work (default: all).
    `batch_s`: target duration of a task, seconds.
    `out`: the folder (default: the command's); `force` replaces another finished sweep in it.
    `progress`: True for a progress bar, or a function that is called with a `SweepProgress`.
    The other arguments are as in `run`.

    A sweep that was interrupted, by Ctrl-C or by kill -9 of this process, continues when the call or the command is
    repeated with the same folder: finished cells are not run again, and the dataset has the same bytes. A worker that
    dies costs only its current tasks. A cell that cannot be run becomes a row with the error.

    Raises `ScenarioError`, `UsageError`, `OSError`, and the exceptions of a broken executor (`BrokenProcessPool`).
    """
    path, text = source(scenario)
    options: _native.SweepOptions = {
        "path": path,
        "text": text,
        "name": "scenario.toml",
        "set": [_toml.override(key, item) for key, item in (set or {}).items()],
        "vary": _axes(vary),
        "variants": [variants] if isinstance(variants, str) else list(variants or ()),
        "seed": seed,
        "repeat": repeat,
        "allow_files": allow_files,
    }
    pool = None if executor is None else checked_executor(executor)
    work = _native.SweepWork(options, None if out is None else os.fspath(out), force)
    try:
        with watcher(progress) as report_to:
            if pool is None:
                begun = time.monotonic()

                def report(done: int, kept: int, cells: int, failed: int) -> None:
                    if report_to:
                        report_to(SweepProgress(done, kept, cells, failed, time.monotonic() - begun))

                work.run(jobs, report if report_to else None)
            else:
                _run_on(pool, work, batch_s, report_to)
        summary, table = work.finish()
    finally:
        work.close()
    return Sweep(json.loads(summary), work.folder, table)


def _run_on(
    executor: Executor,
    work: _native.SweepWork,
    batch_s: float,
    report_to: Callable[[SweepProgress], object] | None,
) -> None:
    """Runs the missing cells on the executor."""
    grid = work.grid()
    missing, points, cells_a_point = work.points()
    kept = (points - len(missing)) * cells_a_point
    done, failed, begun = kept, 0, time.monotonic()

    def keep(_: list[int], batch: bytes) -> None:
        nonlocal done, failed
        rows, bad = work.keep(batch)
        done, failed = done + rows, failed + bad

    def lost(point: int, why: str) -> None:
        nonlocal done, failed
        rows = work.lost(point, why)
        done, failed = done + rows, failed + rows

    def report() -> None:
        if report_to:
            report_to(SweepProgress(done, kept, points * cells_a_point, failed, time.monotonic() - begun))

    def submit(batch: list[int]) -> Any:
        return executor.submit(timed, _native.run_sweep_batch, grid, batch)

    Driver(executor, submit, keep, lost, report).run(missing, batch_s)


def _axes(vary: Vary) -> list[tuple[str, list[str] | None]]:
    if isinstance(vary, str):
        return [(vary, None)]
    if not isinstance(vary, Mapping):
        return [(text, None) for text in vary]
    axes: list[tuple[str, list[str] | None]] = []
    for key, values in vary.items():
        if isinstance(values, str):
            axes.append((f"{key}={values}", None))
        else:
            axes.append((key, [v if isinstance(v, str) else _toml.value(v) for v in values]))
    return axes


@contextmanager
def watcher(
    wanted: bool | Callable[[SweepProgress], object] | None,
) -> Iterator[Callable[[SweepProgress], object] | None]:
    """The function that a sweep reports progress to; None if no progress is wanted."""
    if not wanted:
        yield None
    elif callable(wanted):
        yield wanted
    else:
        bar = _bar()
        try:
            yield bar
        finally:
            bar(None)


def _bar() -> Callable[[SweepProgress | None], None]:
    """A tqdm bar, which also works in notebooks; without tqdm a line on standard error."""
    try:
        tqdm = import_module("tqdm.auto").tqdm
    except ImportError:
        return _line
    shown: Any = None

    def draw(progress: SweepProgress | None) -> None:
        nonlocal shown
        if progress is None:
            if shown is not None:
                shown.close()
            return
        if shown is None:
            shown = tqdm(total=progress.cells, initial=progress.kept, unit="cell", leave=False)
        if progress.failed:
            shown.set_postfix_str(f"{progress.failed} failed", refresh=False)
        shown.update(progress.done - shown.n)

    return draw


def _line(progress: SweepProgress | None) -> None:
    if progress is None:
        text = "\n"
    else:
        left = "" if progress.left_s is None else f", {progress.left_s:.0f} s left"
        text = f"\r{progress.done} of {progress.cells} cells{left}   "
    sys.stderr.write(text)
    sys.stderr.flush()
